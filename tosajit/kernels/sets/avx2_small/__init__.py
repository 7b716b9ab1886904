"""AVX2 where weights of int8 are small: products of bytes do not saturate then."""

from collections.abc import Collection

from tosajit.kernels.sets.avx2 import avx2
from tosajit.kernels.sets.description import InstructionSet


def avx2_small(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    found = avx2(features)
    return found.small if found else None
