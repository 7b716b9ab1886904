"""Running one operator by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .elementwise import ELEMENTWISE, Rule
from .layout import LAYOUT
from .modes import MODES
from .numbers import STORAGE, TYPE_OF_STORAGE, Call, Unpredictable
from .tensor import TENSOR

OPERATORS: dict[str, Rule] = {**TENSOR, **ELEMENTWISE, **LAYOUT}


def run(
    operator: str,
    inputs: Sequence[np.ndarray],
    attributes: Mapping[str, Any] | None = None,
    input_types: Sequence[str] | None = None,
    output_types: Sequence[str] | None = None,
) -> list[np.ndarray]:
    """Run an operator; types are names such as "INT48", by default those of the arrays and the type table."""
    kinds = list(input_types or (TYPE_OF_STORAGE[np.asarray(i).dtype.name] for i in inputs))
    results = list(output_types or _output_types(operator, kinds))
    wide = [np.asarray(value).astype(np.int64) for value in inputs]
    try:
        values = OPERATORS[operator](Call(wide, kinds, results, attributes or {}))
    except Unpredictable as fault:
        fault.operator = operator
        raise
    return [
        np.ascontiguousarray(v).reshape(np.shape(v)).astype(STORAGE[t])
        for v, t in zip(values, results, strict=True)
    ]


def _output_types(operator: str, input_types: Sequence[str]) -> tuple[str, ...]:
    found = {
        mode.outputs for mode in MODES[operator] if mode.inputs[: len(input_types)] == tuple(input_types)
    }
    if operator == "CONCAT":
        return (input_types[0],)
    if len(found) != 1:
        raise TypeError(f"{operator}: state the output types for inputs of {', '.join(input_types)}")
    return next(iter(found))
