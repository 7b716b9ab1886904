"""Chains of operators as networks have them: convolution blocks, sums, softmax, layer norm, layout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.oracle.drawing import Bench, Entry, Rejected
from tests.oracle.modes import MODES, Mode
from tests.oracle.uses import USES

Motif = Callable[[Bench], Entry]

CONVOLUTIONS = ("CONV2D", "DEPTHWISE_CONV2D", "CONV3D", "TRANSPOSE_CONV2D", "MATMUL")
LAYOUT = ("TRANSPOSE", "RESHAPE", "SLICE", "PAD", "CONCAT", "REVERSE", "TILE", "GATHER")
CHAIN = {
    "INT8": ("CLAMP", "TABLE", "NEGATE", "BITWISE_XOR", "ARITHMETIC_RIGHT_SHIFT"),
    "INT16": ("CLAMP", "TABLE", "NEGATE", "BITWISE_AND", "ARITHMETIC_RIGHT_SHIFT"),
    "INT32": ("ADD", "SUB", "MAXIMUM", "MINIMUM", "MUL", "ABS", "CLZ", "SELECT", "ARITHMETIC_RIGHT_SHIFT"),
    "BOOL": ("LOGICAL_NOT", "LOGICAL_AND", "LOGICAL_XOR", "SELECT"),
}


def on(bench: Bench, value: Entry, operator: str, output_type: str | None = None) -> Entry:
    """Draw a use of an operator on a value."""
    modes = [
        mode
        for mode in MODES[operator]
        if value.type_name in mode.inputs
        and output_type in (None, *mode.outputs)
        and "inexact" not in mode.variant
    ]
    if not modes:
        raise Rejected(f"{operator} does not take {value.type_name}")
    bench.focus = value
    result = USES[operator](bench, bench.choose.pick(modes))
    bench.focus = None
    return result


def rescale(
    bench: Bench, value: Entry, output_type: str, multiplier: int = 1 << 14, shift: int = 14
) -> Entry:
    """Scale by multiplier / 2**shift, with 16-bit multipliers and no zero points."""
    scales = [bench.constant("INT16", [multiplier]), bench.constant("INT8", [shift])]
    points = [bench.constant(value.type_name, [0]), bench.constant(output_type, [0])]
    attributes = {
        "scale32": False,
        "rounding_mode": "SINGLE_ROUND",
        "per_channel": False,
        "input_unsigned": False,
        "output_unsigned": False,
    }
    return bench.apply("RESCALE", [value, *scales, *points], output_type, attributes)


def _start(bench: Bench, type_name: str, lowest: int = 1) -> Entry:
    return bench.tensor(type_name, lambda: bench.shape(lowest), lambda shape: len(shape) >= lowest)


def convolution_block(bench: Bench) -> Entry:
    """A contraction, its rescale, and perhaps a clamp and a table."""
    mode: Mode = bench.choose.pick(MODES[bench.choose.pick(CONVOLUTIONS[:4])])
    operator = bench.choose.pick([name for name in CONVOLUTIONS if mode in MODES[name]])
    value = USES[operator](bench, mode)
    value = on(bench, value, "RESCALE", bench.choose.pick(("INT8", "INT16", "INT32")))
    for next_one in ("CLAMP", "TABLE"):
        if value.type_name != "INT32" and bench.boolean():
            value = on(bench, value, next_one)
    return value


def residual(bench: Bench) -> Entry:
    """Two rescaled operands, their sum, rescaled again."""
    kind = bench.choose.pick(("INT8", "INT16"))
    a, b = bench.broadcast_operands((kind, kind))
    a = rescale(bench, a, "INT32", bench.choose.pick((1 << 14, 23170, 12345)), bench.choose.pick((4, 2, 9)))
    b = rescale(bench, b, "INT32", bench.choose.pick((1 << 14, 20001, 32767)), bench.choose.pick((5, 2, 10)))
    total = bench.apply("ADD", [a, b], "INT32")
    return rescale(bench, total, kind, 1 << 14, bench.choose.pick((24, 20, 16)))


def softmax(bench: Bench) -> Entry:
    """Subtract the maximum, look up the exponential, add up, normalise the reciprocal by CLZ, multiply."""
    value = rescale(bench, _start(bench, "INT8"), "INT32")
    axis = {"axis": len(value.shape) - 1}
    top = bench.apply("REDUCE_MAX", [value], "INT32", axis)
    narrow = rescale(bench, bench.apply("SUB", [value, top], "INT32"), "INT16", 1 << 14, 8)
    ramp = np.round(32767 * np.exp((np.arange(513) - 512) / 64)).astype(np.int16)
    powers = bench.apply("TABLE", [narrow, bench.constant("INT16", ramp)], "INT32")
    ones = bench.constant("INT32", np.full([1] * len(value.shape), 8))
    small = bench.apply("ARITHMETIC_RIGHT_SHIFT", [powers, ones], "INT32", {"round": True})
    total = bench.apply("REDUCE_SUM", [small], "INT32", axis)
    zeros = bench.apply("CLZ", [total], "INT32")
    scaled = bench.apply("MUL", [small, zeros, bench.constant("INT8", [3])], "INT32")
    return rescale(bench, scaled, "INT8", 1 << 14, 20)


def layer_norm(bench: Bench) -> Entry:
    """Subtract the mean, square, add up, combine."""
    value = rescale(bench, _start(bench, "INT8"), "INT32", 1 << 14, 8)
    axis = {"axis": len(value.shape) - 1}
    total = bench.apply("REDUCE_SUM", [value], "INT32", axis)
    mean = rescale(bench, total, "INT32", max(32767 // value.shape[-1], 1), 15)
    centred = bench.apply("SUB", [value, mean], "INT32")
    squares = bench.apply("MUL", [centred, centred, bench.constant("INT8", [10])], "INT32")
    spread = bench.apply("REDUCE_SUM", [squares], "INT32", axis)
    mixed = bench.apply(
        "MUL", [centred, bench.apply("CLZ", [spread], "INT32"), bench.constant("INT8", [4])], "INT32"
    )
    return rescale(bench, mixed, "INT8", 1 << 14, 22)


def layout_chain(bench: Bench) -> Entry:
    """Two to four layout operators in a row."""
    value = _start(bench, bench.choose.pick(("INT8", "INT32", "INT16", "BOOL")))
    for _ in range(bench.choose.integer(2, 4)):
        value = on(bench, value, bench.choose.pick(LAYOUT))
    return value


def elementwise_chain(bench: Bench) -> Entry:
    """Two to five elementwise operators in a row."""
    value = _start(bench, bench.choose.pick(("INT32", "INT8", "INT16", "BOOL")), 0)
    for _ in range(bench.choose.integer(2, 5)):
        value = on(bench, value, bench.choose.pick(CHAIN[value.type_name]))
    return value


MOTIFS: tuple[Motif, ...] = (
    convolution_block,
    residual,
    elementwise_chain,
    layout_chain,
    softmax,
    layer_norm,
)
