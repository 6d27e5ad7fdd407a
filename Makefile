# The front door. `make demo` and `make test` set up everything they need on a fresh machine.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(VENV)/tools/bin/uv
KERNEL := $(VENV)/.kernel
CRATES := Cargo.toml $(shell find crates -name '*.rs' -o -name 'Cargo.toml')
PACKAGES := src/penstock src/pyspark_jetstream src/pyspark_jetstream_archive
INTEROP := .interop

# Long runs: `make campaign SEED=7 FUZZ_SECONDS=300`
SEED ?= 1
FUZZ_SECONDS ?= 300
ROUNDS ?= 5
KILLS ?= 50
# Tests wait more than they work: files of them run side by side.
WORKERS ?= 2

.PHONY: help need build demo serve test test-rust test-python check docs wheel interop bench campaign clean

help:
	@grep -E '^## ' Makefile | sed 's/^## //'

need:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "penstock needs Python 3.11 or later (looked for: $(PYTHON)); set PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "penstock needs Python's venv module (Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "penstock needs Rust 1.88 or later (cargo was not found on PATH): see rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "penstock needs a C linker for Rust (cc was not found on PATH)" >&2; exit 1; }

# uv comes from PATH if it is there, from PyPI otherwise; it lives beside the environment it makes.
$(UV): | need
	@mkdir -p $(VENV)/tools/bin
	@if command -v uv >/dev/null; then ln -sf "$$(command -v uv)" $(UV); \
	else $(PYTHON) -m venv $(VENV)/tools/uv && $(VENV)/tools/uv/bin/pip install --quiet uv && ln -sf ../uv/bin/uv $(UV); fi

$(VENV)/.packages: pyproject.toml | $(UV)
	@test -x $(BIN)/python || $(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
	@$(UV) pip install --quiet --python $(BIN)/python --compile-bytecode "maturin>=1.9,<2" --group dev
	@touch $@

$(KERNEL): $(VENV)/.packages $(CRATES)
	@echo "building the kernel and installing penstock into $(VENV) ..."
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH="$(CURDIR)/$(VENV)/tools/bin:$$PATH" $(BIN)/maturin develop --release --quiet --uv
	@touch $@

## make demo      a tour of a server, then Spark over what it has stored (ARGS="--once" to end)
demo: build
	@exec $(BIN)/penstock demo $(ARGS)

## make test      every test that must pass (about 25 minutes on two cores)
test: test-rust test-python

test-rust: need
	PROPTEST_RNG_SEED=1 cargo test --workspace --quiet

test-python: build
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

## make build     the environment in .venv, with .venv/bin/penstock
# Compiled ahead: where Python may not write bytecode, every start would compile every module.
build: $(KERNEL)
	@$(BIN)/python -m compileall -q $(PACKAGES)

## make serve     a server on port 4222 (ARGS="-p 4333 -m 8222" for flags)
serve: build
	@exec $(BIN)/penstock serve $(ARGS)

## make check     ruff, mypy, clippy, import contracts, tidy
check: build
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/mypy
	$(BIN)/lint-imports
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/python -m pytest tests/test_tidy.py

## make docs      the documentation in build/site, every link checked
$(VENV)/.docs: pyproject.toml | $(KERNEL)
	@$(UV) pip install --quiet --python $(BIN)/python --group docs
	@touch $@

docs: build $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "build/site/index.html"

## make wheel     a wheel and an sdist in dist/, the wheel tried where no Rust is
wheel: $(VENV)/.packages
	@told=$$($(BIN)/maturin sdist --out dist 2>&1) || { echo "$$told"; exit 1; }
	$(BIN)/maturin build --release --quiet --out dist
	$(PYTHON) tests/packaging/try_wheel.py dist/*.whl

## make interop   get the nats command, nats.go, nats.js and tables that Spark can merge into (network,
##                Go, Node, Java), and test with them
interop: build
	tests/interop/fetch
	$(BIN)/python -m pytest tests/interop tests/docs tests/parity/test_backup.py tests/spark/test_tables_runs.py -rs

## make bench     side by side with nats-server (ROUNDS=5)
bench: build
	$(BIN)/python -m benchmarks --rounds $(ROUNDS)

## make campaign  the long runs (SEED=1 FUZZ_SECONDS=300)
campaign: build
	PROPTEST_RNG_SEED=$(SEED) PROPTEST_CASES=5000 cargo test --release --workspace --quiet
	HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest tests/properties tests/unit tests/conformance/test_duplicate_window.py --hypothesis-seed=$(SEED)
	FUZZ_SECONDS=$(FUZZ_SECONDS) SEED=$(SEED) cargo test --release -p penstock-wire --test fuzz -- --ignored --nocapture
	SEED=$(SEED) PENSTOCK_KILLS=$(KILLS) PENSTOCK_CUTS=10 PENSTOCK_DAMAGES=20 $(BIN)/python -m pytest tests/crash
	SEED=$(SEED) PENSTOCK_SPARK_ROWS=200000 PENSTOCK_SPARK_KILLS=10 PENSTOCK_SPARK_SERVER_KILLS=5 $(BIN)/python -m pytest tests/spark

clean:
	rm -rf $(VENV) $(INTEROP) build dist target
