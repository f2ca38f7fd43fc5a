#!/usr/bin/env bash
# The Python tests, the browser tests among them: scripts/test.sh [--size small|full] [pytest arguments]
# The environment and the front end are there already (make test sees to it).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if chromium=$(scripts/chromium.sh); then
  export CHROMIUM=$chromium
elif [[ -n ${CI:-} ]]; then
  exit 1
else
  echo "test: without a browser the browser tests are skipped" >&2
fi
exec .venv/bin/python -m pytest "$@"
