# Every target sets up .venv by itself when it is missing or older than what it is made from.
PYTHON ?= python3
BIN := .venv/bin
# What `acyclic[cli]` needs, which is all that the demo takes, and on top of it what the tests and linters need.
READY := .venv/ready
DEV := .venv/ready-dev
SITE := .venv/ready-docs
SOURCES := pyproject.toml pins.txt hatch_build.py src/acyclic/_native/build.py $(wildcard src/acyclic/_native/*.[ch] src/acyclic/_native/*/*.c)
# $(call pinned,FILE) holds pip to these versions, in what it builds in isolation too: the second name is for new pips.
pinned = PIP_CONSTRAINT=$(1) PIP_BUILD_CONSTRAINT=$(1)
PINNED := $(call pinned,pins.txt)
INSTALL := -m pip install --quiet --disable-pip-version-check
# An environment that is thrown away need not have everything compiled, only what is imported.
TRY := $(INSTALL) --no-compile
# One BLAS thread per test process: two processes on two cores are faster than threads that wait for each other.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST := $(BIN)/python -m pytest -q
# Two processes; one that is done takes over from the other.
TWO := -n 2 --dist worksteal
# A shell that forbids bytecode would have each of the many processes of the tests compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: agreement demo docs test test-gallery test-fast test-cpus test-floors test-package test-example wheels release-check \
  sanitize lint format bench reproduce figures handoff screenshots clean

demo: $(READY)
	@$(BIN)/acyclic datasets sachs --out build/sachs --force --quiet
	@$(BIN)/acyclic learn build/sachs/table.csv --log all --bootstrap 50 --audit --title "Sachs et al. 2005" --out build/sachs-graph --force

# What stands on the pages of the site is run by test-gallery.
test: $(DEV)
	$(ONE_THREAD) $(PYTEST) $(TWO) --ignore=tests/docs

# For the person at work: no neural networks, browsers, clusters, experiments, other processes, hostile corpora or long
# statistics.
test-fast: $(DEV)
	$(ONE_THREAD) $(PYTEST) $(TWO) -m 'not slow' tests

# OpenBLAS plays these CPUs: each rounds in its own way, and answers must not depend on it. Left out is what no CPU
# computes in a way of its own: graphs, formats, files, words. Threads share out the work in one way on all of them.
CPUS := Prescott Nehalem Sandybridge Haswell $(if $(shell grep -s -m1 avx512f /proc/cpuinfo),SkylakeX)
NUMERICAL := $(addprefix tests/,agreement constraints continuous discrete judging/test_judge.py learners scores trust \
  $(addprefix data/test_,missing.py moments.py resampling.py simulate.py table.py) test_learning.py)

test-cpus: $(DEV) $(addprefix test-on-,$(CPUS))
	OPENBLAS_NUM_THREADS=2 OMP_NUM_THREADS=2 $(PYTEST) -m 'not slow' $(NUMERICAL)

test-on-%: $(DEV)
	OPENBLAS_CORETYPE=$* $(ONE_THREAD) $(PYTEST) $(TWO) -m 'not slow' $(NUMERICAL)

# Every learner on all 210 tables whose graphs are stored.
agreement: $(DEV)
	ACYCLIC_AGREEMENT=all $(ONE_THREAD) $(PYTEST) $(TWO) tests/agreement

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs src examples benchmarks

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV)
	$(ONE_THREAD) $(BIN)/python benchmarks/constraints.py
	$(ONE_THREAD) $(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/learn.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/confidence.py
	$(ONE_THREAD) $(BIN)/python benchmarks/exact.py

# Every figure and table of the paper in its short form, which is a matter of days without --quick; and a sample of
# the committed fits, computed again: do the pages still say what the program finds?
reproduce: $(DEV)
	$(BIN)/acyclic reproduce all --quick --jobs 2 --out build/reproduction
	$(BIN)/acyclic reproduce all --check 1min --jobs 2 --from docs/reproduction/results.parquet --out build/rechecked

# docs/reproduction.md, its tables, and its figures in docs/reproduction/figures, from the rows that are committed.
figures: $(DEV)
	$(BIN)/acyclic reproduce all --draw --from docs/reproduction/results.parquet --out docs/reproduction
	$(BIN)/python docs/fill_reproduction.py

# The site in build/docs, from nothing but this tree. Pages whose text and package are as before are not run again.
docs: $(SITE) build/figures/summary.md
	$(BIN)/python docs/site_builder.py

# The figures of the reproduction, for the site; they change with the rows that they are drawn from.
build/figures/summary.md: docs/reproduction/results.parquet | $(SITE)
	$(BIN)/acyclic reproduce all --draw --from $< --out $(@D) --quiet
	touch $@

# Every example of the gallery as a notebook, which asserts what it shows, and every page of the site.
test-gallery: $(SITE)
	$(ONE_THREAD) $(PYTEST) $(TWO) tests/docs

# Needs Debian's chromium, as the browser tests do.
screenshots: $(DEV)
	$(BIN)/python docs/make_screenshots.py

$(READY): $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PINNED) $(BIN)/python $(INSTALL) -e '.[cli]'
	touch $@

$(DEV): $(READY)
	$(PINNED) $(BIN)/python $(INSTALL) -e '.[dev]'
	$(BIN)/python src/acyclic/_native/build.py --wasm
	touch $@

$(SITE): $(DEV)
	$(PINNED) $(BIN)/python $(INSTALL) -e '.[docs]'
	touch $@

# Needs gcc. Python itself leaks at exit by intent, so that leaks.c counts those of the kernels; libstdc++ comes with
# libasan because extension modules throw exceptions of C++ through it.
SANITIZED := build/sanitized
UNDER_ASAN := ACYCLIC_KERNELS=$(SANITIZED)/kernels.so ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)"

sanitize: $(DEV)
	CC=gcc ACYCLIC_STRICT=1 $(BIN)/python src/acyclic/_native/build.py --sanitize $(SANITIZED)/kernels.so
	gcc -std=c11 -g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all \
	  -Itests/native -Isrc/acyclic/_native -include tests/native/counted.h \
	  src/acyclic/_native/*.c tests/native/leaks.c -o $(SANITIZED)/leaks -lm
	$(SANITIZED)/leaks
	$(UNDER_ASAN) $(ONE_THREAD) $(BIN)/python tests/native/fuzz.py 1000
	$(UNDER_ASAN) $(ONE_THREAD) $(BIN)/python -m pytest -q tests/native tests/scores/test_blocks.py tests/discrete/test_selection.py \
	  tests/discrete/test_order.py tests/discrete/test_search.py tests/discrete/test_exact.py tests/scores/test_regression.py

# The lowest versions that pyproject.toml declares. Not torch: its old wheels bring gigabytes of CUDA along.
FLOORS := build/floors
EXTRAS := cli,cluster,graphs,metrics,plot

test-floors:
	rm -rf $(FLOORS)
	$(PYTHON) -m venv $(FLOORS)
	$(PYTHON) .ci/floors.py $(EXTRAS) > $(FLOORS)/floors.txt
	$(call pinned,$(FLOORS)/floors.txt) $(FLOORS)/bin/python $(TRY) '.[$(EXTRAS)]'
	cd $(FLOORS) && bin/python ../../.ci/smoke.py ../../README.md

# The wheel, installed where nothing else is, and then the source archive in its place: that one is built in isolation.
PACKAGE := build/package

test-package: $(DEV)
	rm -rf $(PACKAGE)
	ACYCLIC_LIVE=1 $(BIN)/python -m build --no-isolation --outdir $(PACKAGE) .
	$(PYTHON) -m venv $(PACKAGE)/venv
	$(PINNED) $(PACKAGE)/venv/bin/python $(TRY) "$$(echo $(PACKAGE)/*.whl)[cli]"
	cd $(PACKAGE) && venv/bin/python ../../.ci/smoke.py ../../README.md
	$(PINNED) $(PACKAGE)/venv/bin/python $(TRY) --force-reinstall --no-deps $(PACKAGE)/*.tar.gz
	cd $(PACKAGE) && venv/bin/python ../../.ci/smoke.py ../../README.md

# The package that shows how to add methods, installed into a folder of its own that only its tests see.
EXAMPLE := build/example

test-example: $(DEV)
	rm -rf $(EXAMPLE)
	$(PINNED) $(BIN)/python $(INSTALL) --no-deps --target $(EXAMPLE) ./examples/acyclic-example
	PYTHONPATH=$(EXAMPLE) $(ONE_THREAD) $(PYTEST) -c /dev/null examples/acyclic-example/tests

# Wheels for old and other Linux systems, from the source archive; auditwheel holds their tags to what they need.
DIST := dist
VERSION = $$($(BIN)/python -c 'import acyclic; print(acyclic.__version__)')

wheels: $(DEV)
	rm -rf $(DIST)
	$(PINNED) $(BIN)/python -m build --sdist --outdir $(DIST) .
	$(BIN)/python .ci/wheels.py $(DIST)/acyclic-$(VERSION).tar.gz $(DIST)

# What has to hold before a release: archives that a registry takes, and that work with every Python found.
release-check: wheels
	$(BIN)/python -m twine check --strict $(DIST)/*
	$(BIN)/python .ci/release.py $(DIST)

# DoWhy holds SciPy back: it has an environment of its own, which pgmpy shares.
HANDOFF := build/handoff-venv

handoff: $(HANDOFF)/ready
	$(ONE_THREAD) $(HANDOFF)/bin/python tests/handoff/check_handoff.py

$(HANDOFF)/ready: $(SOURCES)
	test -x $(HANDOFF)/bin/python || $(PYTHON) -m venv $(HANDOFF)
	$(HANDOFF)/bin/python $(INSTALL) dowhy==0.14 pgmpy==1.1.2 -e .
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/acyclic/_native/kernels.*
