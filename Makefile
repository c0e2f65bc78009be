# All commands need only Python 3.11+, make and git; they work in .venv/, which they create.
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
COMMAND := .venv/.command
READY := .venv/.ready
PEERS := .venv/.peers
SPHINX := .venv/.sphinx
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

.PHONY: run test quick lint docs docs-check bench clean

run: $(COMMAND)  ## the paper's experiments; then open report/index.html
	$(BIN)/minmin reproduce

test: $(READY) lint  ## lint, types, layers, and the tests
	$(PYTEST)

quick: $(READY)  ## ruff and the fast tests, in two minutes; for work in between
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) -q -m "not slow and not flower and not browser" --hypothesis-profile=quick --durations=5 --durations-min=2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(SPHINX)  ## the site; then open docs/_build/html/index.html
	$(BIN)/python -m sphinx -q -W --keep-going -d docs/_build/doctrees docs docs/_build/html

docs-check: $(READY) docs  ## links, every page in a browser (Chromium), the search
	$(BIN)/python scripts/check_site.py

bench: $(PEERS)  ## ratios of time, measured in one run
	$(BIN)/python benchmarks/glm.py
	$(BIN)/python benchmarks/estimators.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/python_calls.py
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/inner_step.py
	$(BIN)/python benchmarks/checkpoint_cost.py
	$(BIN)/python benchmarks/federated_overhead.py
	$(BIN)/python benchmarks/estimator_overhead.py
	$(BIN)/python benchmarks/penalty_path.py
	$(BIN)/python benchmarks/terms.py

$(COMMAND): pyproject.toml
	@echo "Installing minmin and what its command needs in .venv/ (about 650 MB)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[cli]'
	@touch $(COMMAND)

$(READY): $(COMMAND)
	@echo "Installing the tools for development in .venv/, with JAX and PyTorch to test with (another 2.3 GB; several GB"
	@echo "more where pip's PyTorch is built for CUDA, as on Linux by default; a CPU build is enough)"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev,test-arrays]'
	@touch $(READY)

$(SPHINX): $(COMMAND)
	@echo "Installing what builds the site in .venv/ (another 900 MB)"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[docs]'
	@touch $(SPHINX)

$(PEERS): $(READY)
	@echo "Installing the solvers to compare with in .venv/"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev,test-arrays,bench]'
	@touch $(PEERS)

clean:
	rm -rf .venv docs/_build docs/gallery docs/reference/api .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
