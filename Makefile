# Needs python3 (3.11 or newer) and make; everything else goes into .venv.

PYTHON ?= python3
PYTEST_ARGS ?=
KUBERNETES ?=
LOCK_ARGS ?=
ONLY ?=
MINUTES ?= 30
BIN := .venv/bin

# Bytecode is kept whatever the environment says: the tests start some two hundred processes, and compiling for each
# of them took a tenth of the time.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help test test-worlds docs soak soak-system test-kube test-operators test-upgrade lint format bench bench-kube demo control-plane schema lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: .venv/.installed ## Run the tests (PYTEST_ARGS="-k gang -x")
	@$(BIN)/pytest -q -n 2 -m "not thorough" $(PYTEST_ARGS)

test-worlds: .venv/.installed ## Run more simulated worlds, and plant faults in the code, of which they must catch each (PYTEST_ARGS)
	@$(BIN)/pytest -q -n 2 -m thorough $(PYTEST_ARGS)

docs: .venv/.installed ## Print the tables of docs/architecture.md and docs/dialects.md anew, from the code
	@$(BIN)/python -m tests.docs

soak: .venv/.installed ## Run simulated worlds on new seeds for a while, on all cores (MINUTES=30)
	@$(BIN)/python -m muster.sim.chaos --minutes $(MINUTES)

soak-system: .venv/.installed ## The same with the whole system: scheduler, controllers, kubelets, bad network and disk (MINUTES=30)
	@$(BIN)/python -m tests.system --minutes $(MINUTES)

test-kube: .venv/.installed control-plane ## Run the tests on a real control plane (KUBERNETES=1.36.3, PYTEST_ARGS)
	@KUBERNETES=$(KUBERNETES) MUSTER_KUBE=1 $(BIN)/pytest -q -n 2 --dist loadfile tests/control_plane $(PYTEST_ARGS)

test-operators: .venv/.installed control-plane ## Run operators that make gangs under Muster, on a real control plane (PYTEST_ARGS)
	@$(PYTHON) -m controlplane.build mpi-operator training-operator ray-operator > /dev/null
	@$(BIN)/pytest -q tests/operators $(PYTEST_ARGS)

test-upgrade: .venv/.installed control-plane ## Let this version and an older one lead in turn on a real control plane (needs git)
	@$(BIN)/pytest -q tests/upgrade $(PYTEST_ARGS)

control-plane: ## Build etcd, kube-apiserver, kubectl ... once, into a cache outside this folder (KUBERNETES=1.36.3)
	@$(PYTHON) -m controlplane.build $(if $(KUBERNETES),--kubernetes $(KUBERNETES)) > /dev/null

schema: .venv/.installed control-plane ## Remake the package data that says what objects look like, from a real API server
	@$(BIN)/python -m controlplane.schema

lint: .venv/.installed ## Check format, style, types and layers
	@$(BIN)/ruff format --check --quiet || { echo "Not formatted; run: make format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy --no-error-summary src benchmarks controlplane examples/plugins/src
	@$(BIN)/lint-imports --no-logo

format: .venv/.installed ## Format the code and mend what can be mended
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

bench: .venv/.installed ## Run the benchmarks (ONLY="big-gang gang-preemption")
	@$(BIN)/python -m benchmarks $(ONLY)

bench-kube: .venv/.installed control-plane ## Compare with kube-scheduler on a real API server (ONLY=preemption)
	@$(BIN)/python -m benchmarks.kube $(ONLY)

demo: .venv/.installed ## Watch gangs being scheduled on a little cluster, for half a minute
	@$(BIN)/muster demo

# fewest: one version of each package on every Python, so that all of them decide the same.
lock: .venv/.installed ## Remake requirements.lock (LOCK_ARGS=--upgrade for newer versions)
	@$(BIN)/uv pip compile pyproject.toml --group dev --universal --fork-strategy fewest --generate-hashes \
		--custom-compile-command "make lock" --system-certs --quiet $(LOCK_ARGS) --output-file requirements.lock

clean: ## Remove .venv, caches and builds
	@rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Muster needs Python 3.11 or newer. If you have one under another name: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing into .venv ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
