"""The kinds of loops that a kernel's text can have, and what LLVM is told of each."""

from collections.abc import Mapping

from tosajit.kernels.sets.registry import cpu

BESIDE = 4
"""Registers of vectors that interleaved loops do at a time."""
WORDS, HALF = 16, 8
"""What a register of AVX-512 holds of words, and one of AVX2."""
NO_HINTS: Mapping[str, int | bool] = {}
LOOPS = ("range", "interleaved", "interleaved_at_need", "by_registers", "by_halves", "by_masks")
"""What loops can go over."""


def hints_of(kind: str) -> Mapping[str, int | bool]:
    """What LLVM is told of a loop of this kind.

    It would do four registers of short rows at a time, which they do not have, and so come to what is for
    the ends of long ones: half as wide. The end of a row takes as long as a register with masks, but no
    CPU without AVX-512 has those. What are halves of its registers are whole ones of AVX2.

    On a Zen 3 core interleaving made sines and logarithms take 0.8 of the time, GELU 0.88: the steps of one
    register fill its scheduler.
    """
    features = cpu().features
    few = "avx2" in features and "avx512vl" not in features
    if kind == "interleaved" or (kind == "interleaved_at_need" and few):
        return {"interleave.count": BESIDE}
    if kind not in (("by_halves",) if few else ("by_registers", "by_masks")) or "avx2" not in features:
        return NO_HINTS
    one = {"vectorize.enable": True, "vectorize.width": HALF if few else WORDS, "interleave.count": 1}
    return one | {"vectorize.predicate.enable": True} if kind == "by_masks" else one
