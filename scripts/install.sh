#!/usr/bin/env bash
# Installs kvarium for use (not for development) into an environment of its own, with the tested versions.
#
#   scripts/install.sh [--extra NAME]… [--wheel FILE] DIR
#
# DIR/bin/kvarium is the command. Without --wheel a wheel is built from this tree; its front end is built by npm unless
# backend/kvarium/static is there already. The Dockerfiles run this script, and so do the tests, in a clean environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extras=() wheel='' target=''
while (($#)); do
  case $1 in
    --extra) extras+=("${2:?--extra needs a name}"); shift 2 ;;
    --wheel) wheel=${2:?--wheel needs a file}; shift 2 ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "install: unknown argument $1 (see --help)" >&2; exit 2 ;;
    *) target=$1; shift ;;
  esac
done
[[ -n $target ]] || { echo "install: which folder? scripts/install.sh [--extra NAME]… [--wheel FILE] DIR" >&2; exit 2; }

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  { echo "install: $("$python" --version) is too old: 3.11 or newer is needed (PYTHON=… names another)" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$target"
pip() { "$target/bin/python" -m pip --no-input --disable-pip-version-check "$@"; }

# The constraints hold for the build's own needs too.
export PIP_CONSTRAINT="$PWD/requirements/constraints.txt"
if [[ -z $wheel ]]; then
  pip wheel --quiet --no-deps --wheel-dir "$work" .
  wheel=$(ls "$work"/kvarium-*.whl)
fi
arguments=(-c requirements/constraints.txt)
for extra in ${extras[@]+"${extras[@]}"}; do
  [[ $extra == engine ]] && arguments+=(-c requirements/torch.txt)
done
joined=$(IFS=,; echo "${extras[*]-}")
pip install --quiet "${arguments[@]}" "kvarium${joined:+[$joined]} @ file://$(realpath "$wheel")"
"$target/bin/kvarium" --help >/dev/null
echo "install: $target/bin/kvarium is ready"
