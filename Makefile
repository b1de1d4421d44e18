# make demo   sets everything up and shows the main job on built-in data
# make test   sets everything up and runs every test
# make check  lint, types and the fast tests
# make fuzz   asks every law of the tests about fresh examples; thousands of hostile inputs, hundreds of kills
# make gallery  audits real shopping data and a twin of call records: two reports in gallery/
# make bench  measures time and memory against rivals (half an hour) and rewrites docs/performance.md
# make docs   builds the site: site/index.html
# make dist   builds the packages, and tries the wheel in an environment of its own
# make picture  draws docs/demo.svg anew
# make notebooks  runs the notebooks in examples/ and stores what they show
# make decision  runs the commands of docs/decision.md and writes what they print

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
INSTALLED := $(VENV)/.installed
READY  := $(VENV)/.ready
PARALLEL := --numprocesses 2 --dist loadgroup
KERNELS := $(wildcard src/habitprint/*.py) \
  $(shell find $(addprefix src/habitprint/,weighing matching mechanisms markov) -name '*.py')

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fuzz lint format browser java gallery bench docs dist picture notebooks decision clean

help:
	@sed -n 's/^# //p' Makefile

# Debian splits venv from python3: where it is missing, try to install it, and say so if that fails.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  (apt-get update && apt-get install -y python3-venv) \
	  || { echo "Python's venv module is missing: install the package python3-venv, then run make again."; exit 1; }; \
	  $(PYTHON) -m venv $(VENV); }

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt pip
	$(PIP) install --quiet --constraint constraints.txt --build-constraint constraints.txt \
	  --editable . --group test --group lint
	@touch $@

# Compile the kernels once, so that no first command waits for the compiler; and again when one of the files that they
# are made of has changed, which numba does not always notice.
$(READY): $(INSTALLED) $(KERNELS)
	@find src -name '*.nb[ic]' -delete
	$(BIN)/python -m habitprint.compile
	@touch $@

setup: $(READY)

demo: $(READY)
	$(BIN)/habitprint demo

test: $(READY) lint browser java
	$(BIN)/python -m pytest $(PARALLEL)

check: $(READY) lint
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" --hypothesis-profile quick

# The seed is printed, so that what it finds can be found again: make fuzz FUZZ_SEED=…
FUZZ_SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
fuzz: export FUZZ_SEED := $(FUZZ_SEED)
fuzz: export FUZZ_INPUTS ?= 10000
fuzz: export FUZZ_KILLS ?= 200
fuzz: export FUZZ_TALLY := $(VENV)/fuzz-tally
fuzz: $(READY)
	@rm -f $(FUZZ_TALLY)
	@echo "seed $(FUZZ_SEED): $(FUZZ_INPUTS) inputs, $(FUZZ_KILLS) kills"
	$(BIN)/python -m pytest $(PARALLEL) -m hypothesis --hypothesis-profile fuzz
	$(BIN)/python -m pytest $(PARALLEL) tests/fuzz tests/faults
	@$(BIN)/python tests/fuzz/tally.py $(FUZZ_TALLY)

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The report is tested in a real browser. Where none can be installed, one line says so, and those tests are left out.
browser:
	@scripts/install-browser || true

# What runs on Spark is tested on one, which is made of Java. The same holds.
java:
	@scripts/install-java || true

gallery: $(READY)
	$(BIN)/python scripts/gallery.py gallery

bench: $(READY)
	$(PIP) install --quiet --constraint constraints.txt --group bench
	$(BIN)/python benchmarks/run.py

gallery/calls/report.html:
	$(MAKE) gallery

docs: $(READY) gallery/calls/report.html
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

notebooks: $(READY)
	$(BIN)/python scripts/notebooks.py

decision: $(READY)
	$(BIN)/python scripts/decision.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
