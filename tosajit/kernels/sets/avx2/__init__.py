"""AVX2 with FMA (x86-64-v3): registers of 256 bits."""

from collections.abc import Collection

from tiling.records import replace
from tosajit.kernels.sets.description import FEW, InstructionSet

NEEDS = {"avx2", "fma"}


def avx2(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    if not NEEDS.issubset(features):
        return None
    found = InstructionSet(
        "avx2",
        lanes=8,
        heights=(1, 2, 4, 6),  # of two panels: 12 of the 16 registers accumulate
        panels=2,
        rescaled=(1, 2, 4, 6),
        spare=4,
        pixels=(8, 4),
        covers=(4,),
        together_bytes=256 * 1024,  # half of the second-level cache of a Zen 3
        latency=8,  # two units, of four or five cycles
        byte_dots=False,
        narrowed=4,
        byte_tables=True,
        byte_lines=True,
        half_rows=FEW if "f16c" in features else 0,
        signed=True,
        float_rescale=True,
        byte_width=2,  # vpmaddwd; vpmaddubsw, of bytes, saturates unless weights are small
    )
    symmetric = replace(
        found,
        name="avx2_bytes",
        heights=(1, 2, 3),
        rescaled=(1, 2, 3),
        covers=(3,),
        block=3,
        byte_width=1,
    )
    small = replace(found, name="avx2_small", byte_width=1, bias=128, words=found)  # vpmaddubsw
    return replace(with_floats(found), symmetric=symmetric, symmetric_rows=3, small=small)


def with_floats(found: InstructionSet) -> InstructionSet:
    """A set of 16 registers of 256 bits with its tiles of float32: twelve accumulate at most."""
    heights = (1, 2, 3, 4, 5, 6)
    return replace(found, floats=replace(found, heights=heights, covers=heights[2:], block=6, latency=8))
