"""How forms are declared: a function that gives the text of an invocation for each operator of TOSA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP32, INT4, INT8, INT16, INT32, INT48, SHAPE, DType
from tosajit.frontends.frame import Refused
from tosajit.graph import Node, Value

TYPES: dict[DType, str] = {FP32: "real", INT4: "int", INT8: "int", INT16: "int", INT32: "int", BOOL: "bool"}
"""What a tensor is in NNEF; integers of fewer bits are the same numbers there."""


class Naming(Protocol):
    """The block that is written."""

    def value(self, name: str, /) -> Value:
        """A tensor of it."""

    def name(self, name: str, /) -> str:
        """What a tensor is called in the text."""

    def pair(self, name: str, /) -> tuple[str, str]:
        """What the two halves of a tensor of 48 bits are called."""

    def step(self, right: str, like: str, /) -> str:
        """A tensor that is invoked on the way to another one."""

    def held(self, array: Array, like: str, /) -> str:
        """A variable that holds elements."""

    def variable(self, name: str, /) -> str:
        """What a variable of the graph is called."""

    def write(self, name: str, value: str, /) -> None:
        """Let a variable be a tensor from the next run on."""

    def region(self, name: str, operands: Sequence[str], /) -> str:
        """The text of a region, whose inputs are called like the operands."""

    def loop(self, node: Node, /) -> Sequence[str]:
        """New names for what goes round in a loop."""

    def module(self, text: str, others: Mapping[str, str], /) -> str:
        """What the module of an operator is called; `others` are those that its text imports."""


Form: TypeAlias = Callable[[Naming, Node], str | None]
"""Gives what stands on the right of `=`; None where nothing is to be done."""
FORMS: dict[str, Form] = {}


def form(*opcodes: str) -> Callable[[Form], Form]:
    """Declare the text of operators."""

    def declare(function: Form) -> Form:
        FORMS.update(dict.fromkeys(opcodes, function))
        return function

    return declare


def kind_of(dtype: DType) -> str:
    """What a tensor of a type is in NNEF."""
    found = TYPES.get(dtype)
    if found is None:
        raise Refused(unsaid(dtype))
    return found


def unsaid(dtype: DType) -> str:
    """Why NNEF has no tensors of a type."""
    if dtype is INT48:
        return "it is INT48, and NNEF's integers have 32 bits: only on its way into RESCALE it can be two"
    if dtype is SHAPE:
        return "it is a shape that is computed, and NNEF's are known before"
    return f"it is {dtype}, and NNEF's reals have one width: no text can say how to round to {dtype}"


def call(name: str, operands: Sequence[str], **attributes: Any) -> str:
    """An invocation."""
    given = ", ".join(f"{key}={literal(one)}" for key, one in attributes.items())
    return f"{name}{f'{{{given}}}' if given else ''}({', '.join(operands)})"


def literal(value: Any) -> str:
    """The value of an attribute."""
    match value:
        case bool():
            return str(value).lower()
        case list() | tuple():
            return f"[{', '.join(map(literal, value))}]"
        case str():
            return f"'{value}'"
    return repr(value)


def known(graph: Naming, name: str, what: str) -> Array:
    """The elements of an operand that NNEF has as attributes."""
    data = graph.value(name).data
    if data is None:
        raise Refused(f"its {what} is computed in the run, but NNEF needs it beforehand")
    return data


def single(graph: Naming, name: str) -> str:
    """The one element of an integer operand: as a number where it is known."""
    value = graph.value(name)
    if value.data is not None:
        return str(int(value.data.reshape(-1)[0]))
    return scalar(graph, name)


def scalar(graph: Naming, name: str) -> str:
    """An operand of one element as a tensor without dimensions."""
    axes = list(range(len(graph.value(name).shape or ())))
    found = graph.name(name)
    return graph.step(call("layout.squeeze", [found], axes=axes), f"{found}_one") if axes else found
