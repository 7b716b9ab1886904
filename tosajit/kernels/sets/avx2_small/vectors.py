"""The primitives of AVX2 with products of bytes, which are exact where weights have seven bits."""

from collections.abc import Collection

from tosajit.kernels.sets.avx2.vectors import Avx2
from tosajit.kernels.sets.avx2_small import avx2_small
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.values import Register


class Avx2Small(Avx2):
    """Registers of 256 bits."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return avx2_small(features)

    def dot_bytes(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of four bytes: the left ones, which count from -128, times the right ones.

        Two products are at most 2 * 255 * 64 in size, where vpmaddubsw does not saturate.
        """
        pairs = self._call("llvm.x86.avx2.pmadd.ub.sw", self._type("i16"), [left.raw, right.raw])
        return self.dot_halves(total, self._value(pairs), self.constant(1, "i16"))


VECTORS = Avx2Small
