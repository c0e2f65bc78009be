# Both commands need only Python 3.11+, make and git; they work in .venv/, which they create.
PYTHON ?= python3
BIN := .venv/bin
COMMAND := .venv/.command
READY := .venv/.ready
PEERS := .venv/.peers

.PHONY: run test lint bench clean

run: $(COMMAND)  ## the paper's experiments; then open report/index.html
	$(BIN)/minmin reproduce

test: $(READY) lint  ## lint, types, layers, and the tests
	$(BIN)/python -m pytest -n auto --dist loadgroup

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(PEERS)  ## ratios of time, measured in one run
	$(BIN)/python benchmarks/glm.py
	$(BIN)/python benchmarks/estimators.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/inner_step.py
	$(BIN)/python benchmarks/checkpoint_cost.py
	$(BIN)/python benchmarks/federated_overhead.py
	$(BIN)/python benchmarks/estimator_overhead.py
	$(BIN)/python benchmarks/penalty_path.py

$(COMMAND): pyproject.toml
	@echo "Installing minmin and what its command needs in .venv/ (about 650 MB)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[cli]'
	@touch $(COMMAND)

$(READY): $(COMMAND)
	@echo "Installing the tools for development in .venv/ (another 1 GB)"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

$(PEERS): $(READY)
	@echo "Installing the solvers to compare with in .venv/"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev,bench]'
	@touch $(PEERS)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
