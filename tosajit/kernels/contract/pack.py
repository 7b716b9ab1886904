"""Packing what does not change between runs: weights, start values of columns, parameters of a rescale."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiling.records import dataclass
from tosajit.kernels.contract.spec import LEAST_BYTES
from tosajit.kernels.sets.description import InstructionSet

MIN_SHIFT, MAX_SHIFT = 32, 62
OUTPUTS, TAPS, POINTS = 4, 3, 6
"""Winograd's F(4, 3): outputs along an axis that are computed together, taps of each, and their products."""
OF_WEIGHTS = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 12]])
"""Points of taps, times 24, and so are sums; the last one, by half of it, counts twice in sums."""
_OF_TAPS = OF_WEIGHTS.astype(np.float32)
"""The same for products by BLAS: those of taps of 9 bits along both axes are whole numbers below 2**24."""


def _padded(columns: int, lanes: int) -> int:
    return -(-columns // lanes) * lanes


def packed_bytes(
    lanes: int, depth: int, columns: int, element_bytes: int, halves: bool = False, least: bool = False
) -> int:
    """Return the bytes of a packed matrix B; `halves` if its int16 are split into bytes, `least` for bf16."""
    size = -(-depth * element_bytes // 4) * _padded(columns, lanes) * 4 * (2 if halves else 1)
    return size + LEAST_BYTES * least


def pack_weights(lanes: int, matrix: NDArray[Any], step: int = 4) -> NDArray[Any]:
    """Return [columns / lanes][depth / step][lanes][step] of a matrix [columns][depth], padded with 0."""
    columns, depth = matrix.shape
    padded = np.zeros((_padded(columns, lanes), max(1, -(-depth // step)) * step), matrix.dtype)
    padded[:columns, :depth] = matrix
    # Numbers that stay together move as one: most of the time is what each move takes.
    units = padded.view(f"i{step * matrix.itemsize}")
    packed = np.ascontiguousarray(units.reshape(-1, lanes, units.shape[1]).transpose(0, 2, 1))
    return packed.view(matrix.dtype).reshape(*packed.shape, step)


def pack_bytes(isa: InstructionSet, matrix: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return int8 [columns][depth], or multiples that are int16, packed as products of a set take them."""
    if isa.byte_width == 1:
        spare = isa.whole_depth(matrix.shape[1], "i8") - matrix.shape[1]
        return pack_weights(isa.lanes, np.pad(matrix, ((0, 0), (0, spare))), isa.eights_of("i8") or 4)
    return pack_weights(isa.lanes, matrix.astype(np.int16), 2)


def pack_pairs(isa: InstructionSet, matrix: NDArray[np.int16]) -> NDArray[np.int32]:
    """Return bf16 [columns][depth] as products of a set take them, behind the number nearest to zero."""
    spare = isa.whole_depth(matrix.shape[1], "bf16") - matrix.shape[1]
    words = pack_weights(isa.lanes, np.pad(matrix, ((0, 0), (0, spare))), isa.eights_of("bf16") or 2)
    return np.concatenate([least_of(matrix), words.view(np.int32).ravel()])


def pack_points(lanes: int, weights: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return a packed matrix for each point of weights [columns][KH][TAPS][channels]."""
    points = (_OF_TAPS @ weights.astype(np.float32)).astype(np.int16)
    return np.stack(
        [pack_weights(lanes, points[:, :, p].reshape(len(weights), -1), 2) for p in range(POINTS)]
    )


def pack_points_of_squares(lanes: int, weights: NDArray[np.int64]) -> NDArray[np.int16] | None:
    """Return the same of points along both axes, row by row; None if some do not have 16 bits."""
    columns, height, width, channels = weights.shape
    taps = weights.astype(np.float32).reshape(columns, height * width, channels)
    points = np.kron(_OF_TAPS, _OF_TAPS) @ taps
    if max(points.max(), -points.min()) >= 1 << 15:
        return None
    points = points.astype(np.int16)
    return np.stack([pack_weights(lanes, points[:, p], 2) for p in range(POINTS**2)])


def pack_squares(lanes: int, weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a packed matrix for each point of weights [columns][3][3][channels], rounded once."""
    lines = square_taps(list(np.moveaxis(weights.astype(np.float64), 1, 0)))
    points = [point for line in lines for point in square_taps(list(np.moveaxis(line, 1, 0)))]
    return np.stack([pack_weights(lanes, point.astype(np.float32), 1) for point in points])


def square_taps(taps: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Return the four points of three taps along an axis, for F(2 × 2, 3 × 3)."""
    first, middle, last = taps
    outer, inner = (first + last) / 2, middle / 2
    return [first, outer + inner, outer - inner, last]


def least_of(numbers: NDArray[np.int16]) -> NDArray[np.int32]:
    """Return what precedes packed bf16: the bits of the number nearest to zero, but for zero, less one."""
    sizes = (numbers.view(np.uint16) & 0x7FFF) - np.uint16(1)
    return np.full(LEAST_BYTES // 4, np.min(sizes, initial=np.uint16(0xFFFF)), np.int32)


def start_values(
    isa: InstructionSet,
    matrix: NDArray[np.integer[Any]],
    bias: NDArray[np.integer[Any]],
    input_zp: int,
    weight_zp: int,
    rescale: NDArray[np.bool_] | bool = False,
) -> NDArray[np.int32]:
    """Return where each column's sum starts, int8: bias, zero point corrections, and for `rescale` 2**31."""
    columns, depth = matrix.shape
    sums = matrix.astype(np.int64).sum(axis=1)
    values = np.zeros(_padded(columns, isa.lanes), np.int64)
    values[:columns] = (
        bias
        - (isa.bias + input_zp) * sums
        + weight_zp * input_zp * depth
        + (np.asarray(rescale, np.int64) << 31)
    )
    return values.astype(np.uint64).astype(np.uint32).view(np.int32)


def pack_depthwise(
    lanes: int, weights: NDArray[Any], weight_zp: int = 0, element_bytes: int = 1
) -> tuple[NDArray[Any], int]:
    """Return [channels / lanes][groups, KW, parts][lanes][vertical taps] of [KH][KW][C][M], and the parts.

    A group of vertical taps is one of float32. An integer weight less its zero point may need nine bits: it
    then is the sum of three parts. Where the last group has room, all is followed by weights shifted down by
    a tap: the second of two output rows that share their input.
    """
    kh, kw = weights.shape[:2]
    group = 4 // element_bytes
    storage = {1: np.int8, 2: np.int16, 4: np.float32}[element_bytes]
    flat = weights.reshape(kh, kw, -1)
    parts = [flat] if group == 1 else _bytes(flat.astype(np.int64) - weight_zp, 3 if weight_zp else 1)
    channels, groups, variants = flat.shape[2], -(-kh // group), []
    for shift in range(1 if kh % group == 0 else 2):
        padded = np.zeros((groups * group, kw, len(parts), _padded(channels, lanes)), storage)
        padded[shift : kh + shift, :, :, :channels] = np.stack(parts, axis=2)
        split = padded.reshape(groups, group, kw, len(parts), -1, lanes)
        variants.append(split.transpose(4, 0, 2, 3, 5, 1))
    return np.ascontiguousarray(np.stack(variants)), len(parts)


def _bytes(rest: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Return so many numbers that add up to the given ones; if several, of eight bits each."""
    if count == 1:
        return [rest]
    parts: list[NDArray[np.int64]] = []
    for _ in range(count):
        parts.append(np.clip(rest, -128, 127))
        rest = rest - parts[-1]
    return parts


def pack_halves(lanes: int, matrix: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return int16 [columns][depth] packed in pairs of panels: upper bytes, lower bytes (unsigned)."""
    upper, lower = (pack_weights(lanes, half, 2) for half in (matrix >> 8, matrix & 255))
    return np.ascontiguousarray(np.stack([upper, lower], axis=1))


@dataclass(frozen=True, slots=True)
class RescaleTable:
    """The parameters of `rescale_i8` for each channel, and what SIGN is."""

    factors: NDArray[np.int64]
    quads: NDArray[np.int64]
    exponents: NDArray[np.int64]
    sign: int

    def packed(self, lanes: int) -> NDArray[np.int32]:
        """Return the parameters in panels of so many channels."""
        even, odd = (_panels(self.quads, lanes)[:, first::2] for first in range(2))
        words = [_panels(numbers, lanes) for numbers in (self.factors, self.exponents)]
        factors, exponents = (numbers.astype(np.uint32).view(np.int32) for numbers in words)
        quads = [np.ascontiguousarray(half).view(np.int32) for half in (even, odd)]
        return np.ascontiguousarray(np.stack([factors, *quads, exponents], axis=1)).ravel()


def rescale_table(
    multiplier: NDArray[np.int32] | int,
    shift: NDArray[np.int8] | int,
    double_round: bool,
    output_zp: int,
    channels: int,
    bound: NDArray[np.int64] | int,
    low: int = -128,
) -> RescaleTable | None:
    """Return the parameters of `rescale_i8` for sums of at most `bound`, or None if it would not be exact.

    Where negative sums end at `low` anyway (as after a ReLU), their own step of double rounding is left out.
    """
    m, s, limit = (np.broadcast_to(np.asarray(v, np.int64), channels) for v in (multiplier, shift, bound))
    if channels == 0 or s.min() < MIN_SHIFT or s.max() > MAX_SHIFT or m.min() < 0 or limit.max() >= 1 << 31:
        return None
    exponent = s - 31
    rounding = np.int64(1) << (s - 32)
    reach = (limit * m >> 31) + 2 + rounding + (abs(output_zp) << exponent)  # factors have 31 bits
    if reach.max() >= 1 << 31:
        return None
    signed = double_round and low < output_zp
    addend = rounding - m + (output_zp << exponent) - int(signed)
    quads = (addend << 32) + (int(double_round) << 31)
    return RescaleTable(2 * m, quads, exponent, 31 if signed else 32)


def _panels(values: NDArray[np.int64], lanes: int) -> NDArray[np.int64]:
    padded: NDArray[np.int64] = np.zeros((_padded(len(values), lanes) // lanes, lanes), np.int64)
    padded.reshape(-1)[: len(values)] = values
    return padded


def sum_bound(
    matrix: NDArray[np.int8], bias: NDArray[np.int32], input_zp: int, weight_zp: int
) -> NDArray[np.int64]:
    """Return a bound of each column's absolute sum, for any int8 activations."""
    reach = max(127 - input_zp, 128 + input_zp)
    weights = np.subtract(matrix, weight_zp, dtype=np.int32)
    total: NDArray[np.int64] = np.abs(weights, out=weights).sum(axis=1, dtype=np.int64)
    return total * reach + np.abs(bias.astype(np.int64))
