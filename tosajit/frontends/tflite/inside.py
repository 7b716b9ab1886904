"""Types that are another one inside of a graph: bytes without sign, and complex numbers."""

from __future__ import annotations

from tosajit.frontends.common.bytes import UNSIGNED
from tosajit.frontends.common.complex import halves, pairs
from tosajit.frontends.frame.ends import Inside
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor

INSIDE = {Type.UINT8: UNSIGNED, Type.COMPLEX64: Inside("halves", halves, pairs)}
"""By the types of the file."""


def entered(value: Tensor, type: Type) -> Tensor:
    """What the outside gives, as lowerings have it."""
    return INSIDE[type].enter(value) if type in INSIDE else value


def left(value: Tensor, type: Type) -> Tensor:
    """What lowerings have, as the outside takes it."""
    return INSIDE[type].leave(value) if type in INSIDE else value
