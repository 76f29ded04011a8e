# Everything a newcomer or a CI job runs. `make help` lists it.
# Each target does all the set-up it needs in .venv; nothing outside the repository is changed
# except the model store of `make serve` ($ROTEIRO_HOME, ~/.roteiro by default).

SHELL := /bin/bash -o pipefail
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MODELS ?= .cache/models
TEST_MODELS := $(MODELS)/.fetched
ARGS ?=

export ROTEIRO_TEST_MODELS := $(abspath $(MODELS))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install serve models test lint format types imports check bench clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.dev  ## create .venv with everything for development

serve: $(VENV)/.serve  ## install what is needed, the default model included, and serve it
	@$(BIN)/roteiro model pull smollm2-135m --yes
	@$(BIN)/roteiro serve $(ARGS)

models: $(TEST_MODELS)  ## put the models that the tests use into .cache/models

test: $(VENV)/.dev $(TEST_MODELS)  ## run every test
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.dev  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev  ## ruff: put the format right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev  ## mypy, strict
	$(BIN)/mypy

imports: $(VENV)/.dev  ## import-linter: the layers of docs/architecture.md
	$(BIN)/lint-imports

check: lint types imports test  ## all of the above; what CI runs

bench: $(VENV)/.dev $(TEST_MODELS)  ## list the benchmarks; ARGS="serving --rounds 3" runs one
	$(BIN)/python -m benchmarks $(ARGS)

clean:  ## remove .venv, caches and build output
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist

# ---------------------------------------------------------------------------------------------

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$$($(PYTHON) --version) is too old: Python 3.11 or newer is needed (PYTHON=/path/to/python3)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip

# The one slow step, kept apart so that it is done once: llama.cpp is compiled from source.
$(VENV)/.llama: | $(VENV)/bin/python
	@for tool in gcc g++ cmake; do \
	  command -v $$tool >/dev/null || { echo "$$tool is missing; llama-cpp-python is compiled with gcc, g++ and cmake"; exit 1; }; \
	done
	@echo "Compiling llama-cpp-python. This takes about 5 minutes on two cores, once."
	@$(BIN)/python -m pip install --verbose "llama-cpp-python>=0.3.36" 2>&1 | tee $(VENV)/llama-build.log | \
	  awk 'match($$0, /\[[0-9]+\/[0-9]+\]/) { split(substr($$0, RSTART + 1, RLENGTH - 2), n, "/"); \
	    if (n[1] % 10 == 0 || n[1] == n[2]) { printf "  compiled %d of %d files\n", n[1], n[2]; fflush() } } \
	    /^Successfully installed|^ERROR|[Ee]rror:/ { print "  " $$0; fflush() }' || \
	  { echo "The build failed; its log is $(VENV)/llama-build.log"; exit 1; }
	@touch $@

$(VENV)/.serve: pyproject.toml $(VENV)/.llama
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.llama
	$(BIN)/python -m pip install --quiet --editable '.[all,dev]'
	@touch $@ $(VENV)/.serve

$(TEST_MODELS): tests/fetch_models.py | $(VENV)/.dev
	$(BIN)/python tests/fetch_models.py $(MODELS)
	@touch $@
