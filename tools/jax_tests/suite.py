"""Drawn cases as they lie in files, and what becomes of one that is run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import tosajit as tj
from jax_tests.written import to_array, to_function
from tests.tflite_cases.running import listed
from tests.tflite_cases.running import stored as inside
from tosajit.frontends.jax.lowering import lowered

Array = np.ndarray[Any, Any]
Run = Callable[[tj.Graph], Callable[..., Any]]
"""What makes a graph a function, such as `tj.compile`."""
Became = Literal["passed", "refused", "failed"]
TOLERANCE = 1e-5
"""Of the greatest number of a result, and of each number."""


@dataclass(frozen=True)
class Test:
    """A function with arguments, and what JAX computes of them."""

    __test__: ClassVar[bool] = False  # pytest would take it for one of ours

    path: Path

    @property
    def name(self) -> str:
        """The primitive that it is about, and its number."""
        return self.path.stem

    @property
    def primitive(self) -> str:
        """The primitive that it is about."""
        return self.name.rpartition("-")[0]

    @cached_property
    def written(self) -> Any:
        """What the file says."""
        return json.loads(self.path.read_text())

    @property
    def graph(self) -> tj.Graph:
        """The graph of the function."""
        return lowered(to_function(self.written["function"]))

    @property
    def arguments(self) -> list[Array]:
        """What it is called with."""
        return [to_array(one) for one in self.written["arguments"]]

    @property
    def results(self) -> list[Array]:
        """What JAX computes."""
        return [to_array(one) for one in self.written["results"]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test, and why it did not pass."""

    test: Test
    became: Became
    reasons: tuple[str, ...] = ()


def tests(root: Path) -> Iterator[Test]:
    """All tests in a folder, in the order of their names."""
    return map(Test, sorted(root.glob("*.json")))


def judge(test: Test, run: Run = tj.compile) -> Outcome:
    """Lower the function of a test, run it and compare the results."""
    try:
        graph = test.graph
    except tj.ModelError as error:
        reasons = {f"{one.operator.partition(' at ')[0]}: {one.reason}" for one in error.refusals}
        return Outcome(test, "refused", tuple(sorted(reasons)))
    violations = tj.validate(graph)
    if violations:
        return Outcome(test, "failed", (f"not legal: {violations[0]}",))
    try:
        found = listed(run(graph)(*map(stored, test.arguments)))
        pairs = zip(found, test.results, graph.outputs, strict=True)
        faults = (difference(one, wanted, value.name) for one, wanted, value in pairs)
        fault = next((one for one in faults if one), "")
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
    return Outcome(test, "failed", (fault,)) if fault else Outcome(test, "passed")


def stored(array: Array) -> Array:
    """An array as Arm's model takes it, which knows the types of TOSA alone."""
    return array.astype(np.int32) if array.dtype.name in ("uint16", "uint32", "uint64") else inside(array)


def difference(found: Array, wanted: Array, name: str) -> str:
    """How a result differs: by anything in integers, by more than rounding allows in others."""
    found, expected = stored(np.asarray(found)), stored(wanted)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{name}: {found.dtype}{list(found.shape)} for {expected.dtype}{list(expected.shape)}"
    if wanted.dtype.kind in "iub":
        return "" if np.array_equal(found, expected) else f"{name}: {int((found != expected).sum())} differ"
    one, other = found.astype(np.float64), expected.astype(np.float64)
    step = max(2 * float(ml_dtypes.finfo(wanted.dtype).eps), TOLERANCE)
    finite = np.abs(other[np.isfinite(other)])
    near = np.isclose(one, other, rtol=step, atol=step * finite.max(initial=0.0), equal_nan=True)
    return "" if near.all() else f"{name}: {int((~near).sum())} of {near.size} are off"
