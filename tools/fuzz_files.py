"""Damages valid .tosa, .tflite, .pb, .onnx, .pt2, .mlir, .npy, .sknd and .dat files, and reads them.

Each ends in an error of ours or a graph. A case is a number: with the seed it names the file and the damage,
so that it can be played again by --case.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count, islice
from math import prod
from pathlib import Path
from random import Random

import numpy as np
from archive_mutations import MUTATIONS as ARCHIVES
from file_edits import edit
from file_mutations import MUTATIONS, damage
from file_seeds import seeds
from onnx_tests import sample as onnx_sample
from text_mutations import MUTATIONS as TEXTS
from text_seeds import texts
from workers import run_jobs

sys.path.append(str(Path(__file__).parents[1]))

from tests.onnx_cases.quantized import networks
from tests.tensorflow_cases.cases import CASES
from tests.tflite_cases import draw, drawn
from tosajit import nnef, samples
from tosajit.checks.validation import validate
from tosajit.dtypes import DTYPES
from tosajit.errors import FileError, ModelError, ScriptError, TosaError
from tosajit.files import from_bytes, to_bytes
from tosajit.files.npy import load_npy, save_npy
from tosajit.frontends import load
from tosajit.frontends.mlir.loading import graph_of as graph_of_module
from tosajit.frontends.mlir.writing import FORMS, module_text
from tosajit.frontends.nnef.weights import read_dat, written_dat
from tosajit.graph import Graph

ROOT = Path(__file__).parents[1]
LARGEST_MODEL = 100_000
SECONDS = 10.0
MEMORY = 1 << 30
RUN_ELEMENTS = 200_000
KINDS = ("tosa", "tflite", "pb", "npy", "sknd", "dat", "onnx", "pt2", "mlir")
ENDS = ("refused", "faulty", "valid", "run", "failed")


@dataclass(frozen=True)
class Job:
    """One case: what is damaged follows from its number and the seed."""

    seed: int
    case: int
    run: bool


@dataclass(frozen=True)
class Outcome:
    """How a case ended."""

    job: Job
    kind: str
    mutation: str
    end: str
    message: str = ""
    seconds: float = 0.0
    memory: int = 0


def main() -> int:
    """Run the cases, print a table and one closing line."""
    options = arguments()
    if options.case is not None:
        return replay(Job(options.seed, options.case, True))
    if options.atheris:
        return atheris()
    share = max(1, options.cases // max(1, options.run))
    chosen = (case for case in count() if kind_of(options.seed, case)[0] in (options.kind or KINDS))
    jobs = [Job(options.seed, case, case % share == 0) for case in islice(chosen, options.cases)]
    started = time.perf_counter()
    outcomes = list(run_jobs(attempt, jobs, lost, options.workers, lambda _: 3 * SECONDS))
    for outcome in outcomes:
        if outcome.end == "failed":
            keep(outcome)
    print(table(outcomes))
    failed = sum(outcome.end == "failed" for outcome in outcomes)
    slowest, memory = max(o.seconds for o in outcomes), max(o.memory for o in outcomes) >> 20
    took = time.perf_counter() - started
    print(
        f"{len(outcomes)} damaged files (seed {options.seed}) in {took:.0f} s: {failed} failed, "
        f"slowest {slowest:.2f} s of {SECONDS:.0f} s, at most {memory} MiB of {MEMORY >> 20} MiB"
    )
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--kind", action="append", choices=KINDS, help="only files of this kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--run", type=int, default=10_000, help="how many cases may compile and run their graph"
    )
    parser.add_argument("--case", type=int, help="play one case again, with its traceback")
    parser.add_argument("--atheris", action="store_true", help="search by coverage, until interrupted")
    return parser.parse_args([argument for argument in sys.argv[1:] if not argument.startswith("-atheris_")])


def attempt(job: Job, limited: bool = True) -> Outcome:
    """Carry out a case in this process, within its limits of time and memory."""
    kind, data, mutation = damaged(job)
    if limited:
        limit_memory()
    started = time.process_time()
    try:
        end, message = read(kind, data, job.run)
    except BaseException as error:
        first = traceback.format_exception_only(error)[0].splitlines()[0]
        end, message = "failed", f"{first}\n{traceback.format_exc()}"
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if seconds > SECONDS:
        end, message = "failed", f"took {seconds:.1f} s"
    if limited and memory > MEMORY:
        end, message = "failed", f"took {memory >> 20} MiB"
    return Outcome(job, kind, mutation, end, message, seconds, memory)


def lost(job: Job, why: str) -> Outcome:
    """The outcome of a case that took its process along."""
    kind, _, mutation = damaged(job)
    return Outcome(job, kind, mutation, "failed", why)


@cache
def limit_memory() -> None:
    """Let this process have no more address space than it has now and the limit."""
    sizes = Path("/proc/self/statm")
    if not sizes.exists():
        return
    limit = int(sizes.read_text().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def read(kind: str, data: bytes, run: bool) -> tuple[str, str]:
    """Read a file of a kind: how that ended."""
    match kind:
        case "tosa":
            return read_tosa(data, run)
        case "tflite" | "pb" | "onnx" | "pt2":
            return read_foreign(data)
        case "sknd":
            return read_text(data)
        case "mlir":
            return read_module(data)
        case "dat":
            return read_weights(data)
    return read_npy(data)


def read_foreign(data: bytes) -> tuple[str, str]:
    """Read, check and write a model of another format."""
    return read_model(lambda: load(data))


def read_text(data: bytes) -> tuple[str, str]:
    """The same with a text in SkriptND."""
    return read_model(lambda: nnef.parse(data.decode("utf-8", "replace"), weights=0.0))


def read_module(data: bytes) -> tuple[str, str]:
    """Read a module of MLIR, and write it as one."""
    end, message = read_model(lambda: graph_of_module(data))
    if end != "refused":
        with contextlib.suppress(FileError):
            text = "".join(module_text(graph_of_module(data))).encode()
            graph_of_module(text)
    return end, message


def read_weights(data: bytes) -> tuple[str, str]:
    """Read the elements of a variable."""
    try:
        read_dat(data)
    except FileError as error:
        return "refused", str(error)
    return "valid", ""


def read_model(load: Callable[[], Graph]) -> tuple[str, str]:
    """Load a model, check it and write it."""
    try:
        graph = load()
        faults = validate(graph)
        to_bytes(graph)
    except (FileError, ModelError, ScriptError) as error:
        return "refused", str(error)
    return ("faulty", str(faults[0])) if faults else ("valid", "")


def read_tosa(data: bytes, run: bool) -> tuple[str, str]:
    """Read, print, validate, write and read again, and run if that is wanted."""
    try:
        graph = from_bytes(data)
    except FileError as error:
        return "refused", str(error)
    str(graph)
    faults = validate(graph)
    try:
        written = to_bytes(graph)
    except FileError as error:
        return "refused", str(error)
    assert to_bytes(from_bytes(written)) == written, "another file is written the second time"
    if faults:
        return "faulty", str(faults[0])
    if not run or not is_small(graph):
        return "valid", ""
    return execute(graph)


def execute(graph: Graph) -> tuple[str, str]:
    """Compile a valid graph and run it on ones."""
    import tosajit as tj

    try:
        arrays = [np.ones(value.shape or (), value.dtype.storage) for value in graph.inputs]
        tj.compile(graph)(*arrays)
    except TosaError as error:
        return "valid", str(error)
    return "run", ""


def is_small(graph: Graph) -> bool:
    """Whether running it takes little; a damaged loop may be endless."""
    values = (value for region in graph.regions for block in region.blocks for value in block.values.values())
    loops = any(node.operator.opcode == "WHILE_LOOP" for node in graph.nodes)
    return not loops and sum(prod(value.shape or ()) for value in values) < RUN_ELEMENTS


def read_npy(data: bytes) -> tuple[str, str]:
    """Read without and with an expected type."""
    try:
        array = load_npy(data)
    except FileError as error:
        return "refused", str(error)
    assert array.nbytes <= len(data), "more elements than bytes"
    for dtype in DTYPES.values():
        with contextlib.suppress(FileError):
            load_npy(data, dtype)
    return "valid", ""


def kind_of(seed: int, case: int) -> tuple[str, Random]:
    """The kind of a case's file, and what draws the rest."""
    random = Random(f"{seed}/{case}")
    return random.choices(KINDS, (0.3, 0.16, 0.16, 0.08, 0.08, 0.03, 0.08, 0.05, 0.06))[0], random


def damaged(job: Job) -> tuple[str, bytes, str]:
    """Kind and bytes of a case's file, and the name of its damage."""
    kind, random = kind_of(job.seed, job.case)
    files = _FILES[kind]()
    own = {"tosa": MUTATIONS | {"edit": edit, "edit again": edit}, "sknd": TEXTS, "pt2": ARCHIVES}
    mutations = {**own, "mlir": MUTATIONS | TEXTS}.get(kind, MUTATIONS)
    data, mutation = damage(random, random.choice(files), files, mutations)
    return kind, data, mutation


@cache
def tosa_files() -> tuple[bytes, ...]:
    """Valid files: one of each seed, and the smaller samples."""
    models = [samples.path(name).read_bytes() for name in samples.names()]
    return tuple(
        [to_bytes(graph) for graph in seeds().values()] + [m for m in models if len(m) < LARGEST_MODEL]
    )


@cache
def tflite_files() -> tuple[bytes, ...]:
    """A model of each operator that is lowered, in one of its types, and the smaller samples."""
    operators = [draw(name, one.types[number % len(one.types)], number).model
                 for number, (name, one) in enumerate(drawn().items())]  # fmt: skip
    models = [samples.path(name, "model.tflite").read_bytes() for name in samples.names()]
    return (*operators, *(model for model in models if len(model) < LARGEST_MODEL))


@cache
def graph_files() -> tuple[bytes, ...]:
    """A GraphDef of each operator, and one as text."""
    text = b'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } '
    text += b'attr { key: "shape" value { shape { dim { size: 3 } } } } } node { name: "y" op: "LeakyRelu" '
    text += b'input: "x" attr { key: "alpha" value { f: 2.5e-1 } } } versions { producer: 9 }'
    return (*(case.model() for case in CASES), text)


@cache
def onnx_files() -> tuple[bytes, ...]:
    """Models of ONNX's own tests, and quantised networks."""
    return (*onnx_sample.models(), *networks())


@cache
def torch_files() -> tuple[bytes, ...]:
    """Exported programs of PyTorch."""
    return tuple(path.read_bytes() for path in sorted((ROOT / "tests" / "data" / "torch").glob("*.pt2")))


@cache
def npy_files() -> tuple[bytes, ...]:
    """Valid arrays of every type, in every version and layout."""
    files = []
    for dtype in DTYPES.values():
        for shape in ((), (5,), (2, 3, 4), (0, 3)):
            path = ROOT / "build" / "fuzz-files" / f"{os.getpid()}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            save_npy(path, np.ones(shape, dtype.storage))
            files.append(path.read_bytes())
            path.unlink()
    for version in ((1, 0), (2, 0), (3, 0)):
        for array in (np.asfortranarray(np.ones((3, 4), ">f4")), np.ones(7, ">i2")):
            file = io.BytesIO()
            np.lib.format.write_array(file, array, version=version)
            files.append(file.getvalue())
    return tuple(files)


@cache
def text_files() -> tuple[bytes, ...]:
    """Texts of every standard operator."""
    return tuple(texts())


@cache
def module_files() -> tuple[bytes, ...]:
    """Modules of MLIR, in every form, and one with what only other tools write."""
    written = ["".join(module_text(graph, form)).encode() for graph in seeds().values() for form in FORMS]
    return (*written, (ROOT / "tests" / "data" / "module.mlir").read_bytes())


@cache
def weight_files() -> tuple[bytes, ...]:
    """Elements of every type, and some whose bits are packed."""
    whole = [written_dat(np.ones((2, 3), code)) for code in "f2 f4 f8 u1 u4 i1 i2 i4 i8 ?".split()]
    packed = bytearray(written_dat(np.ones(24, np.uint8)))
    packed[44] = 4
    return (*whole, bytes(packed[:4]) + (12).to_bytes(4, "little") + bytes(packed[8:140]))


_FILES: dict[str, Callable[[], tuple[bytes, ...]]] = {
    "npy": npy_files, "tosa": tosa_files, "tflite": tflite_files, "pb": graph_files,
    "sknd": text_files, "dat": weight_files, "onnx": onnx_files, "pt2": torch_files,
    "mlir": module_files,
}  # fmt: skip


def keep(outcome: Outcome) -> None:
    """Save the file of a failure, and what it did."""
    folder = ROOT / "build" / "fuzz-files"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{outcome.job.seed}-{outcome.job.case}"
    (folder / f"{name}.{outcome.kind}").write_bytes(damaged(outcome.job)[1])
    (folder / f"{name}.txt").write_text(outcome.message)
    lines = outcome.message.splitlines() or [""]
    case = f"--seed {outcome.job.seed} --case {outcome.job.case}"
    print(f"failed: {case}: {lines[0]} ({folder / name}.{outcome.kind})")


def table(outcomes: Sequence[Outcome]) -> str:
    """How the cases of each damage ended."""
    rows: list[tuple[str, ...]] = [("damage", "files", *ENDS, "slowest")]
    for kind in KINDS:
        names = sorted({outcome.mutation for outcome in outcomes if outcome.kind == kind})
        rows += [
            _row(f".{kind} {name}", [o for o in outcomes if (o.kind, o.mutation) == (kind, name)])
            for name in names
        ]
    rows.append(_row("all", outcomes))
    return "\n".join(f"{name:<18}" + "".join(f"{cell:>10}" for cell in cells) for name, *cells in rows)


def _row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    ends = Counter(outcome.end for outcome in outcomes)
    slowest = max((outcome.seconds for outcome in outcomes), default=0.0)
    return (name, str(len(outcomes)), *(str(ends[end]) for end in ENDS), f"{slowest * 1e3:.0f} ms")


def replay(job: Job) -> int:
    """Play a case again, in this process and without limits."""
    kind, data, mutation = damaged(job)
    print(f"{len(data)} bytes of .{kind}, {mutation}")
    print(*read(kind, data, job.run), sep=": ")
    return 0


def atheris() -> int:
    """Let atheris search for inputs, starting with ours."""
    import atheris

    corpus = ROOT / "build" / "fuzz-files" / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate((*tosa_files(), *tflite_files(), *graph_files(), *npy_files())):
        (corpus / f"seed{number}").write_bytes(data)
    atheris.instrument_all()
    flags = [f"-max_len={LARGEST_MODEL}", f"-timeout={SECONDS:.0f}", f"-rss_limit_mb={MEMORY >> 20}"]
    rest = [argument.removeprefix("-atheris_") for argument in sys.argv if argument.startswith("-atheris_")]
    atheris.Setup([sys.argv[0], *flags, *(f"-{flag}" for flag in rest), str(corpus)], one_input)
    atheris.Fuzz()
    return 0


def one_input(data: bytes) -> None:
    """What atheris calls."""
    if data[:1] == b"\x93":
        read_npy(data)
    elif data[4:8] == b"TFL3":
        read_foreign(data)
    else:
        read_tosa(data, run=False)


if __name__ == "__main__":
    sys.exit(main())
