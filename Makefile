# Every target builds the environment it needs: a fresh clone needs no step before it.
VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed
# Installing builds the kernels, so a change of them installs again.
KERNELS := $(wildcard src/mclstm/ops/native/*.cpp src/mclstm/ops/native/*.h paper/src/mclstm_paper/kernels/*.cpp \
	paper/src/mclstm_paper/kernels/*.h) src/mclstm/ops/native/build.py

.PHONY: env test demo check format dist schema site

env: $(STAMP)

$(STAMP): pyproject.toml constraints.txt setup.py paper/pyproject.toml paper/setup.py $(KERNELS)
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[app,parquet,process,export,dask,tune,zarr,docs,dev]" -e paper
	touch $@

test: env
	$(PYTHON) -m pytest -n 2

demo: env
	$(VENV)/bin/mclstm demo

check: env
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: env
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# The documentation, to be read offline: build/site/index.html. Notebooks run; any warning, such as a dead link, is an error.
site: env
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict --quiet

# sdist and wheel of the library; neither holds a file of the paper.
dist: env
	rm -rf dist
	$(PYTHON) -m build --no-isolation

# Long runs whose outcome is kept in results/: not part of the suite.
.PHONY: record-properties record-backends record-long-run record-kills record-worker-kills record-scale-out record-demo record-examples record-page record-trace \
	record-warnings record-side-by-side record-runtime record-operation record-many-sites record-skill record-tuning docs

record-properties: env
	HYPOTHESIS_PROFILE=long MCLSTM_RECORD=results/conservation/properties.json $(PYTHON) -m pytest tests/properties/test_conservation.py

record-backends: env
	MCLSTM_LONG=1 MCLSTM_RECORD=results/conservation/backends.json $(PYTHON) -m pytest tests/ops/test_backends.py -k random_cases

record-long-run: env
	$(PYTHON) -m mclstm_paper.durability.drift --out results/conservation/long_run.json

record-kills: env
	$(PYTHON) -m mclstm_paper.durability.kill_runs --kills 200 --out results/durability/kills.json

record-worker-kills: env
	$(PYTHON) -m mclstm_paper.durability.worker_kills --kills 100 --out results/durability/worker_kills.json

record-scale-out: env
	$(PYTHON) -m mclstm_paper.bench.scale_out

record-demo: env
	$(PYTHON) -m mclstm_paper.demo_record --seeds 3 --out results/demo/stated.json --picture docs/figures/fulda.png

# CAMELS_US is the folder of the 447 basins.
record-warnings: env
	$(PYTHON) -m mclstm_paper.first_contact --data "$(CAMELS_US)" --out results/first_contact/camels_warnings.json

# The wrong tables of the suite through neuralhydrology's command and ours.
record-side-by-side: env
	PYTHONPATH=tests $(PYTHON) -m support.wrong_tables runs/wrong_tables
	$(PYTHON) -m mclstm_paper.side_by_side runs/wrong_tables --python $(PYTHON)

record-examples: env
	for name in transport warehouse; do \
		$(PYTHON) -m mclstm_paper.example_record examples/$$name.yaml --out results/examples/$$name.json || exit 1; done

# The figure of docs/many-runs.md.
record-tuning: env
	$(VENV)/bin/mclstm tune examples/tuning.yaml --out runs
	cp runs/fulda-tuning/tuning.png docs/figures/tuning.png

# Needs an idle machine with two cores and 8 GB; half done, it goes on with `--keep --rows ...`.
record-runtime: env
	$(VENV)/bin/mclstm bench --out results/runtime/stated.json

# All long trainings that are left, for so many minutes; commit results/ and weights/ after it. LEFT=--list only lists.
MINUTES ?= 120
record-skill: env
	$(PYTHON) -m mclstm_paper.record_queue.session --data "$(CAMELS_US)" --basins "$(BASINS)" --snow "$(SNOW)" \
		--mnist "$(MNIST)" --minutes $(MINUTES) $(LEFT)

# Steps per second of Stepper, BMI and exported files, and the balance of a million BMI steps (results/operation).
record-operation: env
	$(PYTHON) -m mclstm_paper.bench.operation speed
	$(PYTHON) -m mclstm_paper.bench.operation million

# Training on 6,830 sites in parts beside 447 in memory; needs the data of CAMELS-US and 10 GB of disk.
record-many-sites: env
	$(PYTHON) -m mclstm_paper.bench.many_sites record --data "$(CAMELS_US)" --updates 150

# The built example and the pictures of docs/report.md; needs chromium.
record-page: env
	$(VENV)/bin/mclstm demo --out runs/page --quiet
	$(PYTHON) tests/support/page_pictures.py runs/page/fulda-mclstm runs/page/fulda-lstm --out docs/figures

# Ages of rivers, ways of flights and costs for docs/trace.md, after record-page; CAMELS_US is the folder of the 447 basins.
record-trace: env
	$(PYTHON) -m mclstm_paper.tracing.basin_ages --fulda runs/page/fulda-mclstm/*
	$(PYTHON) -m mclstm_paper.tracing.basin_ages --data "$(CAMELS_US)"
	$(PYTHON) -m mclstm_paper.tracing.flight_paths examples/transport.yaml
	$(PYTHON) -m mclstm_paper.tracing.trace_cost --data "$(CAMELS_US)"

# The JSON schema of a config, for editors.
schema: env
	$(VENV)/bin/mclstm config --schema > docs/config.schema.json

# Tables in README and docs, from results/.
docs: env
	$(PYTHON) -m mclstm_paper.pages.fill_pages .
