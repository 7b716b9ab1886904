"""Any CPU: what LLVM makes of vectors of 512 bits, which it splits as the CPU needs."""

from collections.abc import Collection

from tosajit.kernels.sets.description import InstructionSet


def portable(features: Collection[str]) -> InstructionSet | None:
    """The set, which asks for nothing."""
    return InstructionSet(
        "portable",
        lanes=16,
        heights=(1, 2, 4),  # of one panel: in registers of 256 bits, eight accumulate
        panels=1,
        rescaled=(1, 2, 4),
        pixels=(4, 2),
        covers=(8, 10, 12),
        latency=8,
    )
