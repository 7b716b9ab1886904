"""The kinds of loops that a kernel's text can have, and what LLVM is told of each."""

import ast
from collections.abc import Mapping, Sequence

from tosajit.kernels.sets.registry import cpu

BESIDE = 4
"""Registers of vectors that interleaved loops do at a time."""
WORDS, HALF = 16, 8
"""What a register of AVX-512 holds of words, and one of AVX2."""
NO_HINTS: Mapping[str, int | bool] = {}
OVERLAPPING = ("by_masks", "overlapping_at_need")
"""Loops over rows that do not fill their last register, whose turns need nothing of each other."""
LOOPS = (
    "range",
    "interleaved",
    "interleaved_at_need",
    "by_registers",
    "by_halves",
    "exactly",
    "one_by_one",
    *OVERLAPPING,
)
"""What loops can go over."""


def overlaps(kind: str) -> bool:
    """Whether the last register of a loop does points of the one before, as no masks can leave them out."""
    return kind in OVERLAPPING and _has_avx2_alone()


def _has_avx2_alone() -> bool:
    features = cpu().features
    return "avx2" in features and "avx512vl" not in features


def hints_of(kind: str) -> Mapping[str, int | bool]:
    """What LLVM is told of a loop of this kind.

    It would do four registers of short rows at a time, which they do not have, and so come to what is for
    the ends of long ones: half as wide. The end of a row takes as long as a register with masks, but no
    CPU without AVX-512 has those (`overlapping`). What are halves of its registers are whole ones of AVX2.

    On a Zen 3 core interleaving made sines and logarithms take 0.8 of the time, GELU 0.88: the steps of one
    register fill its scheduler.
    """
    few = _has_avx2_alone()
    if kind == "one_by_one":
        return {"vectorize.enable": False, "unroll.disable": True}
    if kind == "interleaved" or (kind == "interleaved_at_need" and few):
        return {"interleave.count": BESIDE}
    if kind not in (("by_halves",) if few else ("by_registers", "by_masks")) or "avx2" not in cpu().features:
        return NO_HINTS
    one = {"vectorize.enable": True, "vectorize.width": HALF if few else WORDS, "interleave.count": 1}
    return one | {"vectorize.predicate.enable": True} if kind == "by_masks" else one


def overlapping(name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> ast.stmt:
    """A loop over a row by whole registers of AVX2, the last of which ends where the row does.

    It does some points again where a register with masks would leave them out.
    """
    low, high = map(ast.unparse, bounds)
    registers = f"""
for {name}_next in range({low}, {high}, {HALF}):
    {name}_first = min({name}_next, {high} - {HALF})
    for {name}_lane in by_halves(0, {HALF}):
        {name} = {name}_first + {name}_lane
"""
    return _or_one_by_one(f"{high} - {low} >= {HALF}", registers, name, bounds, body)


def few(name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> ast.stmt:
    """A loop that mostly has as many turns as the text says: LLVM writes these out, and does several rows."""
    low, high, extent = map(ast.unparse, bounds)
    row = f"""
for {name}_lane in range(0, {extent}):
    {name} = {low} + {name}_lane
"""
    return _or_one_by_one(f"{high} - {low} == {extent}", row, name, bounds, body)


def _or_one_by_one(
    test: str, loop: str, name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]
) -> ast.stmt:
    """A loop, or a plain one if it is not for these bounds; the body ends the innermost turns of both."""
    low, high, *_ = map(ast.unparse, bounds)
    plain = f"for {name}_lane in one_by_one({low}, {high}):\n    {name} = {name}_lane"
    ways = [ast.parse(text).body for text in (loop, plain)]
    for way in ways:
        *_, innermost = (node for node in ast.walk(way[0]) if isinstance(node, ast.For))
        innermost.body += body
    return ast.If(ast.parse(test, mode="eval").body, *ways)
