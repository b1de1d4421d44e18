# make demo       installs habitprint and shows its main task on built-in data: a story, and an audit with its report
# make setup      installs everything for developers: habitprint, compiled, with its tests and linters
# make check      runs lint, types and the fast tests, in at most 90 seconds
# make test       runs lint, types and the tests, in at most ten minutes on two cores
# make nightly    runs long tests: every case of long laws, more examples, kills, hostile inputs, notebooks, the site
# make golden     writes the stored audit that tests and examples read
# make fuzz       tests every law on fresh examples, with thousands of hostile inputs and hundreds of kills
# make gallery    audits real shopping data and synthetic call records, and writes two reports into gallery/
# make bench      measures time and memory against rivals (half an hour) and rewrites docs/performance.md
# make docs       builds the site: site/index.html
# make dist       builds the packages, and tests the wheel in an environment of its own
# make picture    draws docs/demo.svg again
# make notebooks  runs the notebooks in examples/ and stores their output
# make decision   runs the commands of docs/decision.md and stores their output

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
INSTALLED := $(VENV)/.installed
READY  := $(VENV)/.ready
TOOLS  := $(VENV)/.tools
DEMO   := habitprint-demo
PARALLEL := --numprocesses 2 --dist loadgroup
KERNELS := $(wildcard src/habitprint/*.py) \
  $(shell find $(addprefix src/habitprint/,weighing matching mechanisms markov) -name '*.py') \
  src/habitprint/auditing/posterior.py

# Without compiled modules, every command spends three seconds more on its imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test tests check nightly golden fuzz lint format browser java gallery bench docs dist picture notebooks decision clean

help:
	@sed -n 's/^# //p' Makefile

# Debian splits venv from python3: where it is missing, try to install it, and say so if that fails.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  (apt-get update && apt-get install -y python3-venv) \
	  || { echo "Python's venv module is missing: install the package python3-venv, then run make again."; exit 1; }; \
	  $(PYTHON) -m venv $(VENV); }

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing habitprint into $(VENV)"
	$(PIP) install --quiet --constraint constraints.txt pip
	$(PIP) install --quiet --constraint constraints.txt --build-constraint constraints.txt --no-compile --editable .
	@touch $@

$(TOOLS): $(INSTALLED)
	@echo "installing what tests and linters need"
	$(PIP) install --quiet --constraint constraints.txt --group test --group lint
	@touch $@

# Compile the kernels once, so that no first command waits for the compiler; and again when one of the files that they
# are made of has changed, which numba does not always notice.
$(READY): $(INSTALLED) $(KERNELS)
	@find src -name '*.nb[ic]' -delete
	@echo "compiling the kernels: once, for half a minute"
	$(BIN)/python -m habitprint.compile
	@touch $@

setup: $(READY) $(TOOLS)

# The folder is the demo's own: what an earlier one wrote there is replaced, and nothing else.
demo: $(READY)
	$(BIN)/habitprint demo
	@mkdir -p $(DEMO)
	$(BIN)/habitprint datasets make cdr --users 2000 --out $(DEMO)/calls.parquet --force
	$(BIN)/habitprint audit $(DEMO)/calls.parquet --weeks 2012-04-09 --out $(DEMO)/audit --force
	@echo "open $(DEMO)/audit/report.html"

# Linters use one core: the tests begin beside them.
test: setup browser java
	@$(MAKE) --no-print-directory --jobs 2 lint tests MARKS="not nightly"

check: setup
	@$(MAKE) --no-print-directory --jobs 2 lint tests MARKS="not slow and not nightly" PROFILE=quick

nightly: setup browser java
	@$(MAKE) --no-print-directory tests MARKS="nightly or hypothesis" PROFILE=nightly

tests: MARKS ?= not nightly
tests: PROFILE ?= habitprint
tests: setup
	$(BIN)/python -m pytest $(PARALLEL) -m "$(MARKS)" --hypothesis-profile $(PROFILE)

golden: $(READY)
	$(BIN)/python scripts/golden.py

# The seed is printed, so that what it finds can be found again: make fuzz FUZZ_SEED=…
FUZZ_SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
fuzz: export FUZZ_SEED := $(FUZZ_SEED)
fuzz: export FUZZ_INPUTS ?= 10000
fuzz: export FUZZ_KILLS ?= 200
fuzz: export FUZZ_TALLY := $(VENV)/fuzz-tally
fuzz: setup
	@rm -f $(FUZZ_TALLY)
	@echo "seed $(FUZZ_SEED): $(FUZZ_INPUTS) inputs, $(FUZZ_KILLS) kills"
	$(BIN)/python -m pytest $(PARALLEL) -m hypothesis --hypothesis-profile fuzz
	$(BIN)/python -m pytest $(PARALLEL) tests/fuzz tests/faults
	@$(BIN)/python tests/fuzz/tally.py $(FUZZ_TALLY)

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The report is tested in a real browser. Where none can be installed, one line says so, and those tests are left out.
browser:
	@scripts/install-browser || true

# What runs on Spark is tested on one, which is made of Java. The same holds.
java:
	@scripts/install-java || true

gallery: setup
	$(BIN)/python scripts/gallery.py gallery

bench: setup
	$(PIP) install --quiet --constraint constraints.txt --group bench
	$(BIN)/python benchmarks/run.py

gallery/calls/report.html:
	$(MAKE) gallery

docs: setup gallery/calls/report.html
	$(PIP) install --quiet --constraint constraints.txt --group docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs site
	@echo "open site/index.html"

dist: $(INSTALLED)
	$(PIP) install --quiet --constraint constraints.txt --group dist
	rm -rf dist
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m build --outdir dist .
	$(BIN)/python scripts/try_wheel.py dist

picture: $(READY)
	$(BIN)/python scripts/picture.py

notebooks: setup
	$(BIN)/python scripts/notebooks.py

decision: setup
	$(BIN)/python scripts/decision.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
