"""NEON without dot products where no weight is -128: two products are added up before they are widened."""

from collections.abc import Collection

from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.neon import neon


def neon_bytes(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough, or if it has dot products."""
    found = neon(features)
    return found.symmetric if found else None
