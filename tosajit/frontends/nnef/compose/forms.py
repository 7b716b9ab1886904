"""What calls depend on: the types and shapes of tensors, not which tensors they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tosajit.frontends.nnef.model import Argument, Extent, Open, Tensor
from tosajit.frontends.nnef.syntax.source import Span
from tosajit.frontends.nnef.values.value import Item, ValueFault, described


@dataclass(frozen=True, slots=True)
class Form:
    """The type and the shape of a tensor."""

    type: str
    shape: tuple[Extent, ...]

    def __str__(self) -> str:
        return f"{self.type}[{', '.join(map(extent_text, self.shape))}]"


Forms: TypeAlias = Form | tuple[Form, ...] | None
"""Of an argument: a tensor, a pack of them, or null."""


Single: TypeAlias = Tensor | Item
Operand: TypeAlias = Tensor | tuple[Single, ...] | Item | None
"""What an expression stands for in a body: a tensor, a value, a pack in which both may be, or null."""


class CallFault(ValueFault):
    """Raised where what is given to an operator does not fit it; `span` is where the operator says so."""


def fault(span: Span, message: str, section: str, remedy: str = "") -> CallFault:
    """What to raise where a call does not fit."""
    return CallFault(span, message, section, remedy)


def extent_text(extent: Extent) -> str:
    """An extent as messages show it."""
    return f"~|{extent.bound}" if isinstance(extent, Open) else str(extent)


def bound_of(extent: Extent) -> int:
    """An extent, or what it is at most."""
    return extent.bound if isinstance(extent, Open) else extent


def forms_of(argument: Argument) -> Forms:
    """The types and shapes of an argument."""
    if argument is None:
        return None
    if isinstance(argument, tuple):
        return tuple(Form(one.type, one.shape) for one in argument)
    return Form(argument.type, argument.shape)


def kind_of(found: Operand) -> str:
    """What an operand is, for messages."""
    if isinstance(found, Tensor):
        return "a tensor"
    if isinstance(found, tuple) and any(isinstance(one, Tensor) for one in found):
        return "a pack of tensors"
    if isinstance(found, tuple):
        return described(tuple(one for one in found if not isinstance(one, Tensor)))
    return described(found)
