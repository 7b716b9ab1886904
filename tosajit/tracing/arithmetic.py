"""Python's operators on traced tensors.

Types never mix by themselves; Python numbers take the type of the tensor.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from tosajit.dtypes import BOOL, INT8, INT16, INT32, DType
from tosajit.errors import TraceError
from tosajit.graph.operator import Operator
from tosajit.operators import (
    ABS,
    ADD,
    ARITHMETIC_RIGHT_SHIFT,
    BITWISE_AND,
    BITWISE_NOT,
    BITWISE_OR,
    BITWISE_XOR,
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    INTDIV,
    LOGICAL_AND,
    LOGICAL_LEFT_SHIFT,
    LOGICAL_NOT,
    LOGICAL_OR,
    LOGICAL_XOR,
    MAXIMUM,
    MINIMUM,
    MUL,
    NEGATE,
    POW,
    RECIPROCAL,
    RSQRT,
    SUB,
)
from tosajit.tracing.traced import Traced, rank_of

_OPERATORS: dict[str, Operator] = {
    "+": ADD(), "-": SUB(), "*": MUL(), "&": BITWISE_AND(), "|": BITWISE_OR(), "^": BITWISE_XOR(),
    "<<": LOGICAL_LEFT_SHIFT(), ">>": ARITHMETIC_RIGHT_SHIFT(round=False),
    "==": EQUAL(), ">": GREATER(), ">=": GREATER_EQUAL(), "maximum": MAXIMUM(), "minimum": MINIMUM(),
}  # fmt: skip
_LOGICAL: dict[str, Operator] = {
    "&": LOGICAL_AND(),
    "|": LOGICAL_OR(),
    "^": LOGICAL_XOR(),
    "!=": LOGICAL_XOR(),
}
_SWAPPED = {"<": ">", "<=": ">="}
_WIDENED = {"==", ">", ">=", "maximum", "minimum"}
"""What TOSA does with integers of 32 bits alone, and narrower ones give the same."""


class Arithmetic(Traced):
    """A tensor with Python's operators, which record TOSA's.

    Operands of lower rank get leading dimensions of one.
    """

    __slots__ = ()

    def __add__(self, other: object) -> Self:
        return self._binary("+", self, other)

    def __radd__(self, other: object) -> Self:
        return self._binary("+", other, self)

    def __sub__(self, other: object) -> Self:
        return self._binary("-", self, other)

    def __rsub__(self, other: object) -> Self:
        return self._binary("-", other, self)

    def __mul__(self, other: object) -> Self:
        return self._binary("*", self, other)

    def __rmul__(self, other: object) -> Self:
        return self._binary("*", other, self)

    def __and__(self, other: object) -> Self:
        return self._binary("&", self, other)

    def __rand__(self, other: object) -> Self:
        return self._binary("&", other, self)

    def __or__(self, other: object) -> Self:
        return self._binary("|", self, other)

    def __ror__(self, other: object) -> Self:
        return self._binary("|", other, self)

    def __xor__(self, other: object) -> Self:
        return self._binary("^", self, other)

    def __rxor__(self, other: object) -> Self:
        return self._binary("^", other, self)

    def __lshift__(self, other: object) -> Self:
        return self._binary("<<", self, other)

    def __rlshift__(self, other: object) -> Self:
        return self._binary("<<", other, self)

    def __rshift__(self, other: object) -> Self:
        return self._binary(">>", self, other)

    def __rrshift__(self, other: object) -> Self:
        return self._binary(">>", other, self)

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._binary("==", self, other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._binary("!=", self, other)

    def __gt__(self, other: object) -> Self:
        return self._binary(">", self, other)

    def __ge__(self, other: object) -> Self:
        return self._binary(">=", self, other)

    def __lt__(self, other: object) -> Self:
        return self._binary("<", self, other)

    def __le__(self, other: object) -> Self:
        return self._binary("<=", self, other)

    __hash__ = Traced.__hash__

    def __truediv__(self, other: object) -> Self:
        if isinstance(other, Traced) or not self.dtype.is_float:
            return self._quotient(*self._pair(self, other))
        array, dtype = self._given(other)
        if not dtype.is_float:
            return self._quotient(*self._pair(self, other))
        with np.errstate(divide="ignore", over="ignore"):
            return self * (1 / array.astype(np.float64)).astype(array.dtype)

    def __rtruediv__(self, other: object) -> Self:
        return self._quotient(*self._pair(other, self))

    def __floordiv__(self, other: object) -> Self:
        return self._divided("//", *self._pair(self, other))[0]

    def __rfloordiv__(self, other: object) -> Self:
        return self._divided("//", *self._pair(other, self))[0]

    def __mod__(self, other: object) -> Self:
        return self._divided("%", *self._pair(self, other))[1]

    def __rmod__(self, other: object) -> Self:
        return self._divided("%", *self._pair(other, self))[1]

    def __pow__(self, exponent: object) -> Self:
        match exponent:
            case bool():
                pass
            case int() | np.integer():
                return self._power(int(exponent))
            case float() | np.floating() if float(exponent).is_integer():
                return self._power(int(exponent))
            case float() | np.floating() if float(exponent) == 0.5:
                return self.sqrt()
        return self._raised(*self._pair(self, exponent))

    def __rpow__(self, base: object) -> Self:
        return self._raised(*self._pair(base, self))

    def __invert__(self) -> Self:
        return self._apply(LOGICAL_NOT() if self.dtype is BOOL else BITWISE_NOT())

    def __neg__(self) -> Self:
        zero = self._constant(np.zeros(1, self.dtype.storage))
        return self._apply(NEGATE(), zero, zero)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        if self.dtype in (INT8, INT16):
            return self._cast(INT32)._apply(ABS())._cast(self.dtype)
        return self._apply(ABS())

    def sqrt(self) -> Self:
        """The square roots of floating-point numbers, by RSQRT and RECIPROCAL."""
        return self._apply(RSQRT())._apply(RECIPROCAL())

    def _binary(self, symbol: str, left: object, right: object) -> Self:
        """Record one of the operators, broadcasting by rank."""
        if symbol in _SWAPPED:
            return self._binary(_SWAPPED[symbol], right, left)
        return self._recorded(symbol, *self._pair(left, right))

    def _pair(self, left: object, right: object) -> tuple[Self, Self]:
        """Operands, one of which is this tensor, with as many dimensions each."""
        rank = max(rank_of(left), rank_of(right))
        return self._of(left, rank), self._of(right, rank)

    def _beside(self, symbol: str, number: int) -> Self:
        """What an operator makes of this tensor and a number."""
        return self._binary(symbol, self, number)

    def _recorded(self, symbol: str, left: Self, right: Self) -> Self:
        self._alike(symbol, left, right)
        operator = _LOGICAL.get(symbol) if left.dtype is BOOL else None
        if operator is not None:
            return left._apply(operator, right)
        if symbol == "!=" or (symbol == "==" and left.dtype is BOOL):
            return ~left._recorded("==" if symbol == "!=" else "^", left, right)
        if symbol == "*":
            return left._apply(MUL(), right, self._constant(np.zeros(1, np.int8), INT8))
        if symbol in _WIDENED and left.dtype in (INT8, INT16):
            found = left._cast(INT32)._apply(_OPERATORS[symbol], right._cast(INT32))
            return found if found.dtype is BOOL else found._cast(left.dtype)
        return left._apply(_OPERATORS[symbol], right)

    def _alike(self, symbol: str, left: Self, right: Self) -> None:
        """Types never mix."""
        if left.dtype is not right.dtype:
            raise TraceError(
                f"{left!r} {symbol} {right!r}: {left.dtype} and {right.dtype} do not mix; "
                f"cast one of them, as in x.astype(tj.{max(left.dtype, right.dtype, key=_reach)})"
            )

    def _quotient(self, left: Self, right: Self) -> Self:
        self._alike("/", left, right)
        if not left.dtype.is_float:
            raise TraceError(
                f"{left!r} / {right!r}: TOSA divides floating-point numbers so; use // for integers, "
                "or cast first, as in x.astype(np.float32)"
            )
        return left * right._apply(RECIPROCAL())

    def _divided(self, symbol: str, left: Self, right: Self) -> tuple[Self, Self]:
        """The quotient rounded down, and what remains, which has the sign of the divisor."""
        self._alike(symbol, left, right)
        if left.dtype is not INT32:
            raise TraceError(
                f"{left!r} {symbol} {right!r}: TOSA divides INT32 so; cast first, as in x.astype(np.int32), "
                "or take np.floor(x / y) of floating-point numbers"
            )
        quotient = left._apply(INTDIV(), right)
        rest = left - quotient * right
        beyond = (rest._beside("!=", 0) & (rest ^ right)._beside("<", 0))._cast(INT32)
        return quotient - beyond, rest + beyond * right

    def _power(self, exponent: int) -> Self:
        if not self.dtype.is_float and (self.dtype is not INT32 or exponent < 0):
            raise TraceError(
                f"{self!r} ** {exponent}: TOSA has powers of FP32 and the like, and products of INT32; "
                "cast first, as in x.astype(np.float32)"
            )
        if exponent < 0:
            return self._power(-exponent)._apply(RECIPROCAL())
        if exponent == 0:
            return self._constant(np.ones(self.shape, self.dtype.storage))
        half = self if exponent == 1 else self._power(exponent // 2)
        whole = half if exponent == 1 else half * half
        return whole * self if exponent % 2 and exponent > 1 else whole

    def _raised(self, base: Self, exponent: Self) -> Self:
        self._alike("**", base, exponent)
        return base._apply(POW(), exponent)


def _reach(dtype: DType) -> tuple[bool, int]:
    """The order in which types take others in: floating-point numbers, and the wider ones."""
    return dtype.is_float, dtype.bits
