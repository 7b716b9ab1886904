"""Cases by family: functions that draw a function of JAX and its arguments. Only this package needs JAX."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

Random = np.random.Generator
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A function and its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    primitive: str = ""
    """What the jaxpr must have."""


CASES: dict[str, Callable[[Random], Drawn]] = {}
REAL, WIDE = ("float32", "float32", "float16", "bfloat16"), ("int32", "uint32")
NARROW = ("int8", "int16", "uint8", "uint16")
NUMBERS = (*REAL, *WIDE, *NARROW)


def case(primitives: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare how cases of primitives are drawn: the function takes a generator and the primitive's name."""

    def declare(draw: Callable[..., Drawn]) -> Callable[..., Drawn]:
        for primitive in primitives.split():
            CASES[primitive] = partial(draw, name=primitive)
        return draw

    return declare


def shape_of(rng: Random, least: int = 0, most: int = 4) -> tuple[int, ...]:
    """A shape of few elements."""
    return tuple(int(one) for one in rng.integers(1, 6, rng.integers(least, most + 1)))


def array(rng: Random, kind: str, shape: tuple[int, ...], low: float = -4, high: float = 4) -> Array:
    """Numbers of a type."""
    if kind == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        least, most = max(bounds.min, int(low)), min(bounds.max, int(high))
        return np.asarray(rng.integers(least, most, shape, endpoint=True)).astype(dtype)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype)


for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
