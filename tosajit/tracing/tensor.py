"""Traced tensors: what a traced function sees in place of arrays."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from typing import Any, Never, Protocol

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT8, DType
from tosajit.errors import TraceError
from tosajit.graph import Value
from tosajit.graph.operator import Operator
from tosajit.operators import (
    ADD,
    ARITHMETIC_RIGHT_SHIFT,
    BITWISE_AND,
    BITWISE_NOT,
    BITWISE_OR,
    BITWISE_XOR,
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LOGICAL_AND,
    LOGICAL_LEFT_SHIFT,
    LOGICAL_NOT,
    LOGICAL_OR,
    LOGICAL_XOR,
    MUL,
    NEGATE,
    RESHAPE,
    SUB,
)
from tosajit.tracing.builder import GraphBuilder
from tosajit.tracing.numbers import typed, untyped

_SYMBOLS: dict[np.ufunc, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.bitwise_and: "&", np.bitwise_or: "|",
    np.bitwise_xor: "^", np.left_shift: "<<", np.right_shift: ">>", np.equal: "==", np.not_equal: "!=",
    np.greater: ">", np.greater_equal: ">=", np.less: "<", np.less_equal: "<=",
}  # fmt: skip
"""NumPy's functions for the operators of Python, which it calls if an array stands on the left."""

_OPERATORS: dict[str, Operator] = {
    "+": ADD(), "-": SUB(), "*": MUL(), "&": BITWISE_AND(), "|": BITWISE_OR(), "^": BITWISE_XOR(),
    "<<": LOGICAL_LEFT_SHIFT(), ">>": ARITHMETIC_RIGHT_SHIFT(round=False),
    "==": EQUAL(), ">": GREATER(), ">=": GREATER_EQUAL(),
}  # fmt: skip
_LOGICAL: dict[str, Operator] = {
    "&": LOGICAL_AND(),
    "|": LOGICAL_OR(),
    "^": LOGICAL_XOR(),
    "!=": LOGICAL_XOR(),
}
_SWAPPED = {"<": ">", "<=": ">="}


class Recorder(Protocol):
    """What records the operators that are applied to tensors: a trace."""

    builder: GraphBuilder

    def constant(self, array: Array, dtype: DType, name: str = "") -> Tensor:
        """A constant; equal ones are stored once."""

    def shape(self, extents: Sequence[int]) -> Tensor:
        """A constant shape."""

    def add(self, operator: Operator, inputs: Sequence[Tensor], dtype: DType | None = None) -> Tensor:
        """Record an operator with one output."""

    def own(self, tensor: Tensor) -> Tensor:
        """The tensor in this region."""


class _Current(threading.local):
    """What this thread records with; other threads do not see it."""

    recorder: Recorder | None = None


current = _Current()


class Tensor:
    """A tensor of a graph that is being recorded.

    Python's operators record TOSA's: operands of lower rank get leading dimensions of one by RESHAPE.
    All else is in `tosajit.ops`.
    """

    __slots__ = ("trace", "value")

    def __init__(self, trace: Recorder, value: Value) -> None:
        self.trace, self.value = trace, value

    @property
    def name(self) -> str:
        """What the graph calls it."""
        return self.value.name

    @property
    def dtype(self) -> DType:
        """Its type."""
        return self.value.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.value.shape or ()

    @property
    def ndim(self) -> int:
        """Its rank."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return prod(self.shape)

    def __repr__(self) -> str:
        return f"Tensor({self.value})"

    def __hash__(self) -> int:
        return id(self)

    def __add__(self, other: object) -> Tensor:
        return binary("+", self, other)

    def __radd__(self, other: object) -> Tensor:
        return binary("+", other, self)

    def __sub__(self, other: object) -> Tensor:
        return binary("-", self, other)

    def __rsub__(self, other: object) -> Tensor:
        return binary("-", other, self)

    def __mul__(self, other: object) -> Tensor:
        return binary("*", self, other)

    def __rmul__(self, other: object) -> Tensor:
        return binary("*", other, self)

    def __and__(self, other: object) -> Tensor:
        return binary("&", self, other)

    def __rand__(self, other: object) -> Tensor:
        return binary("&", other, self)

    def __or__(self, other: object) -> Tensor:
        return binary("|", self, other)

    def __ror__(self, other: object) -> Tensor:
        return binary("|", other, self)

    def __xor__(self, other: object) -> Tensor:
        return binary("^", self, other)

    def __rxor__(self, other: object) -> Tensor:
        return binary("^", other, self)

    def __lshift__(self, other: object) -> Tensor:
        return binary("<<", self, other)

    def __rlshift__(self, other: object) -> Tensor:
        return binary("<<", other, self)

    def __rshift__(self, other: object) -> Tensor:
        return binary(">>", self, other)

    def __rrshift__(self, other: object) -> Tensor:
        return binary(">>", other, self)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        return binary("==", self, other)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return binary("!=", self, other)

    def __gt__(self, other: object) -> Tensor:
        return binary(">", self, other)

    def __ge__(self, other: object) -> Tensor:
        return binary(">=", self, other)

    def __lt__(self, other: object) -> Tensor:
        return binary("<", self, other)

    def __le__(self, other: object) -> Tensor:
        return binary("<=", self, other)

    def __invert__(self) -> Tensor:
        operator = LOGICAL_NOT() if self.dtype is BOOL else BITWISE_NOT()
        return active(self).add(operator, [self])

    def __neg__(self) -> Tensor:
        trace = active(self)
        zero = trace.constant(np.zeros(1, self.dtype.storage), self.dtype)
        return trace.add(NEGATE(), [self, zero, zero])

    def __bool__(self) -> Never:
        raise TraceError(
            f"{self!r} has no value while it is traced, so Python cannot branch on it: "
            "use ops.select, ops.cond_if or ops.while_loop"
        )

    def __index__(self) -> Never:
        raise TraceError(f"{self!r} has no value while it is traced, so it cannot be a Python number")

    __int__ = __float__ = __complex__ = __index__

    def __getitem__(self, index: object) -> Never:
        raise TraceError(f"{self!r} cannot be indexed: use ops.slice, ops.reshape or ops.gather")

    def __iter__(self) -> Never:
        raise TraceError(f"{self!r} cannot be iterated: use ops.slice for parts of it")

    def __array__(self, *_: object, **__: object) -> Never:
        raise TraceError(f"{self!r} has no value while it is traced, so it cannot be an array")

    def __array_function__(self, function: object, *_: object) -> Never:
        raise _numpy(function, self)

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: object, **options: object) -> Tensor:
        symbol = _SYMBOLS.get(function)
        if symbol is None or method != "__call__" or options:
            raise _numpy(function, self)
        return binary(symbol, *inputs)


def active(tensor: Tensor) -> Recorder:
    """The trace that this thread records, which has to be that of the tensor or inside of it."""
    trace = current.recorder
    if trace is None:
        raise TraceError(f"{tensor!r} is used outside its trace")
    trace.own(tensor)
    return trace


def binary(symbol: str, left: object, right: object) -> Tensor:
    """Record one of Python's operators, broadcasting by rank."""
    if symbol in _SWAPPED:
        return binary(_SWAPPED[symbol], right, left)
    tensor = left if isinstance(left, Tensor) else right
    assert isinstance(tensor, Tensor)
    trace = active(tensor)
    rank = max(_rank(left, right), _rank(right, left))
    first, second = _aligned(trace, left, rank), _aligned(trace, right, rank)
    pair = [first, second]
    is_bool = first.dtype is BOOL and second.dtype is BOOL
    operator = _LOGICAL.get(symbol) if is_bool else None
    if symbol == "!=" and operator is None:
        return ~trace.add(EQUAL(), pair)
    if symbol == "*":
        pair.append(trace.constant(np.zeros(1, np.int8), INT8))
    return trace.add(operator or _OPERATORS[symbol], pair)


def number_fault(value: object, like: Tensor | None = None) -> TraceError:
    """What to say of a Python number where only tensors are."""
    return TraceError(untyped(value) if like is None else untyped(value, like.dtype.storage.name))


def _rank(value: object, other: object) -> int:
    """The rank of an operand, if it can be one."""
    match value:
        case Tensor() | np.ndarray() | np.generic():
            return value.ndim
        case int() | float():
            raise number_fault(value, other if isinstance(other, Tensor) else None)
    raise TraceError(f"expected a traced tensor or an array, got {type(value).__name__}")


def _aligned(trace: Recorder, value: Any, rank: int) -> Tensor:
    """An operand with leading dimensions of one."""
    shape = (1,) * (rank - value.ndim) + value.shape
    if not isinstance(value, Tensor):
        array, dtype = typed(value)
        return trace.constant(array if value.ndim == rank else array.reshape(shape), dtype)
    if value.ndim == rank:
        return value
    data = value.value.data
    if data is not None:
        return trace.constant(data.reshape(shape), value.dtype)
    return trace.add(RESHAPE(), [value, trace.shape(shape)])


def _numpy(function: object, tensor: Tensor) -> TraceError:
    name = getattr(function, "__name__", str(function))
    return TraceError(f"NumPy's {name} cannot be applied to {tensor!r}: use the functions of tosajit.ops")
