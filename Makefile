# Every target builds the environment it needs: a fresh clone needs no step before it.
VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed

.PHONY: env test check format figures record

env: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[app,parquet,dev]"
	touch $@

test: env
	$(PYTHON) -m pytest -n 2

check: env
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: env
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
