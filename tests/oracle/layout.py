"""Data layout, GATHER, SCATTER, RESIZE, CAST, RESCALE, IDENTITY (TOSA 1.0.1 sections 2.10 to 2.14)."""

from __future__ import annotations

import math

import numpy as np

from .elementwise import Rule
from .numbers import (
    Call,
    divide_exactly,
    error_if,
    maximum,
    minimum,
    require,
    require_fits,
    scale_16,
    scale_32,
    wrap,
)
from .numbers import unsigned as as_unsigned


def CONCAT(call: Call) -> list[np.ndarray]:
    """Section 2.10.1."""
    axis, first = int(call.attributes["axis"]), call.inputs[0]
    error_if(not 0 <= axis < max(1, first.ndim), f"axis {axis} is not one of the inputs'")
    for value in call.inputs:
        same = value.ndim == first.ndim and all(
            a == b for i, (a, b) in enumerate(zip(value.shape, first.shape, strict=True)) if i != axis
        )
        error_if(not same, "the inputs differ in an axis that is not concatenated")
    return [np.concatenate(call.inputs, axis=axis)]


def PAD(call: Call) -> list[np.ndarray]:
    """Section 2.10.2."""
    value, padding = call.inputs[0], [int(p) for p in call.inputs[1].reshape(-1)]
    error_if(len(padding) != 2 * value.ndim or min(padding) < 0, "padding must hold two counts per axis")
    extents = [padding[2 * i] + size + padding[2 * i + 1] for i, size in enumerate(value.shape)]
    result = np.full(extents, call.scalar(2), np.int64)
    result[tuple(slice(padding[2 * i], padding[2 * i] + size) for i, size in enumerate(value.shape))] = value
    return [result]


def RESHAPE(call: Call) -> list[np.ndarray]:
    """Section 2.10.3."""
    value, shape = call.inputs[0], [int(s) for s in call.inputs[1].reshape(-1)]
    error_if(
        math.prod(shape) != value.size or any(s < 1 for s in shape), "the number of elements must not change"
    )
    return [value.reshape(shape)]


def REVERSE(call: Call) -> list[np.ndarray]:
    """Section 2.10.4."""
    axis = int(call.attributes["axis"])
    error_if(not 0 <= axis < call.inputs[0].ndim, f"axis {axis} is not one of the input's")
    return [np.flip(call.inputs[0], axis)]


def SLICE(call: Call) -> list[np.ndarray]:
    """Section 2.10.5."""
    value, start, size = call.inputs[0], call.inputs[1].reshape(-1), call.inputs[2].reshape(-1)
    error_if(
        len(start) != value.ndim or len(size) != value.ndim, "start and size must have one entry per axis"
    )
    for first, count, extent in zip(start, size, value.shape, strict=True):
        error_if(first < 0 or count <= 0 or first + count > extent, "the slice leaves the input")
    return [value[tuple(slice(int(a), int(a + n)) for a, n in zip(start, size, strict=True))]]


def TILE(call: Call) -> list[np.ndarray]:
    """Section 2.10.6."""
    value, multiples = call.inputs[0], call.inputs[1].reshape(-1)
    error_if(
        len(multiples) != value.ndim or bool((multiples < 1).any()), "multiples must have one count per axis"
    )
    return [np.tile(value, [int(m) for m in multiples])]


def TRANSPOSE(call: Call) -> list[np.ndarray]:
    """Section 2.10.7."""
    perms = call.numbers("perms")
    error_if(sorted(perms) != list(range(call.inputs[0].ndim)), "perms must be a permutation of the axes")
    return [np.transpose(call.inputs[0], perms)]


def GATHER(call: Call) -> list[np.ndarray]:
    """Section 2.11.1."""
    values, indices = call.inputs
    error_if(values.shape[0] != indices.shape[0], "N of values and indices differ")
    require((indices >= 0) & (indices < values.shape[1]), f"the index must be in 0 .. {values.shape[1] - 1}")
    return [np.stack([row[where] for row, where in zip(values, indices, strict=True)])]


def SCATTER(call: Call) -> list[np.ndarray]:
    """Section 2.11.2."""
    values, indices, updates = call.inputs
    result, modified = values.copy(), np.zeros(values.shape[:2], bool)
    error_if(
        updates.shape != (*indices.shape, values.shape[2]), "the shapes of indices and input do not match"
    )
    require((indices >= 0) & (indices < values.shape[1]), f"the index must be in 0 .. {values.shape[1] - 1}")
    repeated = np.zeros(indices.shape, bool)
    for n, w in np.ndindex(*indices.shape):
        k = int(indices[n, w])
        repeated[n, w] = modified[n, k]
        modified[n, k] = True
        result[n, k] = updates[n, w]
    require(~repeated, "an output position is written twice")
    return [result]


def _sample_positions(
    extent: int, scale: tuple[int, int], offset: int, border: int
) -> list[tuple[int, int, int]]:
    """Return, for each output position of one axis, both input positions and the distance from the first."""
    n, d = scale
    error_if(n <= 0 or d <= 0 or n > 1 << 11 or d >= 16 * n, f"the scale {n}/{d} is not allowed")
    error_if(not -n <= offset < 16 * n, f"the offset {offset} is not allowed")
    error_if(not -16 * n <= border < n, f"the border {border} is not allowed")
    count = divide_exactly((extent - 1) * n - offset + border, d, "output extent") + 1
    error_if(count < 1 or max(count, extent) >= 16384, "an extent must be below 16384")
    result = []
    for position in range(count):
        first, distance = divmod(position * d + offset, n)
        result.append((max(first, 0), min(first + 1, extent - 1), distance))
    return result


def RESIZE(call: Call) -> list[np.ndarray]:
    """Section 2.12.1."""
    image, scale, offset, border = (
        call.inputs[0],
        *([int(v) for v in i.reshape(-1)] for i in call.inputs[1:]),
    )
    rows = _sample_positions(image.shape[1], (scale[0], scale[1]), offset[0], border[0])
    columns = _sample_positions(image.shape[2], (scale[2], scale[3]), offset[1], border[1])
    unit_y, unit_x = scale[0], scale[2]
    result = np.zeros((image.shape[0], len(rows), len(columns), image.shape[3]), np.int64)
    for oy, (y0, y1, dy) in enumerate(rows):
        for ox, (x0, x1, dx) in enumerate(columns):
            if call.get("mode") == "BILINEAR":
                top = image[:, y0, x0] * (unit_x - dx) + image[:, y0, x1] * dx
                bottom = image[:, y1, x0] * (unit_x - dx) + image[:, y1, x1] * dx
                result[:, oy, ox] = top * (unit_y - dy) + bottom * dy
            else:
                result[:, oy, ox] = image[:, y1 if 2 * dy >= unit_y else y0, x1 if 2 * dx >= unit_x else x0]
    return [result]


def CAST(call: Call) -> list[np.ndarray]:
    """Section 2.13.1: integers that do not fit wrap around."""
    if call.output_types[0] == "BOOL":
        return [(call.inputs[0] != 0).astype(np.int64)]
    return [wrap(call.inputs[0], call.output_types[0])]


def _check_rescale(call: Call, input_zp: int, output_zp: int) -> None:
    in_t, out_t = call.input_types[0], call.output_types[0]
    from_unsigned, to_unsigned = bool(call.get("input_unsigned")), bool(call.get("output_unsigned"))
    for kind, is_unsigned, zero_point in ((in_t, from_unsigned, input_zp), (out_t, to_unsigned, output_zp)):
        allowed = (
            kind == "INT8" or zero_point == 0 or (kind == "INT16" and is_unsigned and zero_point == 32768)
        )
        error_if(not allowed, f"a zero point of {zero_point} is not allowed")
    error_if(bool(call.get("scale32")) and in_t == "INT48", "INT48 needs 16-bit multipliers")
    error_if(
        not call.get("scale32") and call.get("rounding_mode") == "DOUBLE_ROUND", "DOUBLE_ROUND needs scale32"
    )
    error_if(from_unsigned and to_unsigned, "input and output cannot both be unsigned")
    error_if(
        from_unsigned and (out_t == "INT32" or in_t in ("INT32", "INT48")), "the input cannot be unsigned"
    )
    error_if(
        to_unsigned and (out_t == "INT32" or in_t in ("INT32", "INT48")), "the output cannot be unsigned"
    )
    error_if(bool(call.get("per_channel")) and call.inputs[0].ndim < 1, "per_channel needs a channel axis")


def RESCALE(call: Call) -> list[np.ndarray]:
    """Section 2.13.2."""
    value, multiplier, shift = call.inputs[:3]
    input_zp, output_zp = call.inputs[3].reshape(-1)[:1], call.inputs[4].reshape(-1)[:1]
    in_t, out_t = call.input_types[0], call.output_types[0]
    if call.get("input_unsigned"):
        value, input_zp = as_unsigned(value, in_t), as_unsigned(input_zp, in_t)
    if call.get("output_unsigned"):
        output_zp = as_unsigned(output_zp, out_t)
    _check_rescale(call, int(input_zp[0]), int(output_zp[0]))
    channels = value.shape[-1] if call.get("per_channel") else 1
    error_if(
        multiplier.shape != (channels,) or shift.shape != (channels,), f"{channels} multipliers are needed"
    )
    value = value - input_zp[0]
    if not call.get("per_channel"):
        multiplier, shift = multiplier[0], shift[0]
    if call.get("scale32"):
        result = scale_32(value, multiplier, shift, call.get("rounding_mode") == "DOUBLE_ROUND")
    else:
        result = scale_16(value, multiplier, shift)
    result = require_fits(result + output_zp[0], "INT32", "the result with its zero point")
    if call.get("output_unsigned"):
        return [wrap(np.clip(result, 0, 2 * maximum(out_t) + 1), out_t)]
    return [np.clip(result, minimum(out_t), maximum(out_t))]


LAYOUT: dict[str, Rule] = {
    "CONCAT": CONCAT,
    "PAD": PAD,
    "RESHAPE": RESHAPE,
    "REVERSE": REVERSE,
    "SLICE": SLICE,
    "TILE": TILE,
    "TRANSPOSE": TRANSPOSE,
    "GATHER": GATHER,
    "SCATTER": SCATTER,
    "RESIZE": RESIZE,
    "CAST": CAST,
    "RESCALE": RESCALE,
    "IDENTITY": lambda call: [call.inputs[0]],
}
