"""Running a drawn case here and by LiteRT's reference kernels, and comparing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from litert import LiteRT

import tosajit as tj
from tests import reference
from tests.tflite_cases.sketch import Case
from tosajit.arrays import Array
from tosajit.operators import CUSTOM, VARIABLE


def fault(case: Case, litert: LiteRT, *, ours: bool = False) -> str | None:
    """How the results of a case differ from LiteRT's, if they do.

    What the front end has written is run by Arm's reference model, which compiles nothing, or by ours.
    """
    expected = litert.run(case.known or case.model, *case.calls, kernels=case.kernels)
    graph = tj.load(case.model)
    violations = tj.validate(graph)
    if violations:
        return f"not legal: {violations[0]}"
    run = (
        tj.compile(graph, checked=True)
        if ours or any(isinstance(node.operator, VARIABLE | CUSTOM) for node in graph.nodes)
        else by_arm(graph)
    )
    for call, (inputs, wanted) in enumerate(zip(case.calls, expected, strict=True)):
        found = run(*map(stored, inputs))
        for number, (one, other) in enumerate(zip(listed(found), wanted, strict=True)):
            if case.counted and number < len(wanted) - 1:
                defined = int(wanted[-1][0]) * case.counted
                one, other = one[:, :defined], other[:, :defined]
            text = difference(unfilled(one, other, case), other, case)
            if text is not None:
                return f"call {call}, output {number}: {text}"
    return None


def by_arm(graph: tj.Graph) -> Callable[..., Any]:
    """A graph run by Arm's reference model."""
    data, names = tj.to_bytes(graph), [value.name for value in graph.inputs]
    return lambda *arrays: list(reference.run(data, dict(zip(names, arrays, strict=True))).values())


def difference(found: Array, expected: Array, case: Case) -> str | None:
    """How one result differs from LiteRT's."""
    wanted = stored(expected)
    if found.shape != wanted.shape:
        return f"shape {found.shape}, not {wanted.shape}"
    if expected.dtype == np.uint8:  # 127 and 128 are neighbours
        found, wanted = found.view(np.uint8), expected
    if wanted.dtype.kind == "f":
        bound = case.absolute + case.relative * np.abs(wanted)
        with np.errstate(invalid="ignore"):
            wrong = ~(
                (np.abs(found - wanted) <= bound) | (found == wanted) | (np.isnan(found) & np.isnan(wanted))
            )
    else:
        wrong = np.abs(found.astype(np.int64) - wanted.astype(np.int64)) > case.steps
    if not wrong.any():
        return None
    place = tuple(int(one) for one in np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} differ, first at {place}: {found[place]}, not {wanted[place]}"


def unfilled(found: Array, expected: Array, case: Case) -> Array:
    """A result without what fills it up, where it is as long as what was found in LiteRT."""
    if case.fill is None or found.ndim == 0:
        return found
    kept, rest = found[: len(expected)], found[len(expected) :]
    return kept if (rest == case.fill).all() else found


def stored(array: Array) -> Array:
    """An array as our graphs take and give it: bytes without sign by their bits, pairs of reals."""
    if array.dtype == np.uint8:
        return array.view(np.int8)
    if array.dtype == np.complex64:
        return np.ascontiguousarray(array)[..., None].view(np.float32)
    return array.astype(np.int32) if array.dtype == np.int64 else array


def listed(results: Any) -> Sequence[Array]:
    """One result as a list of it."""
    return results if isinstance(results, tuple | list) else (results,)
