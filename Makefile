# `make` lists what there is. Everything runs on a fresh clone: each target makes the environment it needs.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup build model light screenshots demo test test-all check types lock format clean test-frontend

# make ENGINE=0 …: without torch and transformers, and so without a model; all else works.
ENGINE ?= 1
MODEL := smollm2-135m
ifneq ($(filter 0 no false off,$(ENGINE)),)
SETUP := scripts/setup.sh --no-engine
DEMO := demo --runner null
else
SETUP := scripts/setup.sh
FETCH := .venv/bin/kvarium models fetch $(MODEL)
DEMO := demo
endif
FRONTEND_SOURCES := $(shell find frontend/src frontend/public frontend/index.html frontend/package-lock.json \
	frontend/vite.config.ts frontend/vite.page.config.ts frontend/tsconfig.json -type f 2>/dev/null)
# More arguments for pytest: make test PYTEST_ARGS="-k pool -x"
PYTEST_ARGS ?=

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

setup: ## .venv (with torch, unless ENGINE=0) and frontend/node_modules; a second time it takes a second
	@$(SETUP)

backend/kvarium/static/index.html: $(FRONTEND_SOURCES)
	@cd frontend && npm run --silent build -- --logLevel warn
	@touch $@

# The page that an export puts a recording into: one file, with script and style in it.
backend/kvarium/exported/index.html: $(FRONTEND_SOURCES)
	@cd frontend && npm run --silent build:page -- --logLevel warn
	@touch $@

build: setup ## the front end, into backend/kvarium/static, and the page of exports beside it
	@$(MAKE) --no-print-directory --silent backend/kvarium/static/index.html backend/kvarium/exported/index.html

model: setup ## the model of the demo and of the tests, into the user's cache
	@$(FETCH)

demo: build model ## a small model on a paged engine, a server and a page that shows it
	@.venv/bin/kvarium $(DEMO)

# The tests that need no torch run where there is none, so that it shows.
light:
	@scripts/setup.sh --no-engine --no-node --venv .venv-light

test: setup light check test-frontend model ## checks, front-end tests, Python tests and browser tests, in minutes
	@scripts/test.sh --size small $(PYTEST_ARGS)

# The front end's tests read their size there, too.
test-all: export KVARIUM_TEST_SIZE := full
test-all: setup light check test-frontend model ## the same with the large and slow tests, and an install into a clean environment
	@scripts/test.sh --size full $(PYTEST_ARGS)

test-frontend: build
	@[[ -t 1 ]] || export NO_COLOR=1; cd frontend && npm run --silent test

check: setup ## style, types, generated code, import rules
	@scripts/check.sh

format: setup ## let ruff and Biome rewrite what they can
	@.venv/bin/ruff check --fix --quiet . || true
	@.venv/bin/ruff format --quiet .
	@cd frontend && npx biome check --write .

types: setup ## the page's types of the ledger and of the answers from Python, the screen's guide to SQL from docs/sql.md, docs/keys.md from the keys
	@scripts/generate-types.sh frontend/src
	@.venv/bin/python scripts/sql_guide.py
	@cd frontend && npx vitest run src/store/commands.test.ts --update >/dev/null

lock: ## resolve every version anew: requirements/constraints.txt and frontend/package-lock.json
	@$${PYTHON:-python3} scripts/lock.py
	@cd frontend && npm update --package-lock-only --no-audit --no-fund

screenshots: build model ## docs/screenshots, from a real engine and a real browser
	@.venv/bin/python scripts/screenshots.py

clean: ## what was built here (the environments in the user's cache stay)
	@rm -rf .venv .venv-light dist build test-results backend/kvarium/static backend/kvarium/exported frontend/node_modules frontend/dist \
		.pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find engine backend tests scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
