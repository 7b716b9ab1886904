"""What the lowering of an ONNX operator sees: its operands and attributes, in the words of TOSA.

Integers of 64 bits, and those without sign, are int32 in the graph where their numbers allow it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol, TypeVar, get_args, get_origin

import numpy as np

from tiling.records import dataclass
from tosajit.dtypes import BF16, BOOL, FP8E4M3, FP8E5M2, FP16, FP32, INT8, INT16, INT32, DType
from tosajit.frontends.common.bounded import Bounded
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.complex import Complex
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes, declared
from tosajit.frontends.frame.operand import KNOWN_BY_SHAPES
from tosajit.frontends.onnx import records
from tosajit.frontends.onnx.schema import STORAGE, Type
from tosajit.frontends.scaled import Scaled, Unsigned, operand
from tosajit.frontends.scaled.operand import Value
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

DTYPES = {
    Type.FLOAT32: FP32, Type.FLOAT16: FP16, Type.BFLOAT16: BF16, Type.INT8: INT8, Type.INT16: INT16,
    Type.INT32: INT32, Type.INT64: INT32, Type.UINT8: INT32, Type.UINT16: INT32, Type.UINT32: INT32,
    Type.UINT64: INT32, Type.BOOL: BOOL, Type.FLOAT8E4M3FN: FP8E4M3, Type.FLOAT8E5M2: FP8E5M2,
    Type.INT4: INT8, Type.UINT4: INT8, Type.INT2: INT8, Type.UINT2: INT8, Type.FLOAT4E2M1: FP16,
    Type.FLOAT8E4M3FNUZ: FP16, Type.FLOAT8E5M2FNUZ: FP16,
}  # fmt: skip
"""The types of TOSA that stand for those of ONNX."""

_FEW = 64
"""How many elements an input may have for its numbers to be asked for."""
_MOST_STEPS = 256
"""How many tensors that a number follows from are looked at for the inputs among them."""
_KINDS = {storage: kind for kind, storage in STORAGE.items()}


T = TypeVar("T", bound=Attributes)
R = TypeVar("R")


def dtype_of(kind: Type) -> DType:
    """The type of TOSA that stands for one of ONNX."""
    found = DTYPES.get(kind)
    if found is None:
        remedy = "give narrow=True to compute in float32" if kind is Type.FLOAT64 else ""
        raise Refused(f"TOSA has no type for {kind.label}", remedy)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Operand(operand.Operand):
    """A result of another node."""

    type: Type

    @property
    def dtype(self) -> DType:
        """The type of TOSA that stands for it."""
        return dtype_of(self.type)

    @property
    def known_by(self) -> str:
        """How it can become known when the model is read; nothing helps in a turn of a loop."""
        if self.trace.parent is not None:
            return ""
        sources = _sources(self.value, self.trace) if isinstance(self.value, Tensor) else []
        if not sources or any(prod(one.shape) > _FEW for one in sources):
            return KNOWN_BY_SHAPES
        what = "it" if sources[0].name == self.name else "what it follows from"
        given = ", ".join(f"{one.name!r}: …" for one in sources)
        return f"give {what} beforehand: tj.load(path, constants={{{given}}})"


def _sources(value: Tensor, trace: Trace) -> list[Tensor]:
    """The inputs of a graph that a tensor is computed from."""
    found, seen, left = list[Tensor](), set[str](), [value.name]
    while left and len(seen) < _MOST_STEPS:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        if trace.builder.is_input(name):
            found.append(Tensor(trace, trace.builder.value(name)))
        producer = trace.builder.producer(name)
        left += producer.inputs if producer is not None else ()
    return [] if left else sorted(found, key=lambda one: one.name)


def kind_of(value: Value, likely: Sequence[Type]) -> Type:
    """The type of a result: that of its elements; where TOSA's stands for several, the first likely one."""
    assert not isinstance(value, Scaled | Unsigned | Bounded | Complex)
    if isinstance(value, Tensor):
        found = next((kind for kind in likely if DTYPES.get(kind) is value.dtype), None)
        return found or next(kind for kind in _PLAIN if DTYPES[kind] is value.dtype)
    kind = _KINDS.get(value.dtype)
    if kind is None:
        raise Refused(f"its result has elements of {value.dtype}, which ONNX has no type for")
    return kind


_PLAIN = (Type.INT32, *DTYPES)
"""Types of ONNX, the ones first that TOSA's are themselves."""


class Graphs(Protocol):
    """The graphs inside of a node."""

    def inside(self, graph: records.Graph, operands: Sequence[Operand], /) -> tuple[Operand, ...]:
        """Lower a graph on operands, into the trace that is being recorded."""

    def tried(self, lower: Callable[[], R], /) -> R | None:
        """What a lowering gives, or nothing if it is refused, which nobody is told then."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A use of an operator, as its lowering sees it."""

    record: records.Node
    operands: tuple[Operand | None, ...]
    trace: Trace
    opset: int
    """The version of the operators of its domain."""
    graphs: Graphs
    takers: frozenset[str] = frozenset()
    """The operators that take its results, with none for those of the graph."""

    def __getitem__(self, number: int) -> Operand:
        """An operand that must be there."""
        found = self.optional(number)
        if found is None:
            raise Refused(f"operand {number} is missing")
        return found

    def optional(self, number: int) -> Operand | None:
        """An operand that may be left out."""
        return self.operands[number] if number < len(self.operands) else None

    @property
    def given(self) -> tuple[Operand, ...]:
        """The operands that are there."""
        return tuple(one for one in self.operands if one is not None)

    @property
    def tensors(self) -> list[Tensor]:
        """The operands that are there, in the graph."""
        return [one.tensor for one in self.given]

    @property
    def aligned(self) -> list[Tensor]:
        """The operands that are there, in the graph, with one rank."""
        return aligned(*self.tensors)

    @property
    def results(self) -> int:
        """How many results are used."""
        return max((place for place, name in enumerate(self.record.outputs, 1) if name), default=0)

    def of(self, value: Value, kind: Type) -> Operand:
        """A result of a type that does not follow from those of operands."""
        return Operand(self.trace, value, kind, "")

    def attributes(self, kind: type[T]) -> T:
        """The attributes that a class declares; its defaults where the file has none."""
        given = {}
        for name, hint, needed in declared(kind):  # type: ignore[arg-type]
            value = self.record.attributes.get(name.removesuffix("_"))
            if value is None and needed:
                raise Refused(f"its attribute {name} is missing")
            if value is not None:
                given[name] = _checked(name, value, hint)
        return kind(**given)


def _checked(name: str, value: records.Attribute, hint: Any) -> Any:
    """The value of an attribute, if it is of its type."""
    kinds = [one for one in get_args(hint) if one is not type(None)] if get_origin(hint) is not tuple else []
    hint = kinds[0] if kinds else hint
    if hint is bool and isinstance(value, int):
        return value != 0
    if get_origin(hint) is tuple:
        wanted = get_args(hint)[0]
        if isinstance(value, tuple) and all(isinstance(one, wanted) for one in value):
            return value
    elif hint is float and isinstance(value, float | int):
        return float(value)
    elif isinstance(value, np.ndarray) if hint is Any else isinstance(value, hint):
        return value
    raise Refused(f"its attribute {name} is {value!r:.60}, but must be {getattr(hint, '__name__', hint)}")
