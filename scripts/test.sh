#!/usr/bin/env bash
# The Python tests, the browser tests among them: scripts/test.sh [--size small|full] [pytest arguments]
#
#   .venv-light   every test that needs no torch, in an environment that has none
#   .venv         those marked `model`; without torch in it (make ENGINE=0) they are left out, and that is said
#   the oracle's  with --size full: tests/oracle, against vLLM's own pool and scheduler (scripts/oracle.sh makes it)
#
# All run, whatever becomes of the first; the last lines say where what ran. The environments, the front end and the model
# are there already (make test sees to it).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if chromium=$(scripts/chromium.sh); then
  export CHROMIUM=$chromium
elif [[ -n ${CI:-} ]]; then
  exit 1
else
  echo "test: without a browser the browser tests are skipped" >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nothing_found=5 statuses=()

part() { # NAME ENVIRONMENT [pytest arguments]
  local name=$1 environment=$2 status=0 started=$SECONDS
  shift 2
  printf '\ntest: %s\n' "$name"
  KVARIUM_TEST_SUMMARY="$work/${#statuses[@]}" "$environment/bin/python" -m pytest "$@" || status=$?
  printf '%s, %d s: ' "$name" $((SECONDS - started)) >>"$work/told"
  cat "$work/${#statuses[@]}" >>"$work/told" 2>/dev/null || echo "ended with status $status" >>"$work/told"
  statuses+=("$status")
}

KVARIUM_EXPECT_LIGHT=1 part "without torch (.venv-light)" .venv-light --part light "$@"
if .venv/bin/python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; then
  part "with torch (.venv)" .venv --part model "$@"
else
  echo "with torch: not run, there is none in .venv (made with ENGINE=0)" >>"$work/told"
fi
# An argument that names other tests than the oracle's is not for it.
full='' elsewhere='' previous=''
for argument; do
  [[ "$previous $argument" == "--size full" || $argument == --size=full ]] && full=1
  [[ $argument == tests* && $argument != tests/oracle* ]] && elsewhere=1
  previous=$argument
done
if [[ -n $full && -z $elsewhere ]]; then
  if oracle=$(scripts/oracle.sh --environment); then
    PYTHONPATH=engine part "vLLM as the oracle (its own environment)" "$oracle" tests/oracle "$@"
  else
    echo "vLLM as the oracle: not run, its environment could not be had (scripts/oracle.sh)" >>"$work/told"
  fi
fi

printf '\n'
sed 's/^\([^ ]\)/test: \1/' "$work/told"
worst=0 empty=0
for status in "${statuses[@]}"; do
  # Arguments may choose tests of one part alone.
  if ((status == nothing_found)); then empty=$((empty + 1)); elif ((status > worst)); then worst=$status; fi
done
((empty == ${#statuses[@]})) && worst=$nothing_found
exit "$worst"
