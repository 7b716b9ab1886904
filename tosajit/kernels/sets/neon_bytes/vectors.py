"""The primitives of NEON with sums of two products of bytes, which are exact while no weight is -128."""

from collections.abc import Collection

from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.neon.vectors import Neon
from tosajit.kernels.sets.neon_bytes import neon_bytes
from tosajit.kernels.sets.values import Register


class NeonBytes(Neon):
    """Registers of 256 bits, as pairs."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return neon_bytes(features)

    def dot_bytes(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of four bytes by smull, smlal and sadalp.

        Two products are at most 2 * 128 * 127, which an int16 holds.
        """
        places = [self._place(register, place) for place in range(2) for register in (left, right)]
        return self._by_halves(self._four_bytes, [total, *places])

    def _four_bytes(self, total: Register, *places: Register) -> Register:
        first, second = self._products_of_bytes(*places[:2]), self._products_of_bytes(*places[2:])
        return self._with_pairs(total, first + second)


VECTORS = NeonBytes
