"""Profiles, extensions and levels: what an implementation promises to run (TOSA 1.0.1 sections 1.6, 1.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from tiling.records import dataclass

PROFILES = ("PRO-INT", "PRO-FP")

EXTENSIONS: dict[str, tuple[str, ...]] = {
    "EXT-INT16": ("PRO-INT",),
    "EXT-INT4": ("PRO-INT",),
    "EXT-BF16": ("PRO-FP",),
    "EXT-FP8E4M3": ("PRO-FP",),
    "EXT-FP8E5M2": ("PRO-FP",),
    "EXT-FFT": ("PRO-FP",),
    "EXT-VARIABLE": PROFILES,
    "EXT-CONTROLFLOW": PROFILES,
    "EXT-DYNAMIC": PROFILES,
    "EXT-DOUBLEROUND": ("PRO-INT",),
    "EXT-INEXACTROUND": ("PRO-INT",),
}
"""Every extension, with the profiles that it can extend."""

LevelName = Literal["8K", "none"]


@dataclass(frozen=True, slots=True)
class Level:
    """The greatest arguments that an implementation has to take; the fields are named as in the text."""

    name: str
    MAX_RANK: int
    MAX_KERNEL: int
    MAX_STRIDE: int
    MAX_SCALE: int
    MAX_LOG2_SIZE: int
    MAX_NESTING: int
    MAX_TENSOR_LIST_SIZE: int


LEVELS: dict[str, Level] = {
    "8K": Level("8K", 6, 8192, 8192, 256, 31, 6, 64),
    "none": Level("none", 32, (1 << 31) - 1, (1 << 31) - 1, 2048, 63, 256, 256),
}


def supported(profiles: Iterable[str], extensions: Iterable[str]) -> frozenset[str]:
    """The profiles and those of the extensions that extend one of them."""
    chosen = frozenset(profiles)
    wanted = frozenset(extensions)
    unknown = [*sorted(chosen - set(PROFILES)), *sorted(wanted - set(EXTENSIONS))]
    if unknown:
        known = ", ".join([*PROFILES, *EXTENSIONS])
        raise ValueError(f"{', '.join(unknown)}: no such profile or extension; there are {known}")
    return chosen | {name for name in wanted if chosen.intersection(EXTENSIONS[name])}
