# Everything a fresh machine needs is installed by these targets: only python3 (3.11 or newer) and make are assumed.
VENV := .venv
PY := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime-ready
DEV := $(VENV)/.dev-ready
LINT_VENV := .venv-lint
LINT := $(LINT_VENV)/.ready

.PHONY: demo test fuzz recipes test-container lint types format docs bench schemas clean

demo: $(RUNTIME)  ## the main job, offline, on the bundled example
	@sh scripts/demo.sh $(VENV)/bin/repeat-eval

test: $(DEV)  ## all tests, with lint and types
	$(VENV)/bin/ruff format --check -q .
	$(VENV)/bin/ruff check -q .
	$(VENV)/bin/mypy
	@sh scripts/install_chromium.sh || echo "NOT TESTED: the page in a browser"
	$(PY) -m pytest -n auto
	@echo "not tested here: the container. That takes minutes: make test-container"

FUZZ_SECONDS := 60

fuzz: $(DEV)  ## mutated results files of every format, for FUZZ_SECONDS (default 60)
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(PY) -m pytest tests/readers/test_mutated_results_files.py

recipes: $(RUNTIME)  ## docs/recipes.md with the real tools, installed in a temporary place; KEEP=DIR keeps them
	sh scripts/try_recipes.sh

test-container: $(DEV)  ## build the image and try it; installs podman on Debian as root
	$(PY) -m pytest tests/container -m container -s -rs

lint: $(DEV) $(LINT)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/mypy
	sh scripts/lint_workflows.sh $(LINT_VENV)/bin

format: $(DEV)
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

docs: $(DEV)  ## rewrite the generated parts of README.md and docs/
	$(PY) scripts/write_settings_docs.py
	$(PY) scripts/write_suite_docs.py
	$(PY) scripts/write_planning_docs.py
	$(PY) scripts/write_calibration_docs.py
	$(PY) scripts/write_action_docs.py
	$(PY) scripts/write_readme_picture.py
	$(PY) scripts/write_second_look_picture.py

bench: $(DEV)  ## figures, not tests: see benchmarks/README.md
	$(PY) -m benchmarks

$(RUNTIME): requirements.lock requirements-build.lock pyproject.toml scripts/make_venv.sh
	sh scripts/make_venv.sh $(VENV) requirements-build.lock requirements.lock
	@touch $@

$(LINT): requirements-lint.lock scripts/make_venv.sh
	PROJECT=none sh scripts/make_venv.sh $(LINT_VENV) requirements-lint.lock
	@touch $@

$(DEV): requirements-dev.lock requirements-build.lock pyproject.toml scripts/make_venv.sh
	sh scripts/make_venv.sh $(VENV) requirements-build.lock requirements-dev.lock
	@touch $@ $(RUNTIME)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache repeat-eval-report
