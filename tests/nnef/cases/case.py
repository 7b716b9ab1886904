"""A call of a standard operator, and what NumPy says that it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

Array = np.ndarray[Any, Any]
Given = Array | Sequence[Array] | None
Attribute = int | float | bool | str | tuple[int, ...] | tuple[float, ...]


@dataclass(frozen=True)
class Case:
    """A call of an operator; `reference` is a NumPy formula that knows nothing of SkriptND."""

    operator: str
    """`nn.conv`."""
    inputs: tuple[Given, ...]
    """In the order of their declaration: an array, a list of them for a pack, None for one that is left out.
    Real numbers are float64 that float32 holds exactly, integers int64."""
    reference: Callable[..., Any]
    """Takes the inputs; gives the only output, or a tuple of all; a pack is a list."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    """Generic types that inputs and attributes do not tell."""

    @property
    def expected(self) -> tuple[Given, ...]:
        """All outputs, in the order of their declaration."""
        with np.errstate(all="ignore"):
            found = self.reference(*self.inputs)
        return found if isinstance(found, tuple) else (found,)

    def __str__(self) -> str:
        given = [_shown(one) for one in self.inputs]
        attributes = [f"{name}={value}".replace(" ", "") for name, value in self.attributes.items()]
        return f"{self.operator}({'_'.join([*given, *attributes, *self.types])})"


def _shown(one: Given) -> str:
    if one is None:
        return "~"
    if isinstance(one, np.ndarray):
        return str(one.dtype.kind) + "x".join(map(str, one.shape))
    return "[" + "_".join(map(_shown, one)) + "]"


def reals(*shape: int, low: float = -3.0, high: float = 3.0, seed: int = 0) -> Array:
    """Real numbers that float32 holds exactly, other ones for each shape and seed."""
    generator = np.random.default_rng(crc32(repr((shape, low, high, seed)).encode()))
    return np.asarray(generator.uniform(low, high, shape).astype(np.float32).astype(np.float64))


def integers(*shape: int, low: int = -9, high: int = 10, seed: int = 0) -> Array:
    """Small integers."""
    generator = np.random.default_rng(crc32(repr((shape, low, high, seed)).encode()))
    return np.asarray(generator.integers(low, high, shape))


def truths(*shape: int, seed: int = 0) -> Array:
    """Truths."""
    return np.asarray(integers(*shape, low=0, high=2, seed=seed) > 0)


DRAWN: Mapping[str, Callable[..., Array]] = {"real": reals, "int": integers, "bool": truths}
SHAPES: tuple[tuple[int, ...], ...] = ((), (5,), (3, 4), (2, 3, 4), (2, 1, 3, 4))
"""One of each rank."""
