# Two commands are enough to start:
#   make         set up .venv (first time only) and show what d2s does
#   make test    the quick test suite
# `make help` lists the others.

PYTHON ?= python3
EXTRA  ?= cpu
JOBS   ?= 2
# The suite in five parts, one after the other: Paddle keeps threads and maps of memory for each
# program until its process ends (decision 10; pytest-xdist has a thread of its own), and one process
# for all tests would need more than Linux gives.
PARTS  := "tests/semantics/test_[a-g]*.py" "tests/semantics/test_[h-o]*.py" \
          "tests/semantics/test_[p-z]*.py" tests/unit \
          "tests --ignore=tests/semantics --ignore=tests/unit"

# Modules are compiled once, not in each of the hundreds of processes that tests start, also where the
# environment turns that off. The folder is no part of the tree.
COMPILED := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/.cache/bytecode

VENV  := .venv
LOCK  := requirements-dev.lock
PY    := $(VENV)/bin/python
# One stamp per extra: a copy of what was installed last, pyproject.toml and the lock.
STAMP := $(VENV)/.installed-$(EXTRA)

.DEFAULT_GOAL := demo
.PHONY: help demo generate serve install lock test examples doctest nightly programs golden coverage mutants lint format \
        types contracts house docs support failures errors reference onnx zoo zooquick bench benchquick benchdocs ci matrix clean FORCE

help: ## list the commands
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

demo: install ## set up and run the tour (the default)
	@$(PY) -m corpus.tour

generate: install ## a decoding loop: dygraph, one program, a file, Paddle Inference; tokens a second
	@OMP_NUM_THREADS=1 $(PY) -m examples.generate

serve: install ## the same loop behind HTTP, under 32 clients
	$(PY) -m pip install --disable-pip-version-check --quiet -e '.[$(EXTRA),dev,examples]'
	@OMP_NUM_THREADS=1 $(PY) -m examples.serve_generation

install: $(STAMP) ## set up .venv; does nothing when it is up to date

# A venv whose interpreter has gone (moved, upgraded) is built again.
ifeq ($(shell $(PY) -c 'import pip; print("works")' 2>/dev/null),)
$(STAMP): FORCE
endif

# The comparison keeps a checkout that only touched the files from installing again.
$(STAMP): pyproject.toml $(LOCK)
	@$(PY) -c 'import pip' 2>/dev/null || { \
	  echo "creating $(VENV) with $(PYTHON)"; \
	  rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); }
	@cat pyproject.toml $(LOCK) | cmp -s - $@ || { \
	  echo "installing d2s[$(EXTRA),dev] into $(VENV)"; \
	  $(PY) -m pip install --disable-pip-version-check --quiet -c $(LOCK) -e '.[$(EXTRA),dev]'; }
	@cat pyproject.toml $(LOCK) > $@

lock: install ## write the lock again, with the newest versions that pyproject.toml allows
	$(PY) -m uv pip compile --quiet --universal --python-version 3.10 --upgrade --extra cpu \
	  --extra dev --extra testing --extra examples --custom-compile-command 'make lock' \
	  -o $(LOCK) pyproject.toml

test: install ## the quick suite, and the doctests of d2s
	@rc=0; export $(COMPILED); \
	$(PY) -m pytest -q --doctest-modules d2s || rc=1; \
	for part in $(PARTS); do $(PY) -m pytest -n $(JOBS) --dist worksteal -q -m "not slow" $$part || rc=1; done; \
	exit $$rc

examples: install ## the scripts of examples/ and the commands of the README, each as it is
	$(PY) -m pytest -q -m slow tests/examples

doctest: install ## only the doctests of d2s
	$(PY) -m pytest -q --doctest-modules d2s

nightly: install ## everything: the slow tests and 20,000 generated programs too
	@rc=0; export $(COMPILED); \
	$(PY) -m pytest -q --doctest-modules d2s || rc=1; \
	for part in $(PARTS); do \
	  D2S_HYPOTHESIS_PROFILE=nightly $(PY) -m pytest -n $(JOBS) --dist worksteal -q $$part || rc=1; done; \
	$(PY) -m d2s.testing --jobs $(JOBS) --seed $$(date +%Y%m%d) || rc=1; \
	$(MAKE) --no-print-directory onnx || rc=1; \
	exit $$rc

matrix: install ## samples of the suite on every Paddle and Python; writes docs/guide/versions.md
	$(PY) -m tests.matrix

programs: install ## 20,000 generated programs; goes on where it stopped, finds are in .cache
	$(PY) -m d2s.testing --jobs $(JOBS)

golden: install ## write the golden files again; read the diff before you commit it
	$(PY) -m pytest -q tests/golden --update-golden

coverage: install ## which lines and branches of d2s the quick suite runs
	@rm -f .coverage .coverage.*
	@rc=0; export $(COMPILED); \
	$(PY) -m coverage run -m pytest -q --doctest-modules d2s || rc=1; \
	for part in $(PARTS); do \
	  $(PY) -m coverage run -m pytest -q -m "not slow" -o faulthandler_timeout=0 $$part || rc=1; done; \
	$(PY) -m coverage combine -q && $(PY) -m coverage report || rc=1; \
	$(PY) -m tests.uncovered || rc=1; \
	exit $$rc

mutants: install ## small faults planted in passes and operators; does the suite notice? (hours)
	@test -e .cache/mutation/tests.json || $(PY) -m tests.mutation record
	$(PY) -m tests.mutation run

lint: install ## formatting and lint, nothing is changed
	@rc=0; \
	$(PY) -m ruff format --check . || rc=1; \
	$(PY) -m ruff check . || rc=1; \
	exit $$rc

format: install ## format, and apply the lint fixes that are safe
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

types: install ## mypy, strict
	$(PY) -m mypy

contracts: install ## the rooms and the direction of their imports
	$(VENV)/bin/lint-imports

house: install ## what the house is measured by; no figure may go up
	$(PY) -m tests.house

docs: install ## build the documentation into site/
	@# The variable only turns off an announcement about the future of MkDocs.
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet

support: install ## run the corpus with all converters, write the tables; read the diff
	@rc=0; \
	$(PY) -m corpus.support --jobs $(JOBS) || rc=1; \
	$(PY) -m corpus.defects || rc=1; \
	$(PY) -m corpus.evaluation || rc=1; \
	exit $$rc

failures: install ## run the failing programs, write their page and golden texts; read the diff
	@rc=0; \
	$(PY) -m corpus.failures --jobs $(JOBS) || rc=1; \
	$(PY) -m pytest -q tests/diagnostics/test_battery.py --update-golden || rc=1; \
	exit $$rc

errors: install ## run the examples of the error catalogue, write docs/errors; read the diff
	$(PY) -m corpus.errors

reference: install ## write the Chinese API reference from the docstrings
	$(PY) -m corpus.reference

onnx: install ## export branches and loops to ONNX and run them there
	@# Without their dependencies: paddle2onnx asks for an old onnx, and works with this one.
	$(PY) -m pip install --disable-pip-version-check --quiet --no-deps --upgrade \
	  --target .cache/onnx paddle2onnx==2.1.0 onnx onnxruntime flatbuffers ml_dtypes
	PYTHONPATH=.cache/onnx $(PY) -m pytest -q tests/semantics/test_onnx.py

zoo: install ## install other people's models, run them, write their page (hours); read the diff
	@$(PY) -m corpus.zoo --install
	@rc=0; \
	for converter in d2s ast sot; do \
	  $(PY) -m corpus.zoo --jobs $(JOBS) --converter $$converter --json corpus/zoo/results.json || rc=1; \
	done; \
	$(PY) -m corpus.zoo --page; \
	exit $$rc

zooquick: install ## the few of them that CI runs, in under two minutes
	@$(PY) -m corpus.zoo --install --package paddlefsl
	$(PY) -m corpus.zoo --strict --package paddlefsl
	$(PY) -m corpus.zoo --strict --package vision LeNet squeezenet1_1 shufflenet_v2_x0_25 \
	  mobilenet_v3_small resnet18

bench: install ## time d2s, dygraph, Paddle's own paths, programs by hand; wants an idle machine
	$(PY) -m benchmarks --json benchmarks/results.json

benchquick: install ## the same in few short rounds: a look, not a result
	$(PY) -m benchmarks --quick

benchdocs: install ## the tables and plots of docs/performance.md, from the last `make bench`
	$(PY) -m benchmarks docs benchmarks/results.json

ci: ## what .ci/run does
	@.ci/run

clean: ## remove the venv, caches and built files
	rm -rf $(VENV) build dist site *.egg-info .coverage htmlcov
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .cache/bytecode
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
