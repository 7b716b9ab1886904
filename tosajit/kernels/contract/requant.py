"""RESCALE of 32-bit sums to int8 for AVX-512: one multiplication a lane, no branch, no 64-bit shift.

With v' = v + 2**31 (the start values of the columns hold the 2**31) the product of v' and 2 * multiplier is unsigned,
and its upper word is floor(v * multiplier / 2**31) + multiplier. What remains of TOSA 1.0.1's apply_scale_32
(section 4.5.5) for shifts above 31 then fits 32-bit lanes: the step of double rounding for negative v, the rounding
term, and the output zero point are added ahead of one arithmetic shift by shift - 31.
"""

from typing import Any

from tosajit.kernels.contract.code import (
    I8,
    I16,
    I32,
    Q8,
    W16,
    Builder,
    Value,
    address,
    instruction,
    load,
    loop,
    number,
    procedure,
    splat,
    store,
    vector,
)
from tosajit.kernels.contract.rows import lanes_below, masked_store

B16 = vector(I8, 16)
PANEL_BYTES = 256
"""Parameters of 16 channels: 2 * multiplier (16 words), addends of the even and of the odd channels (8 quad words
each), shift - 31 (16 words)."""


def scale(b: Builder, words: Value, panel: list[Value], sign: Value) -> Value:
    """Return the rescaled words; `panel` is the loaded parameters, `sign` the shift that leaves the sign or nothing."""
    even_factor, odd_factor, even_addend, odd_addend, shift = panel
    low = number(0xFFFFFFFF, Q8)
    quads = b.bitcast(words, Q8)
    even = b.add(b.mul(b.and_(quads, low), even_factor), even_addend)
    odd = b.add(b.mul(b.lshr(quads, number(32, Q8)), odd_factor), odd_addend)
    pairs = [lane + 1 + half for lane in range(0, 16, 2) for half in (0, 16)]
    selection = type(low)(vector(I32, 16), [number(lane, I32) for lane in pairs])
    upper = b.shuffle_vector(b.bitcast(even, W16), b.bitcast(odd, W16), selection)
    positive = instruction(b, "llvm.x86.avx512.psrlv.d.512", W16, [words, sign])
    return b.ashr(b.add(upper, positive), shift)


def load_panel(b: Builder, where: Value) -> list[Value]:
    """Load the parameters of 16 channels."""
    low = number(0xFFFFFFFF, Q8)
    factors = [b.and_(load(b, address(b, where, offset), Q8), low) for offset in (0, 4)]
    return [
        *factors,
        *(load(b, address(b, where, offset), Q8) for offset in (64, 128)),
        load(b, address(b, where, 192), W16),
    ]


def narrow(b: Builder, words: Value, low: Value, high: Value) -> Value:
    """Return the words as bytes, clipped to low and high."""
    every = number(-1, I16)
    name = "llvm.x86.avx512.mask.pmovs.db.512"
    value = instruction(b, name, B16, [words, number(0, B16), every])
    value = instruction(b, "llvm.smax.v16i8", B16, [value, low])
    return instruction(b, "llvm.smin.v16i8", B16, [value, high])


def _rescale_i8(b: Builder, *arguments: Value) -> None:
    words, rows, columns, parameters, sign, low, high, out, offsets = arguments
    sign = splat(b, b.trunc(sign, I32), 16)
    low, high = (splat(b, b.trunc(limit, I8), 16) for limit in (low, high))
    full = b.lshr(columns, number(4))

    def panel(index: Value, mask: Value | None) -> None:
        loaded = load_panel(b, address(b, parameters, index, PANEL_BYTES))
        source, target = address(b, words, index, 64), address(b, out, index, 16)

        def row(position: Value, _: Any) -> list[Value]:
            value = scale(b, load(b, address(b, source, position, 128), W16), loaded, sign)
            where = b.add(target, load(b, address(b, offsets, position, 8), position.type))
            value = narrow(b, value, low, high)
            store(b, value, where) if mask is None else masked_store(b, value, where, mask)
            return []

        loop(b, rows, [], row)

    def whole(index: Value, _: Any) -> list[Value]:
        panel(index, None)
        return []

    loop(b, full, [], whole)
    rest = b.and_(columns, number(15))
    with b.if_then(b.icmp_signed("!=", rest, number(0))):
        panel(full, lanes_below(b, rest, 16))


rescale_i8 = procedure("rescale_i8", 9, _rescale_i8)
"""`rescale_i8(words, rows, columns, parameters, sign, low, high, out, offsets)`: rows of 32 words to int8 at
out + offsets[row] + column; writes `columns` bytes a row."""
