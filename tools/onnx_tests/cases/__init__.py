"""Cases by family: functions that draw a node and its inputs."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from drawing import Array, Random

OPSETS = (18, 19, 20, 21, 22, 23)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A node: what it is given, in order, and which of that the model holds."""

    inputs: tuple[Array | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constant: tuple[int, ...] = ()
    outputs: int = 1
    opsets: tuple[int, ...] = OPSETS


CASES: dict[str, Callable[[Random], Drawn]] = {}
REAL = ("float32", "float32", "float16")
WIDE = ("int32", "int64")
NARROW = ("int8", "uint8", "int16")


def case(operators: str) -> Callable[[Callable[..., Drawn]], Callable[..., Drawn]]:
    """Declare how cases of operators are drawn: the function takes a generator and the operator's name."""

    def declare(draw: Callable[..., Drawn]) -> Callable[..., Drawn]:
        for operator in operators.split():
            CASES[operator] = partial(draw, name=operator)
        return draw

    return declare


def integers(*values: Any) -> Array:
    """What ONNX takes as axes, shapes and places."""
    return np.array(values, np.int64)


def one_of(rng: Random, *values: Any) -> Any:
    """One of the values, as it is."""
    return values[rng.integers(len(values))]


def chance(rng: Random, of: float = 0.5) -> bool:
    """Whether it happens."""
    return bool(rng.random() < of)


for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
