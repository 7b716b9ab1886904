"""Judge 64-bit Arm from another machine: bits under emulation, and inner loops by llvm-mca.

Kernels are compiled here, for the emulated CPU, so that the emulator only runs them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import llvmlite.binding as llvm
import numpy as np
from benching.client import ROOT, model_files
from crossing.cross import compile_for
from crossing.judge import MCA, judged
from crossing.products import drawn

import tosajit as tj
from tosajit.conformance import sample
from tosajit.conformance.suite import Test, load_expected
from tosajit.kernels.sets.cpus import Cpu, foreign

LINUX = "aarch64-unknown-linux-gnu"
EMULATED = ("neoverse-v1", "neoverse-n1", "cortex-a72")
"""CPUs with smmla, with sdot, and without it."""
MODELS = ("ds_cnn", "resnet8", "mobilenet_v2", "transformer_tiny", "autoencoder", "ds_cnn_i16x8")
CORES = ("apple-m1", "neoverse-n1", "neoverse-v1", "cortex-a72")
LOOPS = {
    "tile_i8": "smmla",
    "tile_rescale_i8": "smmla",
    "tile_i16": "smlal",
    "tile_f32": "fmla",
    "tile_f16": "fmlal",
    "depthwise_i8": "sdot",
    "depthwise_rescale_i8": "sdot",
    "depthwise_i16": "smlal",
    "depthwise_f32": "fmla",
}
"""What does the products of a procedure, where the core has it; else there is one of `OTHERS`."""
OTHERS = {"i8mm": "smmla", "dotprod": "sdot", "neon": "smull smlal"}
"""What multiplies int8, by the feature that it needs, best first."""
SHARE = 0.85


def main() -> int:
    """Do all of it; 1 if a bit differs or a loop is too slow."""
    options = arguments()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    slow = [] if options.only == "bits" else table()
    wrong = 0 if options.only == "loops" else sum(run(name, options) for name in options.cpus.split(","))
    print(f"arm: {wrong} CPUs with wrong bits, {len(slow)} loops below {SHARE:.0%} of their peak")
    return int(bool(wrong or slow))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cpus", default=",".join(EMULATED), help="emulated (default %(default)s)")
    parser.add_argument("--models", default=",".join(MODELS), help="(default %(default)s)")
    parser.add_argument(
        "--tests", type=int, default=60, help="of the conformance sample (default %(default)s)"
    )
    parser.add_argument(
        "--drawn", action=argparse.BooleanOptionalAction, default=True, help="products of bf16"
    )
    parser.add_argument("--only", choices=["bits", "loops"], help="do but a half")
    return parser.parse_args()


def table() -> list[str]:
    """Print the share of their peak that inner loops have; return those that have too little."""
    if shutil.which(MCA) is None:
        sys.exit(f"{MCA} is missing: apt-get install llvm-19")
    slow = []
    print("inner loop       instruction  core          products  cycles  share of peak")
    for name in CORES:
        cpu = foreign(LINUX, name)
        for procedure, instruction in LOOPS.items():
            if instruction == "fmlal" and "fp16fml" not in cpu.features:
                continue
            if instruction in OTHERS.values():
                instruction = available(instruction, cpu)
            found = judged(procedure, instruction, cpu)
            text = f"{procedure:16} {instruction:12} {name:13} {found.products:8} {found.cycles:7.1f}"
            print(f"{text} {found.share:7.0%}", flush=True)
            if found.share < SHARE:
                slow.append(f"{procedure} on {name}")
    return slow


def available(instruction: str, cpu: Cpu) -> str:
    """An instruction, or the next best that a core has."""
    kinds = list(OTHERS.values())
    return next(
        one
        for feature, one in OTHERS.items()
        if feature in cpu.features and kinds.index(one) >= kinds.index(instruction)
    )


def run(name: str, options: argparse.Namespace) -> bool:
    """Run everything on an emulated CPU; true if a bit differs."""
    python = Path(os.environ.get("TOSAJIT_ARM64", ROOT / ".venv-arm64")) / "python"
    if not python.exists():
        sys.exit(f"no arm64 Python at {python}: `make arm` makes it, or set $TOSAJIT_ARM64")
    cache, cpu = ROOT / "build" / "arm64" / name, foreign(LINUX, name)
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        folders = list(cases(options, Path(place)))
        made = sum(compile_for(tj.load(folder / "model.tosa"), cpu, cache) for folder in folders)
        print(f"{name}: {made} kernels compiled here", flush=True)
        variables = {
            "TOSAJIT_CACHE": str(cache),
            "TOSAJIT_CPU": name,
            "QEMU_CPU": name if name in emulated() else "max",
            "PYTHONPATH": str(ROOT),
        }
        command = [str(python), str(ROOT / "tools/crossing/inside.py"), *map(str, folders)]
        return subprocess.run(command, env={**os.environ, **variables}).returncode != 0


def emulated() -> frozenset[str]:
    """The CPUs that the emulator knows: on one of these, an instruction that it lacks is an error."""
    told = subprocess.run(["qemu-aarch64-static", "-cpu", "help"], capture_output=True, text=True)
    return frozenset(told.stdout.split())


def cases(options: argparse.Namespace, place: Path) -> Iterator[Path]:
    """Folders of models and of tests of the suite, with what they have to give."""
    for name in filter(None, options.models.split(",")):
        files = model_files(name)
        arrays = (
            [np.load(path) for path in sorted(files.glob(f"case0_{kind}*.npy"))] for kind in ("in", "out")
        )
        yield case(place / name, files / "model.tosa", *arrays)
    for name, graph, inputs, output, within in drawn() if options.drawn else ():
        tj.save(graph, place / f"{name}.tosa")
        bounds = [] if within is None else [within]
        yield case(place / name, place / f"{name}.tosa", inputs, [output], bounds)
    sample.unpack(place / "suite", sample.ARCHIVE)
    tests = [pair for pair in sample.unpacked(place / "suite") if not pair[0].negative]
    for test, results in tests[:: max(1, len(tests) // options.tests)] if options.tests else []:
        yield case(
            place / f"{test.operator}-{test.name}"[:200],
            test.tosa_path,
            list(test.load_inputs().values()),
            bits(test, results),
        )


def bits(test: Test, results: Path) -> Sequence[np.ndarray]:
    """The bits that a test has to give: the suite's, or this machine's where the suite has bounds alone."""
    if all(tensor["mode"] == "EXACT" for tensor in test.compliance["tensors"].values()):
        golden = load_expected(test, results)
        return [golden[name].value for name in test.outputs]
    found = tj.compile(test.tosa_path)(*test.load_inputs().values())
    return found if isinstance(found, tuple) else (found,)


def case(
    folder: Path,
    graph: Path,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    within: Sequence[np.ndarray] = (),
) -> Path:
    """Write a graph and its arrays for `crossing/inside.py`."""
    folder.mkdir()
    shutil.copy(graph, folder / "model.tosa")
    for stem, arrays in (("in", inputs), ("out", outputs), ("within", within)):
        for number, array in enumerate(arrays):
            np.save(folder / f"{stem}{number}.npy", array)
    return folder


if __name__ == "__main__":
    sys.exit(main())
