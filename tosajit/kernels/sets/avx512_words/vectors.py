"""The primitives of AVX-512 with products of int16."""

from collections.abc import Collection

from tosajit.kernels.sets.avx512.vectors import Avx512
from tosajit.kernels.sets.avx512_words import avx512_words
from tosajit.kernels.sets.description import InstructionSet


class Avx512Words(Avx512):
    """Registers of 512 bits."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return avx512_words(features)


VECTORS = Avx512Words
