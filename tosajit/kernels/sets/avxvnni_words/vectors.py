"""The primitives of AVX-VNNI with products of int16."""

from collections.abc import Collection

from tosajit.kernels.sets.avxvnni.vectors import AvxVnni
from tosajit.kernels.sets.avxvnni_words import avxvnni_words
from tosajit.kernels.sets.description import InstructionSet


class AvxVnniWords(AvxVnni):
    """Registers of 256 bits."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return avxvnni_words(features)


VECTORS = AvxVnniWords
