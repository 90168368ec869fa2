# python3 and make are all a machine needs: demo and test build .venv and install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
AXE := $(VENV)/axe/node_modules/axe-core/axe.min.js
AXE_VERSION := 4.14.0
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile  # side by side, file by file
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo quick test static engines faults dist docs format clean
.NOTPARALLEL:  # two installations into one environment would trip over each other

help:  ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile

demo: $(VENV)/demo.stamp  ## Six skin diseases: a zoo of classifiers, a comparison and its page, the next test, the study's table
	@$(BIN)/python examples/demo.py

quick: static  ## Check style, types and layers, and run the tests that matter most: under two minutes on two cores
	$(PYTEST) -m "not slow" --hypothesis-profile=quick tests

test: static $(AXE)  ## Check style and types, run the tests and the examples of docs, build the wheel
	$(PYTEST)
	@$(MAKE) --no-print-directory dist

static: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

# They are large, and want an older pandas: they get an environment of their own.
engines:  ## Test scores inside DuckDB, Polars, Spark (which needs Java 17) and Dask, and MLflow
	@$(MAKE) --no-print-directory VENV=$(VENV)-engines $(VENV)-engines/engines.stamp
	$(VENV)-engines/bin/pytest tests/engines docs/how-to/warehouse.md
	$(VENV)-engines/bin/pytest -W ignore docs/how-to/integrations.md  # MLflow's own parts warn of each other

faults: $(VENV)/dev.stamp  ## Ten times as many malformed files, mutations and random cases as make test
	FAULTS=10 $(PYTEST) tests/faults

# The wheel is tried in an environment of its own, from another folder, so that nothing of the tree can help it.
dist: $(VENV)/dev.stamp  ## Build wheel and sdist, check them, and try the wheel in an empty environment
	rm -rf dist $(VENV)-wheel
	$(BIN)/python -m build --quiet --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip --disable-pip-version-check --quiet install "$$(echo dist/*.whl)[report]"
	cd $(VENV)-wheel && bin/python -I ../tests/wheel_smoke.py

docs: $(VENV)/dev.stamp  ## Serve the documentation site on this machine
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

format: $(VENV)/dev.stamp  ## Format the code and apply the linter's safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove the environment, caches and build outputs
	rm -rf $(VENV) $(VENV)-wheel $(VENV)-engines demo-output site .mypy_cache .import_linter_cache .pytest_cache .ruff_cache .hypothesis build dist
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

# What a screen reader or a keyboard would stumble over: axe-core looks for it in the report, in tests/browser only.
$(AXE): | $(VENV)/sound.stamp
	@npm install --silent --no-audit --no-fund --no-package-lock --prefix $(VENV)/axe axe-core@$(AXE_VERSION) || \
	    echo "npm is missing, or could not fetch axe-core: the accessibility test of the report is skipped, unless in CI" >&2

# sound.stamp is moved away while an installation is under way, so an interrupted one leaves an environment
# that the next make rebuilds from nothing. Moving keeps its time, so the other groups stay up to date.
$(VENV)/%.stamp: $(VENV)/sound.stamp pyproject.toml constraints.txt
	@echo "Installing the $* group into $(VENV)"
	@mv $< $<.busy
	@$(PIP) install --constraint constraints.txt --editable . --group $*
	@mv $<.busy $<
	@touch $@

$(VENV)/sound.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	    { echo "Python 3.11 or newer is needed, $(PYTHON) is not: try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	    { echo "$(PYTHON) cannot make virtual environments: on Debian or Ubuntu, apt install python3-venv" >&2; exit 1; }
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1'  # the first pip that knows --group
	@touch $@
