"""AVX-512 (x86-64-v4), with VNNI, VBMI and BF16 where the CPU has them: registers of 512 bits."""

from collections.abc import Collection

from tiling.records import replace
from tosajit.kernels.sets.description import FEW, InstructionSet

NEEDS = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}


def avx512(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    if not NEEDS.issubset(features):
        return None
    dots = "avx512vnni" in features
    found = InstructionSet(
        "avx512",
        lanes=16,
        heights=(1, 2, 4, 6, 8, 10, 12),  # of two panels: in the largest, 24 of the 32 registers accumulate
        panels=2,
        rescaled=(1, 2, 4, 8, 10, 12),
        alone=(16,),
        pixels=(8, 4),
        covers=(8, 10, 12),
        near_bytes=1024 * 1024,
        latency=8,  # two units, of four cycles
        byte_dots=dots,
        narrowed=4,
        signed=True,
        float_rescale=True,
        masked=True,
        bias=128 if dots else 0,  # vpdpbusd multiplies unsigned bytes by signed ones
        byte_width=1 if dots else 2,
        bf16_pairs="avx512bf16" in features,
        byte_tables="avx512vbmi" in features,
        half_rows=FEW if "f16c" in features else 0,
    )
    words = replace(found, name="avx512_words", byte_width=2, bias=0) if dots else None
    # Nothing but sums, columns and a word of A has to be in registers; maps are often multiples of 7 wide.
    heights = (1, 2, 4, 7, 8, 10, 12, 14)
    floats = replace(found, heights=heights, covers=heights[3:], block=14, low=7, short_steps=32)
    return replace(found, words=words, floats=floats)
