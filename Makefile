# Every target sets up .venv by itself when it is missing or older than what it is made from.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
# One BLAS thread per test process: two processes on two cores are faster than threads that wait for each other.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
SOURCES := $(wildcard src/acyclic/_native/*.c)

.PHONY: demo test lint format bench reproduce handoff screenshots clean

demo: $(READY)
	@$(BIN)/acyclic datasets sachs --out build/sachs --force --quiet
	@$(BIN)/acyclic learn build/sachs/table.csv --log all --bootstrap 50 --audit --out build/sachs-graph --force

test: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n 2

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(ONE_THREAD) $(BIN)/python benchmarks/constraints.py
	$(ONE_THREAD) $(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/learn.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/confidence.py

# Every figure and table of the paper in its short form; without --quick it is a matter of days.
reproduce: $(READY)
	$(BIN)/acyclic reproduce all --quick --jobs 2 --out build/reproduction

# Needs Debian's chromium, as the browser tests do.
screenshots: $(READY)
	$(BIN)/python docs/make_screenshots.py

$(READY): pyproject.toml pins.txt hatch_build.py $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c pins.txt -e '.[dev]'
	touch $@

# DoWhy holds SciPy back: it has an environment of its own, which pgmpy shares.
HANDOFF := build/handoff-venv

handoff: $(HANDOFF)/ready
	$(ONE_THREAD) $(HANDOFF)/bin/python tests/handoff/check_handoff.py

$(HANDOFF)/ready: pyproject.toml hatch_build.py $(SOURCES)
	test -x $(HANDOFF)/bin/python || $(PYTHON) -m venv $(HANDOFF)
	$(HANDOFF)/bin/python -m pip install --quiet --disable-pip-version-check dowhy==0.14 pgmpy==1.1.2 -e .
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/acyclic/_native/kernels.*
