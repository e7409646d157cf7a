# `make` alone lists what there is. Needs Python 3.11+, pip and make; everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
WORKERS ?= 2
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
EXTRAS := analyst,fast,frames,parquet,service,plot,docs,dev
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1  # processes share the cores by tests, not by matrix products
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help setup locked lock sbom demo test lint format types contract docs check bench reproduce nightly mutants clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(STAMP) ## build .venv with the pinned versions

# hatchling goes in first so that the package builds with the pinned one instead of a fresh isolated environment.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "coterie needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt hatchling editables
	$(PIP) install -c constraints.txt --no-build-isolation -e '.[$(EXTRAS)]'
	@touch $@

locked: ## build .venv from requirements.lock: files with these hashes, or none
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $(STAMP)

lock: setup ## write requirements.lock anew from constraints.txt
	$(BIN)/python tools/supply_chain.py lock

sbom: setup ## write the bill of materials, sbom.cdx.json (CycloneDX)
	$(BIN)/python tools/supply_chain.py sbom

demo: setup ## cluster 200,000 simulated people privately and write a page about it
	$(BIN)/coterie demo

test: setup ## run the tests, WORKERS at a time
	$(ONE_THREAD) $(BIN)/pytest -n $(WORKERS) --dist worksteal

lint: setup ## style of the code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup ## rewrite the code in its style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup ## mypy, strict
	$(BIN)/mypy

contract: setup ## which room may import which
	$(BIN)/lint-imports

docs: setup ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

check: lint types contract docs ## everything a change must pass; the tests come last
	@$(MAKE) --no-print-directory test

bench: setup ## every promised figure, results under benchmarks/results (hours; resumes); WORKERS=processes
	$(BIN)/python -m benchmarks --workers $(WORKERS)

reproduce: setup ## the paper's experiments into docs/reproduction (resumes); WORKERS=processes
	$(BIN)/python -m benchmarks reproduction --workers $(WORKERS)

nightly: setup ## the tests that are too long for every change, too
	$(ONE_THREAD) $(BIN)/pytest -m '' -n $(WORKERS) --dist worksteal

mutants: setup ## small wrong changes of the source that tests must notice (hours; resumes); ROOM=, SAMPLE=
	$(BIN)/python -m tools.mutants named --workers $(WORKERS)
	$(BIN)/python -m tools.mutants run --workers $(WORKERS) $(addprefix --room ,$(ROOM)) $(addprefix --sample ,$(SAMPLE))

clean: ## remove what make built
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
