"""What the lowering of an ATen operator sees: its arguments, in the words of TOSA.

Integers of 64 bits are int32 in the graph where their numbers allow it, as those without sign are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiling.records import replace
from tosajit.dtypes import BF16, BOOL, FP8E4M3, FP8E5M2, FP16, FP32, INT8, INT16, INT32, DType
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.layout import transposed, turned
from tosajit.frontends.frame import Refused
from tosajit.frontends.scaled import operand
from tosajit.frontends.scaled.operand import Value
from tosajit.frontends.torch import records
from tosajit.frontends.torch.conversion import converted
from tosajit.frontends.torch.records import Type
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

DTYPES = {
    Type.FLOAT32: FP32, Type.FLOAT16: FP16, Type.BFLOAT16: BF16, Type.INT8: INT8, Type.INT16: INT16,
    Type.INT32: INT32, Type.INT64: INT32, Type.UINT8: INT32, Type.UINT16: INT32, Type.UINT32: INT32,
    Type.UINT64: INT32, Type.BOOL: BOOL, Type.FLOAT8E4M3FN: FP8E4M3, Type.FLOAT8E5M2: FP8E5M2,
}  # fmt: skip
"""The types of TOSA that stand for those of PyTorch."""

_REMEDIES = {
    Type.FLOAT64: "convert the module: module.float()",
    Type.COMPLEX64: "take and give pairs of real numbers: torch.view_as_complex and torch.view_as_real",
    Type.COMPLEX128: "convert the module, and take and give pairs of real numbers",
}
_WIDTHS = {
    Type.UINT8: 1, Type.INT8: 2, Type.INT16: 3, Type.UINT16: 4, Type.INT32: 5, Type.UINT32: 6, Type.INT64: 7,
    Type.UINT64: 8, Type.FLOAT8E4M3FN: 9, Type.FLOAT8E5M2: 9, Type.FLOAT16: 10, Type.BFLOAT16: 11,
    Type.FLOAT32: 12, Type.FLOAT64: 13,
}  # fmt: skip


def dtype_of(kind: Type) -> DType:
    """The type of TOSA that stands for one of PyTorch."""
    found = DTYPES.get(kind)
    if found is None:
        raise Refused(f"TOSA has no type for {kind.label}", _REMEDIES.get(kind, ""))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Operand(operand.Operand):
    """A result of another node, or a number in place of one."""

    type: Type
    is_number: bool = False
    """Whether it is a number of Python, whose type counts for little."""

    @property
    def dtype(self) -> DType:
        """The type of TOSA that stands for it."""
        return dtype_of(self.type)

    @property
    def known_by(self) -> str:
        """How it can become known when the model is read."""
        return "make it a constant of the module"

    def turned(self, perms: Sequence[int]) -> Tensor:
        """The tensor with dimensions in another order; constants are written in that one only."""
        if self.is_foldable and self.raw.size and self.raw.dtype == self.dtype.storage:
            return self.trace.constant(turned(self.raw, perms), self.dtype, self.name)
        return transposed(self.tensor, perms)

    def typed(self, kind: Type) -> Operand:
        """The same in another type."""
        if kind is self.type:
            return self
        known = self._known
        if known is not None:
            return replace(self, value=known.astype(kind.storage), type=kind)
        found = converted(self.tensor, kind, dtype_of(kind))
        return replace(self, value=found, type=kind, name="")


def promoted(operands: Sequence[Operand]) -> Type:
    """The type that operands of several types are computed in."""
    ranked = max((_priority(one) for one in operands), default=(0, 0))
    found = [one for one in operands if _priority(one)[0] == ranked[0]]
    best = [one for one in found if _priority(one)[1:] == ranked[1:]]
    kinds = {one.type for one in best}
    if {Type.INT8, Type.UINT8} <= {one.type for one in found}:
        return Type.INT16 if kinds <= {Type.INT8, Type.UINT8} else best[0].type
    if {Type.FLOAT16, Type.BFLOAT16} <= {one.type for one in found} and Type.FLOAT32 not in kinds:
        return Type.FLOAT32
    if best and best[0].is_number and best[0].type is Type.FLOAT64:
        return Type.FLOAT32
    return best[0].type


def _priority(one: Operand) -> tuple[int, int]:
    """Its kind and how much it counts, then its width."""
    kind = 3 if one.type.is_float else 1 if one.type is Type.BOOL else 2
    counts = 0 if one.is_number else 1 if one.rank == 0 else 2
    return 3 * kind + counts, _WIDTHS.get(one.type, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A use of an operator, as its lowering sees it."""

    record: records.Node
    arguments: Mapping[str, Any]
    """By name, tensors as operands."""
    operands: tuple[Operand, ...]
    """The tensors among them, and the numbers that stand where tensors may."""
    trace: Trace

    def __getitem__(self, number: int) -> Operand:
        """An operand that must be there."""
        if number >= len(self.operands):
            raise Refused(f"operand {number} is missing")
        return self.operands[number]

    @property
    def output(self) -> records.Value:
        """Its first result."""
        return self.record.outputs[0]

    @property
    def type(self) -> Type:
        """The type of its first result."""
        found = self.output.type
        if found is None:
            raise Refused("its result is no tensor")
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its first result."""
        return self.output.shape

    @property
    def aligned(self) -> list[Tensor]:
        """The operands in the graph, with one rank."""
        return aligned(*(one.tensor for one in self.operands))

    def given(self, name: str, default: Any = None) -> Any:
        """An argument that may be left out."""
        found = self.arguments.get(name)
        return default if found is None else found

    def of(self, value: Value, kind: Type) -> Operand:
        """A value of a type of its own."""
        return Operand(self.trace, value, kind, "")
