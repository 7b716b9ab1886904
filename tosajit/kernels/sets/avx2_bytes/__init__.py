"""AVX2 where few rows of int8 meet weights that stay bytes: half as many come from the caches."""

from collections.abc import Collection

from tosajit.kernels.sets.avx2 import avx2
from tosajit.kernels.sets.description import InstructionSet


def avx2_bytes(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    found = avx2(features)
    return found.symmetric if found else None
