# Every verb does its own set-up: Python 3.11 or newer with venv and pip is all a machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORE := .venv-core
CORE_STAMP := $(CORE)/.installed
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-long test-core lint docs bench figures clean

demo: $(STAMP)
	$(BIN)/blindcal demo

test: $(STAMP) lint test-core
	$(BIN)/python -m pytest -n 2

test-long: $(STAMP) lint test-core
	BLINDCAL_LONG=1 $(BIN)/python -m pytest -n 2

# The built wheel with nothing but the core dependencies (and a test runner).
test-core: $(CORE_STAMP)
	$(CORE)/bin/python -m pytest -m "not edge" -p no:cacheprovider tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/python -m blindcal.cli.reference docs/cli.md

bench: $(STAMP)
	for script in bench/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

figures: $(STAMP)
	for script in studies/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

$(STAMP): requirements/core.txt requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(CORE_STAMP): $(STAMP) $(shell find src -name '*.py')
	rm -rf dist && $(BIN)/python -m build --quiet --wheel --no-isolation .
	test -d $(CORE) || $(PYTHON) -m venv $(CORE)
	$(CORE)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/core.txt -r requirements/core-test.txt
	$(CORE)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall dist/*.whl
	touch $@

clean:
	rm -rf $(VENV) $(CORE) dist build demo-out
