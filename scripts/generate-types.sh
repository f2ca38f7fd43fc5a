#!/usr/bin/env bash
# Writes what the page has from Python into a folder that is as frontend/src: the ledger's schema, constants and types, and
# the types of the answers: scripts/generate-types.sh DIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:?usage: scripts/generate-types.sh DIR}
ledger=$folder/ledger/generated
answers=$folder/store/generated
mkdir -p "$ledger" "$answers"
.venv/bin/python -m kvarium_ledger.schema --out "$ledger"
node frontend/scripts/generate-types.mjs kvarium_ledger "$ledger/schema.json" "$ledger/types.ts"
schema=$(mktemp)
trap 'rm -f "$schema"' EXIT
.venv/bin/python -m kvarium.why.schema >"$schema"
node frontend/scripts/generate-types.mjs kvarium.why "$schema" "$answers/answers.ts"
