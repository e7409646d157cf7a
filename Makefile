# `make` alone lists what there is. Needs Python 3.11+, pip and make; everything else goes into .venv. `make check`
# needs Spark, Java, Node, Chromium and PostgreSQL besides: pip's and Debian's packages, where they are absent.

PYTHON ?= python3
VENV := .venv
WORKERS ?= 2
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
SPARK := $(VENV)/.spark
EXTRAS := analyst,fast,frames,parquet,service,plot,qr,docs,dev
WEB := clients/web
NPM := npm --prefix $(WEB) --no-fund --no-audit
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal  # the tests share the cores
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help setup locked lock images secrets sbom demo programs serve-demo web quick test lint format types contract docs dist check bench reproduce nightly fuzz mutants clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

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

comma := ,
lock: setup ## write requirements.lock anew from constraints.txt: hashes of all files, for every platform
	printf 'hatchling\neditables\npyspark\n' | $(BIN)/uv pip compile pyproject.toml - $(patsubst %,--extra %,$(subst $(comma), ,$(EXTRAS))) -c constraints.txt \
		--python $(BIN)/python --upgrade --generate-hashes --no-annotate --quiet --custom-compile-command 'make lock' -o requirements.lock
	$(BIN)/python tools/image_locks.py

images: ## write to .env the digests of the images that a container is built from and runs (needs docker)
	@for image in PYTHON_IMAGE=python:3.13-slim POSTGRES_IMAGE=postgres:15; do docker pull -q $${image#*=} >/dev/null && \
		echo "$${image%%=*}=$$(docker image inspect --format '{{index .RepoDigests 0}}' $${image#*=})"; done > .env.new && mv .env.new .env && cat .env

secrets: ## make the secrets that compose.yaml reads from files
	deploy/secrets.sh

sbom: setup ## write the bill of materials, sbom.cdx.json (CycloneDX)
	$(BIN)/python tools/bill.py

# Spark comes as source of 450 MB: once per environment, and only for those who run everything.
$(SPARK): $(STAMP)
	$(PIP) install -c constraints.txt pyspark
	@touch $@

programs: $(SPARK) $(WEB)/build/internal.js ## what `make check` needs besides pip's packages: Spark, Java, Node, Chromium, PostgreSQL
	$(BIN)/python tools/programs.py java chromium initdb

demo: setup ## cluster 200,000 simulated people privately and write a page about it
	$(BIN)/coterie demo

serve-demo: setup ## run a collector, send it 50,000 simulated people through HTTP, decode
	$(BIN)/python -m tools.serve_demo

# npm writes the first file when it has installed what the lock file says.
$(WEB)/node_modules/.package-lock.json: $(WEB)/package-lock.json | $(STAMP)
	$(BIN)/python tools/programs.py node npm
	$(NPM) ci
	@touch $@

$(WEB)/build/internal.js: $(WEB)/node_modules/.package-lock.json $(wildcard $(WEB)/src/*.ts $(WEB)/*.mjs)
	$(NPM) run build

web: $(WEB)/node_modules/.package-lock.json ## the browser client: types, tests, bundle and its size
	$(NPM) test
	$(NPM) run build
	$(NPM) run size

quick: setup ## the tests that take seconds: no service, no network (under a minute on two cores)
	$(PYTEST) -m "not slow and not nightly" tests/unit tests/laws tests/privacy tests/vectors tests/architecture

test: setup ## all tests that need nothing but pip's packages (under five minutes on two cores)
	$(PYTEST)

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

docs: setup ## build the documentation into site/, which opens from a folder
	$(BIN)/python -m tools.site

dist: setup ## build sdist and wheel twice to the same bytes, install every extra into bare environments, test them there
	$(BIN)/python -m tools.dist

check: lint types contract docs web programs ## everything a change must pass; all the tests come last (under fifteen minutes)
	COTERIE_TOOLS=all $(PYTEST)

bench: setup programs ## every promised figure, results under benchmarks/results (hours; resumes); WORKERS=processes
	$(BIN)/python -m benchmarks --workers $(WORKERS)

reproduce: setup ## the paper's experiments into docs/reproduction (resumes); WORKERS=processes
	$(BIN)/python -m benchmarks reproduction --workers $(WORKERS)

nightly: setup programs ## the tests that are too long for every change, too
	COTERIE_TOOLS=all $(PYTEST) -m ""

fuzz: setup ## damaged inputs for every parser, and how many each refused; INPUTS=100000
	$(BIN)/python -m tests.laws.test_fuzz $(INPUTS)

mutants: setup ## small wrong changes of the source that tests must notice (hours): the named ones, and SAMPLE= others, ROOMS=
	$(BIN)/python -m tools.mutants named
	test -e .mutants/costs.json || $(BIN)/python -m tools.mutants record
	$(BIN)/python -m tools.mutants sample $(or $(SAMPLE),40) --workers $(WORKERS) $(addprefix --rooms ,$(ROOMS))

clean: ## remove what make built
	rm -rf $(VENV) build dist site $(WEB)/node_modules $(WEB)/build $(WEB)/dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
