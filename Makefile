# Everything is run from environments of its own, which are made when a target first needs them.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
SEED ?= 42
VENV := .venv
# Tests start hundreds of processes: none of them should compile our modules again.
unexport PYTHONDONTWRITEBYTECODE
export TOSAJIT_ARM ?= $(CURDIR)/.venv-arm
export TOSAJIT_PEERS ?= $(CURDIR)/.venv-peers
export TOSAJIT_VELA ?= $(CURDIR)/.venv-vela
export TOSAJIT_FRAMEWORKS ?= $(CURDIR)/.venv-frameworks
export TOSAJIT_ONNX ?= $(CURDIR)/.venv-onnx
export TOSAJIT_JAX ?= $(CURDIR)/.venv-jax
export TOSAJIT_TORCH ?= $(CURDIR)/.venv-torch
export TOSAJIT_EXECUTORCH ?= $(CURDIR)/.venv-executorch
export TOSAJIT_NPU_PEERS ?= $(CURDIR)/.venv-npu-peers
export TOSAJIT_STREAM ?= $(CURDIR)/.venv-stream
export TOSAJIT_ARM64 ?= $(CURDIR)/.venv-arm64

# These judge the kernels that are written for each group, however much of the generic one the cache has.
conformance fuzz fuzz-integers fuzz-floats fuzz-tflite fuzz-files nnef frontends onnx executorch: export TOSAJIT_GENERIC := never

INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
DOCS := $(VENV)/.docs
ARM := $(TOSAJIT_ARM)/.ready
ARM_SUT := $(TOSAJIT_ARM)/.tosajit
PEERS := $(TOSAJIT_PEERS)/.ready
LITERT := $(TOSAJIT_PEERS)/.litert
VELA := $(TOSAJIT_VELA)/.ready
NPU_PEERS := $(TOSAJIT_NPU_PEERS)/.ready
STREAM := $(TOSAJIT_STREAM)/.ready
FRAMEWORKS := $(TOSAJIT_FRAMEWORKS)/.ready
ONNX := $(TOSAJIT_ONNX)/.ready
JAX := $(TOSAJIT_JAX)/.ready
TORCH := $(TOSAJIT_TORCH)/.ready
EXECUTORCH := $(TOSAJIT_EXECUTORCH)/.ready
LOWEST := .venv-lowest/.ready
ARM64 := $(TOSAJIT_ARM64)/python
PYTHONS := 3.12 3.13
BIN := $(VENV)/bin
RUN := $(BIN)/python
# An environment beside it for what a target makes, and more packages in it.
MAKE_ENVIRONMENT = $(BIN)/uv venv --quiet --seed --allow-existing --python $(PYTHON) $(@D)
ADD = $(BIN)/uv pip install --quiet --python $(@D)
MODULES := $(wildcard tosajit tiling sim)
SOURCES := $(MODULES) $(wildcard tools tests notebooks conftest.py)

.PHONY: help release first demo arm test programs kernels test-slow test-packages test-lowest test-pythons lint format conformance conformance-arm sample quantization bench bench-compare roofline rank laws vela validate fuzz fuzz-integers fuzz-floats fuzz-tflite fuzz-files nnef frontends frameworks frameworks-sample mutants notebooks docs newcomer onnx torch torch-times executorch jax clean environments
.DELETE_ON_ERROR:

help:               ## List the targets
	@sed -n 's/^\([a-z-]*\): .*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(INSTALLED)      ## Simulate, compile and run a model; show its program and its result
	$(RUN) tools/demo.py

# Each process begins with a half, so that tests of one file share kernels and fixtures, and takes from the other at the end.
test: $(READY) $(ARM) $(LITERT) programs   ## Run the tests
	$(RUN) -m pytest -n 2 --dist worksteal $(ARGS)

test-slow: $(READY) $(LITERT) $(FRAMEWORKS) $(JAX) $(TORCH)     ## Run the tests that take long or much memory
	$(RUN) -m pytest -m slow -n 2 --dist worksteal $(ARGS)

kernels: $(READY)    ## Compile the kernels that a wheel has, for an editable install: ARGS='--cpu all model.tosa'
	$(RUN) tools/ready_kernels.py $(ARGS)

test-packages: $(READY) ## Build the sdist and the wheel, and test their contents
	$(RUN) -m pytest -m slow tests/test_packages.py $(ARGS)

# Tests that see most of what another version can break. Warnings of old packages about each other are not ours.
ELSEWHERE := $(addprefix tests/,test_cli.py test_exports.py test_files.py test_kernels_objects.py test_models.py \
    test_samples.py sim/explore/test_space.py sim/explore/test_run.py sim/test_machines.py sim/test_machines_files.py)

test-lowest: $(LOWEST)  ## Run some tests with the lowest versions in pyproject.toml
	$(<D)/bin/python -m pytest -n 2 -o filterwarnings=default $(ELSEWHERE) $(ARGS)

test-pythons: $(PYTHONS:%=test-python-%)    ## Run some tests with Python 3.12 and 3.13

# Such a Python is on the path, or pyenv has it, or uv can download it.
test-python-%: $(READY)
	@pyenv=$$(ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$*.*/bin 2>/dev/null | tail -1); \
	if PATH="$$PATH:$$pyenv" $(BIN)/uv venv --quiet --clear --python $* .venv-$* 2>/dev/null; then \
	    $(BIN)/uv pip install --quiet --python .venv-$* -e '.[test]' && \
	    .venv-$*/bin/python -m pytest -n 2 $(ELSEWHERE) $(ARGS); \
	else \
	    echo "Python $*: not tested, there is none here and none can be downloaded"; \
	fi

release: lint test test-slow test-lowest test-pythons docs    ## Run all that a release must pass

lint: $(READY)      ## Check format, style and types
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy $(MODULES) $(wildcard tools tests conftest.py)

format: $(READY)    ## Format the sources
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix-only $(SOURCES)

arm: $(READY) $(ARM64)     ## 64-bit Arm from here: bits under qemu, inner loops by llvm-mca: ARGS='--tests 200', ARGS='--only loops'
	$(RUN) tools/arm64.py $(ARGS)

$(ARM64):
	sh tools/crossing/environment.sh $(TOSAJIT_ARM64) $(abspath $(RUN))

conformance: $(READY) $(ARM)    ## Arm's conformance suite, all of TOSA 1.0: SEED=42, MACHINE=name, ARGS='--minutes 30', ARGS=--integer
	$(RUN) tools/conformance.py run --seed $(SEED) $(if $(MACHINE),--machine $(MACHINE)) $(ARGS)

conformance-arm: $(READY) $(ARM_SUT)    ## Arm's own test runner, on the samples of the suite
	$(RUN) tools/conformance.py unpack
	PATH="$(TOSAJIT_ARM)/bin:$$PATH" TOSA_MODEL_NO_BACKTRACE=1 tosa_verif_run_tests --recursive -j 2 \
	    --test build/conformance/sample/tests --sut-module tosajit.conformance.sut --no-color \
	    --xunit-file build/conformance/arm.xml $(ARGS) | grep -v PASS

sample: $(READY) $(ARM)     ## Choose the tests of tests/data/conformance*.tar.xz again
	$(RUN) tools/conformance.py sample --seed 42 $(ARGS)

frontends: $(READY) $(ARM) $(PEERS) $(FRAMEWORKS) $(ONNX) $(TORCH) $(JAX)    ## The tests of all front ends, in one table: ARGS='jax onnx', ARGS='--share 4 --kept'
	$(RUN) tools/frontends.py $(ARGS)

frameworks: $(READY) $(FRAMEWORKS)    ## Arm's tests of TensorFlow and TFLite: SEED=1, ARGS='--only conv --minutes 10'
	$(RUN) tools/framework_operators.py --seed $(SEED) $(ARGS)

frameworks-sample: $(READY) $(FRAMEWORKS)    ## Choose the tests of tests/data/frameworks.tar.xz again
	$(RUN) tools/framework_operators.py --seed $(SEED) --pack $(ARGS)

quantization: $(READY) $(FRAMEWORKS)   ## Compare tj.quantize with LiteRT's converter: ARGS='mobilenet_v2 --samples 32'
	$(RUN) tools/quantization.py $(ARGS)

bench: $(READY) $(ARM) $(PEERS) $(TORCH) $(ONNX) $(FRAMEWORKS) $(VELA) $(NPU_PEERS)    ## Time models, kernels and the simulator against the peers
	$(RUN) tools/bench.py $(ARGS)

first: $(READY) $(FRAMEWORKS)   ## Time first results of new processes, from an installation of its own: ARGS='--rounds 9 FOLDER'
	$(RUN) tools/first_results.py $(ARGS)

bench-compare: $(READY) ## Judge two runs of bench: BEFORE=old.json AFTER=build/bench.json
	$(RUN) tools/bench_compare.py $(BEFORE) $(or $(AFTER),build/bench.json) $(ARGS)

roofline: $(READY)  ## Where the time of models goes, against what bounds it: ARGS='mobilenet_v2 --top 20'
	PYTHONPATH=. $(RUN) tools/roofline.py $(ARGS)

rank: $(READY)      ## Compare how closed form and event simulator rank 3,200 machines
	$(RUN) -m pytest -m long tests/sim/test_ranking.py -rP $(ARGS)

vela: $(READY) $(VELA)  ## Compare cycles and traffic with Vela's, live, with our planner and with Vela's schedule: ARGS='--only gru --objective traffic'
	$(RUN) tools/vela_live.py $(ARGS)

laws: $(READY)      ## Check on drawn layers and networks that better machines are never slower: ARGS='--layers 300 --held-out'
	$(RUN) tools/laws.py $(ARGS)

validate: $(READY) $(VELA) $(STREAM)  ## Compare the simulator with published figures: docs/validation.md
	$(RUN) tools/validate.py $(ARGS)

fuzz: fuzz-integers $(if $(MACHINE),,fuzz-floats fuzz-tflite)  ## Compare 10,000 random graphs with Arm's model, or MACHINE=name with the oracle

fuzz-integers: $(READY) $(ARM)  ## The integer half of fuzz: ARGS='--graphs 100 --seed 2 --minutes 5 --no-shrink', '--variables'
	$(RUN) tools/fuzz_graphs.py $(if $(MACHINE),--machine $(MACHINE)) $(ARGS)

fuzz-floats: $(READY) $(ARM)    ## The floating-point half of fuzz, with the same options
	$(RUN) tools/fuzz_floating.py $(ARGS)

fuzz-tflite: $(READY) $(PEERS)   ## Compare random TFLite models with LiteRT's reference kernels: ARGS='--graphs 500 --only ADD --chains 0'
	$(RUN) tools/fuzz_tflite.py --chains 3000 $(ARGS)

onnx: $(READY) $(ONNX)    ## ONNX's own tests of its operators, or drawn ones: ARGS='--only resize --arm', ARGS='--drawn 8 --seed 3'
	$(RUN) tools/onnx_nodes.py $(ARGS)

torch: $(READY) $(TORCH)    ## torchvision's networks, as they are and quantised, against PyTorch: ARGS='resnet18'
	$(RUN) tools/torch_networks.py $(ARGS)

torch-times: $(READY) $(TORCH)    ## Time tj.from_torch beside torch.export alone: ARGS='resnet18 --rounds 5'
	$(RUN) tools/torch_times.py $(ARGS)

executorch: $(READY) $(EXECUTORCH)    ## Graphs of modules beside those of ExecuTorch's Arm backend: ARGS='lstm --machine ethos-u85-512'
	$(RUN) tools/executorch_peer.py $(ARGS)

jax: $(READY) $(JAX)    ## Drawn cases of JAX's primitives: SEED=42, ARGS='--only dot --cases 100'
	$(RUN) tools/jax_primitives.py --seed $(SEED) $(ARGS)

nnef: $(READY) $(ARM)    ## All tests of NNEF 2.0, and how many each standard operator has passed
	$(RUN) tools/nnef.py $(ARGS)

fuzz-files: $(READY)    ## Read 10,000 damaged files: TOSA, TFLite, GraphDefs, ONNX, SkriptND, arrays
	$(RUN) tools/fuzz_files.py $(ARGS)

mutants: $(READY) $(ARM)    ## Put small faults into the sources to see whether tests notice: ARGS='--seed 2 --mutants 50'
	$(RUN) tools/mutants.py $(ARGS)

notebooks: $(READY)     ## Execute the notebooks, and keep what they show: ARGS=--check only compares
	$(RUN) tools/notebooks.py $(ARGS)

docs: $(DOCS)       ## Build the documentation: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --quiet --strict $(ARGS)

newcomer:           ## Time a newcomer's first steps: environment, first model, help text, first result
	$(PYTHON) tools/newcomer.py $(ARGS)

environments: $(READY) $(ARM) $(PEERS) $(VELA) $(NPU_PEERS) $(STREAM) $(FRAMEWORKS) $(ONNX) $(JAX) $(TORCH) $(EXECUTORCH) ## Make all environments

clean:              ## Remove environments, caches and results
	rm -rf .venv .venv-* build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find $(SOURCES) -name __pycache__ -prune -exec rm -rf {} +

# Programs of Debian that tests need, a browser for pages and shells for completion, are installed where that is allowed.
programs:
	@missing=; for name in $${CHROMIUM:-chromium} zsh fish; do command -v $$name >/dev/null || missing="$$missing $$name"; done; \
	[ -z "$$missing" ] || \
	    { [ "$$(id -u)" = 0 ] && apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y $$missing; } >/dev/null 2>&1 || \
	    echo "missing, and not to be installed here:$$missing; tests that need them are skipped"

# Enough to use it; what is more takes longer than the rest of the demonstration.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e .
	touch $@

# uv installs the rest: in a fifth of the time that pip takes.
$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev]'
	touch $@

$(LOWEST): $(READY)
	rm -rf $(@D)
	$(MAKE_ENVIRONMENT)
	$(ADD) --resolution lowest-direct -e '.[test]'
	touch $@

$(DOCS): $(READY)
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[docs]'
	touch $@

$(ARM): | $(READY)
	$(MAKE_ENVIRONMENT)
	$(ADD) tosa-tools==2026.8.0
	touch $@

# Arm's runner imports the system under test: tosajit has to be installed beside it.
$(ARM_SUT): $(ARM) pyproject.toml
	$(ADD) -e .
	touch $@

$(LITERT): | $(READY)
	$(MAKE_ENVIRONMENT)
	$(ADD) ai-edge-litert==2.3.0
	touch $@

$(PEERS): $(LITERT)
	$(ADD) openvino==2026.4.1 \
	    iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 scipy==1.17.1
	touch $@

$(VELA): | $(READY)
	$(MAKE_ENVIRONMENT)
	$(ADD) ethos-u-vela==5.2.0
	touch $@

# tosa-tools asks for an older NumPy than TensorFlow does.
$(FRAMEWORKS): | $(READY)
	$(MAKE_ENVIRONMENT)
	$(ADD) tensorflow==2.21.0 jsonschema
	$(ADD) --no-deps tosa-tools==2026.8.0
	touch $@

$(ONNX): | $(READY)
	$(MAKE_ENVIRONMENT)
	$(ADD) onnx==1.23.2 onnxruntime==1.32.0
	touch $@

$(TORCH): pyproject.toml | $(READY)
	$(MAKE_ENVIRONMENT)
	$(@D)/bin/python -m pip install --quiet torch==2.13.0 torchvision==0.28.0 torchao==0.18.0 transformers==5.23.0 -e .
	$(@D)/bin/python -m pip install --quiet --no-deps tosa-tools==2026.8.0
	touch $@

# tosa-tools asks for an older NumPy than ExecuTorch does.
$(EXECUTORCH): | $(READY)
	$(MAKE_ENVIRONMENT)
	$(@D)/bin/python -m pip install --quiet executorch==1.5.1 torch==2.13.0 torchvision==0.28.0 ml_dtypes
	$(@D)/bin/python -m pip install --quiet --no-deps tosa-tools==2026.8.0
	touch $@

$(JAX): pyproject.toml | $(READY)
	$(MAKE_ENVIRONMENT)
	$(ADD) jax==0.10.2 flax==0.12.8 -e .
	touch $@

$(NPU_PEERS): | $(READY)
	$(MAKE_ENVIRONMENT)
	$(ADD) zigzag-dse==3.9.1 six scalesim==3.0.0 'numpy<2.3'
	touch $@

# Stream does not name all that it imports, and was written for the ZigZag of its time.
$(STREAM): | $(READY)
	$(MAKE_ENVIRONMENT)
	$(ADD) stream-dse==0.0.8 zigzag-dse==2.5.4 rtree deap brokenaxes plotly pandas seaborn 'numpy<2'
	touch $@
