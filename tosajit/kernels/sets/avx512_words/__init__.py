"""AVX-512 with VNNI where convolutions take a quarter of the products: of int16, as transforms need them."""

from collections.abc import Collection

from tosajit.kernels.sets.avx512 import avx512
from tosajit.kernels.sets.description import InstructionSet


def avx512_words(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    found = avx512(features)
    return found.words if found else None
