#!/usr/bin/env bash
# Makes everything that development needs: `.venv` (Python) and `frontend/node_modules`.
#
#   scripts/setup.sh [--no-engine] [--venv DIR] [--no-node]
#
# The packages live once a user, in ${KVARIUM_CACHE:-~/.cache/kvarium}/env-<key>; the key is a hash of the pins, the
# declared dependencies and the Python version, so that clones share an environment and never change one another's.
# `.venv` is a thin layer above it with this clone's own sources. Running it again does nothing and takes a second.
#
# --no-engine     without torch, triton and transformers: all but the runner with a model works (an environment of its own)
# --venv DIR      another folder than .venv, in this clone: the tests that need no torch run in .venv-light, which has none
# --no-node       leave frontend/node_modules alone
# PYTHON=…        which interpreter to use (3.11 or newer; the default is the first that is found)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD

with_engine=1 with_node=1 venv=.venv
while (($#)); do
  case $1 in
    --no-engine) with_engine=0 ;;
    --no-node) with_node=0 ;;
    --venv) venv=${2:?--venv needs a folder}; shift ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "setup: unknown argument $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done
[[ $venv =~ ^\.?[A-Za-z0-9_-]+$ ]] || { echo "setup: --venv $venv: the name of a folder in this clone is wanted" >&2; exit 2; }

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: FAILED: %s\n' "$*" >&2; exit 1; }

# with_lock FILE FUNCTION …: one at a time; without flock (macOS) nobody waits.
with_lock() {
  local file=$1
  shift
  if ! command -v flock >/dev/null; then "$@"; return; fi
  (
    if ! flock -n 9; then
      say "waiting for another setup"
      flock 9
    fi
    "$@"
  ) 9>"$file"
}

# logged FILE TEXT COMMAND …: the output goes to FILE; a sign of life every ten seconds; its end on failure.
logged() {
  local log=$1 text=$2 started=$SECONDS status=0 watcher
  shift 2
  say "$text …"
  ( while sleep 10 >/dev/null 2>&1; do say "$text … $((SECONDS - started)) s"; done ) 9>&- &
  watcher=$!
  "$@" >"$log" 2>&1 || status=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  if ((status != 0)); then
    # Both ends: npm says what is wrong at the top, pip at the bottom.
    local shown
    shown=$(grep -v '^WARNING: Location' "$log" || true)
    { sed -n '1,12p' <<<"$shown"; echo '…'; tail -n 20 <<<"$shown"; } >&2
    say "all of it: $log" >&2
    fail "$text (exit $status)"
  fi
  say "$text: $((SECONDS - started)) s"
}

hash_of() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c1-16; }

# --- Python -------------------------------------------------------------------------------------------------------
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      "$candidate" -c 'import os, sys; print(os.path.realpath(sys.executable))'
      return
    fi
  done
  fail "no Python 3.11 or newer with venv found (Debian: apt-get install python3 python3-venv; or set PYTHON=…)"
}

pip_install() { # ENVIRONMENT ARGUMENTS …
  local environment=$1
  shift
  "$environment/bin/python" -m pip install --no-input --disable-pip-version-check --progress-bar off "$@"
}

make_environment() {
  [[ -f $environment/.complete ]] && return
  local building="$cache/.building-$key.$$" log="$cache/$key.log" version
  mkdir -p "$cache"
  # Only one builds this key (the lock), so what lies there was left by one that was killed.
  rm -rf "$cache/.building-$key".* "$environment"
  trap 'rm -rf "$building"' EXIT
  "$python" -m venv "$building" || fail "python -m venv (Debian: apt-get install python3-venv)"
  printf '%s\n' "$wanted" >"$building/wanted.txt"
  local arguments=(-r "$building/wanted.txt" -c requirements/constraints.txt)
  ((with_engine)) && arguments+=(-c requirements/torch.txt)
  local text="$(printf '%s\n' "$wanted" | wc -l | tr -d ' ') Python packages and what they need"
  ((with_engine)) && text+=" (torch is large; make ENGINE=0 … goes without it)"
  logged "$log" "$text" pip_install "$building" "${arguments[@]}"
  # It is about to move, so its scripts must name the place where they will be.
  local script
  for script in "$building"/bin/*; do
    if [[ ! -L $script ]] && head -c 2 "$script" | grep -q '^#!'; then
      sed -i.old "1s|$building|$environment|" "$script" && rm -f "$script.old"
    fi
  done
  rm -f "$building"/bin/[aA]ctivate*
  touch "$building/.complete"
  mv "$building" "$environment"
  trap - EXIT
}

make_venv() {
  local stamp=$venv/.kvarium-stamp site packages name script
  local want="$environment $ROOT $(cat pyproject.toml scripts/setup.sh scripts/hatch_build.py | hash_of)"
  if [[ -f $stamp && $(<"$stamp") == "$want" ]] && "$venv/bin/python" -c '' 2>/dev/null; then return; fi
  rm -f "$stamp"
  if ! "$venv/bin/python" -c "import sys; sys.exit(sys.base_prefix != '$prefix')" 2>/dev/null; then
    rm -rf "$venv"/bin "$venv"/lib "$venv"/lib64 "$venv"/include "$venv"/share "$venv"/pyvenv.cfg
    "$python" -m venv --without-pip "$venv"
  fi
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  packages=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  # addsitedir, not a bare path: the .pth files over there count too.
  printf 'import site; site.addsitedir(%s)\n' "'$packages'" >"$site/kvarium-environment.pth.new"
  mv "$site/kvarium-environment.pth.new" "$site/kvarium-environment.pth"
  # The tools of the environment, started with this clone's interpreter; those of another one go.
  for script in "$venv"/bin/*; do
    name=${script##*/}
    case $name in python* | kvarium) continue ;; esac
    [[ -e $environment/bin/$name ]] || rm -f "$script"
  done
  for script in "$environment"/bin/*; do
    name=${script##*/}
    case $name in python* | pip*) continue ;; esac
    rm -f "$venv/bin/$name"
    if head -n 1 "$script" | grep -aq '^#!.*/python'; then
      { printf '#!%s\n' "$ROOT/$venv/bin/python"; tail -n +2 "$script"; } >"$venv/bin/$name"
      chmod +x "$venv/bin/$name"
    else
      ln -s "$script" "$venv/bin/$name"
    fi
  done
  logged "$venv/kvarium-install.log" "this clone into $venv" \
    "$environment/bin/python" -m pip --python "$venv/bin/python" install --no-input --disable-pip-version-check \
    --no-deps --no-build-isolation --no-index --editable .
  printf '%s' "$want" >"$stamp"
}

python=$(find_python)
prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
extras=(dev postgres)
((with_engine)) && extras+=(engine)
cache=${KVARIUM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kvarium}
mkdir -p "$cache" "$venv" || fail "cannot write to $cache (KVARIUM_CACHE=… puts it elsewhere)"
wanted=$("$python" scripts/requirements.py "${extras[@]}")
pins=(requirements/constraints.txt)
((with_engine)) && pins+=(requirements/torch.txt)
key=env-$({ "$python" -c 'import platform, sys; print(sys.version, sys.base_prefix, platform.machine())'
  printf '%s\n' "$wanted"; cat "${pins[@]}"; } | hash_of)
environment=$cache/$key
with_lock "$cache/$key.lock" make_environment
with_lock "$venv/.lock" make_venv

# --- Node ---------------------------------------------------------------------------------------------------------
make_node_modules() {
  local stamp=node_modules/.kvarium-stamp want
  want="$(node --version) $(cat package.json package-lock.json .npmrc | hash_of)"
  if [[ -f $stamp && $(<"$stamp") == "$want" ]]; then return; fi
  logged "../$venv/npm-ci.log" "npm ci" npm ci --no-audit --no-fund --prefer-offline
  printf '%s' "$want" >"$stamp"
}

if ((with_node)) && [[ -f frontend/package-lock.json ]]; then
  command -v node >/dev/null && command -v npm >/dev/null ||
    fail "node and npm are missing: install Node 20.19 or newer (or --no-node for the Python side alone)"
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
    fail "Node $(node --version) is too old: 20.19 or newer is needed"
  cd frontend
  with_lock "../$venv/.lock" make_node_modules
  cd ..
fi
say "ready: $venv/bin/kvarium ($("$python" -c 'import platform; print("Python", platform.python_version())')$( ((with_engine)) && echo ', with the engine extra' || true))"
