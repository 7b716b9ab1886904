"""What an ELF object leaves open, of each architecture whose objects are put into memory without LLVM.

Places and targets are counted from the start of the image, which begins at a page.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from tiling.records import dataclass

Fix = Callable[[bytearray, int, int], None]
"""Write, at a place of an image, where a target is."""


@dataclass(frozen=True, slots=True)
class Form:
    """The objects of an architecture."""

    machine: int
    """Its number in the header of an object."""
    fixes: Mapping[int, Fix]
    """By the numbers of the kinds of relocations."""
    calls: tuple[int, ...]
    """Kinds that may go to a jump instead."""
    jump: struct.Struct
    code: bytes
    """A jump to the address that is behind it."""


def _near(image: bytearray, place: int, target: int) -> None:
    """The distance, in 32 bits."""
    struct.pack_into("<i", image, place, target - place)


def _branch(image: bytearray, place: int, target: int) -> None:
    """The distance in words, in the 26 bits of a branch."""
    distance = target - place
    if distance % 4 or not -(1 << 27) <= distance < 1 << 27:
        raise ValueError(distance)
    _or(image, place, distance >> 2 & 0x3FFFFFF)


def _page(image: bytearray, place: int, target: int) -> None:
    """The distance in pages, in the two fields of `adrp`."""
    pages = (target >> 12) - (place >> 12)
    if not -(1 << 20) <= pages < 1 << 20:
        raise ValueError(pages)
    _or(image, place, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)


def _within(shift: int) -> Fix:
    """The place in a page, in units of what is loaded from there."""

    def fix(image: bytearray, place: int, target: int) -> None:
        offset = target & 0xFFF
        if offset % (1 << shift):
            raise ValueError(offset)
        _or(image, place, offset >> shift << 10)

    return fix


def _or(image: bytearray, place: int, bits: int) -> None:
    (word,) = struct.unpack_from("<I", image, place)
    struct.pack_into("<I", image, place, word | bits)


FORMS: Mapping[str, Form] = {
    # System V ABI, supplement for AMD64, section 4.4: PC32, PLT32
    "x86_64": Form(62, {2: _near, 4: _near}, (4,), struct.Struct("<6sQ2x"), bytes.fromhex("ff2500000000")),
    # ELF for the Arm 64-bit Architecture (IHI 0056), section 5.7: ADR_PREL_PG_HI21, then _ABS_LO12_NC of ADD
    # and of LDST with 8 to 128 bits, JUMP26, CALL26; the jump is `ldr x16, #8` and `br x16`
    "aarch64": Form(
        183,
        {275: _page, 277: _within(0), 278: _within(0), 284: _within(1), 285: _within(2), 286: _within(3)}
        | {299: _within(4), 282: _branch, 283: _branch},
        (282, 283),
        struct.Struct("<8sQ"),
        bytes.fromhex("5000005800021fd6"),
    ),
}
"""By what systems call architectures."""
