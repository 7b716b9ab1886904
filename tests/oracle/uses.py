"""How to draw one use of each operator in one of its modes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .drawing import Bench, Entry, Rejected, Shape
from .modes import Mode
from .numbers import BITS, maximum, minimum
from .uses_tensor import TENSOR_USES

Draw = Callable[[Bench, Mode], Entry]


def _any(
    bench: Bench, type_name: str, lowest: int = 0, low: int | None = None, high: int | None = None
) -> Entry:
    return bench.tensor(type_name, lambda: bench.shape(lowest), lambda shape: len(shape) >= lowest, low, high)


def _unary(name: str) -> Draw:
    return lambda bench, mode: bench.apply(name, [_any(bench, mode.inputs[0])], mode.outputs[0])


def _broadcast(name: str) -> Draw:
    return lambda bench, mode: bench.apply(name, bench.broadcast_operands(mode.inputs), mode.outputs[0])


def _safe_half(bench: Bench, mode: Mode) -> dict[str, tuple[int | None, int | None]]:
    if bench.choose.integer(0, 3) == 0:
        return {}
    return {"_0": (-(1 << 30), (1 << 30) - 1), "_1": (-(1 << 30), (1 << 30) - 1)}


def _sum(name: str) -> Draw:
    return lambda bench, mode: bench.apply(
        name, bench.broadcast_operands(mode.inputs, **_safe_half(bench, mode)), mode.outputs[0]
    )


def _shift(name: str) -> Draw:
    def draw(bench: Bench, mode: Mode) -> Entry:
        operands = bench.broadcast_operands(mode.inputs, _1=(0, BITS[mode.inputs[0]] - 1))
        attributes = {"round": bench.boolean()} if name == "ARITHMETIC_RIGHT_SHIFT" else {}
        return bench.apply(name, operands, mode.outputs[0], attributes)

    return draw


def _clamp(bench: Bench, mode: Mode) -> Entry:
    value = _any(bench, mode.inputs[0])
    low, high = minimum(mode.inputs[0]), maximum(mode.inputs[0])
    ends = sorted(bench.choose.pick((0, low, high, low // 4, high // 3, -1, 1)) for _ in range(2))
    return bench.apply("CLAMP", [value], mode.outputs[0], {"min_val": ends[0], "max_val": ends[1]})


def _intdiv(bench: Bench, mode: Mode) -> Entry:
    a, b = bench.broadcast_operands(mode.inputs)
    if not b.array.all():
        b = bench.fresh("INT32", np.where(b.array == 0, 7, b.array))
    return bench.apply("INTDIV", [a, b], mode.outputs[0])


def _reach(entry: Entry) -> int:
    return int(np.abs(entry.array.astype(np.int64)).max())


def _mul(bench: Bench, mode: Mode) -> Entry:
    a, b = bench.broadcast_operands(mode.inputs[:2])
    shift = 0
    if mode.inputs[0] == "INT32" and bench.boolean():
        bits = (_reach(a) * _reach(b)).bit_length()
        shift = bench.choose.integer(max(bits - 30, 1), 63) if bits < 62 else bench.choose.integer(32, 62)
    return bench.apply("MUL", [a, b, bench.constant("INT8", [shift])], mode.outputs[0])


def _table(bench: Bench, mode: Mode) -> Entry:
    if mode.inputs[0] == "INT8":
        table = bench.values("INT8", (256,))
    elif bench.boolean():
        table = bench.values("INT16", (513,), -16384, 16383)
    else:
        ramp = np.linspace(bench.choose.pick((-32768, -300, 0)), bench.choose.pick((32767, 32000, 5)), 513)
        table = np.round(ramp).astype(np.int16)
    return bench.apply(
        "TABLE", [_any(bench, mode.inputs[0]), bench.constant(mode.inputs[1], table)], mode.outputs[0]
    )


def _abs(bench: Bench, mode: Mode) -> Entry:
    return bench.apply("ABS", [_any(bench, "INT32", low=-(1 << 31) + 1)], "INT32")


def zero_point(bench: Bench, type_name: str) -> int:
    """Choose a zero point: any for INT8, else zero."""
    if type_name != "INT8":
        return 0
    return bench.choose.pick((0, 1, -3, 127, -128, 17))


def _negate(bench: Bench, mode: Mode) -> Entry:
    kind = mode.inputs[0]
    value = _any(bench, kind, low=minimum(kind) + 1 if kind == "INT32" else None)
    points = [bench.constant(kind, [zero_point(bench, kind)]) for _ in range(2)]
    return bench.apply("NEGATE", [value, *points], kind)


def _reduce(name: str) -> Draw:
    def draw(bench: Bench, mode: Mode) -> Entry:
        limit = 1 << 22 if name == "REDUCE_SUM" and bench.choose.integer(0, 3) else None
        low, high = (-limit, limit) if limit else (None, None)
        value = _any(bench, mode.inputs[0], 1, low, high)
        axis = bench.choose.integer(0, len(value.shape) - 1)
        return bench.apply(name, [value], mode.outputs[0], {"axis": axis})

    return draw


def _concat(bench: Bench, mode: Mode) -> Entry:
    first = _any(bench, mode.inputs[0], 1)
    axis = bench.choose.integer(0, len(first.shape) - 1)

    def same(shape: Shape) -> bool:
        return len(shape) == len(first.shape) and shape[:axis] + shape[axis + 1 :] == (
            first.shape[:axis] + first.shape[axis + 1 :]
        )

    def make() -> Shape:
        return (*first.shape[:axis], bench.choose.pick((1, 2, 3, 5)), *first.shape[axis + 1 :])

    others = [bench.tensor(mode.inputs[0], make, same) for _ in range(bench.choose.integer(0, 3))]
    return bench.apply("CONCAT", [first, *others], mode.outputs[0], {"axis": axis})


def _pad(bench: Bench, mode: Mode) -> Entry:
    value = _any(bench, mode.inputs[0], 1)
    padding = [bench.choose.pick((0, 1, 0, 2, 3)) for _ in range(2 * len(value.shape))]
    filler = bench.constant(mode.inputs[0], bench.values(mode.inputs[0], (1,)))
    return bench.apply("PAD", [value, bench.sizes(padding), filler], mode.outputs[0])


def factorise(bench: Bench, size: int, rank: int) -> Shape:
    """Choose a shape of a rank that holds a number of elements."""
    shape = [1] * rank
    for factor in _prime_factors(size):
        shape[bench.choose.integer(0, rank - 1)] *= factor
    return tuple(shape)


def _prime_factors(size: int) -> list[int]:
    factors, divisor = [], 2
    while size > 1:
        while size % divisor == 0:
            factors.append(divisor)
            size //= divisor
        divisor += 1
    return factors


def _reshape(bench: Bench, mode: Mode) -> Entry:
    value = _any(bench, mode.inputs[0])
    rank = bench.choose.integer(0 if value.array.size == 1 else 1, bench.maximum_rank)
    shape = factorise(bench, value.array.size, rank)
    return bench.apply("RESHAPE", [value, bench.sizes(shape)], mode.outputs[0])


def _reverse(bench: Bench, mode: Mode) -> Entry:
    value = _any(bench, mode.inputs[0], 1)
    return bench.apply(
        "REVERSE", [value], mode.outputs[0], {"axis": bench.choose.integer(0, len(value.shape) - 1)}
    )


def _slice(bench: Bench, mode: Mode) -> Entry:
    value = _any(bench, mode.inputs[0], 1)
    size = [bench.choose.pick((extent, (extent + 1) // 2, 1)) for extent in value.shape]
    start = [bench.choose.integer(0, extent - count) for extent, count in zip(value.shape, size, strict=True)]
    return bench.apply("SLICE", [value, bench.sizes(start), bench.sizes(size)], mode.outputs[0])


def _tile(bench: Bench, mode: Mode) -> Entry:
    value = _any(bench, mode.inputs[0], 1)
    multiples, left = [], max(2 * bench.maximum_elements // value.array.size, 1)
    for _ in value.shape:
        multiples.append(bench.choose.pick([m for m in (1, 2, 3) if m <= left]))
        left //= multiples[-1]
    return bench.apply("TILE", [value, bench.sizes(multiples)], mode.outputs[0])


def _transpose(bench: Bench, mode: Mode) -> Entry:
    value = _any(bench, mode.inputs[0], 1)
    left, perms = list(range(len(value.shape))), []
    while left:
        perms.append(left.pop(bench.choose.integer(0, len(left) - 1)))
    return bench.apply("TRANSPOSE", [value], mode.outputs[0], {"perms": tuple(perms)})


def _gather(bench: Bench, mode: Mode) -> Entry:
    values = bench.tensor(mode.inputs[0], lambda: bench.extents(3), lambda shape: len(shape) == 3)
    n, k, _ = values.shape
    indices = bench.tensor(
        "INT32",
        lambda: (n, bench.choose.pick((1, 2, 5, 9))),
        lambda shape: len(shape) == 2 and shape[0] == n,
        0,
        k - 1,
    )
    return bench.apply("GATHER", [values, indices], mode.outputs[0])


def _scatter(bench: Bench, mode: Mode) -> Entry:
    values = bench.tensor(mode.inputs[0], lambda: bench.extents(3), lambda shape: len(shape) == 3)
    n, k, c = values.shape
    w = bench.choose.integer(1, k)
    rng = np.random.default_rng(bench.choose.integer(0, 65535))
    indices = bench.fresh("INT32", np.stack([rng.permutation(k)[:w] for _ in range(n)]))
    updates = bench.tensor(mode.inputs[0], lambda: (n, w, c), lambda shape: shape == (n, w, c))
    return bench.apply("SCATTER", [values, indices, updates], mode.outputs[0])


def _select(bench: Bench, mode: Mode) -> Entry:
    return bench.apply("SELECT", bench.broadcast_operands(mode.inputs), mode.outputs[0])


def _rescale_zero_point(bench: Bench, type_name: str, is_unsigned: bool) -> int:
    if type_name == "INT16" and is_unsigned:
        return bench.choose.pick((0, -32768))
    return zero_point(bench, type_name)


def _rescale(bench: Bench, mode: Mode) -> Entry:
    in_t, out_t = mode.inputs[0], mode.outputs[0]
    scale32, bits = "scale32" in mode.variant, BITS[in_t]
    value = _any(bench, in_t)
    per_channel = bool(value.shape) and bench.boolean()
    channels = value.shape[-1] if per_channel else 1
    reach = max(int(abs(value.array.astype(np.int64)).max()) + 256, 1).bit_length()
    if "unsigned-in" in mode.variant:
        reach = bits + 1
    multiplier, shift = _scales(bench, reach, BITS[out_t], channels, scale32)
    points = [
        bench.constant(in_t, [_rescale_zero_point(bench, in_t, "unsigned-in" in mode.variant)]),
        bench.constant(out_t, [_rescale_zero_point(bench, out_t, "unsigned-out" in mode.variant)]),
    ]
    rounding = "DOUBLE" if "double" in mode.variant else "INEXACT" if "inexact" in mode.variant else "SINGLE"
    attributes = {
        "scale32": scale32,
        "rounding_mode": f"{rounding}_ROUND",
        "per_channel": per_channel,
        "input_unsigned": "unsigned-in" in mode.variant,
        "output_unsigned": "unsigned-out" in mode.variant,
    }
    scales = [bench.constant("INT32" if scale32 else "INT16", multiplier), bench.constant("INT8", shift)]
    return bench.apply("RESCALE", [value, *scales, *points], out_t, attributes)


def _scales(
    bench: Bench, reach: int, out_bits: int, channels: int, scale32: bool
) -> tuple[list[int], list[int]]:
    """Choose multipliers and shifts that keep values of `reach` bits within the REQUIREs."""
    multipliers, shifts = [], []
    plain, top = bench.choose.pick((True, True, False)), 31 if scale32 else 15
    for _ in range(channels):
        multiplier = bench.choose.pick(
            (1 << (top - 1), (1 << top) - 1, (3 << (top - 2)) + 1, (5 << (top - 3)) - 3)
        )
        if not plain:
            multiplier = bench.choose.pick((multiplier, 0, 1, 12345))
        lowest = max(2, reach + 1 if scale32 else reach + multiplier.bit_length() - 31)
        useful = max(lowest, reach + multiplier.bit_length() - out_bits + 1)
        highest = 62 if not plain else min(useful + 3, 62)
        if min(useful, lowest) > 62:
            raise Rejected("no shift is large enough")
        shifts.append(bench.choose.integer(min(useful if plain else lowest, highest), highest))
        multipliers.append(multiplier)
    return multipliers, shifts


USES: dict[str, Draw] = {
    **TENSOR_USES,
    "CLAMP": _clamp,
    "ADD": _sum("ADD"),
    "ARITHMETIC_RIGHT_SHIFT": _shift("ARITHMETIC_RIGHT_SHIFT"),
    "BITWISE_AND": _broadcast("BITWISE_AND"),
    "BITWISE_OR": _broadcast("BITWISE_OR"),
    "BITWISE_XOR": _broadcast("BITWISE_XOR"),
    "INTDIV": _intdiv,
    "LOGICAL_AND": _broadcast("LOGICAL_AND"),
    "LOGICAL_LEFT_SHIFT": _shift("LOGICAL_LEFT_SHIFT"),
    "LOGICAL_RIGHT_SHIFT": _shift("LOGICAL_RIGHT_SHIFT"),
    "LOGICAL_OR": _broadcast("LOGICAL_OR"),
    "LOGICAL_XOR": _broadcast("LOGICAL_XOR"),
    "MAXIMUM": _broadcast("MAXIMUM"),
    "MINIMUM": _broadcast("MINIMUM"),
    "MUL": _mul,
    "SUB": _sum("SUB"),
    "TABLE": _table,
    "ABS": _abs,
    "BITWISE_NOT": _unary("BITWISE_NOT"),
    "CLZ": _unary("CLZ"),
    "LOGICAL_NOT": _unary("LOGICAL_NOT"),
    "NEGATE": _negate,
    "SELECT": _select,
    "EQUAL": _broadcast("EQUAL"),
    "GREATER": _broadcast("GREATER"),
    "GREATER_EQUAL": _broadcast("GREATER_EQUAL"),
    "REDUCE_ALL": _reduce("REDUCE_ALL"),
    "REDUCE_ANY": _reduce("REDUCE_ANY"),
    "REDUCE_MAX": _reduce("REDUCE_MAX"),
    "REDUCE_MIN": _reduce("REDUCE_MIN"),
    "REDUCE_SUM": _reduce("REDUCE_SUM"),
    "ARGMAX": _reduce("ARGMAX"),
    "CONCAT": _concat,
    "PAD": _pad,
    "RESHAPE": _reshape,
    "REVERSE": _reverse,
    "SLICE": _slice,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
    "GATHER": _gather,
    "SCATTER": _scatter,
    "CAST": _unary("CAST"),
    "RESCALE": _rescale,
    "IDENTITY": _unary("IDENTITY"),
}
