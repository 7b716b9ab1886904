"""RESCALE of 32-bit sums to int8 for AVX-512: one multiplication a lane, no branch, no 64-bit shift.

With v' = v + 2**31 (the start values of the columns hold the 2**31) the product of v' and 2 * multiplier is
unsigned, and its upper word is floor(v * multiplier / 2**31) + multiplier. What remains of TOSA 1.0.1's
apply_scale_32 (section 4.5.5) for shifts above 31 then fits 32-bit lanes: the step of double rounding for
negative v, the rounding term, and the output zero point are added ahead of one arithmetic shift by shift -
31.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

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
"""Parameters of 16 channels: 2 * multiplier (16 words), addends of the even and of the odd channels (8 quad
words each), shift - 31 (16 words)."""


@dataclass(frozen=True, slots=True)
class Rescaling:
    """What stays the same in a kernel: whether the sign of a sum matters to its rounding, and the limits."""

    signed: bool
    low: Value
    high: Value


def scale(b: Builder, words: Value, panel: Sequence[Value], signed: bool) -> Value:
    """Return the rescaled words; `panel` is the loaded parameters."""
    even_factor, odd_factor, even_addend, odd_addend, shift = panel
    low = number(0xFFFFFFFF, Q8)
    quads = b.bitcast(words, Q8)
    odds = permuted(b, words, words, [lane | 1 for lane in range(16)])
    even = b.add(b.mul(b.and_(quads, low), even_factor), even_addend)
    odd = b.add(b.mul(b.and_(b.bitcast(odds, Q8), low), odd_factor), odd_addend)
    upper = permuted(b, even, odd, [lane + 1 + half for lane in range(0, 16, 2) for half in (0, 16)])
    if signed:
        upper = b.add(upper, b.lshr(words, number(31, W16)))
    return b.ashr(upper, shift)


def permuted(b: Builder, first: Value, second: Value, lanes: Sequence[int]) -> Value:
    """Return chosen words of two registers."""
    selection = ir.Constant(vector(I32, 16), [number(lane, I32) for lane in lanes])
    return b.shuffle_vector(b.bitcast(first, W16), b.bitcast(second, W16), selection)


def load_panel(b: Builder, where: Value) -> list[Value]:
    """Load the parameters of 16 channels."""
    low = number(0xFFFFFFFF, Q8)
    factors = [b.and_(load(b, address(b, where, offset), Q8), low) for offset in (0, 4)]
    addends = [load(b, address(b, where, offset), Q8) for offset in (64, 128)]
    return [*factors, *addends, load(b, address(b, where, 192), W16)]


def clip(b: Builder, values: Value, limits: Rescaling) -> Value:
    """Return the bytes within the limits."""
    count = values.type.count
    for name, limit in (("smax", limits.low), ("smin", limits.high)):
        values = instruction(b, f"llvm.{name}.v{count}i8", values.type, [values, splat(b, limit, count)])
    return values


def narrow(b: Builder, words: Value, limits: Rescaling) -> Value:
    """Return 16 words as bytes within the limits."""
    name = "llvm.x86.avx512.mask.pmovs.db.512"
    return clip(b, instruction(b, name, B16, [words, number(0, B16), number(-1, I16)]), limits)


def put(b: Builder, value: Value, where: Value, mask: Value | None) -> None:
    """Store the bytes, or those of the mask."""
    if mask is None:
        store(b, value, where)
    else:
        masked_store(b, value, where, mask)


def switched(b: Builder, sign: Value, low: Value, high: Value, emit: Callable[[Rescaling], None]) -> None:
    """Emit code for sums whose sign matters to their rounding, and code for others."""
    low, high = b.trunc(low, I8), b.trunc(high, I8)
    with b.if_else(b.icmp_signed("==", sign, number(31))) as (signed, plain):
        with signed:
            emit(Rescaling(True, low, high))
        with plain:
            emit(Rescaling(False, low, high))


def panels(b: Builder, columns: Value, emit: Callable[[Value, Value | None], None]) -> None:
    """Run `emit(panel, mask)` for whole panels of 16 columns, and with a mask for a last partial one."""

    def whole(index: Value, _: Any) -> list[Value]:
        emit(index, None)
        return []

    full = b.lshr(columns, number(4))
    loop(b, full, [], whole)
    rest = b.and_(columns, number(15))
    with b.if_then(b.icmp_signed("!=", rest, number(0))):
        emit(full, lanes_below(b, rest, 16))


def _rescale_i8(b: Builder, *arguments: Value) -> None:
    words, rows, columns, parameters, sign, low, high, out, offsets = arguments

    def emit(limits: Rescaling) -> None:
        def panel(index: Value, mask: Value | None) -> None:
            loaded = load_panel(b, address(b, parameters, index, PANEL_BYTES))
            source, target = address(b, words, index, 64), address(b, out, index, 16)

            def row(position: Value, _: Any) -> list[Value]:
                value = scale(
                    b,
                    load(b, address(b, source, position, 128), W16),
                    loaded,
                    limits.signed,
                )
                where = b.add(target, load(b, address(b, offsets, position, 8), position.type))
                put(b, narrow(b, value, limits), where, mask)
                return []

            loop(b, rows, [], row)

        panels(b, columns, panel)

    switched(b, sign, low, high, emit)


rescale_i8 = procedure("rescale_i8", 9, _rescale_i8)
"""`rescale_i8(words, rows, columns, parameters, sign, low, high, out, offsets)`: rows of 32 words to int8 at
out + offsets[row] + column; writes `columns` bytes a row."""
