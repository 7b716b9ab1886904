"""Cases by family: functions that draw a function of JAX and its arguments. Only this package needs JAX."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from drawing import Random


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


for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
