"""Numbers and registers of a kernel while it is being written: their operators write LLVM's instructions.

A number is an int64 or a flag, a register a vector of lanes. In plain Python an int and a NumPy array do the
same, so what is written with these operators and the primitives of `vectors` runs there too.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from llvmlite import ir

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))


class Narrow(ir.Type):  # type: ignore[misc]
    """LLVM's floating-point types of 16 bits: llvmlite does not name one, nor the width of the other."""

    width = 16

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Narrow) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


KINDS: dict[str, Any] = {
    "i8": I8,
    "i16": I16,
    "i32": I32,
    "i64": I64,
    "f32": ir.FloatType(),
    "f16": Narrow("half"),
    "bf16": Narrow("bfloat"),
}
BYTES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "f32": 4, "f16": 2, "bf16": 2}


def constant(value: int, type: Any = I64) -> Any:
    """Return LLVM's constant; of a vector type, the same in all lanes."""
    if isinstance(type, ir.VectorType):
        return ir.Constant(type, [ir.Constant(type.element, value)] * type.count)
    return ir.Constant(type, value)


class Value:
    """A number or a register that the instructions written so far have computed."""

    __slots__ = ("b", "raw")

    def __init__(self, b: Any, raw: Any) -> None:
        self.b, self.raw = b, raw

    @property
    def lanes(self) -> int:
        """Return how many lanes a register has."""
        return int(self.raw.type.count)

    def _raw(self, other: Number) -> Any:
        return other.raw if isinstance(other, Value) else constant(other, self.raw.type)

    def _of(self, raw: Any) -> Value:
        return Value(self.b, raw)

    def _floats(self) -> bool:
        return isinstance(getattr(self.raw.type, "element", None), ir.FloatType)

    def _compared(self, order: str, other: Number) -> Value:
        compare = self.b.fcmp_ordered if self._floats() else self.b.icmp_signed
        return self._of(compare(order, self.raw, self._raw(other)))

    def __add__(self, other: Number) -> Value:
        if isinstance(other, int) and other == 0:
            return self
        add = self.b.fadd if self._floats() else self.b.add
        return self._of(add(self.raw, self._raw(other)))

    def __mul__(self, other: Number) -> Value:
        if isinstance(other, int) and other == 1:
            return self
        multiply = self.b.fmul if self._floats() else self.b.mul
        return self._of(multiply(self.raw, self._raw(other)))

    def __neg__(self) -> Value:
        return self._of(self.b.fneg(self.raw) if self._floats() else self.b.neg(self.raw))

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Number) -> Value:
        subtract = self.b.fsub if self._floats() else self.b.sub
        return self._of(subtract(self.raw, self._raw(other)))

    def __rsub__(self, other: int) -> Value:
        return self._of(self.b.sub(self._raw(other), self.raw))

    def __floordiv__(self, other: Number) -> Value:
        """Divide; neither may be negative."""
        if isinstance(other, int) and other == 1:
            return self
        return self._of(self.b.udiv(self.raw, self._raw(other)))

    def __truediv__(self, other: Value) -> Value:
        return self._of(self.b.fdiv(self.raw, other.raw))

    def __mod__(self, other: Number) -> Value:
        return self._of(self.b.urem(self.raw, self._raw(other)))

    def __lshift__(self, other: Number) -> Value:
        return self._of(self.b.shl(self.raw, self._raw(other)))

    def __rshift__(self, other: Number) -> Value:
        return self._of(self.b.ashr(self.raw, self._raw(other)))

    def __and__(self, other: Number) -> Value:
        return self._of(self.b.and_(self.raw, self._raw(other)))

    def __xor__(self, other: Number) -> Value:
        return self._of(self.b.xor(self.raw, self._raw(other)))

    def __lt__(self, other: Number) -> Value:
        return self._compared("<", other)

    def __gt__(self, other: Number) -> Value:
        return self._compared(">", other)

    def __le__(self, other: Number) -> Value:
        return self._of(self.b.icmp_signed("<=", self.raw, self._raw(other)))

    def __ge__(self, other: Number) -> Value:
        return self._of(self.b.icmp_signed(">=", self.raw, self._raw(other)))


Number: TypeAlias = "Value | int"
"""An int64 or a flag; an int if it is known while the kernel is written."""
Register: TypeAlias = Value
