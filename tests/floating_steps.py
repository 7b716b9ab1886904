"""The operators of drawn floating-point graphs, each with operands and attributes that it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests import floating_oracle as oracle
from tests.floating_graphs import EIGHT_BITS, FLOATS, Drawer, Entry, FloatingGraph
from tests.floating_regions import conditional, loop, variable
from tests.floating_sums import SUMS
from tosajit.operators import OPERATORS

INTEGERS = tuple(oracle.INTEGERS)
CASTS: dict[str, list[str]] = {}
for _mode in OPERATORS["CAST"].modes:
    CASTS.setdefault(_mode["in_t"].name, []).append(_mode["out_t"].name)
MOVED = ("TRANSPOSE", "REVERSE", "CONCAT", "RESHAPE", "TILE", "PAD", "SLICE")
NAN_MODES = ("PROPAGATE", "IGNORE")


def unary(drawer: Drawer) -> None:
    """A function of one operand."""
    operator, x = drawer.pick(tuple(oracle.UNARY)), drawer.operand()
    # In sums of integers the sign of zero is free.
    if operator in ("RECIPROCAL", "RSQRT") and drawer.style == "integers" and not x.array.all():
        return
    drawer.apply(operator, (x,), x.dtype, zeros=2 if operator == "NEGATE" else 0)


def clamp(drawer: Drawer) -> None:
    """CLAMP to a range that holds zero, or not."""
    x = drawer.operand((*FLOATS, "INT8", "INT16"))
    low, high = sorted(drawer.random.integers(-3, 7, 2).tolist())
    if x.dtype in FLOATS:
        low, high = float(low), float(high)
    about = {"min_val": low, "max_val": high, "nan_mode": drawer.pick(NAN_MODES)}
    drawer.apply("CLAMP", (x,), x.dtype, about)


def binary(drawer: Drawer) -> None:
    """A function of two operands."""
    names = tuple(name for name in oracle.BINARY if name != "POW")
    operator, x = drawer.pick((*names, "ADD", "MUL", "SUB", "MAXIMUM", "MINIMUM")), drawer.operand()
    y = drawer.partner(x)
    if drawer.random.random() < 0.5:
        x, y = y, x
    dtype = "BOOL" if operator in ("EQUAL", "GREATER", "GREATER_EQUAL") else x.dtype
    about = {"nan_mode": drawer.pick(NAN_MODES)} if operator in oracle.NAN_MODES else {}
    drawer.apply(operator, (x, y), dtype, about, zeros=operator == "MUL")


def power(drawer: Drawer) -> None:
    """POW of what is not negative."""
    x = drawer.operand()
    if not (x.array.astype(np.float64) >= 0).all():
        x = drawer.fresh(x.dtype, x.array.shape)
        x.array = np.abs(x.array)
    y = drawer.partner(x)
    drawer.apply("POW", (x, y), x.dtype)


def integers(drawer: Drawer) -> None:
    """Bitwise and logical operators, and comparisons of integers."""
    x = drawer.operand((*INTEGERS, "BOOL"))
    bits = "LOGICAL" if x.dtype == "BOOL" else "BITWISE"
    operator = drawer.pick((f"{bits}_NOT", f"{bits}_AND", f"{bits}_OR", f"{bits}_XOR"))
    if x.dtype == "INT32" and drawer.random.random() < 0.5:
        operator = drawer.pick(("MAXIMUM", "MINIMUM", "EQUAL", "GREATER", "GREATER_EQUAL"))
    inputs = (x,) if operator.endswith("NOT") else (x, drawer.partner(x))
    compares = operator in ("EQUAL", "GREATER", "GREATER_EQUAL")
    drawer.apply(operator, inputs, "BOOL" if compares else x.dtype)


def select(drawer: Drawer) -> None:
    """SELECT between two operands."""
    x = drawer.operand((*FLOATS, *INTEGERS))
    y = drawer.partner(x)
    shape = np.broadcast_shapes(x.array.shape, y.array.shape)
    conditions = [e for e in drawer.made.entries.values() if e.dtype == "BOOL" and e.array.shape == shape]
    drawer.apply("SELECT", (conditions[-1] if conditions else drawer.fresh("BOOL", shape), x, y), x.dtype)


def cast(drawer: Drawer) -> None:
    """CAST between any two types; integers have no NaN."""
    x = drawer.operand(tuple(CASTS))
    dtype = drawer.pick(CASTS[x.dtype])
    if dtype in INTEGERS and x.dtype in FLOATS and drawer.style != "integers":
        x = drawer.fresh(x.dtype, drawer.shape())
        if not np.isfinite(x.array.astype(np.float64)).all():
            return
    drawer.apply("CAST", (x,), dtype)


def reduction(drawer: Drawer) -> None:
    """Reduce along an axis."""
    operator = drawer.pick(("REDUCE_SUM", "REDUCE_PRODUCT", "REDUCE_MAX", "REDUCE_MIN", "ARGMAX"))
    more = {"ARGMAX": EIGHT_BITS, "REDUCE_MAX": INTEGERS, "REDUCE_MIN": INTEGERS}
    x = drawer.operand((*FLOATS, *more.get(operator, ())))
    if not x.array.ndim:
        return
    about: dict[str, Any] = {"axis": int(drawer.random.integers(x.array.ndim))}
    if operator in oracle.NAN_MODES or operator == "ARGMAX":
        about["nan_mode"] = drawer.pick(NAN_MODES)
    drawer.apply(operator, (x,), "INT32" if operator == "ARGMAX" else x.dtype, about)


def matmul(drawer: Drawer) -> None:
    """MATMUL."""
    x = drawer.operand((*FLOATS, *EIGHT_BITS), 3)
    n, _, c = x.array.shape
    y = drawer.fresh(x.dtype, (n, c, drawer.pick((1, 3, 8, 16, 19))))
    options = {"FP32": ("FP32",), "FP16": ("FP16", "FP32"), "BF16": ("FP32",)}
    drawer.apply("MATMUL", (x, y), drawer.pick(options.get(x.dtype, ("FP16",))), zeros=2)


def accumulator(drawer: Drawer, dtype: str) -> str:
    """A type that sums of this one may be kept in."""
    return drawer.pick(("FP16", "FP32")) if dtype == "FP16" else "FP16" if dtype in EIGHT_BITS else "FP32"


def kernel_of(drawer: Drawer, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Choose a window."""
    return tuple(int(drawer.random.integers(1, min(3, extent) + 1)) for extent in extents)


def spaced(drawer: Drawer, extents: tuple[int, ...], kernel: tuple[int, ...]) -> dict[str, Any]:
    """Choose padding, strides and dilations that divide without a rest; steps of one where they do not."""
    rank = len(kernel)
    pad = np.minimum(drawer.random.integers(0, 3, (rank, 2)), np.array(kernel)[:, None] - 1)
    stride = drawer.random.integers(1, 3, rank)
    dilation = drawer.random.integers(1, 3, rank)
    span = (np.array(kernel) - 1) * dilation
    room = np.array(extents) - 1 + pad.sum(axis=1) - span
    if (room < 0).any() or (room % stride).any():
        stride, dilation = np.ones(rank, int), np.ones(rank, int)
    about = {"pad": pad.reshape(-1), "stride": stride, "dilation": dilation}
    return {name: tuple(values.tolist()) for name, values in about.items()}


def convolution(drawer: Drawer) -> None:
    """Convolutions of all kinds."""
    operator = drawer.pick(("CONV2D", "CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"))
    rank = 3 if operator == "CONV3D" else 2
    x = drawer.operand((*FLOATS, *EIGHT_BITS), rank + 2)
    extents, channels = x.array.shape[1:-1], x.array.shape[-1]
    kernel = kernel_of(drawer, extents)
    acc = accumulator(drawer, x.dtype)
    about: dict[str, Any] = {"acc_type": acc, "local_bound": bool(drawer.random.integers(2))}
    outputs = drawer.pick((1, 4, 9))
    weight = drawer.fresh(x.dtype, (outputs, *kernel, channels))
    if operator == "TRANSPOSE_CONV2D":
        about |= {"stride": tuple(drawer.random.integers(1, 4, 2).tolist())}
        low = [1 - kernel[k // 2] for k in range(4)]
        about |= {"out_pad": tuple(int(drawer.random.integers(least, 3)) for least in low)}
        spans = [(n - 1) * s + k for n, s, k in zip(extents, about["stride"], kernel, strict=True)]
        about |= {"out_pad": about["out_pad"] if min(spans) > 6 else (0, 0, 0, 0)}
    else:
        about |= spaced(drawer, extents, kernel)
    if operator == "DEPTHWISE_CONV2D":
        multiplier = drawer.pick((1, 1, 2, 3))
        weight = drawer.fresh(x.dtype, (*kernel, channels, multiplier))
        outputs = channels * multiplier
    dtype = "FP16" if x.dtype in EIGHT_BITS else x.dtype
    bias = drawer.fresh(dtype, (drawer.pick((1, outputs)),))
    drawer.apply(operator, (x, weight, bias), dtype, about, zeros=2, acc=acc)


def pooling(drawer: Drawer) -> None:
    """AVG_POOL2D and MAX_POOL2D."""
    operator = drawer.pick(("AVG_POOL2D", "MAX_POOL2D"))
    x = drawer.operand((*FLOATS, *EIGHT_BITS, *(("INT8", "INT16") if operator == "MAX_POOL2D" else ())), 4)
    kernel = kernel_of(drawer, x.array.shape[1:3])
    about = spaced(drawer, x.array.shape[1:3], kernel)
    windowed = any(step > 1 for step in about.pop("dilation"))
    about |= {"kernel": kernel} | ({"stride": (1, 1)} if windowed else {})
    if operator == "MAX_POOL2D":
        drawer.apply(operator, (x,), x.dtype, about | {"nan_mode": drawer.pick(NAN_MODES)})
        return
    acc = accumulator(drawer, x.dtype)
    drawer.apply(operator, (x,), x.dtype, about | {"acc_type": acc}, zeros=2, acc=acc)


def fourier(drawer: Drawer) -> None:
    """FFT2D and RFFT2D of finite numbers: what others give depends on the algorithm."""
    if drawer.style == "special":
        return
    shape = tuple(int(drawer.pick((1, 2, 4, 8, 16))) for _ in range(2))
    real = drawer.fresh("FP32", (drawer.pick((1, 2)), *shape))
    about = {"local_bound": bool(drawer.random.integers(2))}
    if drawer.random.random() < 0.5:
        drawer.apply("RFFT2D", (real,), "FP32", about)
        return
    imag = drawer.fresh("FP32", real.array.shape)
    drawer.apply("FFT2D", (real, imag), "FP32", about | {"inverse": bool(drawer.random.integers(2))})


def resize(drawer: Drawer) -> None:
    """RESIZE by any factor that the specification allows."""
    x = drawer.operand(FLOATS, 4)
    scale: list[int] = []
    offset: list[int] = []
    border: list[int] = []
    for extent in x.array.shape[1:3]:
        numerator, denominator = (int(n) for n in drawer.random.integers(1, 7, 2))
        first = int(drawer.random.integers(-numerator, min(numerator * extent, 16 * numerator)))
        last = (extent - 1) * numerator - first
        beyond = -last % denominator
        beyond -= denominator * (beyond >= numerator)
        if last + beyond < 0 or not -16 * numerator <= beyond < numerator:
            return
        scale += [numerator, denominator]
        offset, border = [*offset, first], [*border, beyond]
    inputs = (x, *(drawer.constant("SHAPE", values) for values in (scale, offset, border)))
    drawer.apply("RESIZE", inputs, x.dtype, {"mode": drawer.pick(("NEAREST", "BILINEAR"))})


def indexed(drawer: Drawer) -> None:
    """GATHER, and SCATTER to rows that differ."""
    x = drawer.operand((*FLOATS, *EIGHT_BITS, *INTEGERS), 3)
    n, rows, width = x.array.shape
    if drawer.random.random() < 0.5:
        indices = drawer.random.integers(0, rows, (n, drawer.pick((1, 3, 8))))
        drawer.apply("GATHER", (x, drawer.indices(indices)), x.dtype)
        return
    order = np.argsort(drawer.random.random((n, rows)), axis=1)
    indices = order[:, : int(drawer.random.integers(1, rows + 1))]
    new = drawer.fresh(x.dtype, (*indices.shape, width))
    drawer.apply("SCATTER", (x, drawer.indices(indices), new), x.dtype)


def moved(drawer: Drawer) -> None:
    """Move data."""
    x, operator = drawer.operand((*FLOATS, *EIGHT_BITS, *INTEGERS, "BOOL")), drawer.pick(MOVED)
    rank, shape = x.array.ndim, x.array.shape
    if not rank or (operator in ("TILE", "PAD", "CONCAT") and x.array.size > 800):
        return
    axis = int(drawer.random.integers(rank))
    inputs: tuple[Entry, ...] = (x,)
    about: dict[str, Any] = {}
    match operator:
        case "TRANSPOSE":
            about = {"perms": tuple(int(p) for p in drawer.random.permutation(rank))}
        case "REVERSE":
            about = {"axis": axis}
        case "CONCAT":
            inputs, about = (x, drawer.fresh(x.dtype, shape), x), {"axis": axis}
        case "RESHAPE":
            inputs = (x, drawer.constant("SHAPE", [math.prod(shape[:axis]), math.prod(shape[axis:])]))
        case "TILE":
            inputs = (x, drawer.constant("SHAPE", drawer.random.integers(1, 3, rank)))
        case "PAD":
            filling = drawer.constant(x.dtype, drawer.values(x.dtype, (1,)))
            filling.whole = drawer.style == "integers"
            inputs = (x, drawer.constant("SHAPE", drawer.random.integers(0, 3, 2 * rank)), filling)
        case "SLICE":
            start = [int(drawer.random.integers(extent)) for extent in shape]
            size = [int(drawer.random.integers(1, e - s + 1)) for e, s in zip(shape, start, strict=True)]
            inputs = (x, drawer.constant("SHAPE", start), drawer.constant("SHAPE", size))
    drawer.apply(operator, inputs, x.dtype, about)


STEPS: tuple[Callable[[Drawer], None], ...] = (
    *(unary, unary, unary, binary, binary, binary, clamp, select, cast, cast, cast, power),
    *(reduction, reduction, matmul, matmul, convolution, convolution, convolution, pooling),
    *(moved, moved, moved, indexed, resize, fourier, integers, conditional, loop, variable),
)

OPERATORS_DRAWN = sorted(
    {*oracle.UNARY, *oracle.BINARY, *oracle.INTEGER_UNARY, *oracle.INTEGER_BINARY, *oracle.NAN_MODES, *SUMS}
    | {*MOVED, "ARGMAX", "CAST", "CLAMP", "GATHER", "REDUCE_PRODUCT", "RESIZE", "SCATTER", "SELECT"}
    | {"COND_IF", "VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE", "WHILE_LOOP"}
)


def draw(seed: int, maximum: int = 8) -> FloatingGraph:
    """Draw a graph of one operator or some; with fewer operators it is the beginning of the same graph."""
    drawer = Drawer(seed)
    operators = min(maximum, int(drawer.random.integers(1, 9)))
    while len(drawer.made.nodes) < operators:
        STEPS[int(drawer.random.integers(len(STEPS)))](drawer)
    return drawer.made
