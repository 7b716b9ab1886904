"""ONNX's node tests as they lie in folders, and what becomes of one that is run."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import tosajit as tj
from tests.tflite_cases.running import listed
from tests.tflite_cases.running import stored as inside

Array = np.ndarray[Any, Any]
Run = Callable[[tj.Graph], Callable[..., Any]]
"""What makes a graph a function, such as `tj.compile`."""
Became = Literal["passed", "refused", "failed"]
_TINY = ("int4", "uint4", "int2", "uint2")
_NARROW = ("float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn")
KNOWN = re.compile(r"'([^']+)': …")
"""How refusals ask for inputs that a test gives, and that have to be known when its model is read."""
UNREACHABLE = {
    name: "NumPy's float32 transform, which has its results, is farther from the exact ones than it tolerates"
    for name in ("test_dft_inverse", "test_dft_inverse_opset19")
}
"""Tests that exact arithmetic fails, by their names, and why; `tests/test_onnx_tools.py` shows it."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test, with one or several sets of inputs and outputs."""

    __test__: ClassVar[bool] = False  # pytest would take it for one of ours

    folder: Path
    operators: tuple[str, ...]
    relative: float
    absolute: float
    sets: tuple[Mapping[str, Any], ...]

    @property
    def name(self) -> str:
        """The test's own name."""
        return self.folder.name

    @property
    def type(self) -> str:
        """The type of its first input."""
        return next((one["type"] for one in self.sets[0]["in"]), "") if self.sets else ""

    @property
    def model(self) -> Path:
        """Its model."""
        return self.folder / "model.onnx"

    @property
    def files(self) -> tuple[Path, ...]:
        """All that it is made of."""
        return tuple(sorted(self.folder.iterdir()))

    def arrays(self, number: int, side: str) -> dict[str, Array]:
        """The inputs or outputs of a set, by their names."""
        found = {}
        for place, one in enumerate(self.sets[number][side]):
            if one["type"]:
                raw = (self.folder / f"{side}{number}_{place}.bin").read_bytes()
                found[one["name"]] = np.frombuffer(raw, _dtype(one["type"])).reshape(one["shape"])
        return found


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test, and why it did not pass."""

    test: Test
    became: Became
    reasons: tuple[str, ...] = ()


def tests(root: Path) -> Iterator[Test]:
    """All tests below a folder, in the order of their names."""
    for path in sorted(root.glob("*/about.json")):
        about = json.loads(path.read_text())
        ops = tuple(about["ops"])
        yield Test(path.parent, ops, about["rtol"], about["atol"], tuple(about["sets"]))


def judge(test: Test, run: Run = tj.compile) -> Outcome:
    """Load the model of a test, run it and compare the results."""
    if test.name in UNREACHABLE:
        return Outcome(test, "refused", (UNREACHABLE[test.name],))
    try:
        graph, is_legal = loaded(test)
    except tj.ModelError as error:
        reasons = {f"{one.operator}: {one.reason}" for one in error.refusals}
        return Outcome(test, "refused", tuple(sorted(reasons)))
    except tj.FileError as error:
        return Outcome(test, "refused", (str(error).partition(": ")[2],))
    if not is_legal:
        return Outcome(test, "failed", (f"not legal: {tj.validate(graph)[0]}",))
    try:
        fault = next((one for one in _faults(test, run(graph), graph) if one), "")
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
    return Outcome(test, "failed", (fault,)) if fault else Outcome(test, "passed")


def loaded(test: Test) -> tuple[tj.Graph, bool]:
    """The graph of a test, and whether it is legal; inputs that have to be known are those of the test."""
    given, known = test.arrays(0, "in") if test.sets else {}, dict[str, Array]()
    while True:
        try:
            graph = tj.load(test.model, constants=known)
        except tj.ModelError as error:
            asked = {name for one in error.refusals for name in KNOWN.findall(one.remedy)} - known.keys()
            if not asked & given.keys():
                raise
            known |= {name: given[name] for name in asked & given.keys()}
        else:
            return graph, not tj.validate(graph)


def stored(array: Array) -> Array:
    """An array as Arm's model takes it, which knows the types of TOSA alone."""
    name = array.dtype.name
    if name in _TINY or name in _NARROW:
        return array.astype(np.int8 if name in _TINY else np.float16)
    return array.astype(np.int32) if name in ("uint16", "uint32", "uint64") else inside(array)


def _faults(test: Test, call: Callable[..., Any], graph: tj.Graph) -> Iterator[str]:
    for number in range(len(test.sets)):
        given, expected = test.arrays(number, "in"), test.arrays(number, "out")
        found = listed(call(*(stored(given[value.name]) for value in graph.inputs)))
        for one, (name, wanted) in zip(found, expected.items(), strict=True):
            yield difference(one, wanted, test, name)


def difference(found: Array, wanted: Array, test: Test, name: str) -> str:
    """How a result differs from what is wanted: by anything in integers, by two steps or more in others."""
    found, expected = stored(found), stored(wanted)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{name}: {found.dtype}{list(found.shape)} for {expected.dtype}{list(expected.shape)}"
    if found.dtype.kind in "iub" or wanted.dtype.name in _NARROW:
        return (
            ""
            if np.array_equal(found, expected, equal_nan=found.dtype.kind == "f")
            else f"{name}: {int((found != expected).sum())} differ"
        )
    step = 2 * float(ml_dtypes.finfo(wanted.dtype).eps)
    near = np.isclose(
        found.astype(np.float64), expected.astype(np.float64),
        rtol=max(test.relative, step), atol=max(test.absolute, step if step > 1e-4 else 0), equal_nan=True,
    )  # fmt: skip
    return "" if near.all() else f"{name}: {int((~near).sum())} of {near.size} are off"
