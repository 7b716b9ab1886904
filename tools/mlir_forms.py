"""Reads the tests of Arm's suite as texts and bytecode of other tools, and has those tools read our texts.

Each test of the sample goes from its .tosa file through Arm's `tosa-opt` into both of its texts and bytecode,
and through IREE's `iree-opt` into the newer text; what we write goes through the same tools and back.
What is read has to be the graph of the file but for names, and so its results; of each operator, one is run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from workers import run_jobs

import tosajit as tj
from tests import reference
from tests.mlir_graphs import unnamed
from tosajit.conformance import sample
from tosajit.conformance.entry import from_file
from tosajit.conformance.suite import Test, find_tests
from tosajit.frontends.mlir.spelling import Form
from tosajit.frontends.mlir.writing import module_text

PLACE = Path("build") / "mlir"
HEXADECIMAL = "--mlir-print-elementsattrs-with-hex-if-larger=64"
GENERIC = "--mlir-print-op-generic"
SECONDS = 600.0
_FAULT = re.compile(r"error: (.*)")


class Cannot(Exception):
    """Another tool refuses a module."""


@dataclass(frozen=True, slots=True)
class Job:
    """A test, and whether its graphs are run."""

    test: Test
    run: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test in one form."""

    test: str
    form: str
    fault: str = ""
    refused: bool = False


def main() -> int:
    """Go through the sample; 1 if anything is another graph, or is not read."""
    options = _options()
    started = time.perf_counter()
    outcomes = [
        one for many in run_jobs(attempt, jobs(options), lost, options.workers, limit) for one in many
    ]
    refused = Counter(f"{one.form}: {one.fault}" for one in outcomes if one.refused)
    for reason, count in refused.most_common():
        print(f"refused {count}: {reason}")
    failed = [one for one in outcomes if one.fault and not one.refused]
    for one in failed:
        print(f"FAILED {one.test} {one.form}: {one.fault}")
    forms = Counter(one.form for one in outcomes if not one.fault)
    print(", ".join(f"{form}: {count:,}" for form, count in forms.items()))
    print(
        f"mlir: {forms.total():,} of {len(outcomes):,} passed, {refused.total():,} refused, "
        f"{len(failed):,} failed ({time.perf_counter() - started:.0f} s)"
    )
    return int(not outcomes or bool(failed))


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """The legal tests of the sample; the first of each operator is run."""
    seen = set()
    chosen = re.compile(options.only)
    for archive in sample.ARCHIVES:
        folder = PLACE / archive.name
        if not folder.exists():
            sample.unpack(folder, archive)
        legal = [one for one in find_tests(folder / "tests") if not one.negative and chosen.search(one.name)]
        for number, test in enumerate(legal):
            if number % options.share == 0:
                yield Job(test, test.operator not in seen)
                seen.add(test.operator)


def attempt(job: Job) -> list[Outcome]:
    """Take a test through all forms."""
    graph = tj.load(job.test.tosa_path)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for form, way in WAYS.items():
            try:
                again = tj.load(way(graph, job.test.tosa_path, Path(folder)))
                alike = unnamed(again) == unnamed(graph)
                fault = "" if alike else "another graph"
                if alike and job.run:
                    fault = unlike(graph, again, job.test)
                found.append(Outcome(job.test.name, form, fault))
            except Cannot as error:
                found.append(Outcome(job.test.name, form, str(error), refused=True))
            except tj.TosaError as error:
                found.append(Outcome(job.test.name, form, f"{type(error).__name__}: {str(error)[:300]}"))
    return found


def unlike(graph: tj.Graph, again: tj.Graph, test: Test) -> str:
    """Which results of two graphs differ in a bit."""
    inputs = test.load_inputs()
    given = [from_file(inputs[one.name], one.dtype) for one in graph.inputs]
    results = [tj.compile(one)(*given) for one in (graph, again)]
    first, second = (one if isinstance(one, tuple) else (one,) for one in results)
    pairs = zip(first, second, strict=True)
    return (
        "" if all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs) else "other results"
    )


def _of_arm(*arguments: str) -> Callable[[tj.Graph, Path, Path], bytes]:
    def way(_: tj.Graph, path: Path, folder: Path) -> bytes:
        given = ("--tosa-deserialize", f"--tosa-deserialize-filename={path}")
        return said(tosa_opt(), *given, *arguments, HEXADECIMAL, folder=folder)

    return way


def _of_iree(graph: tj.Graph, path: Path, folder: Path) -> bytes:
    text = _of_arm(GENERIC)(graph, path, folder)
    return said(iree_opt(), HEXADECIMAL, text=text, folder=folder)


def _ours(form: Form, program: Callable[[], str]) -> Callable[[tj.Graph, Path, Path], bytes]:
    def way(graph: tj.Graph, _: Path, folder: Path) -> bytes:
        text = "".join(module_text(graph, form)).encode()
        return said(program(), HEXADECIMAL, text=text, folder=folder)

    return way


def said(program: str, *arguments: str, folder: Path, text: bytes = b"") -> bytes:
    """What a tool writes; `Cannot` with what it says if it refuses."""
    given = folder / "given.mlir"
    given.write_bytes(text)
    command = [program, str(given), "-o", str(folder / "taken"), *arguments]
    done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").replace(str(given), "text")
        lines = [one for one in message.splitlines() if one.strip()] or [f"exit code {done.returncode}"]
        found = _FAULT.search(message)
        raise Cannot(f"{Path(program).name}: {re.sub('[0-9]+', 'N', found[1] if found else lines[0])[:200]}")
    return (folder / "taken").read_bytes()


@cache
def tosa_opt() -> str:
    """Arm's tool."""
    arm = reference.tools()
    if arm is None:
        raise Cannot("tosa-opt is missing: TOSAJIT_ARM says where tosa-tools are")
    os.environ["TOSAJIT_ARM"] = str(arm.root)
    return str(arm.packages / "bin" / "tosa-opt")


@cache
def iree_opt() -> str:
    """IREE's tool."""
    found = Path(os.environ.get("TOSAJIT_PEERS", ".venv-peers")) / "bin" / "iree-opt"
    if not found.is_file():
        raise Cannot("iree-opt is missing: TOSAJIT_PEERS says where IREE's compiler is")
    return str(found)


WAYS = {
    "braces": _of_arm(),
    "generic": _of_arm(GENERIC),
    "bytecode": _of_arm("--emit-bytecode"),
    "arguments": _of_iree,
    "written in braces": _ours("tosa", tosa_opt),
    "written as generic": _ours("generic", tosa_opt),
    "written as arguments": _ours("llvm", iree_opt),
}
"""How a graph becomes a text that is read again."""


def lost(job: Job, reason: str) -> list[Outcome]:
    """What becomes of a test that its process did not finish."""
    return [Outcome(job.test.name, "all", reason)]


def limit(_: Job) -> float:
    """How long a test may take."""
    return SECONDS * len(WAYS)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="REGEX", help="only tests of such names")
    parser.add_argument("--share", type=int, default=1, help="only each of so many tests")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
