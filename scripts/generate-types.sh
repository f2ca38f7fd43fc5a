#!/usr/bin/env bash
# Writes the ledger's schema, constants and TypeScript types into a folder: scripts/generate-types.sh DIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:?usage: scripts/generate-types.sh DIR}
mkdir -p "$folder"
.venv/bin/python -m kvarium_ledger.schema --out "$folder"
node frontend/scripts/generate-types.mjs "$folder"
