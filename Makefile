# make run   builds the environment, processes the shipped drops, says what was found
# make run ENGINE=dask   the same with shards on Dask workers (make setup-cluster installs what that needs)
# make test  linters, types, import rules, all tests
# make demo   records the film of the product into demo/ (needs the Debian packages chromium and ffmpeg)
# make evaluate-drafter   scores Claude's drafts over the evaluation incidents (needs ANTHROPIC_API_KEY, costs money)
# make docs, examples, pictures   write the generated pages, the example outputs, the pictures of all pages again
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test setup setup-test setup-cluster lint docs demo examples pictures evaluate-drafter lock clean

run: setup $(if $(filter dask,$(ENGINE)),setup-cluster)
	@$(BIN)/fabric-pipeline run $(if $(ENGINE),--engine '$(ENGINE)')

test: setup-test lint
	$(BIN)/pytest -n 2 --dist loadfile

setup: $(VENV)/.installed
setup-test: $(VENV)/.installed-test
# Dask and object storage, for shards on a cluster.
setup-cluster: $(VENV)/.installed-cluster

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-test: requirements-test.lock $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-test.lock
	@touch $@

$(VENV)/.installed-cluster: requirements-cluster.lock $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-cluster.lock
	@touch $@

lint: setup-test
	$(BIN)/ruff check fabric_pipeline fabric_pipeline_tests benchmarks demo
	$(BIN)/ruff format --check fabric_pipeline fabric_pipeline_tests benchmarks demo
	$(BIN)/mypy
	$(BIN)/lint-imports

# Reference pages and JSON Schemas, generated from the code; a test compares them.
docs: setup
	$(BIN)/python -m fabric_pipeline.workflows.reference_pages docs/reference

demo: setup-test
	$(BIN)/python -m demo.film demo

# Every page of the portal, dark and light, for docs/portal.md.
pictures: setup-test
	$(BIN)/python -m demo.page_pictures docs/pictures/portal

# Outputs of the shipped drops and pages for the docs, made by the product; the tests compare the outputs.
examples: setup-test
	$(BIN)/python -m demo.examples data/examples
	$(BIN)/python -m demo.lifecycle_story docs/lifecycle_story.md
	$(BIN)/python -m fabric_pipeline_tests.drafting.injection_table docs/injection_suite.md
	$(BIN)/python -m benchmarks.drafter --drafter rules --out docs/drafter_evaluation.md

evaluate-drafter: setup-test
	$(BIN)/python -m benchmarks.drafter --drafter claude

# Needs uv; the result names no index host.
lock:
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-strip-extras --no-header --quiet --upgrade --constraint constraints.txt -o requirements.lock pyproject.toml requirements-build.in
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-strip-extras --no-header --quiet --upgrade --constraint requirements.lock --extra cluster --extra test -o requirements-test.lock pyproject.toml
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-strip-extras --no-header --quiet --upgrade --constraint requirements-test.lock --extra cluster -o requirements-cluster.lock pyproject.toml

clean:
	rm -rf $(VENV) .dagster data/warehouse .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
