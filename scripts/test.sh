#!/usr/bin/env bash
# The Python tests, the browser tests among them: scripts/test.sh [--size small|full] [pytest arguments]
#
#   .venv-light   every test that needs no torch, in an environment that has none
#   .venv         those marked `model`; without torch in it (make ENGINE=0) they are left out, and that is said
#   vLLM          tests/oracle in .venv, against vLLM's own pool and scheduler, which scripts/oracle.sh fetches meanwhile
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

# Two processes at once, where there are two cores: a test waits as often as it works. Those of one file stay together, as
# they share what is slow to make, and the longest files come first (tests/longest.py); torch takes one thread in each.
together=()
if [[ ! " $* " =~ \ (-n|-x|--pdb|-s)\  ]] && (($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) > 1)); then
  together=(-n 2 --dist loadfile --no-loadscope-reorder)
  export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
fi

work=$(mktemp -d)
fetching=''
trap '[[ -z $fetching ]] || kill "$fetching" 2>/dev/null; rm -rf "$work"' EXIT
nothing_found=5 statuses=()

part() { # NAME ENVIRONMENT [pytest arguments]
  local name=$1 environment=$2 status=0 started=$SECONDS
  shift 2
  printf '\ntest: %s\n' "$name"
  KVARIUM_TEST_SUMMARY="$work/${#statuses[@]}" "$environment/bin/python" -m pytest ${together[@]+"${together[@]}"} "$@" || status=$?
  printf '%s, %d s: ' "$name" $((SECONDS - started)) >>"$work/told"
  cat "$work/${#statuses[@]}" >>"$work/told" 2>/dev/null || echo "ended with status $status" >>"$work/told"
  statuses+=("$status")
}

# An argument that names other tests than the oracle's is not for it.
oracle=1 named=''
for argument; do
  if [[ $argument == tests/oracle* ]]; then named=1; elif [[ $argument == tests* ]]; then oracle=''; fi
done
if [[ -n $oracle ]]; then
  # A slow network must not hold the run for ever; macOS has no timeout.
  if command -v timeout >/dev/null; then limited='timeout 600'; else limited=''; fi
  nice $limited scripts/oracle.sh --packages >"$work/packages" 2>"$work/fetched" </dev/null &
  fetching=$!
fi

KVARIUM_EXPECT_LIGHT=1 part "without torch (.venv-light)" .venv-light --part light "$@"
if .venv/bin/python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; then
  part "with torch (.venv)" .venv --part model "$@"
else
  echo "with torch: not run, there is none in .venv (made with ENGINE=0)" >>"$work/told"
fi
if [[ -n $oracle ]]; then
  status=0
  wait "$fetching" || status=$?
  fetching=''
  cat "$work/fetched"
  if ((status == 0)); then
    [[ -n $named ]] || set -- tests/oracle "$@"
    PYTHONPATH=$(tail -n 1 "$work/packages") part "against vLLM" .venv "$@"
  else
    printf 'against vLLM: SKIPPED (status %d): %s\n' "$status" "$(tail -n 1 "$work/fetched")" >>"$work/told"
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
