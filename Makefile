# What a person types here; `make help` lists it. Everything lives in .venv and .crawl, and nothing needs root.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made
PACKAGE := crawl_tasks
OPTIONS ?=
# Tests wait about as long as they work, so one more runs than there are processors, and nine at most: each has servers
# of its own. A file's tests stay together, and the first files, which take longest, come first.
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$(( n < 8 ? n + 1 : 9 )))
PARALLEL = --numprocesses=$(JOBS) --dist=loadfile --no-loadscope-reorder
# A test's own limit is a signal, which a process that waits inside C never hears. This one ends such a process with the
# stacks of all its threads. One more takes its place, not more, as xdist begins the same test again.
PARALLEL += -o faulthandler_timeout=420 -o faulthandler_exit_on_timeout=true --max-worker-restart=1
# Bytecode is kept, whatever the environment says: a run of the tests starts hundreds of processes, and each would
# compile anew what has changed since the setup. To read the tests takes half the time.
export PYTHONDONTWRITEBYTECODE :=
# A user without a home has no cache either.
UV = VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/uv $(shell test -w "$$HOME" || echo --no-cache)

.DEFAULT_GOAL := help
.PHONY: help setup crawl test flow forums pages pictures lint lock docs bench freshness chaos mutants image clean

help: ## List what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv with everything at the locked versions; quick when nothing changed

# The stamp is younger than the lock and the project file exactly when the environment fits them. Our own modules are
# compiled as well: else each process where PYTHONDONTWRITEBYTECODE is set does it anew, a sixth of its start.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version.split()[0] + "; make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	@echo "setup: making $(VENV), once and again where the locked versions change"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@echo "setup: installing $$(grep -c '^[a-z0-9].*==' requirements.lock) packages, a minute or two"
	@$(UV) pip sync --quiet --compile-bytecode --require-hashes requirements.lock
	@$(UV) pip install --quiet --no-deps --editable .
	@$(BIN)/python -m compileall -q $(PACKAGE)
	@touch $@
	@echo "setup: done"

crawl: setup ## Crawl the bundled forum, from nothing to a compared result (OPTIONS=--fresh begins again)
	@$(BIN)/crawl-tasks demo $(OPTIONS)

test: setup ## Run the tests (LONG=1: the long ones too; JOBS=0: one after the other; OPTIONS=files or options of pytest)
	@$(BIN)/python -m pytest $(PARALLEL) $(if $(LONG),,-m "not long") $(OPTIONS)

flow: setup ## Run the tests with real worker processes only
	@$(BIN)/python -m pytest $(PARALLEL) tests/flow $(OPTIONS)

forums: setup ## Crawl the recorded forums and compare them with their truth (FORUM_RECORDINGS=directory, OPTIONS=names)
	@$(BIN)/python -m tests.forums.proof $(OPTIONS)

pages: setup ## Read saved pages of 169 real forums by presets, beside another reading (CLONES=directory, OPTIONS=--each)
	@$(BIN)/python -m tests.saved_pages $(CLONES) $(OPTIONS)

pictures: setup ## Crawl the recorded forums and take the pictures of the documents (FORUM_RECORDINGS=directory)
	@$(BIN)/python -m tests.docs.pictures $(OPTIONS)

mutants: setup ## Draw small mistakes in each room, and see which tests notice (OPTIONS="store fetch --each 10"; hours)
	@$(BIN)/python -m tests.mutants $(OPTIONS)

lint: setup ## Check style, types and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@command -v luacheck >/dev/null || echo "lint: no luacheck (Debian: lua-check), so the Lua files are not checked"
	if command -v luacheck >/dev/null; then luacheck --quiet $(PACKAGE); fi

lock: setup ## Write requirements.lock anew from pyproject.toml
	$(UV) pip compile --quiet --universal --generate-hashes --all-extras \
		--group dev --python-version 3.11 --output-file requirements.lock pyproject.toml

docs: setup ## Write the generated pages and parts of pages anew, and the rules of Prometheus
	@$(BIN)/python -m tools.docs

bench: setup ## Measure a crawl of a local forum of 5,000 pages
	@$(BIN)/crawl-tasks bench $(OPTIONS)

freshness: setup ## Measure the revisit policy in virtual time, beside those of other crawlers
	@$(BIN)/python -m tests.freshness

chaos: setup ## Kill, cut off, double and stop what can be, and count what it cost (OPTIONS=--middle, --long, part names)
	@$(BIN)/python -m tests.chaos $(OPTIONS)

image: setup ## Carry out the image's build steps in a fresh directory, as another user, without Docker
	@$(BIN)/python -m tests.rehearsal

clean: ## Remove what was built and crawled, .venv too
	rm -rf $(VENV) .crawl build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
