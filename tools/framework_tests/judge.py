"""Runs a framework test through its front end, and says what became of it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from framework_tests.bounds import bound
from framework_tests.suite import Test

sys.path.insert(0, str(Path(__file__).parents[2]))

import tosajit as tj
from tests.tflite_cases.running import difference, listed, stored
from tests.tflite_cases.sketch import Case

NEAR = Case(b"", (), steps=0, relative=1e-5, absolute=0.0)
"""How far numbers may be from those of the framework, which rounds floating point in an order of its own."""

STEP = replace(NEAR, steps=1)

Run = Callable[[tj.Graph], Callable[..., Any]]
"""What makes a graph a function, such as `tj.compile`."""
Became = Literal["passed", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test, and why it did not pass, or in which way it did."""

    test: Test
    became: Became
    reasons: tuple[str, ...] = ()


class _WithinAStepError(Exception):
    """Integers are as near as the list of exceptions allows."""


def judge(test: Test, run: Run = tj.compile) -> Outcome:
    """Load the model of a test, run it and compare the result."""
    try:
        graph = tj.load(test.model)
    except tj.ModelError as error:
        reasons = {f"{one.operator}: {one.reason}" for one in error.refusals}
        return Outcome(test, "refused", tuple(sorted(reasons)))
    except Exception as error:
        return Outcome(test, "failed", (_told(error),))
    try:
        violations = tj.validate(graph)
        fault = f"not legal: {violations[0]}" if violations else _fault(test, graph, run)
    except _WithinAStepError:
        return Outcome(test, "passed", (f"{test.family} {test.type} within one step: {test.exception}",))
    except Exception as error:
        fault = _told(error)
    return Outcome(test, "failed", (fault,)) if fault else Outcome(test, "passed")


def _fault(test: Test, graph: tj.Graph, run: Run) -> str:
    given = [stored(np.load(path)) for path in test.inputs]
    for value, array in zip(graph.inputs, given, strict=True):
        if value.shape != array.shape:
            return f"{value.name} is {value.type}, but the test gives {list(array.shape)}"
    found, expected = listed(run(graph)(*given))[0], np.load(test.result)
    fault = difference(found, expected, NEAR)
    if fault is not None and test.exception and difference(found, expected, STEP) is None:
        raise _WithinAStepError
    expected = stored(expected)
    if fault is None or expected.dtype.kind != "f" or found.shape != expected.shape:
        return fault or ""
    flushed = np.where(expected == 0, np.finfo(expected.dtype).smallest_normal, 0)  # TensorFlow flushes
    allowed = np.maximum(np.maximum(bound(graph, given, run), NEAR.relative * np.abs(expected)), flushed)
    return fault if not (np.abs(found - expected) <= allowed).all() else ""


def _told(error: Exception) -> str:
    """What an error says, and where it was raised if it is not one of ours."""
    if isinstance(error, tj.TosaError):
        return f"{type(error).__name__}: {error}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
