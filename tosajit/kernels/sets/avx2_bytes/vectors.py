"""The primitives of AVX2 with products of bytes, which are exact while no weight is -128."""

from collections.abc import Collection

from tosajit.kernels.sets.avx2.vectors import Avx2
from tosajit.kernels.sets.avx2_bytes import avx2_bytes
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.values import I1, Register, constant


class Avx2Bytes(Avx2):
    """Registers of 256 bits."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return avx2_bytes(features)

    def dot_bytes(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of four bytes: the sizes of the left ones, times the right ones with their signs.

        Two products are at most 2 * 128 * 127 then, where vpmaddubsw does not saturate.
        """
        sizes = self._call("llvm.abs.v32i8", left.raw.type, [left.raw, constant(0, I1)])
        signed = self._call("llvm.x86.avx2.psign.b", left.raw.type, [right.raw, left.raw])
        pairs = self._call("llvm.x86.avx2.pmadd.ub.sw", self._type("i16"), [sizes, signed])
        return self.dot_halves(total, self._value(pairs), self.constant(1, "i16"))


VECTORS = Avx2Bytes
