"""Composes a case as one operation, and runs it with the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.nnef.cases.case import Case, Given
from tests.nnef.interpreter import run
from tosajit.frontends.nnef.compose import Library, invoke
from tosajit.frontends.nnef.library import Standard
from tosajit.frontends.nnef.model import Argument, Definition, Operation, Tensor

STANDARD = Standard()
LIBRARY = Library({}, STANDARD)
_TYPES = {"f": "real", "i": "int", "b": "bool"}


def argument(name: str, given: Given) -> Argument:
    """Tensors for arrays."""
    match given:
        case None:
            return None
        case np.ndarray():
            return Tensor(name, _TYPES[given.dtype.kind], given.shape, "input")
    return tuple(
        Tensor(f"{name}.{n}", _TYPES[one.dtype.kind], one.shape, "input") for n, one in enumerate(given)
    )


def composed(case: Case) -> Operation:
    """The operation that a case calls."""
    definition = definition_of(case)
    inputs = {one: argument(one, given) for one, given in given_by_name(case).items()}
    return invoke(definition, LIBRARY, types=case.types, attributes=case.attributes, inputs=inputs)


def definition_of(case: Case) -> Definition:
    """The operator that a case calls."""
    found = STANDARD.find(*case.operator.split(".", 1))
    assert found is not None
    return found


def given_by_name(case: Case) -> dict[str, Given]:
    """The inputs of a case by their names."""
    names = [one.name for one in definition_of(case).operator.inputs]
    return {**dict.fromkeys(names), **dict(zip(names, case.inputs, strict=False))}


def interpreted(case: Case) -> tuple[Any, ...]:
    """What the interpreter says that a case gives, in the order of the outputs."""
    return tuple(run(composed(case), LIBRARY, given_by_name(case)).values())
