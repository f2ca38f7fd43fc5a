#!/usr/bin/env bash
# Prints the path of a Chromium for the browser tests; installs one when there is none.
#
#   scripts/chromium.sh          find one, else install one
#   scripts/chromium.sh --find   find one or fail, install nothing
#
# Looked for: $CHROMIUM, a system's chromium-headless-shell (the same browser without a surface of its own, which takes half the
# CPU time), chromium or chrome, Playwright's own. Installed: as root on Debian its `chromium-headless-shell`, elsewhere
# Playwright's (`playwright install chromium`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=.venv/bin/python
[[ -x $python ]] || python=python3

find_one() {
  if [[ -n ${CHROMIUM:-} ]]; then
    [[ -x $CHROMIUM ]] && { echo "$CHROMIUM"; return; }
    echo "chromium: CHROMIUM=$CHROMIUM is not an executable file" >&2
    return 1
  fi
  local name
  for name in chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome; do
    command -v "$name" && return
  done
  "$python" - 2>/dev/null <<'PYTHON'
import os, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    path = playwright.chromium.executable_path
print(path)
sys.exit(not os.access(path, os.X_OK))
PYTHON
}

if path=$(find_one); then
  echo "$path"
  exit 0
fi
if [[ ${1:-} == --find || -n ${CHROMIUM:-} ]]; then exit 1; fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null && apt-cache policy >/dev/null 2>&1; then
  echo "chromium: installing Debian's chromium-headless-shell (apt-get) …" >&2
  export DEBIAN_FRONTEND=noninteractive
  install() { apt-get -qq -y install --no-install-recommends "$1" fonts-dejavu-core; }
  # Another distribution, or an older one, may not have it.
  { apt-get -qq update && { install chromium-headless-shell || install chromium; }; } >"$log" 2>&1 || true
fi
if ! path=$(find_one); then
  echo "chromium: installing Playwright's …" >&2
  timeout 300 "$python" -m playwright install chromium >>"$log" 2>&1 || true
fi
if path=$(find_one); then
  echo "$path"
  exit 0
fi
tail -n 20 "$log" >&2
cat >&2 <<'TEXT'
chromium: FAILED: none found and none could be installed. One of these will do:
  Debian, Ubuntu:  apt-get install chromium-headless-shell   (as root; or chromium)
  elsewhere:       .venv/bin/python -m playwright install --with-deps chromium
  or:              CHROMIUM=/path/to/chromium make test
TEXT
exit 1
