"""NEON of 64-bit Arm: two registers of 128 bits are one here, so that a panel has eight columns."""

from collections.abc import Collection

from tiling.records import replace
from tosajit.kernels.sets.description import ALONE, ANY, FEW, InstructionSet, Side

PAIRS = {"i8": "i8mm", "bf16": "bf16"}
"""Types of which two rows are multiplied by two columns at once, by CPUs with a feature."""

SIDES = (ALONE, Side(3), Side(5), Side(3, 2))
"""Rows of the windows of most networks."""


def neon(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    if "neon" not in features:
        return None
    dots = "dotprod" in features
    found = InstructionSet(
        "neon",
        lanes=8,
        heights=(1, 2, 4, 5),  # of two panels: 20 of the 32 registers accumulate, 5 hold rows, 4 columns
        panels=2,
        rescaled=(1, 2, 4, 5),
        pixels=(8, 4),
        covers=(4, 5),
        latency=8,  # of pairs of registers: four units, of four cycles
        block=10,
        byte_tables=True,
        half_rows=ANY if "fp16fml" in features else FEW,
        byte_dots=dots,
        sides=SIDES if dots else (ALONE,),
    )
    if not dots:
        return replace(found, symmetric=_of_bytes(found), symmetric_rows=ANY)
    pairs = tuple(kind for kind, feature in PAIRS.items() if feature in features)
    if not pairs:
        return found
    even = (1, 2, 4)  # smmla and bfmmla take pairs of rows
    return replace(
        found,
        row_pairs=pairs,
        bf16_pairs="bf16" in pairs,
        heights=even,
        rescaled=even,
        covers=even[-1:],
        block=8,
    )


def _of_bytes(found: InstructionSet) -> InstructionSet:
    """The set for weights that let two products be added up as int16: these take registers, too."""
    return replace(
        found, name="neon_bytes", heights=(1, 2, 3), rescaled=(1, 2, 3, 4), covers=(3, 4), block=12
    )
