"""The primitives of AVX2: bytes are widened to int16, whose products cannot saturate."""

from collections.abc import Collection

from llvmlite import ir

from tosajit.kernels.sets.avx2 import avx2
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.values import Register, Value
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

    def fused(self, total: Register, left: Register, right: Register) -> Register:
        """Return total + left * right, rounded once."""
        return self.instruction("llvm.fma", total, [left, right, total])


VECTORS = Avx2
