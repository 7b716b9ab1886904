"""The graphs that the kernel benchmarks compile, with inputs: contractions, and elementwise operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tosajit.arrays import Array
    from tosajit.dtypes import DType
    from tosajit.graph import Graph
    from tosajit.tracing.builder import GraphBuilder

    Bench = tuple[Graph, tuple[Array, ...]]

MATMUL_MACS = 1024**3
CONV_MACS = 56 * 56 * 64 * 64 * 9
DEPTHWISE_MACS = 56 * 56 * 64 * 9
ELEMENTS = 1 << 20
"""Of an elementwise operator's operands."""
ELEMENTWISE = ("ADD", "MUL", "MAXIMUM", "CLAMP", "EXP", "SIGMOID", "TANH", "ERF")
CACHED = {"L1": 1 << 12, "L2": 1 << 18}
"""Numbers that the caches of a core hold, with as many results."""
TRANSCENDENTAL = ("EXP", "TANH", "LOG", "POW", "SIN", "COS", "ERF", "SIGMOID")
FLOATS = {"f32": "FP32", "f16": "FP16", "bf16": "BF16"}


def matmul() -> Bench:
    """1024³ with both operands given at run time."""
    from tosajit.dtypes import INT8
    from tosajit.operators import MATMUL
    from tosajit.tracing.builder import GraphBuilder

    builder = GraphBuilder()
    shape = (1, 1024, 1024)
    zero = builder.const(np.zeros(1, np.int8), INT8)
    left, right = builder.input("left", INT8, shape), builder.input("right", INT8, shape)
    product = builder.add(MATMUL(), [left, right, zero, zero])
    builder.output(_requantised(builder, product, 1))
    return builder.build(), (_bytes(shape), _bytes(shape))


def matmul_packed() -> Bench:
    """1024³ with a constant right operand, which is packed when the graph is built."""
    from tosajit.dtypes import INT8
    from tosajit.operators import MATMUL
    from tosajit.tracing.builder import GraphBuilder

    builder = GraphBuilder()
    shape = (1, 1024, 1024)
    zero = builder.const(np.zeros(1, np.int8), INT8)
    left, right = builder.input("left", INT8, shape), builder.const(_bytes(shape), INT8)
    product = builder.add(MATMUL(), [left, right, zero, zero])
    builder.output(_requantised(builder, product, 1))
    return builder.build(), (_bytes(shape),)


def matmul_f32() -> Bench:
    """1024³ of float32 with both operands given at run time."""
    from tosajit.dtypes import FP32

    return _product_of_floats(FP32)


def matmul_bf16() -> Bench:
    """The same of bfloat16."""
    from tosajit.dtypes import BF16

    return _product_of_floats(BF16)


def _product_of_floats(dtype: DType) -> Bench:
    from tosajit.operators import MATMUL
    from tosajit.tracing.builder import GraphBuilder

    builder = GraphBuilder()
    shape = (1, 1024, 1024)
    zero = builder.const(np.zeros(1, dtype.storage), dtype)
    left, right = builder.input("left", dtype, shape), builder.input("right", dtype, shape)
    builder.output(builder.add(MATMUL(), [left, right, zero, zero]))
    numbers = np.random.default_rng(7).standard_normal((2, *shape)).astype(np.float32).astype(dtype.storage)
    return builder.build(), (numbers[0], numbers[1])


def conv_f32(depthwise: bool = False, given: bool = False) -> Bench:
    """3 × 3, 56 × 56 and 64 channels of float32, to 64; with constant weights, or with `given` ones."""
    import tosajit as tj
    from tosajit import ops

    numbers = np.random.default_rng(7).standard_normal
    shapes = (1, 56, 56, 64), (3, 3, 64, 1) if depthwise else (64, 3, 3, 64), (64,)
    image, *rest = (numbers(shape).astype(np.float32) for shape in shapes)
    operator = partial(ops.depthwise_conv2d if depthwise else ops.conv2d, pad=(1, 1, 1, 1))
    if given:
        return tj.trace(operator, image, *rest), (image, *rest)
    return tj.trace(lambda x: operator(x, *rest), image), (image,)


def conv() -> Bench:
    """3 × 3, 56 × 56, 64 channels to 64."""
    return conv_chain(56, 64)


def conv_small() -> Bench:
    """What `conv` does, in other extents."""
    return conv_chain(20, 48)


def clamp() -> Bench:
    """Next to nothing, so that what a call costs can be seen."""
    from tosajit.dtypes import INT8
    from tosajit.operators import CLAMP
    from tosajit.tracing.builder import GraphBuilder

    builder = GraphBuilder()
    source = builder.input("source", INT8, (1, 8))
    builder.output(builder.add(CLAMP(min_val=-100, max_val=100), [source]))
    return builder.build(), (_bytes((1, 8)),)


def elementwise(operator: str, kind: str, elements: int = ELEMENTS) -> Bench:
    """One operator on floating-point numbers around zero, or above it where it needs that."""
    from tosajit import operators
    from tosajit.dtypes import DTYPES
    from tosajit.tracing.builder import GraphBuilder

    builder, dtype = GraphBuilder(), DTYPES[FLOATS[kind]]
    attributes = {"min_val": -1.0, "max_val": 1.0} if operator == "CLAMP" else {}
    count = 2 if operator in ("ADD", "MUL", "MAXIMUM", "POW") else 1
    names = [builder.input(f"x{number}", dtype, (elements,)) for number in range(count)]
    shift = [builder.const(np.zeros(1, np.int8))] if operator == "MUL" else []
    builder.output(builder.add(getattr(operators, operator)(**attributes), [*names, *shift]))
    numbers = np.random.default_rng(7).standard_normal((count, elements)).astype(np.float32) * 3
    if operator in ("LOG", "POW"):
        numbers[0] = abs(numbers[0])
    return builder.build(), tuple(numbers.astype(dtype.storage))


def conv_chain(extent: int, channels: int) -> Bench:
    """A 3 × 3 convolution that keeps extents and channels, requantised per channel."""
    from tosajit.dtypes import INT8, INT32
    from tosajit.operators import CONV2D
    from tosajit.operators.types import AccType
    from tosajit.tracing.builder import GraphBuilder

    builder = GraphBuilder()
    shape = (1, extent, extent, channels)
    source = builder.input("source", INT8, shape)
    weight = builder.const(_bytes((channels, 3, 3, channels)), INT8)
    bias = builder.const(np.arange(channels, dtype=np.int32), INT32)
    input_zp, weight_zp = (
        builder.const(np.array([3], np.int8), INT8),
        builder.const(np.zeros(1, np.int8), INT8),
    )
    convolution = CONV2D(
        pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32, local_bound=False
    )
    total = builder.add(convolution, [source, weight, bias, input_zp, weight_zp])
    builder.output(_requantised(builder, total, channels))
    return builder.build(), (_bytes(shape),)


def _requantised(builder: GraphBuilder, value: str, channels: int) -> str:
    """Rescale int32 sums to int8."""
    from tosajit.dtypes import INT8, INT32
    from tosajit.operators import RESCALE

    rescale = RESCALE(
        scale32=True,
        per_channel=channels > 1,
        input_unsigned=False,
        output_unsigned=False,
    )
    multiplier = builder.const(np.linspace(1 << 30, (1 << 31) - 1, channels).astype(np.int32), INT32)
    shift = builder.const(np.full(channels, 42, np.int8), INT8)
    zeros = builder.const(np.zeros(1, np.int32), INT32), builder.const(np.array([-5], np.int8), INT8)
    return builder.add(rescale, [value, multiplier, shift, *zeros], dtype=INT8)


def _bytes(shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Uniform int8 numbers, the same ones each time."""
    return np.random.default_rng(7).integers(-128, 128, shape, dtype=np.int8)


GRAPHS: dict[str, Callable[[], Bench]] = {
    "clamp": clamp,
    "matmul": matmul,
    "matmul_packed": matmul_packed,
    "matmul_f32": matmul_f32,
    "matmul_bf16": matmul_bf16,
    "conv": conv,
    "conv_f32": conv_f32,
    "conv_f32_given": partial(conv_f32, given=True),
    "depthwise_f32": partial(conv_f32, depthwise=True),
    "conv_small": conv_small,
    **{f"{name.lower()}_{kind}": partial(elementwise, name, kind) for name in ELEMENTWISE for kind in FLOATS},
    **{
        f"{name.lower()}_f32_{cache}": partial(elementwise, name, "f32", elements)
        for name in TRANSCENDENTAL
        for cache, elements in CACHED.items()
    },
}
