# `make quickstart`: the whole thing once, on a packaged sample, with a local model.
# `make test`: lint, types, layer contract and tests. Both set up .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: quickstart test test-slow lint docs clean

quickstart: .venv/all.installed
	$(BIN)/ragauge quickstart --out quickstart

test: .venv/dev.installed lint
	-$(BIN)/ragauge llm fetch
	$(BIN)/python -m pytest -m "not slow"

test-slow: .venv/dev.installed
	$(BIN)/python -m pytest -m slow

lint: .venv/dev.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/dev.installed
	$(BIN)/python -m ragauge.measures.reference_page > docs/measures.md
	$(BIN)/python -m ragauge.cli.reference_page > docs/cli.md

clean:
	rm -rf .venv quickstart

.venv/%.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing ragauge[$*] into .venv; the first time this downloads some hundred megabytes."
	$(PIP) -e '.[$*]'
	touch $@
