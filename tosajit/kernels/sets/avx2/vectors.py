"""The primitives of AVX2: bytes are widened to int16, whose products cannot saturate."""

from collections.abc import Collection, Sequence

from llvmlite import ir

from tosajit.kernels.sets.avx2 import avx2
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import VOID
from tosajit.kernels.sets.x86 import X86


class Avx2(X86):
    """Registers of 256 bits."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return avx2(features)

    def steps_at_once(self, kind: str, panels: int) -> int:
        """Return more than one of float32, whose steps are short."""
        return 4 if kind == "f32" else 2 if panels > 1 else 1

    def broadcasts_at_once(self, kind: str, panels: int) -> int:
        """Return one where there are no registers left."""
        return self.steps_at_once(kind, panels) if kind == "f32" else 1

    def begin_step(self, kind: str) -> None:
        """Keep loads of int16 in their step: LLVM would load those of two, and run out of registers."""
        if kind == "i16":
            self.b.asm(ir.FunctionType(VOID, []), "", "~{memory}", [], True)

    def opaque(self, register: Register) -> Register:
        """Hide from LLVM what a register or a number is."""
        type = ir.FunctionType(register.raw.type, [register.raw.type])
        place = "x" if isinstance(register.raw.type, ir.VectorType) else "r"
        return self._value(self.b.asm(type, "", f"={place},0", [register.raw], False))

    def kept(self, where: Value) -> Value:
        """Hide what an address is made of: LLVM would make it anew in each step, at a quarter of its time."""
        return self.opaque(where)

    def dot_halves(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two int16, by vpmaddwd."""
        pairs = [self.view(register, "i16").raw for register in (left, right)]
        return total + self._value(self._call("llvm.x86.avx2.pmadd.wd", total.raw.type, pairs))

    def looked_up(self, table: Sequence[Register], index: Register) -> Register:
        """Return entries of a table of 256 bytes in eight registers, by signed bytes that count from -128.

        vpshufb picks from 16 entries, and gives zero where a place is negative. Places go down by 16 from one
        sixteenth of a half to the next, each of which holds the differences of its entries to those before:
        what has been picked until places are negative adds up to the entry.
        """
        sixteenths = [self._doubled(part, first) for part in table for first in (0, 16)]
        found = self.constant(0, "i8", index.lanes)
        for half, places in ((sixteenths[:8], index ^ -128), (sixteenths[8:], index)):
            before = None
            for part in half:
                found ^= self._picked(part if before is None else part ^ before, places)
                places, before = self._down_by_16(places), part
        return found

    def _doubled(self, register: Register, first: int) -> Register:
        """Return 16 lanes of bytes twice."""
        return self.shuffled(register, register, [*range(first, first + 16)] * 2)

    def _picked(self, entries: Register, places: Register) -> Register:
        """Return entries by places, zero for negative ones."""
        return self._value(self._call("llvm.x86.avx2.pshuf.b", places.raw.type, [entries.raw, places.raw]))

    def _down_by_16(self, places: Register) -> Register:
        """Return places less 16, or the least byte."""
        sixteen = self.constant(16, "i8", places.lanes)
        name = f"llvm.ssub.sat.v{places.lanes}i8"
        return self._value(self._call(name, places.raw.type, [places.raw, sixteen.raw]))

    def high_products(self, left: Register, right: Register) -> Register:
        """Return the upper halves of products of int16, by vpmulhw."""
        return self._value(self._call("llvm.x86.avx2.pmulh.w", left.raw.type, [left.raw, right.raw]))

    def unpacked(self, low: Register, high: Register) -> tuple[Register, Register]:
        """Return int16 of lower and upper bytes: the first eight of each sixteen, and the others."""
        halves = []
        for first in (0, 8):
            places = [first + block + lane for block in (0, 16) for lane in range(8)]
            lanes = [place + from_high for place in places for from_high in (0, high.lanes)]
            halves.append(self.view(self.shuffled(low, high, lanes), "i16"))
        return halves[0], halves[1]

    def packed(self, first: Register, second: Register) -> Register:
        """Return int16 as the nearest bytes, by vpacksswb."""
        type = self._type("i8", 2 * first.lanes)
        return self._value(self._call("llvm.x86.avx2.packsswb", type, [first.raw, second.raw]))

    def fused(self, total: Register, left: Register, right: Register) -> Register:
        """Return total + left * right, rounded once."""
        return self.instruction("llvm.fma", total, [left, right, total])


VECTORS = Avx2
