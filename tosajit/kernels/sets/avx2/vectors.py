"""The primitives of AVX2: bytes are widened to int16, whose products cannot saturate."""

from collections.abc import Collection

from tosajit.kernels.sets.avx2 import avx2
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.values import Register
from tosajit.kernels.sets.x86 import X86


class Avx2(X86):
    """Registers of 256 bits."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return avx2(features)

    def steps_at_once(self, kind: str, panels: int) -> int:
        """Return more than one of float32, whose steps are short."""
        return 4 if kind == "f32" else 1

    def dot_halves(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two int16, by vpmaddwd."""
        pairs = [self.view(register, "i16").raw for register in (left, right)]
        return total + self._value(self._call("llvm.x86.avx2.pmadd.wd", total.raw.type, pairs))

    def fused(self, total: Register, left: Register, right: Register) -> Register:
        """Return total + left * right, rounded once."""
        return self.instruction("llvm.fma", total, [left, right, total])


VECTORS = Avx2
