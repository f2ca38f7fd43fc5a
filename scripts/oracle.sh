#!/usr/bin/env bash
# kvarium against vLLM's own pool and scheduler (tests/oracle), in an environment of its own.
#
#   scripts/oracle.sh [pytest arguments]       make the environment if need be, and run tests/oracle in it
#   scripts/oracle.sh --environment            only make it; the last line is its folder
#
# It has vLLM's code for the CPU, torch and what vllm.v1.core imports (requirements/oracle.txt), about 1.5 GB, and takes
# about a minute; nothing else needs it. It lives in ${KVARIUM_CACHE:-~/.cache/kvarium}/oracle-<key>; the key is a hash of its
# pins and of the Python version. Where it can't be had (no network, no wheel for this machine) that is said, and the exit
# status is 3.
# PYTHON=…        which interpreter to use (3.11 or newer)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

only=''
case ${1:-} in
  -h | --help) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  --environment) only=1 ;;
esac

say() { printf 'oracle: %s\n' "$*" >&2; }
absent() { say "NOT AVAILABLE: $*"; exit 3; }
hash_of() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c1-16; }

python=${PYTHON:-python3}
"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  absent "$python is not a Python 3.11 or newer with venv (PYTHON=… names another)"
cache=${KVARIUM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kvarium}
key=oracle-$({ "$python" -c 'import platform, sys; print(sys.version, sys.base_prefix, platform.machine())'
  cat requirements/oracle.txt requirements/torch.txt; } | hash_of)
environment=$cache/$key

pip_install() {
  "$environment/bin/python" -m pip install --no-input --disable-pip-version-check --progress-bar off --retries 1 "$@"
}

make_environment() {
  [[ -f $environment/.complete ]] && return
  local started=$SECONDS log=$cache/$key.log
  say "vLLM's code, torch and what it imports, into $environment (a minute or two) …"
  rm -rf "$environment"
  {
    "$python" -m venv "$environment" && pip_install -r requirements/torch.txt &&
      pip_install --no-deps -r requirements/oracle.txt &&
      "$environment/bin/python" -c 'import vllm.v1.core.sched.scheduler'
  } >"$log" 2>&1 || {
    grep -E '^ERROR|Error' "$log" | tail -n 3 >&2 || true
    rm -rf "$environment"
    absent "the environment could not be made; all of it: $log"
  }
  touch "$environment/.complete"
  say "made in $((SECONDS - started)) s"
}

mkdir -p "$cache"
# One at a time; without flock (macOS) nobody waits.
if command -v flock >/dev/null; then
  exec 9>"$cache/$key.lock"
  flock 9
fi
make_environment
exec 9>&-
if [[ -n $only ]]; then
  printf '%s\n' "$environment"
  exit 0
fi
named=''
for argument; do [[ $argument == tests* && -e ${argument%%::*} ]] && named=1; done
[[ -n $named ]] || set -- tests/oracle "$@"
PYTHONPATH=engine exec "$environment/bin/python" -m pytest "$@"
