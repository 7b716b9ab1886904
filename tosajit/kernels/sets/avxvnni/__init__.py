"""AVX2 with dot products of bytes (AVX-VNNI, or the same instructions of AVX-512): registers of 256 bits."""

from collections.abc import Collection

from tiling.records import replace
from tosajit.kernels.sets.avx2 import NEEDS, with_floats
from tosajit.kernels.sets.description import FEW, InstructionSet

ENCODINGS = ({"avxvnni"}, {"avx512vnni", "avx512vl"})
"""What has vpdpbusd of 256 bits."""


def avxvnni(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    if not NEEDS.issubset(features) or not any(needs.issubset(features) for needs in ENCODINGS):
        return None
    found = InstructionSet(
        "avxvnni",
        lanes=8,
        heights=(1, 2, 4, 5),  # of two panels: 10 of the 16 registers accumulate
        panels=2,
        rescaled=(1, 2, 4, 5),
        pixels=(8, 4),
        covers=(4, 5),
        latency=10,  # two units, of five cycles
        block=10,
        narrowed=4,
        byte_tables=True,
        byte_lines=True,
        half_rows=FEW if "f16c" in features else 0,
        signed=True,
        float_rescale=True,
        bias=128,  # vpdpbusd multiplies unsigned bytes by signed ones
    )
    # Nothing but sums, columns and a word of A has to be in registers where nothing is rescaled in them.
    words = replace(found, name="avxvnni_words", byte_width=2, bias=0, heights=(1, 2, 4, 6))
    return replace(with_floats(found), words=words)
