"""AVX-512 with VNNI and VBMI: registers of 512 bits."""

from collections.abc import Collection

from tosajit.kernels.sets.description import InstructionSet

NEEDS = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512vnni"}


def avx512(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    if not NEEDS.issubset(features):
        return None
    return InstructionSet("avx512", bf16_pairs="avx512bf16" in features, byte_tables=True)
