"""The primitives of NEON: pairs of its registers, whose halves LLVM keeps apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tosajit.kernels.sets.description import ANY, InstructionSet
from tosajit.kernels.sets.neon import neon
from tosajit.kernels.sets.values import BYTES, I8, I16, I32, I64, KINDS, Number, Register
from tosajit.kernels.sets.vectors import Vectors, vector

WORDS, HALVES, FLOATS = vector(I32, 4), vector(I16, 8), vector(KINDS["f32"], 4)
"""What a register holds."""
BYTES_OF, NAMES = vector(I8, 16), "llvm.aarch64.neon"
"""What comes out of tables; what LLVM's names of instructions begin with."""


class Neon(Vectors):
    """Registers of 256 bits, as pairs."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return neon(features)

    def steps_at_once(self, kind: str, panels: int) -> int:
        """Return a register full of words where instructions take one of its lanes."""
        return WORDS.count if kind in ("f32", "f16", "i16") or (kind == "i8" and self.isa.byte_dots) else 1

    def broadcasts(self, where: Number, steps: int, kind: str) -> list[Register]:
        """Return words in a row, each in all lanes: products take them from the register they are in."""
        unit = self._unit(kind)
        size = 4 // BYTES[unit]
        words = self.load(where, unit, steps * size)
        lanes = ([step * size + part for part in range(size)] * self.isa.lanes for step in range(steps))
        return [self.view(self.shuffled(words, words, every), kind) for every in lanes]

    def _unit(self, kind: str) -> str:
        """Return what a product takes at once of what is the same in all lanes."""
        if kind in ("i16", "f16") or (kind == "i8" and not self.isa.byte_dots):
            return "i16"
        return "f32" if kind == "f32" else "i32"

    def dot_bytes(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of four bytes to each word, by sdot or from sums of pairs."""
        if self.isa.byte_dots:
            return self._by_halves(self._sdot, [total, left, right])
        return self._by_places(self._pairs_of_bytes, total, left, right)

    def multiply_pairs(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two rows and two columns of eight bytes to blocks, by smmla or bfmmla."""
        floats = total.raw.type.element == FLOATS.element
        return self._by_halves(self._bfmmla if floats else self._smmla, [total, left, right])

    def dot_halves(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two int16 to each word."""
        return self._by_places(self._halves, total, left, right)

    def fused(self, total: Register, left: Register, right: Register) -> Register:
        """Return total + left * right, rounded once."""
        return self.instruction("llvm.fma", total, [right, left, total])

    def even_products(self, left: Register, right: Register) -> Register:
        """Return the products of the lower words of quad words, which count as unsigned."""
        type = vector(I64, left.lanes)
        words = [self.b.trunc(register.raw, vector(I32, left.lanes)) for register in (left, right)]
        return self._value(self.b.mul(*(self.b.zext(word, type) for word in words)))

    def dot_float16(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two float16 to each float32; fmlal multiplies the lower half of registers."""
        if self.isa.half_rows < ANY:
            return super().dot_float16(total, left, right)
        for row, column in self._in_turn(left, right):
            parts = [
                self._call(
                    f"{NAMES}.{name}.v4f32.v8f16", FLOATS, [self._part(total, half).raw, column.raw, row.raw]
                )
                for half, name in enumerate(("fmlal", "fmlal2"))
            ]
            total = self.shuffled(self._value(parts[0]), self._value(parts[1]), range(total.lanes))
        return total

    def looked_up(self, table: Sequence[Register], index: Register) -> Register:
        """Return entries of a table of 256 bytes in eight registers, by signed bytes.

        tbl picks from 64 entries and gives zero for places beyond them, which tbx leaves as they are.
        """
        entries = [self._part(register, half) for register in table for half in range(2)]
        return self._by_halves(lambda places: self._picked(entries, places), [index ^ -128])

    def _picked(self, entries: Sequence[Register], places: Register) -> Register:
        found = self._value(
            self._call(f"{NAMES}.tbl4.v16i8", BYTES_OF, [one.raw for one in (*entries[:4], places)])
        )
        for first in range(4, len(entries), 4):
            places = places - 64
            raw = [one.raw for one in (found, *entries[first : first + 4], places)]
            found = self._value(self._call(f"{NAMES}.tbx4.v16i8", BYTES_OF, raw))
        return found

    def _sdot(self, total: Register, left: Register, right: Register) -> Register:
        raw = [register.raw for register in (total, right, left)]  # the left one may be a lane
        return self._value(self._call("llvm.aarch64.neon.sdot.v4i32.v16i8", WORDS, raw))

    def _smmla(self, total: Register, left: Register, right: Register) -> Register:
        raw = [register.raw for register in (total, left, right)]
        return self._value(self._call("llvm.aarch64.neon.smmla.v4i32.v16i8", WORDS, raw))

    def _bfmmla(self, total: Register, left: Register, right: Register) -> Register:
        raw = [register.raw for register in (total, left, right)]
        return self._value(self._call("llvm.aarch64.neon.bfmmla", FLOATS, raw))

    def _pairs_of_bytes(self, total: Register, left: Register, right: Register) -> Register:
        return self._with_pairs(total, self._products_of_bytes(left, right))

    def _products_of_bytes(self, left: Register, right: Register) -> Register:
        raw = [self.view(register, "i8").raw for register in (left, right)]
        return self._value(self._call("llvm.aarch64.neon.smull.v8i16", HALVES, raw))

    def _with_pairs(self, total: Register, halves: Register) -> Register:
        """Add neighbouring half words to each word: sadalp."""
        return total + self._value(self._call("llvm.aarch64.neon.saddlp.v4i32.v8i16", WORDS, [halves.raw]))

    def _halves(self, total: Register, left: Register, right: Register) -> Register:
        return total + self._value(self._call("llvm.aarch64.neon.smull.v4i32", WORDS, [left.raw, right.raw]))

    def _by_places(
        self, run: Callable[..., Register], total: Register, left: Register, right: Register
    ) -> Register:
        """Run an operation on the first half words of all words, and on the second ones.

        What is the same in all lanes is then one lane of a register, and sums need not change places.
        """
        for place in range(2):
            total = self._by_halves(run, [total, *(self._place(one, place) for one in (left, right))])
        return total

    def _place(self, register: Register, place: int) -> Register:
        """Return the first half words of all words, or the second ones."""
        halves = self.view(register, "i16")
        return self.shuffled(halves, halves, range(place, halves.lanes, 2))

    def _by_halves(self, run: Callable[..., Register], operands: Sequence[Register]) -> Register:
        """Run an operation on the first and on the second of each pair of registers."""
        parts = [run(*(self._part(operand, half) for operand in operands)) for half in range(2)]
        return self.shuffled(parts[0], parts[1], range(2 * parts[0].lanes))

    def _part(self, register: Register, half: int) -> Register:
        lanes = register.lanes // 2
        return self.shuffled(register, register, range(half * lanes, (half + 1) * lanes))


VECTORS = Neon
