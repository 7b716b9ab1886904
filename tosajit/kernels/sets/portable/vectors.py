"""The primitives of any CPU, which are those that all sets begin with."""

from collections.abc import Collection

from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.portable import portable
from tosajit.kernels.sets.vectors import Vectors


class Portable(Vectors):
    """Registers of 512 bits that LLVM splits."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return portable(features)


VECTORS = Portable
