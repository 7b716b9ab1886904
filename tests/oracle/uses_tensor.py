"""How to draw one use of convolutions, MATMUL, pooling and RESIZE."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .drawing import Bench, Entry, Rejected
from .modes import Mode
from .numbers import maximum, minimum

ZERO_POINTS = (0, 1, -3, 127, -128, 17)


def _image(bench: Bench, type_name: str, rank: int) -> Entry:
    limit = bench.maximum_elements // 2
    return bench.tensor(type_name, lambda: bench.extents(rank, limit), lambda shape: len(shape) == rank)


def _zero_points(bench: Bench, *types: str) -> list[Entry]:
    return [bench.constant(t, [bench.choose.pick(ZERO_POINTS) if t == "INT8" else 0]) for t in types]


def _bias(bench: Bench, mode: Mode, channels: int) -> Entry:
    count = bench.choose.pick((channels, 1))
    kind, calm = mode.outputs[0], bench.choose.integer(0, 3) > 0
    low, high = (minimum(kind) // 4, maximum(kind) // 4) if calm else (None, None)
    return bench.tensor(kind, lambda: (count,), lambda shape: shape == (count,), low, high)


def _kernel_sizes(bench: Bench, extents: Sequence[int]) -> list[int]:
    return [bench.choose.pick([k for k in (1, 3, 2, 5, 7) if k <= extent + 2]) for extent in extents]


def _window(bench: Bench, extents: Sequence[int], kernel: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Choose pad, stride and dilation that divide exactly."""
    pads, strides, dilations = [], [], []
    for extent, size in zip(extents, kernel, strict=True):
        stride, dilation = bench.choose.pick((1, 2, 1, 3)), bench.choose.pick((1, 1, 2, 3))
        before, after = bench.choose.pick((0, 1, size // 2, 2)), bench.choose.pick((0, 1, size // 2))
        reach = extent - 1 + before + after - (size - 1) * dilation
        after += -reach if reach < 0 else (-reach) % stride
        pads += [before, after]
        strides.append(stride)
        dilations.append(dilation)
    return {"pad": tuple(pads), "stride": tuple(strides), "dilation": tuple(dilations)}


def _convolution(name: str, spatial: int) -> Callable[[Bench, Mode], Entry]:
    def draw(bench: Bench, mode: Mode) -> Entry:
        image = _image(bench, mode.inputs[0], spatial + 2)
        kernel = _kernel_sizes(bench, image.shape[1:-1])
        attributes = _window(bench, image.shape[1:-1], kernel)
        channels = image.shape[-1]
        count = bench.choose.pick((1, 2, 3, 8, 17, 33))
        shape = (count, *kernel, channels)
        if name == "DEPTHWISE_CONV2D":
            count = bench.choose.pick((1, 1, 2, 3))
            shape = (*kernel, channels, count)
            count *= channels
        weight = bench.tensor(mode.inputs[1], lambda: shape, lambda known: known == shape)
        operands = [image, weight, _bias(bench, mode, count), *_zero_points(bench, *mode.inputs[:2])]
        return bench.apply(name, operands, mode.outputs[0], {**attributes, "acc_type": mode.outputs[0]})

    return draw


def _transpose_convolution(bench: Bench, mode: Mode) -> Entry:
    image = _image(bench, mode.inputs[0], 4)
    kernel = _kernel_sizes(bench, (3, 3))
    pads, strides = [], [bench.choose.pick((1, 2, 3, 1)) for _ in range(2)]
    for extent, size, stride in zip(image.shape[1:3], kernel, strides, strict=True):
        pair = [bench.choose.pick([p for p in (0, 1, -1, 2, -2) if p > -size]) for _ in range(2)]
        pair[1] += max(1 - ((extent - 1) * stride + sum(pair) + size), 0)
        pads += pair
    shape = (bench.choose.pick((1, 2, 3, 8, 17)), *kernel, image.shape[-1])
    weight = bench.tensor(mode.inputs[1], lambda: shape, lambda known: known == shape)
    operands = [image, weight, _bias(bench, mode, shape[0]), *_zero_points(bench, *mode.inputs[:2])]
    attributes = {"out_pad": tuple(pads), "stride": tuple(strides), "acc_type": mode.outputs[0]}
    return bench.apply("TRANSPOSE_CONV2D", operands, mode.outputs[0], attributes)


def _matmul(bench: Bench, mode: Mode) -> Entry:
    a = _image(bench, mode.inputs[0], 3)
    n, _, c = a.shape
    b = bench.tensor(
        mode.inputs[1],
        lambda: (n, c, bench.choose.pick((1, 2, 5, 16, 17, 33))),
        lambda shape: len(shape) == 3 and shape[0] == n and shape[1] == c,
    )
    return bench.apply("MATMUL", [a, b, *_zero_points(bench, *mode.inputs[:2])], mode.outputs[0])


def _pool(name: str) -> Callable[[Bench, Mode], Entry]:
    def draw(bench: Bench, mode: Mode) -> Entry:
        image = _image(bench, mode.inputs[0], 4)
        kernel, strides, pads = [], [], []
        for extent in image.shape[1:3]:
            size = bench.choose.pick([k for k in (1, 2, 3, 5, extent) if k <= extent + 2])
            stride = bench.choose.pick((1, 2, 3))
            before = bench.choose.integer(0, size - 1)
            fits = [
                p
                for p in range(size)
                if extent + before + p >= size and (extent + before + p - size) % stride == 0
            ]
            if not fits:
                raise Rejected("no padding makes the stride divide")
            kernel.append(size)
            strides.append(stride)
            pads += [before, bench.choose.pick(fits)]
        attributes = {"kernel": tuple(kernel), "stride": tuple(strides), "pad": tuple(pads)}
        if name == "MAX_POOL2D":
            return bench.apply(name, [image], mode.outputs[0], attributes)
        operands = [image, *_zero_points(bench, mode.inputs[0], mode.inputs[0])]
        return bench.apply(name, operands, mode.outputs[0], {**attributes, "acc_type": "INT32"})

    return draw


def _resize_axis(bench: Bench, extent: int) -> tuple[int, int, int, int]:
    """Choose numerator, denominator, offset and border for one axis."""
    n = bench.choose.pick((1, 2, 4, 3, 16, 7, 200, 2048))
    d = bench.choose.pick([d for d in (1, 2, 3, 5, 7, n, 2 * n, 15 * n) if d < 16 * n and n <= 256 * d])
    offset = bench.choose.pick((0, -n, 1 - n if n > 1 else 0, n // 2, -(n // 2), 3 * n))
    fits = [count for count in range(1, 26) if -16 * n <= (count - 1) * d - (extent - 1) * n + offset < n]
    if not fits:
        raise Rejected("no border makes the scale divide")
    count = bench.choose.pick(fits[::-1])
    return n, d, offset, (count - 1) * d - (extent - 1) * n + offset


def _resize(bench: Bench, mode: Mode) -> Entry:
    image = _image(bench, mode.inputs[0], 4)
    rows, columns = (_resize_axis(bench, extent) for extent in image.shape[1:3])
    arguments = [(*rows[:2], *columns[:2]), (rows[2], columns[2]), (rows[3], columns[3])]
    kind = "BILINEAR" if mode.variant == "bilinear" else "NEAREST"
    operands = [image, *(bench.sizes(argument) for argument in arguments)]
    return bench.apply("RESIZE", operands, mode.outputs[0], {"mode": kind})


TENSOR_USES: dict[str, Callable[[Bench, Mode], Entry]] = {
    "AVG_POOL2D": _pool("AVG_POOL2D"),
    "CONV2D": _convolution("CONV2D", 2),
    "CONV3D": _convolution("CONV3D", 3),
    "DEPTHWISE_CONV2D": _convolution("DEPTHWISE_CONV2D", 2),
    "MATMUL": _matmul,
    "MAX_POOL2D": _pool("MAX_POOL2D"),
    "TRANSPOSE_CONV2D": _transpose_convolution,
    "RESIZE": _resize,
}
