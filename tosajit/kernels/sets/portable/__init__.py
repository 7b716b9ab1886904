"""Any CPU: what LLVM makes of vectors."""

from collections.abc import Collection

from tosajit.kernels.sets.description import InstructionSet


def portable(features: Collection[str]) -> InstructionSet | None:
    """The set, which asks for nothing."""
    return InstructionSet("portable")
