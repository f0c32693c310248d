# Two commands do everything on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/contextecho
SESSIONS ?= ../shared/sessions
MINUTES ?= 10
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check bench contenders drill fuzz parsers docs lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed: make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# One stamp an environment: core with the embedded model, and the one for development.
$(VENV)/.demo: $(VENV)/bin/python requirements/demo.txt pyproject.toml
	@echo "installing ContextEcho with the embedded model's runtime ..."
	$(PIP) --require-hashes -r requirements/demo.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python requirements/dev.txt pyproject.toml
	@echo "installing ContextEcho with its development tools ..."
	$(PIP) --require-hashes -r requirements/dev.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo ## install and run the main job for real, on this machine
	$(RUN) local install
	$(RUN) demo

test: $(VENV)/.dev ## install and run the quick tests (minutes)
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow and not local and not browser"

test-all: $(VENV)/.dev ## all tests, with the slow ones, the embedded model and the browser
	$(RUN) local install
	$(BIN)/pytest -n 2 -m "not cluster"
	$(BIN)/pytest -x -n 0 -m cluster tests/e2e/test_spread.py

check: $(VENV)/.dev ## format, lint, types, and the contract of the rooms
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev ## speed and memory, each against a named peer, printed as ratios
	$(RUN) local install
	$(BIN)/python -m benchmarks

contenders: ## install what `make bench` compares collecting with, in a place of its own
	$(PYTHON) -m venv .contenders
	.contenders/bin/python -m pip install --quiet --disable-pip-version-check inspect-ai==0.3.285 'openai>=3,<4'

drill: $(VENV)/.dev ## 20,000 calls to a provider on its worst day, killed ten times: is every reply there?
	$(BIN)/python benchmarks/drill.py

$(VENV)/.fuzz: $(VENV)/.dev
	$(PIP) atheris==3.0.0
	@touch $@

fuzz: $(VENV)/.fuzz ## look for bytes that break a reader; seeds: SESSIONS=folder, MINUTES=10, ONLY=pi,spans
	@mkdir -p build/fuzz
	-$(BIN)/pytest -n 2 -q -m "not slow" --basetemp=build/fuzz/built tests/sessions/readers
	cd build/fuzz && $(CURDIR)/$(BIN)/python $(CURDIR)/tests/fuzz/readers.py $(abspath $(SESSIONS)) built $(if $(ONLY),--only=$(ONLY)) -max_total_time=$$(( $(MINUTES) * 60 ))

# Two other parsers of the same files, each in a place of its own; a platform that has no
# binary of ccusage skips its comparison.
PARSERS := .parsers
$(PARSERS)/.installed:
	$(PYTHON) -m venv $(PARSERS)/venv
	$(PARSERS)/venv/bin/python -m pip install --quiet --disable-pip-version-check claude-code-log==1.7.0
	npm install --silent --no-audit --no-fund --prefix $(PARSERS) ccusage@20.0.26 @ccusage/ccusage-linux-x64@20.0.24 || echo "no ccusage here"
	@touch $@

parsers: $(VENV)/.dev $(PARSERS)/.installed ## compare our counts of Claude Code files with two other parsers'
	CLAUDE_CODE_LOG_PYTHON=$(abspath $(PARSERS))/venv/bin/python CCUSAGE=$(abspath $(PARSERS))/node_modules/.bin/ccusage \
		$(BIN)/pytest -m slow tests/sessions/test_agreement.py

docs: $(VENV)/.dev ## build the documentation into site/
	$(BIN)/mkdocs build --strict

lock: ## renew the lock of tested versions
	$(BIN)/uv pip compile -q --universal --exclude-newer "7 days" --generate-hashes --no-annotate --no-header --extra local requirements/build.in pyproject.toml -o requirements/demo.txt
	$(BIN)/uv pip compile -q --universal --exclude-newer "7 days" --generate-hashes --no-annotate --no-header --extra local --extra figures --extra postgres --extra parquet --extra ray --group dev requirements/build.in pyproject.toml -c requirements/demo.txt -o requirements/dev.txt

clean: ## remove the environment and what was built
	rm -rf $(VENV) $(PARSERS) .contenders site dist build
