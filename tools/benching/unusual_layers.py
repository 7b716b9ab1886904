"""Layers of sizes, steps and operators that are rarer than those of `common_layers.py`, in the same form.

They are what one comes upon in models that nobody has tuned for: odd extents, steps of two and three, long
kernels, batches, integers of 32 bits, and most ways in which elements are moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benching.common_layers import IMAGE, TOKENS, Layer, conv, dense, depthwise, onnx_conv, plain, weights

ODD = (1, 37, 53, 19)
FLAT = (64, 1001)
SMALL = (1, 28, 28, 32)


def kernel_of(height: int, width: int, channels: int, count: int, stride: int = 1) -> Any:
    """A convolution with a kernel that is no square."""
    return lambda tf, x: tf.nn.conv2d(x, tf.constant(weights(height, width, channels, count)), stride, "SAME")


def along_rows(size: int, channels: int) -> Any:
    """A depthwise convolution along rows."""
    return lambda tf, x: tf.nn.depthwise_conv2d(
        x, tf.constant(weights(1, size, channels, 1)), [1, 1, 1, 1], "SAME"
    )


def swapped(*order: int) -> Any:
    """A transpose."""
    return lambda tf, x: tf.transpose(x, order)


def resized(height: int, width: int, nearest: bool = False) -> Any:
    """A resize with the centres of pixels where frameworks have them."""
    method = "nearest" if nearest else "bilinear"
    return lambda tf, x: tf.image.resize(x, [height, width], method)


TFLITE_UNUSUAL: dict[str, Layer] = {
    "conv_1x7": ((SMALL,), kernel_of(1, 7, 32, 40)),
    "conv_7x1": ((SMALL,), kernel_of(7, 1, 32, 40)),
    "conv_odd": ((ODD,), conv(19, 29)),
    "conv_5x5_step_2": ((ODD,), conv(19, 24, 5, 2)),
    "conv_step_3": ((ODD,), conv(19, 24, 3, 3)),
    "conv_11x11": (((1, 115, 115, 3),), conv(3, 64, 11, 4)),
    "conv_grey": (((1, 96, 64, 1),), conv(1, 8, 3, 2)),
    "conv_batch_8": (((8, 14, 14, 64),), conv(64, 64)),
    "conv_1x1_odd": ((ODD,), conv(19, 83, 1)),
    "depthwise_step_3": ((ODD,), depthwise(19, stride=3)),
    "depthwise_7x7": ((SMALL,), depthwise(32, size=7)),
    "depthwise_1x9": ((SMALL,), along_rows(9, 32)),
    "depthwise_batch_8": (((8, 14, 14, 64),), depthwise(64)),
    "dense_odd": (((37, 301),), dense(301, 77)),
    "dense_batch_8": (((8, 1000),), dense(1000, 513)),
    "dense_to_11": (((1, 2049),), dense(2049, 11)),
    "matmul_odd": (((3, 37, 61), (3, 61, 29)), lambda tf, x, y: tf.matmul(x, y)),
    "max_pool_5x5": ((ODD,), lambda tf, x: tf.nn.max_pool2d(x, 5, 1, "SAME")),
    "max_pool_step_3": ((ODD,), lambda tf, x: tf.nn.max_pool2d(x, 3, 3, "VALID")),
    "average_pool_5x5": ((ODD,), lambda tf, x: tf.nn.avg_pool2d(x, 5, 2, "SAME")),
    "average_pool_7x7": (((1, 7, 7, 320),), lambda tf, x: tf.nn.avg_pool2d(x, 7, 1, "VALID")),
    "sum_all": (((1, 300, 500),), lambda tf, x: tf.reduce_sum(x, [1, 2])),
    "mean_middle": (((4, 300, 70),), lambda tf, x: tf.reduce_mean(x, 1)),
    "mean_image": (((1, 100, 100, 24),), lambda tf, x: tf.reduce_mean(x, [1, 2])),
    "max_image": (((1, 100, 100, 24),), lambda tf, x: tf.reduce_max(x, [1, 2])),
    "min_last": ((FLAT,), lambda tf, x: tf.reduce_min(x, -1)),
    "sum_last_few": (((500, 60, 5),), lambda tf, x: tf.reduce_sum(x, -1)),
    "arg_max_odd": ((FLAT,), lambda tf, x: tf.argmax(x, -1)),
    "arg_min": ((ODD,), lambda tf, x: tf.argmin(x, -1)),
    "softmax_odd": ((FLAT,), lambda tf, x: tf.nn.softmax(x)),
    "softmax_few": (((1917, 4),), lambda tf, x: tf.nn.softmax(x)),
    "resize_down": ((IMAGE,), resized(28, 28)),
    "resize_odd": ((ODD,), resized(64, 100)),
    "resize_nearest_down": ((IMAGE,), resized(20, 20, nearest=True)),
    "pad_all": (((3, 20, 31, 17),), lambda tf, x: tf.pad(x, [[1, 0], [2, 1], [0, 3], [1, 2]])),
    "concat_5": ((ODD, ODD), lambda tf, x, y: tf.concat([x, y, x[..., :7], y[..., 3:], x], -1)),
    "concat_batch": ((ODD, ODD), lambda tf, x, y: tf.concat([x, y], 0)),
    "slice_odd": ((ODD,), lambda tf, x: x[:, 1:-2, 3:, 2:17]),
    "slice_step_3": ((ODD,), lambda tf, x: x[:, ::3, 1::2, :]),
    "reverse_rows": ((ODD,), lambda tf, x: tf.reverse(x, [1])),
    "reverse_channels": ((ODD,), lambda tf, x: tf.reverse(x, [3])),
    "tile_rows": ((ODD,), lambda tf, x: tf.tile(x, [1, 2, 1, 1])),
    "tile_channel": (((1, 56, 56, 1),), lambda tf, x: tf.tile(x, [1, 1, 1, 24])),
    "transpose_0213": ((ODD,), swapped(0, 2, 1, 3)),
    "transpose_0132": ((ODD,), swapped(0, 1, 3, 2)),
    "transpose_0312": ((ODD,), swapped(0, 3, 1, 2)),
    "transpose_0231": ((ODD,), swapped(0, 2, 3, 1)),
    "transpose_210": (((40, 50, 60),), swapped(2, 1, 0)),
    "transpose_10": (((301, 257),), swapped(1, 0)),
    "transpose_keys": (((1, 128, 8, 32),), swapped(0, 2, 3, 1)),
    "greater": ((IMAGE, IMAGE), lambda tf, x, y: x > y),
    "select": ((IMAGE, IMAGE), lambda tf, x, y: tf.where(x > y, x, y * 0.5)),
    "select_number": ((IMAGE,), lambda tf, x: tf.where(x > 0.5, x, tf.zeros_like(x))),
    "gather_image": ((IMAGE,), lambda tf, x: tf.gather(x, np.arange(55, 0, -2, dtype=np.int32), axis=2)),
    "gather_nd": (
        ((200, 64),),
        lambda tf, x: tf.gather_nd(x, (np.arange(300, dtype=np.int32) * 7 % 200)[:, None]),
    ),
    "abs": ((IMAGE,), lambda tf, x: tf.abs(x)),
    "neg": ((IMAGE,), lambda tf, x: -x),
    "div": ((IMAGE, IMAGE), lambda tf, x, y: x / (tf.abs(y) + 1.0)),
    "minimum_number": ((IMAGE,), lambda tf, x: tf.minimum(x, 0.5)),
    "clip": ((IMAGE,), lambda tf, x: tf.clip_by_value(x, -1.0, 1.0)),
    "square": ((IMAGE,), lambda tf, x: x * x),
    "sqrt": ((IMAGE,), lambda tf, x: tf.sqrt(tf.abs(x))),
    "log": ((IMAGE,), lambda tf, x: tf.math.log(tf.abs(x) + 0.1)),
    "sin": ((IMAGE,), lambda tf, x: tf.sin(x)),
    "floor": ((IMAGE,), lambda tf, x: tf.floor(x)),
    "swish": ((IMAGE,), lambda tf, x: x * tf.sigmoid(x)),
    "softplus": ((IMAGE,), lambda tf, x: tf.nn.softplus(x)),
    "batch_norm": ((IMAGE,), lambda tf, x: x * weights(1, 32)[0] + weights(2, 32)[0]),
    "add_odd": ((ODD, ODD), lambda tf, x, y: x + y),
    "add_rows": ((ODD, (1, 37, 1, 19)), lambda tf, x, y: x + y),
    "mul_outer": (((1, 200, 1), (1, 1, 300)), lambda tf, x, y: x * y),
    "space_to_batch": ((IMAGE,), lambda tf, x: tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]])),
    "unstack": (((4, 100, 64),), lambda tf, x: tf.unstack(x, axis=1)[::25]),
    "stack": ((TOKENS, TOKENS), lambda tf, x, y: tf.stack([x, y], axis=2)),
    "cumsum_last": ((TOKENS,), lambda tf, x: tf.cumsum(x, 2)),
}
INTEGER_LAYERS: dict[str, Layer] = {
    "add": ((IMAGE, IMAGE), lambda tf, x, y: x + y),
    "mul": ((IMAGE, IMAGE), lambda tf, x, y: x * y),
    "maximum": ((IMAGE, IMAGE), lambda tf, x, y: tf.maximum(x, y)),
    "equal": ((IMAGE, IMAGE), lambda tf, x, y: tf.equal(x, y)),
    "select": ((IMAGE, IMAGE), lambda tf, x, y: tf.where(x > y, x, y)),
    "sum_last": ((TOKENS,), lambda tf, x: tf.reduce_sum(x, -1)),
    "max_first": ((TOKENS,), lambda tf, x: tf.reduce_max(x, 1)),
    "cast": ((IMAGE,), lambda tf, x: tf.cast(x, tf.float32)),
    "transpose": ((IMAGE,), swapped(0, 3, 1, 2)),
    "concat": ((IMAGE, IMAGE), lambda tf, x, y: tf.concat([x, y], -1)),
}
"""Layers whose inputs are integers of 32 bits, in TFLite's files."""
WORDS = (
    "conv_3x3",
    "conv_1x1_33",
    "depthwise",
    "dense",
    "add",
    "mul",
    "softmax",
    "tanh",
    "max_pool_2x2",
    "pad",
)
"""Layers of TFLite's files that are also timed with activations of 16 bits."""


def onnx_kernel(height: int, width: int) -> Any:
    """A convolution with a kernel that is no square."""

    def body(network: Any, x: str) -> str:
        kernel = network.weights(40, 32, height, width, depth=32 * height * width)
        pads = [height // 2, width // 2] * 2
        result: str = network.op("Conv", x, kernel, pads=pads)
        return result

    return body


def onnx_turned(channels: int, count: int, size: int, **attributes: Any) -> Any:
    """A transposed convolution with any attributes."""

    def body(network: Any, x: str) -> str:
        kernel = network.weights(channels, count, size, size, depth=channels * size)
        result: str = network.op("ConvTranspose", x, kernel, **attributes)
        return result

    return body


def with_numbers(name: str, *numbers: Any, **attributes: Any) -> Any:
    """An operator with constants behind its operand."""
    return lambda network, x: network.op(
        name, x, *(network.const(np.array(n)) for n in numbers), **attributes
    )


def onnx_linear(size: tuple[int, int], coordinates: str, mode: str = "linear") -> Any:
    """A resize to a size."""

    def body(network: Any, x: str) -> str:
        sizes = network.const(np.array([1, 32, *size], np.int64))
        result: str = network.op(
            "Resize", x, "", "", sizes, mode=mode, coordinate_transformation_mode=coordinates
        )
        return result

    return body


def onnx_group_norm(network: Any, x: str) -> str:
    """A normalisation of groups of channels."""
    parts = network.op("Reshape", x, network.const(np.array([1, 8, -1], np.int64)))
    ones, zeros = (network.const(np.full(8, one, np.float32)) for one in (1, 0))
    normal = network.op("InstanceNormalization", parts, ones, zeros)
    result: str = network.op("Reshape", normal, network.const(np.array([1, 32, 56, 56], np.int64)))
    return result


def onnx_split(network: Any, x: str) -> str:
    """The product of both halves of the channels."""
    first = network.op("Slice", x, *(network.const(np.array([n], np.int64)) for n in (0, 16, 1)))
    second = network.op("Slice", x, *(network.const(np.array([n], np.int64)) for n in (16, 32, 1)))
    result: str = network.op("Mul", first, second)
    return result


PLANES = (1, 32, 56, 56)
FEW_PLANES = (1, 32, 28, 28)
ONNX_UNUSUAL: dict[str, Layer] = {
    "conv_1x7": ((FEW_PLANES,), onnx_kernel(1, 7)),
    "conv_5x5_step_2": (((1, 19, 37, 53),), onnx_conv(19, 24, 5, strides=[2, 2])),
    "conv_step_3": (((1, 19, 37, 53),), onnx_conv(19, 24, 3, strides=[3, 3])),
    "conv_batch_8": (((8, 64, 14, 14),), onnx_conv(64, 64, 3)),
    "conv_rgb": (((1, 3, 112, 112),), onnx_conv(3, 32, 7, strides=[2, 2])),
    "conv_1x1": ((PLANES,), onnx_conv(32, 64, 1)),
    "depthwise_step_2": ((PLANES,), onnx_conv(32, 32, 5, 32, strides=[2, 2])),
    "transposed_4x4": ((FEW_PLANES,), onnx_turned(32, 32, 4, strides=[2, 2], pads=[1] * 4)),
    "transposed_step_3": ((FEW_PLANES,), onnx_turned(32, 8, 5, strides=[3, 3])),
    "transposed_to_1": ((FEW_PLANES,), onnx_turned(32, 1, 4, strides=[2, 2], pads=[1] * 4)),
    "max_pool_5x5": ((FEW_PLANES,), plain("MaxPool", kernel_shape=[5, 5], pads=[2] * 4)),
    "max_pool_1d": (((1, 64, 256),), plain("MaxPool", kernel_shape=[3], strides=[2])),
    "average_pool_2x2": ((PLANES,), plain("AveragePool", kernel_shape=[2, 2], strides=[2, 2])),
    "max_global": ((PLANES,), plain("GlobalMaxPool")),
    "reduce_max": ((PLANES,), with_numbers("ReduceMax", np.array([1]))),
    "reduce_sum": ((PLANES,), with_numbers("ReduceSum", np.array([2, 3]))),
    "reduce_l2": ((TOKENS,), with_numbers("ReduceL2", np.array([-1]))),
    "arg_max_last": ((TOKENS,), plain("ArgMax", axis=-1)),
    "softmax_channels": ((PLANES,), plain("Softmax", axis=1)),
    "log_softmax": ((TOKENS,), plain("LogSoftmax", axis=-1)),
    "group_norm": ((PLANES,), onnx_group_norm),
    "concat": ((PLANES, PLANES), plain("Concat", axis=1)),
    "pad_reflect": ((PLANES,), with_numbers("Pad", np.array([0, 0, 2, 2, 0, 0, 2, 2]), mode="reflect")),
    "pad_edge": ((PLANES,), with_numbers("Pad", np.array([0, 0, 1, 1, 0, 0, 1, 1]), mode="edge")),
    "slice_step": ((PLANES,), with_numbers("Slice", [0, 0], [56, 56], [2, 3], [2, 2])),
    "slice_halves": ((PLANES,), onnx_split),
    "tile": ((FEW_PLANES,), with_numbers("Tile", np.array([1, 1, 2, 2]))),
    "expand": (((1, 32, 1, 1),), with_numbers("Expand", np.array([1, 32, 56, 56]))),
    "gather": ((TOKENS,), with_numbers("Gather", np.arange(0, 128, 3), axis=1)),
    "gather_channels": ((PLANES,), with_numbers("Gather", np.arange(31, -1, -1), axis=1)),
    "resize_corners": ((FEW_PLANES,), onnx_linear((55, 55), "align_corners")),
    "resize_down": ((PLANES,), onnx_linear((28, 28), "half_pixel")),
    "resize_cubic": ((FEW_PLANES,), onnx_linear((56, 56), "half_pixel", "cubic")),
    "resize_nearest_odd": ((FEW_PLANES,), onnx_linear((45, 45), "asymmetric", "nearest")),
    "transpose_heads": (((1, 128, 8, 32),), plain("Transpose", perm=[0, 2, 1, 3])),
    "transpose_keys": (((1, 128, 8, 32),), plain("Transpose", perm=[0, 2, 3, 1])),
    "transpose_0132": ((PLANES,), plain("Transpose", perm=[0, 1, 3, 2])),
    "transpose_10": (((301, 257),), plain("Transpose", perm=[1, 0])),
    "space_to_depth": ((PLANES,), plain("SpaceToDepth", blocksize=2)),
    "depth_to_space": ((PLANES,), plain("DepthToSpace", blocksize=2)),
    "matmul_768": (((1, 128, 768),), with_numbers("MatMul", weights(768, 768))),
    "matmul_heads": (((1, 8, 128, 64), (1, 8, 64, 128)), plain("MatMul")),
    "matmul_row": (((1, 1000), (1000, 513)), plain("MatMul")),
    "gemm_odd": (((37, 301), (301, 77)), plain("Gemm")),
    "erf": ((TOKENS,), plain("Erf")),
    "exp": ((TOKENS,), plain("Exp")),
    "sqrt": ((TOKENS,), lambda network, x: network.op("Sqrt", network.op("Abs", x))),
    "tanh": ((TOKENS,), plain("Tanh")),
    "sigmoid": ((PLANES,), plain("Sigmoid")),
    "elu": ((PLANES,), plain("Elu")),
    "selu": ((PLANES,), plain("Selu")),
    "softplus": ((PLANES,), plain("Softplus")),
    "mish": ((PLANES,), plain("Mish")),
    "hard_sigmoid": ((PLANES,), plain("HardSigmoid")),
    "prelu": ((PLANES, (32, 1, 1)), plain("PRelu")),
    "clip": ((PLANES,), with_numbers("Clip", np.float32(-1), np.float32(1))),
    "power": ((PLANES,), with_numbers("Pow", np.float32(2))),
    "division": ((PLANES, PLANES), plain("Div")),
    "greater": ((PLANES, PLANES), plain("Greater")),
    "where": (
        (PLANES, PLANES),
        lambda network, x, y: network.op("Where", network.op("Less", x, y), x, y),
    ),
    "mul_channels": ((PLANES, (1, 32, 1, 1)), plain("Mul")),
    "add_rows": ((TOKENS, (1, 128, 1)), plain("Add")),
    "cumsum": ((TOKENS,), with_numbers("CumSum", np.array(1))),
}
"""Layers of ONNX's files, all of float32."""
HALVES = (
    "conv_3x3",
    "depthwise",
    "matmul",
    "layer_norm",
    "softmax",
    "gelu",
    "add",
    "max_pool_2x2",
    "transpose",
)
"""Layers of ONNX's files that are also timed with float16."""
