"""What the lowering of a primitive sees: its operands and parameters, in the words of TOSA.

Integers of 64 bits, and those without sign, are int32 in the graph where their numbers allow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from tosajit.arrays import Array
from tosajit.dtypes import BF16, BOOL, FP8E4M3, FP8E5M2, FP16, FP32, INT8, INT16, INT32, DType
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.frame import Refused, operand
from tosajit.frontends.frame.attributes import Attributes, declared
from tosajit.frontends.jax import records
from tosajit.frontends.jax.schema import KNOWN, Type
from tosajit.operators import TILE
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

DTYPES = {
    Type.FLOAT32: FP32, Type.FLOAT16: FP16, Type.BFLOAT16: BF16, Type.INT8: INT8, Type.INT16: INT16,
    Type.INT32: INT32, Type.INT64: INT32, Type.UINT8: INT32, Type.UINT16: INT32, Type.UINT32: INT32,
    Type.UINT64: INT32, Type.BOOL: BOOL, Type.FLOAT8_E4M3FN: FP8E4M3, Type.FLOAT8_E5M2: FP8E5M2,
}  # fmt: skip
"""The types of TOSA that stand for those of JAX."""

KNOWN_BY_CLOSURE = "let the function close over it, in place of taking it as an argument"

Value: TypeAlias = "Tensor | Array"

T = TypeVar("T", bound=Attributes)


def type_of(name: str) -> Type:
    """The type that a jaxpr names."""
    found = KNOWN.get(name)
    if found is None:
        raise Refused(f"TOSA has no type for {name}")
    return found


def dtype_of(kind: Type) -> DType:
    """The type of TOSA that stands for one of JAX."""
    found = DTYPES.get(kind)
    if found is None:
        remedy = "leave jax_enable_x64 off" if kind is Type.FLOAT64 else ""
        raise Refused(f"TOSA has no type for {kind.label}", remedy)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Operand(operand.Operand):
    """A result of another equation, an argument or a constant."""

    value: Value
    type: Type

    @property
    def dtype(self) -> DType:
        """The type of TOSA that stands for it."""
        return dtype_of(self.type)

    @property
    def known_by(self) -> str:
        """How it can become known when the function is read."""
        return KNOWN_BY_CLOSURE


class Walks(Protocol):
    """The jaxprs inside of an equation."""

    def inside(
        self, jaxpr: records.Jaxpr, operands: Sequence[Operand], part: str = "", /
    ) -> tuple[Operand, ...]:
        """Lower a jaxpr on operands, into the trace that is being recorded."""

    def mapped(self, jaxpr: records.Jaxpr, operands: Sequence[Operand], part: str, /) -> tuple[Operand, ...]:
        """Lower a jaxpr of numbers on each element of tensors."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A use of a primitive, as its lowering sees it."""

    record: records.Equation
    operands: tuple[Operand, ...]
    trace: Trace
    jaxprs: Walks

    def __getitem__(self, number: int) -> Operand:
        """An operand."""
        return self.operands[number]

    @property
    def tensors(self) -> list[Tensor]:
        """The operands in the graph."""
        return [one.tensor for one in self.operands]

    @property
    def aligned(self) -> list[Tensor]:
        """The operands in the graph with one rank; those that only repeat others as these: TOSA repeats.

        A result that is smaller than it should be is repeated by the walk.
        """
        return aligned(*map(_single, self.tensors))

    @property
    def result(self) -> records.Value:
        """What the jaxpr says of the first result."""
        return self.record.outputs[0]

    @property
    def kind(self) -> Type:
        """The type of the first result."""
        return type_of(self.result.type)

    def attributes(self, kind: type[T]) -> T:
        """The parameters that a class declares."""
        given = {}
        for name, _, needed in declared(kind):  # type: ignore[arg-type]
            if name in self.record.parameters:
                given[name] = self.record.parameters[name]
            elif needed:
                raise Refused(f"its parameter {name} is missing", "use a version of JAX that tosajit knows")
        return kind(**given)


def _single(value: Tensor) -> Tensor:
    """What a tensor repeats."""
    made = value.trace.builder.producer(value.name)
    if made is None or not isinstance(made.operator, TILE):
        return value
    return Tensor(value.trace, value.trace.builder.value(made.inputs[0]))
