"""The data sets with which dot products are tested (TOSA 1.0.1 Appendix A, sections 5.1 to 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from tosajit.accuracy.formats import TypeLike, format_of
from tosajit.dtypes import BF16, FP8E4M3, FP8E5M2, FP16, FP32, DType

SETS = range(6)
"""The numbers of the data sets."""
MIN_DOT_PRODUCTS = 1000
"""How many dot products a test has to calculate for its statistics to say something."""
LARGEST: Mapping[tuple[frozenset[DType], DType], float] = {
    (frozenset({FP8E4M3}), FP16): 240.0,
    (frozenset({FP8E4M3}), FP32): 448.0,
    (frozenset({FP8E5M2}), FP16): 224.0,
    (frozenset({FP8E5M2}), FP32): 57344.0,
    (frozenset({FP8E4M3, FP8E5M2}), FP16): 224.0,
    (frozenset({FP8E4M3, FP8E5M2}), FP32): 448.0,
    (frozenset({FP8E4M3}), FP8E4M3): 20.0,
    (frozenset({FP8E5M2}), FP8E5M2): 224.0,
    (frozenset({FP16}), FP16): 255.875,
    (frozenset({FP16}), FP32): 65504.0,
    (frozenset({BF16}), BF16): 2.0**64 - 2.0**56,
    (frozenset({BF16}), FP32): 2.0**64 - 2.0**56,
    (frozenset({FP32}), FP32): 2.0**64 - 2.0**40,
}
"""The magnitude whose square the output still holds, by the types of inputs and output."""


def random(number: int, indices: np.ndarray) -> np.ndarray:
    """The elements of a pseudo-random sequence, from -1 to 1 (`set_data`)."""
    count = int(np.max(indices, initial=0)) + 1
    factor = np.uint32((8 * number + 1) * 0x705A5E75 & 0xFFFFFFFF)
    sequence = np.array([factor + np.uint32(1)], np.uint32)
    step, offset = factor, np.uint32(1)
    with np.errstate(over="ignore"):
        while sequence.size < count:
            sequence = np.concatenate([sequence, sequence * step + offset])
            step, offset = np.uint32(step * step), np.uint32(step * offset + offset)
    drawn = sequence[indices]
    sign = np.where(drawn >> np.uint32(31) == 0, np.float32(1), np.float32(-1))
    values: np.ndarray = sign * (drawn & np.uint32(0x7FFFFFFF)).astype(np.float32) / np.float32(0x7FFFFFFF)
    return values


def generate(
    number: int, kernel_size: int, parameter: int, k: np.ndarray, i: np.ndarray, largest: float
) -> np.ndarray:
    """The elements of operand `parameter` of a data set (`tosa_pro_fp_data`).

    `k` is the place of each element in the dot product, `i` in its tensor.
    """
    bias = parameter == 2
    if bias and number != 1:
        return np.zeros(i.shape)
    return GENERATORS[number](3 * number, kernel_size, parameter, k, i, largest)


def products_with_zero(s: int, ks: int, p: int, k: np.ndarray, i: np.ndarray, b: float) -> np.ndarray:
    """Set 0: every product has a factor of zero."""
    negative, values = random(s, i) < 0, random(s + 1, i)
    return np.where(negative, 0.0, values) if p == 0 else np.where(negative, values, 0.0)


def large_exponents(s: int, ks: int, p: int, k: np.ndarray, i: np.ndarray, b: float) -> np.ndarray:
    """Set 1: values near the end of the range."""
    scale = b * b / (ks + 1) if p == 2 else b / np.sqrt(ks + 1)
    sign = np.where(random(s + p, 2 * i) < 0, -0.75, 0.75)
    values: np.ndarray = scale * (sign + 0.25 * random(s + p, 2 * i + 1))
    return values


def small_onto_large(s: int, ks: int, p: int, k: np.ndarray, i: np.ndarray, b: float) -> np.ndarray:
    """Set 2: one large product, and small ones of similar size."""
    return np.where(k == 0, 1.0, random(s + p, i) / np.sqrt(ks))


def varying_onto_large(s: int, ks: int, p: int, k: np.ndarray, i: np.ndarray, b: float) -> np.ndarray:
    """Set 3: one large product, and small ones of various sizes."""
    first, second = random(s + p, 2 * i), random(s + p, 2 * i + 1)
    return np.where(k == 0, np.where(first < 0, -16.0, 16.0), np.exp(2 * first) * second)


def some_zeros(s: int, ks: int, p: int, k: np.ndarray, i: np.ndarray, b: float) -> np.ndarray:
    """Set 4: products some of which are zero."""
    negative, values = random(s, i) < 0, b / np.sqrt(ks) * random(s + 1, i)
    if p == 0:
        return np.where(k == ks // 2, np.where(negative, -0.5, 0.5), np.where(negative, 0.0, values))
    return np.where(k == ks // 2, np.where(negative, 0.5, -0.5), np.where(negative, values, 0.0))


def large_range(s: int, ks: int, p: int, k: np.ndarray, i: np.ndarray, b: float) -> np.ndarray:
    """Set 5: values of either sign over the whole range."""
    values: np.ndarray = b / np.sqrt(ks) * random(s + p, i)
    return values


GENERATORS: Sequence[Callable[[int, int, int, np.ndarray, np.ndarray, float], np.ndarray]] = (
    products_with_zero,
    large_exponents,
    small_onto_large,
    varying_onto_large,
    some_zeros,
    large_range,
)


def data_set(
    operator: str,
    number: int,
    shapes: Sequence[tuple[int, ...]],
    types: Sequence[TypeLike],
    output: TypeLike,
    *,
    axis: int = 0,
    kernel: tuple[int, int] = (1, 1),
) -> tuple[np.ndarray, ...]:
    """Make the operands of an operator for a data set: arrays that NumPy stores as their types.

    `shapes` and `types` are those of the operands in the specification's order: input, weight, bias; both
    inputs of MATMUL and FFT2D; one input of RFFT2D, of REDUCE_SUM (with its `axis`) and of AVG_POOL2D (with
    its `kernel`).
    """
    if operator not in PLACES:
        raise ValueError(f"{operator} has no data sets; {', '.join(PLACES)} have")
    kinds = [format_of(kind) for kind in types]
    largest = LARGEST[frozenset(kind.dtype for kind in kinds[:2]), format_of(output).dtype]
    size, places = PLACES[operator](shapes, axis, kernel)
    made = []
    for shape, kind, (parameter, k, first) in zip(shapes, kinds, places, strict=False):
        i = first + np.arange(prod(shape)).reshape(shape)
        values = generate(number, size, parameter, np.broadcast_to(k, shape), i, largest)
        made.append(kind.rounded(values).astype(kind.dtype.storage))
    return tuple(made)


Places = tuple[int, Sequence[tuple[int, np.ndarray, int]]]
"""The kernel size, and for each operand its number, its places in the dot product and its first index."""


def grid(*extents: int) -> np.ndarray:
    """Number the elements of a window."""
    return np.arange(prod(extents)).reshape(extents)


def tiled(window: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Repeat a window over a larger space."""
    for axis, extent in enumerate(shape):
        window = np.take(window, np.arange(extent) % window.shape[axis], axis=axis)
    return window


def convolution(shapes: Sequence[tuple[int, ...]], axis: int, kernel: tuple[int, int]) -> Places:
    """CONV2D, CONV3D and TRANSPOSE_CONV2D (TOSA 1.0.1 sections 5.3.1, 5.3.2 and 5.3.5)."""
    window = grid(*shapes[1][1:])
    bias = np.zeros((), np.int64)
    return window.size, ((0, tiled(window, shapes[0][1:]), 0), (1, window, 0), (2, bias, 0))


def depthwise(shapes: Sequence[tuple[int, ...]], axis: int, kernel: tuple[int, int]) -> Places:
    """DEPTHWISE_CONV2D (TOSA 1.0.1 section 5.3.3)."""
    window = grid(*shapes[1][:2], 1)
    bias = np.zeros((), np.int64)
    return window.size, ((0, tiled(window, shapes[0][1:3]), 0), (1, window[..., None], 0), (2, bias, 0))


def matmul(shapes: Sequence[tuple[int, ...]], axis: int, kernel: tuple[int, int]) -> Places:
    """MATMUL (TOSA 1.0.1 section 5.3.4)."""
    place = grid(shapes[0][2])
    return place.size, ((0, place, 0), (1, place[:, None], 0))


def fourier(shapes: Sequence[tuple[int, ...]], axis: int, kernel: tuple[int, int]) -> Places:
    """FFT2D and RFFT2D (TOSA 1.0.1 sections 5.3.6 and 5.3.7)."""
    place = grid(*shapes[0][1:])
    return place.size * len(shapes), ((0, place, 0), (0, place, prod(shapes[0])))


def reduce_sum(shapes: Sequence[tuple[int, ...]], axis: int, kernel: tuple[int, int]) -> Places:
    """REDUCE_SUM (TOSA 1.0.1 section 5.3.8)."""
    after = len(shapes[0]) - axis - 1
    return shapes[0][axis], ((0, grid(shapes[0][axis]).reshape(-1, *[1] * after), 0),)


def avg_pool(shapes: Sequence[tuple[int, ...]], axis: int, kernel: tuple[int, int]) -> Places:
    """AVG_POOL2D (TOSA 1.0.1 section 5.3.9)."""
    _, height, width, channels = shapes[0]
    place = tiled(grid(*kernel), (height, width))[..., None] * channels + np.arange(channels)
    return prod(kernel), ((0, place, 0),)


PLACES: Mapping[str, Callable[[Sequence[tuple[int, ...]], int, tuple[int, int]], Places]] = {
    "AVG_POOL2D": avg_pool,
    "CONV2D": convolution,
    "CONV3D": convolution,
    "DEPTHWISE_CONV2D": depthwise,
    "FFT2D": fourier,
    "MATMUL": matmul,
    "RFFT2D": fourier,
    "TRANSPOSE_CONV2D": convolution,
    "REDUCE_SUM": reduce_sum,
}
