PYTHON ?= python3
VENV = .venv
ARGS =

BIN = $(VENV)/bin
PY = $(BIN)/python
STAMP = $(VENV)/.installed

# Folders that git does not keep while they are empty: named only when there is something in them.
SOURCES = reflect_git tests $(patsubst %/,%,$(sort $(dir $(wildcard hooks/*.py bench/*.py docs/*.py))))
PRODUCT = $(filter-out tests bench docs,$(SOURCES))

HOOK_PATH = hook bundle workflow capture sync model errors paths store \
	adapters.child adapters.git adapters.files adapters.records adapters.redact adapters.faults adapters.host adapters.jsontext adapters.project \
	adapters.transcript adapters.process adapters.live adapters.network adapters.transport adapters.hearing
HOOK_FILES = $(wildcard $(foreach module,$(subst .,/,$(HOOK_PATH)),reflect_git/$(module) reflect_git/$(module).py)) \
	$(wildcard reflect_git/__init__.py reflect_git/adapters/__init__.py hooks/*.py)

.DEFAULT_GOAL = help
.PHONY: help test test-fast check lint format types layers compat deps dead demo docs house bench bench-all deep histories kills clocks release e2e clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

# Made anew, not mended: a dependency that was dropped must be gone, and so must a half-made environment.
# The second try speaks, so that what is wrong can be read. As `pipx` has it: a pip whose console scripts load no `re`, and
# no setuptools, which every start would pay for.
$(STAMP): pyproject.toml
	@echo "making $(VENV), about a minute" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip install -qq --disable-pip-version-check --upgrade pip
	@$(PY) -m pip uninstall -qq --yes setuptools
	@$(PY) -m pip install -qq --disable-pip-version-check -e '.[dev]' \
		|| $(PY) -m pip install --disable-pip-version-check -e '.[dev]'
	@touch $@

# Two more than there are cores: tests wait, for disks, pauses and processes that they strike.
test: check ## everything that has to hold before a merge
	@$(PY) -m pytest -n $$(($$($(PY) -c 'import os; print(os.cpu_count())') + 2)) $(ARGS)

test-fast: $(STAMP) ## the tests alone, last failures first, stopping at the first
	@$(PY) -m pytest -n auto --failed-first --exitfirst $(ARGS)

check: lint types layers compat deps dead ## everything of `test` that runs no product code

lint: $(STAMP) ## ruff: rules and format
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)

format: $(STAMP) ## ruff mends what it can
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

types: $(STAMP) ## mypy, strict
	@$(BIN)/mypy $(SOURCES)

layers: $(STAMP) ## import-linter: floors, hook path, one door per library
	@$(BIN)/lint-imports --no-logo

compat: $(STAMP) ## vermin: the hook path runs under Python 3.9
	@$(BIN)/vermin --quiet --no-tips --violations --target=3.9- $(HOOK_FILES)

deps: $(STAMP) ## deptry: what is imported is declared, what is declared is imported
	@$(BIN)/deptry --no-ansi $(PRODUCT)

dead: $(STAMP) ## vulture: code that nobody calls
	@$(BIN)/vulture $(SOURCES)

demo: $(STAMP) ## the product in a minute, in a throw-away home
	@$(BIN)/reflect-git demo

docs: $(STAMP) ## docs/commands.md, the man pages and the picture, from the program itself
	@$(PY) docs/generate.py
	@$(PY) docs/picture.py

house: $(STAMP) ## which room leans on which, and how large modules and functions are
	@$(PY) docs/house.py

bench: $(STAMP) ## the budgets, measured side by side; ARGS go to bench/run.py
	@$(PY) bench/run.py $(ARGS)

# What fails is told, and the rest goes on: the last step writes it down and ends with 1.
bench-all: $(STAMP) ## hours: everything that RESULTS.md tells, the deep runs and the real client included
	@rm -rf .reliability
	@-$(MAKE) deep
	@-$(MAKE) histories
	@-$(MAKE) e2e
	@$(PY) bench/run.py --write

deep: $(STAMP) ## the slow tests, with many more examples, and `kills`; with ARGS, those tests alone
	@RELIABILITY=.reliability/deep HYPOTHESIS_PROFILE=deep $(PY) -m pytest -n auto -m slow $(ARGS); code=$$?; \
		$(if $(ARGS),,$(MAKE) kills || code=1;) exit $$code

histories: $(STAMP) ## 10,000 histories of machines that sync, with kills in the midst: an hour and more
	@RELIABILITY=.reliability/histories $(PY) -m pytest -n auto -m histories $(ARGS)

kills: $(STAMP) ## 10,000 kills of approve, revert, sync and purge while a user works in the store: hours
	@RELIABILITY=.reliability/kills $(PY) -m pytest -n auto -m kills $(or $(ARGS),tests/stress)

clocks: $(STAMP) ## the tests that deal with time, at midnight, on leap days, in other time zones; ARGS=--quick is a minute
	@$(PY) -m tests.clocks $(ARGS)

release: $(STAMP) ## wheel and sdist on every Python that is here, and known weaknesses of what they need
	@$(PY) -m pytest -n auto -v -m 'slow or not slow' -rs tests/test_release.py $(ARGS)

e2e: $(STAMP) ## the real client against a scripted model; ARGS=tests/e2e/test_first_capture.py is the short way
	@RELIABILITY=.reliability/e2e $(PY) -m pytest -n auto -m e2e -rs $(or $(ARGS),tests/e2e)

clean: ## back to a fresh checkout
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .reliability
	@find reflect_git hooks tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
