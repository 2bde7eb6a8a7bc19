# make            lint, types and all tests
# make run        Sublime Text without a screen, on FOLDER (default: where you stand)
# make api        Gemini CLI as an HTTP server, on FOLDER
# make help       the rest

SHELL := /bin/sh
# PYTHON=python3.8 makes .venv anew with that one; without it, the one that .venv has is kept.
PYTHON ?=
FOLDER ?= .
# Windows has a virtual environment's programs in another folder.
PY := .venv/$(if $(filter Windows_NT,$(OS)),Scripts/python.exe,bin/python)
WANTED := $(if $(PYTHON),$(PYTHON),$(shell test -x $(PY) && echo "\"$(CURDIR)/$(PY)\"" || echo python3))
# Any Python does for what needs no library.
BASE = "$$(cd / && $(WANTED) -c 'import sys; sys.stdout.write(sys.executable)')"

.PHONY: all help setup setup-runtime setup-api setup-python setup-cli setup-node setup-browser setup-schema setup-clients setup-mcp setup-deploy setup-carried setup-agents setup-bench missing run api test mcp fuzz soak check format bench review install uninstall package release-check advisories judges judge-sublime workflows

all: check test

help:
	@echo "make run [FOLDER=path]   try it without Sublime Text"
	@echo "make api [FOLDER=path]   Gemini CLI as an HTTP server"
	@echo "make test                all tests          make check    lint, format, types"
	@echo "make install             put it into your Sublime Text    make uninstall   and away again"
	@echo "make release-check       all files of a release    make advisories   known against libraries"
	@echo "make bench               measure            make format   rewrite the format"
	@echo "make fuzz                many more of the random tests"
	@echo "make test-agents         each agent in each situation (installs 1.5 GB)"
	@echo "make mcp                 others' clients of MCP, and its conformance suite"
	@echo "make soak MINUTES=n      hours of use, with memory and latencies over time"
	@echo "make setup PYTHON=python3.8   choose the Python of .venv; every target takes it"

setup: setup-python setup-node

# What the package runs on, what the API has besides, and all else. From another folder:
# .python-version speaks to Sublime Text, but pyenv would listen to it, too.
setup-runtime setup-api setup-python:
	@cd / && $(WANTED) "$(CURDIR)/tools/setup.py" $(@:setup-%=%)

# For the API where nobody has installed a CLI.
setup-cli: setup-api
	@$(PY) tools/setup.py cli

# What only some tests need: the browser for those of the API's page, `schema` and `clients` to ask all of
# the API by its description, `deploy` to look at what starts it in containers, `carried` to build packages;
# `bench` is the server that is measured against.
setup-node setup-schema setup-clients setup-mcp setup-deploy setup-carried setup-agents setup-bench: setup-python
	@$(PY) tools/setup.py $(@:setup-%=%)

setup-browser: setup-node
	@$(PY) tools/setup.py browser

run: missing setup-runtime
	@$(PY) -m headless "$(FOLDER)"

# Said before anything is installed, for that takes a while.
missing:
	@$(BASE) -m tools.missing "$(FOLDER)"

# make api [FOLDER=path] [OPTIONS="--port 0 --language en"]; docs/api.md tells the options
# Where no CLI is installed, the one of the tests serves, or one that is installed for this alone.
CLI := $(shell command -v gemini 2>/dev/null)
OWN_CLI = $(if $(wildcard tests/e2e/node_modules/@google/gemini-cli),tests/e2e,.venv/cli)
api: setup-api $(if $(CLI),,setup-cli)
	@$(PY) -m companion.api --workspace "$(FOLDER)" $(if $(CLI),,--cli $(OWN_CLI)) $(OPTIONS)

# make test ALL=1   also tests that passed before and look at nothing that has changed since
# What only some of them need is set up beside the others.
test: setup-python
	@$(PY) tools/run_tests.py

# The SDKs' clients of MCP, and the official suite for its servers at each version (docs/protocol.md 10.98)
mcp: setup-mcp
	$(PY) -m pytest -q tests/others

# Each agent in each situation, against models on this machine; docs/agents.md has what is seen
test-agents: setup-node setup-agents
	@BAITS=1 $(PY) -W error -m pytest tests/e2e/test_agent_contract.py tests/e2e/test_matrix.py \
		tests/e2e/test_chat_matrix.py tests/e2e/test_own_login.py tests/e2e/test_baits.py

# Twenty times as much as in the tests, other requests and other orders each time; and all tests of the
# adapter in an editor that is friendly, and in fifty that do their worst: some hours.
fuzz: setup setup-schema
	FUZZ=20 $(PY) tools/run_tests.py fuzz

# make soak MINUTES=60
MINUTES ?= 1
soak: setup
	$(PY) -m bench.soak $(MINUTES)

check: setup-python
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) tools/check_types.py
	$(PY) -m tools.check_pythons
	$(PY) -m tools.review

# What Package Control's reviewers would say.
review: setup-python
	$(PY) -m tools.review

format: setup-python
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .

bench: setup setup-bench
	$(PY) -m bench

# dist/GeminiCompanion.sublime-package, and the plain one, which needs libraries beside it
package:
	@$(BASE) -m tools.package

# All files of a release, in dist/, each one checked; publishes nothing
# make release-check [PAGE=https://...]   the page of the project
# All tests of the tools run, and the image of the API's server is built of what the registries have.
PAGE ?=
release-check: setup setup-deploy setup-carried
	@$(BASE) -m tools.release $(PAGE)
	@ALL=1 WITH_REGISTRIES=1 $(PY) -m pytest -q tests/tools headless/tests/test_package_tests.py

# What is known against the libraries that the packages carry
advisories:
	@$(BASE) -m tools.advisories

# make install [LINK=1 | PLAIN=1] [DATA=folder] [SUBL=program] [HOSTS="3.8 3.14"]
INSTALLER = $(BASE) -m tools.install
CHOSEN = $(if $(DATA),--data "$(DATA)") $(if $(SUBL),--program "$(SUBL)") $(if $(HOSTS),--hosts "$(HOSTS)")

install:
	@$(INSTALLER) $(if $(LINK),--link) $(if $(PLAIN),--plain) $(CHOSEN)

uninstall:
	@$(INSTALLER) --remove $(CHOSEN)

# The tests of other packages in the headless editor; docs/headless.md tells where they come from.
# make judges UNITTESTING=path [SUBLIME_LIB=path] [LSP=path] [GITSAVVY=path] [TERMINUS=path] ...
judges: setup-python
	@$(PY) -m tools.judges

# The package under a Sublime Text, with a report to paste into an issue.
# make judge-sublime SUBLIME=/opt/sublime_text | BUILD=4200 [UNITTESTING=path LIBRARIES=path]
judge-sublime: setup-python
	@$(PY) -m tools.judge_sublime

# What zizmor and actionlint say of .github/workflows; offline, once they are there
workflows: setup-python
	@$(PY) -m tools.workflows
