"""AVX-VNNI where convolutions take a quarter of the products: of int16, as transforms need them."""

from collections.abc import Collection

from tosajit.kernels.sets.avxvnni import avxvnni
from tosajit.kernels.sets.description import InstructionSet


def avxvnni_words(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    found = avxvnni(features)
    return found.words if found else None
