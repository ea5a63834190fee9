# Every target makes its own .venv when it is missing, and compiles Rust only when Rust changed.
# CARGO_TARGET_DIR, PYTHON and CC are honoured.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

VENV := .venv
PY := $(abspath $(VENV))/bin/python
TOOLS := sh scripts/tools.sh
STAMP := $(VENV)/.stamp
TARGET := $(or $(CARGO_TARGET_DIR),target)
LOCAL := $(VENV)/wheel
RELEASE := dist
# On Linux zig links against an old glibc, so that the wheel installs on systems older than the one that builds it.
PORTABLE := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux_2_17)

# One interpreter for every build: another one would compile the binding anew.
export PYO3_PYTHON := $(PY)
# The caller's Python settings are not the project's.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV MYPYPATH
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

RUST_FILES := $(shell find rust -name target -prune -o \( -name '*.rs' -o -name '*.toml' -o -type d \) -print) \
	Cargo.toml Cargo.lock
PYTHON_FILES := $(shell find python -name __pycache__ -prune -o ! -name '*.so' -print)
PYTHON_CODE := $(wildcard python scripts examples tests benches)
TYPED_CODE := python/retentive scripts $(if $(wildcard examples/*.py),examples)

.PHONY: help demo test lint lint-rust lint-python lint-types lint-dependencies lint-house test-rust test-python soak bench bench-peers count wheel docs format clean need-rust need-lints

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /|/' | while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: $(STAMP)/installed ## Play a conversation of several weeks and show what is remembered
	$(PY) examples/demo.py

test: lint test-rust test-python ## Everything: lint, the Rust tests, the Python and documentation tests on the built wheel

lint: lint-house lint-rust lint-python lint-types lint-dependencies ## Formatters, clippy, ruff, mypy, stubtest, lengths, licences

lint-house: $(STAMP)/tools
	$(PY) scripts/check_lengths.py
	$(PY) scripts/check_words.py

lint-rust: $(STAMP)/tools need-rust need-lints
	$(PY) scripts/check_notice.py
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

lint-python: $(STAMP)/tools
	$(VENV)/bin/ruff check $(PYTHON_CODE)
	$(VENV)/bin/ruff format --check $(PYTHON_CODE)

# Needs what retentive imports, and the module that was built.
lint-types: $(STAMP)/installed
	$(PY) -m mypy $(TYPED_CODE)
	$(PY) -P -m mypy.stubtest retentive._core

# cargo-deny runs where it is installed; without it, check_notice.py has looked at the licences of what is compiled in.
lint-dependencies: $(STAMP)/installed
	$(PY) scripts/check_dependencies.py

test-rust: $(STAMP)/tools need-rust ## The Rust tests
	cargo test --locked --workspace

test-python: $(STAMP)/installed ## The Python and documentation tests, on the built wheel; ARGS= goes to pytest
	$(PY) -P -m pytest $(ARGS)

soak: $(STAMP)/installed need-rust ## Kills, faults, damage, fuzzing and reads by the million, hours; prints their counts; ARGS= goes to the program
	$(PY) scripts/soak.py $(ARGS)

bench: $(STAMP)/installed ## The benchmarks, as ratios to the floors of the same run; ARGS= goes to the program
	cargo build --release --locked --package retentive-benches
	$(PY) benches/python/run.py --programs $(TARGET)/release $(ARGS)
	$(PY) -P -m pytest -o pythonpath=benches/python benches/python/test_facade.py
	$(PY) benches/python/cold.py

count: $(STAMP)/tools need-rust ## The instructions of the hot paths under callgrind, against the counts kept; ARGS='--keep NOTE' keeps them
	cargo build --release --locked --package retentive-benches
	$(PY) scripts/count_instructions.py --programs $(TARGET)/release $(ARGS)

# The peers' environments stay in $(TARGET)/peers.
bench-peers: $(STAMP)/installed ## retentive beside other libraries, each in its own environment, in turns, 8 minutes; ARGS= goes to the program
	$(PY) benches/peers/driver.py --environments $(TARGET)/peers $(ARGS)

wheel: $(STAMP)/tools need-rust ## The wheel and the source distribution in dist/, each installed and used in a fresh environment
	$(PY) -m pip install --quiet --group release
	rm -rf $(RELEASE)
	PATH="$(abspath $(VENV))/bin:$$PATH" CARGO_TARGET_DIR=$(TARGET)/portable $(VENV)/bin/maturin build --release --locked $(PORTABLE) --interpreter $(PY) --out $(RELEASE)
	$(VENV)/bin/maturin sdist --out $(RELEASE)
	$(PY) scripts/smoke_release.py $(RELEASE)

docs: $(STAMP)/docs $(STAMP)/installed ## The documentation in site/, any warning is an error
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet

format: $(STAMP)/tools need-lints ## Format Rust and Python
	cargo fmt --all
	$(VENV)/bin/ruff check --fix --select I $(PYTHON_CODE)
	$(VENV)/bin/ruff format $(PYTHON_CODE)

clean: ## Remove everything that was built
	rm -rf $(VENV) dist site target .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks

need-rust:
	@$(TOOLS) rust
	@$(TOOLS) cc

need-lints:
	@$(TOOLS) lints

# Python's tools only, nothing of retentive. What is missing is said before anything is installed.
$(STAMP)/tools: pyproject.toml
	@$(TOOLS) python >/dev/null
	@$(TOOLS) rust
	@$(TOOLS) cc
	@test -x $(PY) || $$($(TOOLS) python) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'
	$(PY) -m pip install --quiet --group check
	@mkdir -p $(STAMP) && touch $@

$(STAMP)/docs: $(STAMP)/tools
	$(PY) -m pip install --quiet --group docs
	@touch $@

# Python files are packed anew; cargo sees for itself that no Rust changed.
$(STAMP)/wheel: $(STAMP)/tools $(RUST_FILES) $(PYTHON_FILES) DESCRIPTION.md LICENSE NOTICE
	@$(TOOLS) rust
	@$(TOOLS) cc
	rm -f $(LOCAL)/retentive-*.whl
	$(VENV)/bin/maturin build --release --locked --quiet --interpreter $(PY) --out $(LOCAL)
	@touch $@

# Uninstalled first: pip keeps an installed wheel of the same version.
$(STAMP)/installed: $(STAMP)/wheel
	$(PY) -m pip uninstall --quiet --yes retentive 2>/dev/null
	$(PY) -m pip install --quiet "$$(echo $(LOCAL)/retentive-*.whl)[all]"
	@touch $@
