#!/usr/bin/env bash
# Every check that runs no test, mypy beside the others, as each of them takes one core at most times. All of them run; the last
# line names those that failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[[ -t 1 ]] && colors=force || colors=off

check() { # NAME COMMAND …
  local name=$1 started=$SECONDS log="$work/${1// /-}.log"
  shift
  if "$@" >"$log" 2>&1; then
    printf 'check: %-16s ok     %2d s\n' "$name" $((SECONDS - started))
  else
    # In one piece: another check may end meanwhile.
    printf 'check: %-16s FAILED %2d s\n%s\n' "$name" $((SECONDS - started)) "$(tail -n 200 "$log")"
    echo "$name" >>"$work/failed"
  fi
}

generated_types() {
  scripts/generate-types.sh "$work/generated" || return 1
  local part
  for part in ledger store; do
    diff -ru "frontend/src/$part/generated" "$work/generated/$part/generated" ||
      { echo "frontend/src/$part/generated is out of date: make types"; return 1; }
  done
}

# The lock names no registry's host, so that any mirror serves.
lock_addresses() { ! grep -nE '"resolved"' frontend/package-lock.json; }

check mypy .venv/bin/mypy &
check ruff .venv/bin/ruff check .
check "ruff format" .venv/bin/ruff format --check --diff .
check lint-imports .venv/bin/lint-imports --no-logo
check "generated types" generated_types
check "sql guide" .venv/bin/python scripts/sql_guide.py --check
check biome bash -c "cd frontend && npx biome ci --colors=$colors ."
check tsc bash -c 'cd frontend && npx tsc --noEmit'
check "npm lock" lock_addresses

wait
if [[ -s $work/failed ]]; then
  printf 'check: FAILED: %s\n' "$(paste -sd ' ' "$work/failed")" >&2
  exit 1
fi
