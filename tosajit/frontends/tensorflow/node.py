"""What the lowering of a TensorFlow operator sees: its operands and attributes, in the words of TOSA.

Integers of 64 bits, and those without sign, are int32 in the graph where their numbers allow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, get_args, get_origin

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import BF16, BOOL, FP8E4M3, FP8E5M2, FP16, FP32, INT8, INT16, INT32, DType
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.state import State
from tosajit.frontends.frame import Refused, operand
from tosajit.frontends.frame.attributes import Attributes, declared
from tosajit.frontends.tensorflow import records
from tosajit.frontends.tensorflow.elements import STORAGE
from tosajit.frontends.tensorflow.schema import Type
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

DTYPES = {
    Type.FLOAT32: FP32, Type.FLOAT16: FP16, Type.BFLOAT16: BF16, Type.INT8: INT8, Type.INT16: INT16,
    Type.INT32: INT32, Type.INT64: INT32, Type.UINT8: INT32, Type.UINT16: INT32, Type.UINT32: INT32,
    Type.UINT64: INT32, Type.BOOL: BOOL, Type.FLOAT8_E4M3FN: FP8E4M3, Type.FLOAT8_E5M2: FP8E5M2,
}  # fmt: skip
"""The types of TOSA that stand for those of TensorFlow."""

_KINDS = {storage: kind for kind, storage in STORAGE.items()}


@dataclass(frozen=True, slots=True)
class TensorList:
    """A list of tensors, which is unrolled when the model is read; None is an item that is not set."""

    shape: tuple[int, ...]
    kind: Type
    items: tuple[Tensor | Array | None, ...]


@dataclass(frozen=True, slots=True)
class Complex:
    """Complex numbers, which TOSA has as two real ones."""

    real: Tensor
    imag: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.real.shape


@dataclass(frozen=True, slots=True)
class Variable:
    """A resource that holds a tensor, from run to run."""

    state: State
    kind: Type


Value: TypeAlias = "Tensor | Array | TensorList | Variable | Complex"
T = TypeVar("T", bound=Attributes)


def dtype_of(kind: Type) -> DType:
    """The type of TOSA that stands for one of TensorFlow."""
    found = DTYPES.get(kind)
    if found is None:
        raise Refused(f"TOSA has no type for {kind.label}")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Operand(operand.Operand):
    """A result of another node, which may also be a list, a variable, or complex numbers."""

    value: Value
    type: Type

    @property
    def dtype(self) -> DType:
        """The type of TOSA that stands for it."""
        return dtype_of(self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.value.shape if isinstance(self.value, Complex) else self._dense.shape

    @property
    def items(self) -> TensorList:
        """The list of tensors that it is."""
        if not isinstance(self.value, TensorList):
            raise Refused(f"{self.name} is no list of tensors whose length is known")
        return self.value

    @property
    def is_complex(self) -> bool:
        """Whether its elements are complex numbers."""
        return self.type is Type.COMPLEX64

    @property
    def halves(self) -> tuple[Tensor, Tensor]:
        """The real and the imaginary parts of complex numbers."""
        value = self.value
        if isinstance(value, np.ndarray) and value.dtype == np.complex64:
            parts = (np.ascontiguousarray(one) for one in (value.real, value.imag))
            real, imag = (self.trace.constant(one.reshape(value.shape), FP32) for one in parts)
            return real, imag
        if not isinstance(value, Complex):
            raise Refused(f"{self.name} is {self.type.label}, but must be complex64")
        return self.trace.own(value.real), self.trace.own(value.imag)

    @property
    def is_variable(self) -> bool:
        """Whether it holds a tensor from run to run."""
        return isinstance(self.value, Variable)

    @property
    def variable(self) -> Variable:
        """The variable that it is."""
        if not isinstance(self.value, Variable):
            raise Refused(f"{self.name} is no variable", "freeze the model")
        return self.value

    @property
    def _dense(self) -> Tensor | Array:
        if isinstance(self.value, TensorList):
            raise Refused(f"{self.name} is a list of tensors", "such lists are only unrolled in loops")
        if isinstance(self.value, Variable):
            raise Refused(f"{self.name} is a variable, but must be a tensor")
        if isinstance(self.value, Complex):
            raise Refused(f"{self.name} has complex numbers, which TOSA lacks")
        return self.value


def kind_of(value: Value, declared: Type | None) -> Type:
    """The type of a result: that of its elements; among those of TOSA's INT32 the one that the node says."""
    match value:
        case TensorList():
            return Type.VARIANT
        case Variable():
            return Type.RESOURCE
        case Complex():
            return Type.COMPLEX64
        case Tensor():
            if declared is not None and DTYPES.get(declared) is value.dtype:
                return declared
            return next(kind for kind, dtype in DTYPES.items() if dtype is value.dtype)
    found = _KINDS.get(value.dtype)
    if found is None:
        raise Refused(f"its result has elements of {value.dtype}, which TensorFlow has no type for")
    return found


class Functions(Protocol):
    """The functions of the model, for nodes that call some."""

    def call(self, name: str, operands: Sequence[Operand], /) -> tuple[Operand, ...]:
        """Lower a function on operands, into the trace that is being recorded."""

    def kept(self, name: str, /) -> tuple[bool, ...]:
        """Which of its arguments a function gives back, each as the result of its place."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A use of an operator, as its lowering sees it."""

    record: records.Node
    operands: tuple[Operand, ...]
    trace: Trace
    functions: Functions

    def __getitem__(self, number: int) -> Operand:
        """An operand that must be there."""
        if number >= len(self.operands):
            raise Refused(f"operand {number} is missing")
        return self.operands[number]

    @property
    def tensors(self) -> list[Tensor]:
        """All operands in the graph."""
        return [one.tensor for one in self.operands]

    @property
    def aligned(self) -> list[Tensor]:
        """All operands in the graph, with one rank."""
        return aligned(*self.tensors)

    def attributes(self, kind: type[T]) -> T:
        """The attributes that a class declares; its defaults where the file has none."""
        given = {}
        for name, hint, needed in declared(kind):  # type: ignore[arg-type]
            value = self.record.attributes.get(name)
            if value is None and needed:
                raise Refused(f"its attribute {name} is missing")
            if value is not None:
                given[name] = _checked(name, value, hint)
        return kind(**given)


def _checked(name: str, value: records.Attribute, hint: Any) -> Any:
    """The value of an attribute, if it is of its type."""
    if get_origin(hint) is tuple:
        wanted = get_args(hint)[0]
        fits = isinstance(value, tuple) and all(_fits(one, wanted) for one in value)
    else:
        fits = _fits(value, hint)
    if not fits:
        raise Refused(f"its attribute {name} is {value!r:.60}, but must be {getattr(hint, '__name__', hint)}")
    return value


def _fits(value: Any, hint: Any) -> bool:
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool | Type))
