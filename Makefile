PYTHON ?= python3
VENV = .venv
ARGS =

BIN = $(VENV)/bin
PY = $(BIN)/python
STAMP = $(VENV)/.installed

# git does not keep empty folders, so these are named only if they have files.
SOURCES = reflect_git tests $(patsubst %/,%,$(sort $(dir $(wildcard hooks/*.py bench/*.py docs/*.py))))
PRODUCT = $(filter-out tests bench docs,$(SOURCES))

HOOK_PATH = hook capture sync records redact errors paths store \
	language.parse language.words \
	guards.shell guards.wrappers guards.scripts guards.options guards.globs guards.files guards.added_text guards.match \
	guards.stored guards.table guards.literals guards.check guards.entry guards.rebuild guards.stop \
	platform.git platform.files platform.faults platform.system platform.processes platform.project platform.instruction_files platform.claude_settings platform.remote_git platform.background_git
HOOK_FILES = $(wildcard $(foreach module,$(subst .,/,$(HOOK_PATH)),reflect_git/$(module) reflect_git/$(module).py)) \
	$(wildcard reflect_git/__init__.py reflect_git/platform/__init__.py reflect_git/language/__init__.py reflect_git/guards/__init__.py hooks/*.py)

# Workers and programs under test share compiled modules, as on a person's machine.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL = help
.PHONY: help test compiled test-fast check lint format types layers compat deps dead demo docs house bench bench-all deep histories kills clocks macos release e2e browser screenshots clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

# Recreated, not updated: a removed dependency and a half-made environment must be gone.
# The second try is not quiet, so that the error is shown. As in `pipx`: a new pip, whose console scripts do not load `re`,
# and no setuptools, which would slow down every start.
$(STAMP): pyproject.toml
	@echo "making $(VENV), about a minute" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip install -qq --disable-pip-version-check --upgrade pip
	@$(PY) -m pip uninstall -qq --yes setuptools
	@$(PY) -m pip install -qq --disable-pip-version-check -e '.[dev]' \
		|| $(PY) -m pip install --disable-pip-version-check -e '.[dev]'
	@touch $@

# The checks run side by side, but before the tests: one of these uses mypy's cache, and would fill it a second time.
# Two more workers than there are cores: tests wait for disks, pauses and the processes that they kill.
test: $(STAMP) ## everything that must pass before a merge; prints the ten slowest tests and the time of all
	@date +%s >$(VENV)/began
	@$(MAKE) --no-print-directory -j 2 check $(if $(ARGS),,compiled)
	@$(PY) -m pytest -n $$(($$($(PY) -c 'import os; print(os.cpu_count())') + 2)) --durations=10 $(ARGS); \
		code=$$?; echo "$$(($$(date +%s) - $$(cat $(VENV)/began))) seconds in all"; exit $$code

# Otherwise each worker rewrites the assertions of all test modules, which is most of a minute of CPU.
compiled: $(STAMP)
	@$(PY) -m pytest --collect-only -q -n 0 >/dev/null || true

test-fast: $(STAMP) ## tests only, last failures first, stop at the first failure
	@$(PY) -m pytest -n auto --failed-first --exitfirst $(ARGS)

check: lint types layers compat deps dead ## the checks of `test` that run no product code

lint: $(STAMP) ## ruff, the wording of names, docstrings and messages, shellcheck, and the form of the workflows
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(PY) docs/wording.py --quiet
	@$(BIN)/shellcheck -x -P SCRIPTDIR -s sh -e $(SHELL_EXCEPTIONS) hooks/launch.sh bin/reflect-git
	@$(BIN)/shellcheck -s bash templates/completion/bash $(wildcard .ci/run)
	@test ! -d .github || $(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml

# `test -O` and `-ef`, and shopt in bash alone, are in every shell of tests/shells.py; variables change in subshells on purpose.
SHELL_EXCEPTIONS = SC2030,SC2031,SC3013,SC3044,SC3067

format: $(STAMP) ## ruff: fix and format
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

types: $(STAMP) ## mypy, strict
	@$(BIN)/mypy $(SOURCES)

layers: $(STAMP) ## import-linter: layers, hook path, one adapter for each library
	@$(BIN)/lint-imports --no-logo

compat: $(STAMP) ## vermin: the hook path runs under Python 3.9
	@$(BIN)/vermin --quiet --no-tips --violations --target=3.9- $(HOOK_FILES)

deps: $(STAMP) ## deptry: imports and declared dependencies match
	@$(BIN)/deptry --no-ansi $(PRODUCT)

dead: $(STAMP) ## vulture: unused code
	@$(BIN)/vulture $(SOURCES)

demo: $(STAMP) ## show the product in a minute, in a throw-away home
	@$(BIN)/reflect-git demo

docs: $(STAMP) ## generate docs/commands.md, the man pages and the pictures
	@$(PY) docs/generate.py
	@$(PY) docs/trend_picture.py
	@$(PY) docs/picture.py
	@$(PY) -m docs.guard_picture

house: $(STAMP) ## print every package and module with its summary, imports and sizes
	@$(PY) docs/house.py

bench: $(STAMP) ## measure the time budgets; ARGS are passed to bench/run.py
	@$(PY) bench/run.py $(ARGS)

# A failure does not stop the next steps. The last step writes the results and exits with 1.
bench-all: $(STAMP) ## measure everything in RESULTS.md, with the deep runs and the real client: hours
	@rm -rf .reliability
	@-$(MAKE) deep
	@-$(MAKE) histories
	@-$(MAKE) e2e
	@$(PY) bench/run.py --write

deep: $(STAMP) ## slow tests with many more examples, and `kills`; with ARGS, only those tests
	@RELIABILITY=.reliability/deep HYPOTHESIS_PROFILE=deep $(PY) -m pytest -n auto -m slow $(ARGS); code=$$?; \
		$(if $(ARGS),,$(MAKE) kills || code=1;) exit $$code

histories: $(STAMP) ## 10,000 histories of syncing machines, with kills: an hour or more
	@RELIABILITY=.reliability/histories $(PY) -m pytest -n auto -m histories $(ARGS)

kills: $(STAMP) ## 10,000 kills of approve, revert, sync and purge while a user works in the store: hours
	@RELIABILITY=.reliability/kills $(PY) -m pytest -n auto -m kills $(or $(ARGS),tests/stress)

clocks: $(STAMP) ## tests that depend on time, at midnight, on leap days, in other time zones; ARGS=--quick takes a minute
	@$(PY) -m tests.clocks $(ARGS)

macos: $(STAMP) ## tests with the class for macOS, against a simulated one; ARGS are passed to pytest
	@$(PY) -m tests.macos $(ARGS)

release: $(STAMP) ## test wheel and sdist on every installed Python; check dependencies for known vulnerabilities
	@$(PY) -m pytest -n auto -v -m 'slow or not slow' -rs tests/test_release.py $(ARGS)

e2e: $(STAMP) ## the real client against a scripted model; ARGS=tests/e2e/test_first_capture.py runs only the first
	@RELIABILITY=.reliability/e2e $(PY) -m pytest -n auto -m e2e -rs $(or $(ARGS),tests/e2e)

# Chromium itself comes from the system: apt-get install chromium.
browser: $(STAMP) ## the panel in Chromium, with axe-core; skipped without Chromium, unless CI is set
	@$(PY) -c 'import playwright' 2>/dev/null || $(PY) -m pip install -qq --disable-pip-version-check playwright || true
	@[ -f .browser/node_modules/axe-core/axe.min.js ] || npm install --silent --no-audit --no-fund --prefix .browser axe-core || true
	@$(PY) -m pytest -m browser -rs tests/browser $(ARGS)

screenshots: $(STAMP) ## the pictures of the panel in docs/; with ARGS=FOLDER, every page in three widths, light and dark
	@$(PY) docs/screenshots.py $(ARGS)

clean: ## remove everything that make created
	@rm -rf $(VENV) .browser build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .reliability
	@find reflect_git hooks tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
