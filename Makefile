# Every verb does its own set-up: Python 3.11 or newer with pip is all a machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.runs
STAMP := $(VENV)/.installed
CORE := .venv-core
CORE_STAMP := $(CORE)/.installed
WHEEL := .venv-wheel
LIVE := .venv-pretalx .venv-openreview
LIVE_STAMPS := $(LIVE:=/.installed)
PIP := -m pip install --quiet --disable-pip-version-check --no-input --no-compile
# The test modules' own assertions are kept under -O; pytest warns about all others, and ours have none.
# The variable, and not -O itself, reaches the worker processes of the tests.
OPTIMIZED := -m pytest -W "ignore:assertions not in test modules"
WORKERS ?= 2
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Thousands of processes load the same modules: each is compiled once, and nothing of it lies among the sources.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/bytecode

.PHONY: demo test test-long test-core test-edge test-optimized test-machines coverage lint hooks docs bench figures package libreoffice browser clean

demo: $(RUN_STAMP)
	$(BIN)/blindcal demo

test: lint test-core test-edge test-optimized test-machines

# What an auditor sees, once more as other kinds of machines compute it: narrower kernels of OpenBLAS, and numpy
# without its wider instructions (tests/machines.py says which of them this machine can play). How often something
# happens in simulated worlds says nothing more there.
MACHINES := tests/planning/test_calibration_check.py tests/certify/test_claims.py tests/planning/test_conference_plan.py \
  tests/deciding/test_decide.py tests/test_verification.py tests/platforms/test_archive.py \
  tests/posterior/test_this_year_evidence.py -k "not (seldom or mostly or frequencies or simulated)"
test-machines: $(CORE_STAMP)
	for kind in $$($(CORE)/bin/python tests/machines.py others); do echo "== as $$kind"; \
	  env $$($(CORE)/bin/python tests/machines.py settings $$kind) $(BIN)/python -m pytest -n $(WORKERS) \
	  --dist worksteal -p no:cacheprovider $(MACHINES) || exit 1; done

# The same tests with the larger counts, those against live conference systems, and all of them once more
# under python -O, and as other kinds of machines.
test-long: lint libreoffice $(LIVE_STAMPS)
	BLINDCAL_LONG=1 $(MAKE) test-core test-edge
	$(MAKE) test-optimized REFUSALS=
	$(MAKE) test-machines MACHINES='-m "not edge" tests'

# The built wheel with nothing but the core dependencies (and a test runner).
test-core: $(CORE_STAMP)
	BLINDCAL_WHEEL=1 $(CORE)/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not edge" -p no:cacheprovider tests

# The built wheel with every extra: command line, documentation, sweeps, comparisons, and its doctests.
test-edge: $(CORE_STAMP) browser
	BLINDCAL_WHEEL=1 PYTHONPATH=$(CURDIR)/$(WHEEL) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal \
	  -m edge tests $(WHEEL)/blindcal

REFUSALS := -k "refuse or refused or bad or guard"
test-optimized: $(CORE_STAMP)
	PYTHONOPTIMIZE=1 $(CORE)/bin/python $(OPTIMIZED) -n $(WORKERS) --dist worksteal -m "not edge" -p no:cacheprovider $(REFUSALS) tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# ruff and mypy before every commit, from this environment.
hooks: $(STAMP)
	$(BIN)/pre-commit install

# Measured, not gated: what the tests reach of each floor. coverage.json has every line.
coverage: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report json:coverage.json tests src
	$(BIN)/python bench/covered.py coverage.json

# The page of commands and what pages quote, then all pages as a site to read offline: build/site/index.html.
docs: $(STAMP)
	$(BIN)/python tools/cli_reference.py docs/reference/cli.md
	$(BIN)/python tools/quotes.py
	$(BIN)/python tools/certificate_schema.py
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site

bench: $(STAMP)
	for script in bench/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Studies into a folder of their own, all of them or ONLY="frontiers drawings"; OUT=docs publishes.
OUT ?= build/docs
ONLY ?= $(filter-out stated,$(basename $(notdir $(wildcard studies/*.py))))
figures: $(STAMP)
	for study in $(ONLY); do echo "== $$study"; \
	  BLINDCAL_OUT=$(if $(filter docs,$(OUT)),,$(OUT)) $(BIN)/python studies/$$study.py || exit 1; done

# What a release consists of: dist/ with the source archive and the wheel that is built from it, as an index would
# take them.
package: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --no-isolation .
	$(BIN)/python -m twine check --strict dist/*

# One test opens a written table in LibreOffice; it is left out where there is none.
libreoffice:
	command -v soffice || { test "$$(id -u)" = 0 && apt-get update -qq && \
	  apt-get install -y -qq --no-install-recommends libreoffice-calc-nogui; } || \
	  echo "no LibreOffice: one test is left out"

# Tests of pages open them in Chromium: one that is installed, else Debian's.
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
	  command -v google-chrome-stable || { test "$$(id -u)" = 0 && command -v apt-get && apt-get update -qq && \
	  apt-get install -y -qq --no-install-recommends chromium poppler-utils; } || \
	  { echo "no Chromium: install it (as root: apt-get install chromium) and run this again"; exit 1; }

# What a user needs, which is soon there; then what a developer needs besides.
$(RUN_STAMP): requirements/core.txt requirements/cli.txt pyproject.toml
	$(call venv,$(VENV))
	$(BIN)/python $(PIP) --require-hashes -r requirements/cli.txt
	$(BIN)/python $(PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(STAMP): $(RUN_STAMP) requirements/dev.txt
	$(BIN)/python $(PIP) --require-hashes -r requirements/dev.txt
	touch $@

$(CORE_STAMP): $(STAMP) requirements/core-test.txt $(shell find src -type f -not -name '*.pyc')
	rm -rf dist $(WHEEL)
	$(BIN)/python -m build --wheel --no-isolation . > /dev/null
	test -d $(CORE) || { $(call venv,$(CORE)); }
	$(CORE)/bin/python $(PIP) --require-hashes -r requirements/core.txt -r requirements/core-test.txt
	$(CORE)/bin/python $(PIP) --no-deps --force-reinstall dist/*.whl
	$(CORE)/bin/python $(PIP) --no-deps --target $(WHEEL) dist/*.whl
	touch $@

# Conference systems that PyPI has, each in an environment of its own: the tests in tests/live find them there.
$(LIVE_STAMPS): .venv-%/.installed: requirements/%.txt
	$(call venv,.venv-$*)
	.venv-$*/bin/python $(PIP) --require-hashes -r $<
	touch $@

# Debian's Python may lack ensurepip; its pip can then put a pip into the new environment.
define venv
$(PYTHON) -c 'import sys; sys.exit("blindcal needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)' && \
{ $(PYTHON) -m venv $(1) || { $(PYTHON) -m venv --clear --without-pip $(1) && \
  $(PYTHON) -m pip --python $(1)/bin/python install --quiet pip; }; }
endef

clean:
	rm -rf $(VENV) $(CORE) $(WHEEL) $(LIVE) dist build demo-out demo-out.key* .coverage coverage.json
