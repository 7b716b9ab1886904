"""What a step of a register tile does with its operands, for each pair of types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tiling.records import replace
from tosajit.kernels.sets.description import EIGHTS, InstructionSet
from tosajit.kernels.sets.values import BYTES, Register, Value
from tosajit.kernels.sets.vectors import Vectors

WORD = 4
"""Bytes of a column in a step."""


@dataclass(frozen=True, slots=True)
class Product:
    """How products of two types are added to words or to float32."""

    name: str
    kind: str
    """What a register of operands has."""
    total: str
    """What a register of sums has; those of floating-point numbers start at zero."""
    multiplied: Callable[[Vectors, Register, Register, Register], Register]
    """Of (vectors, total, left, right): the total with the products of a step."""
    paired: Callable[[Vectors, Register, Register, Register], Register] = lambda v, *operands: (
        v.multiply_pairs(*operands)
    )
    """The same of eight bytes of two rows and of two columns, where a set has `row_pairs`."""
    halves: bool = False
    """Whether its right side may be split into upper and lower bytes, which take a panel each."""
    wide: bool = False
    """Whether its operands have been widened."""
    flips: bool = False
    """Whether left operands are as they are in memory where the set wants them unsigned."""

    @property
    def floats(self) -> bool:
        """Whether sums are float32: B may be large, and depth is cut into blocks."""
        return self.total == "f32"

    @property
    def ends(self) -> bool:
        """Whether tiles may do what follows sums in registers (`Ending`)."""
        return self is FLOAT32

    @property
    def fetches(self) -> bool:
        """Whether tiles fetch columns for those after them: B may be large."""
        return self.floats or self.wide

    def on(self, isa: InstructionSet) -> Product:
        """Return what a set does instead."""
        return WIDE_INT8 if self in (INT8, FLIPPED_INT8) and isa.byte_width == 2 else self

    def broadcasts(self, v: Vectors, where: Value, steps: int) -> list[Register]:
        """Return four bytes of A for each step, in all lanes."""
        lefts = v.broadcasts(where, steps, self.kind)
        if not (self.flips and v.isa.bias):
            return lefts
        sign = v.opaque(v.constant(-v.isa.bias, self.kind))
        return [left ^ sign for left in lefts]

    def operand(self, v: Vectors, where: Value, columns: int | None = None) -> Register:
        """Load what meets them, or what meets other vectors; of so many columns."""
        return v.load(where, self.kind, None if columns is None else columns * WORD // BYTES[self.kind])

    def zero(self, v: Vectors, columns: int | None = None) -> Register:
        """Return a total of nothing."""
        return v.constant(0, self.total, columns)

    def start(self, v: Vectors, initial: Value, columns: int | None = None) -> Register:
        """Return the total that columns start with."""
        return self.zero(v, columns) if self.total == "f32" else v.load(initial, self.total)

    def finished(self, v: Vectors, total: Register) -> Register:
        """Return a total as a register of columns."""
        return total


def _two_products(v: Vectors, total: Register, left: Register, right: Register) -> Register:
    """Return total + two products of bfloat16, with subnormal numbers."""
    first, second = (v.view(register, "i32") for register in (left, right))
    total = v.fused(total, v.view(first & -0x10000, "f32"), v.view(second & -0x10000, "f32"))
    return v.fused(total, v.view(first << 16, "f32"), v.view(second << 16, "f32"))


def _two_by_two(v: Vectors, total: Register, left: Register, right: Register) -> Register:
    """Return total + products of two rows and two columns of four bfloat16, with subnormal numbers."""
    second = EIGHTS["bf16"]
    for element in range(second):
        rows = _widened(v, left, [row + element for row in (0, 0, second, second)])
        columns = _widened(v, right, [column + element for column in (0, second, 0, second)])
        total = v.fused(total, rows, columns)
    return total


def _widened(v: Vectors, register: Register, lanes: list[int]) -> Register:
    """Return some of the bfloat16 of each 16 bytes as float32."""
    count = v.isa.register_bytes // 2
    chosen = [start + lane for start in range(0, count, 8) for lane in lanes]
    upper = [place for lane in chosen for place in (0, count + lane)]
    return v.view(v.shuffled(v.constant(0, "i16"), v.view(register, "i16"), upper), "f32")


INT8 = Product("i8", "i8", "i32", lambda v, *operands: v.dot_bytes(*operands))
FLIPPED_INT8 = replace(INT8, flips=True)
WIDE_INT8 = Product("i8", "i16", "i32", lambda v, *operands: v.dot_halves(*operands), wide=True)
"""int8 that were widened before."""
INT16 = Product("i16", "i16", "i32", lambda v, *operands: v.dot_halves(*operands), halves=True)
FLOAT32 = Product("f32", "f32", "f32", lambda v, *operands: v.fused(*operands))
BFLOAT16 = Product("bf16", "bf16", "f32", lambda v, *operands: v.dot_pairs(*operands))
"""The CPU takes subnormal operands and sums for zero here."""
FLOAT16 = Product("f16", "f16", "f32", lambda v, *operands: v.dot_float16(*operands))
"""Of columns all of whose elements of a step come before those of the next."""
SMALL_BFLOAT16 = Product("small_bf16", "bf16", "f32", _two_products, _two_by_two)
