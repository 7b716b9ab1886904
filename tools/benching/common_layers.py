"""Layers as common networks have them, each with the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Layer = tuple[tuple[tuple[int, ...], ...], Callable[..., Any]]
"""The shapes of the inputs, and the function of these, after the library that it is written with."""

IMAGE = (1, 56, 56, 32)
TOKENS = (1, 128, 256)


def weights(*shape: int) -> Any:
    """Random weights that keep the size of what they are multiplied with."""
    random = np.random.default_rng(len(shape))
    return (random.standard_normal(shape) * (2 / np.prod(shape[:-1])) ** 0.5).astype(np.float32)


def conv(channels: int, count: int, size: int = 3, stride: int = 1, rate: int = 1, groups: int = 1) -> Any:
    """A convolution with a bias."""

    def body(tf: Any, x: Any) -> Any:
        kernel = tf.constant(weights(size, size, channels // groups, count))
        y = tf.nn.conv2d(x, kernel, stride, "SAME", dilations=rate)
        return tf.nn.bias_add(y, tf.constant(weights(1, count)[0]))

    return body


def depthwise(channels: int, times: int = 1, size: int = 3, stride: int = 1, rate: int = 1) -> Any:
    """A depthwise convolution with a bias."""

    def body(tf: Any, x: Any) -> Any:
        kernel = tf.constant(weights(size, size, channels, times))
        rates = [rate, rate]
        y = tf.nn.depthwise_conv2d(x, kernel, [1, stride, stride, 1], "SAME", dilations=rates)
        return tf.nn.bias_add(y, tf.constant(weights(1, channels * times)[0]))

    return body


def transposed(channels: int, count: int, size: int, stride: int, height: int) -> Any:
    """A transposed convolution with a bias."""

    def body(tf: Any, x: Any) -> Any:
        kernel = tf.constant(weights(size, size, count, channels))
        side = height * stride
        y = tf.nn.conv2d_transpose(x, kernel, [1, side, side, count], stride)
        return tf.nn.bias_add(y, tf.constant(weights(1, count)[0]))

    return body


def conv_1d(channels: int, count: int, size: int) -> Any:
    """A convolution along one axis."""
    return lambda tf, x: tf.nn.conv1d(x, tf.constant(weights(size, channels, count)), 1, "SAME")


def dense(channels: int, count: int) -> Any:
    """A product with constant weights."""
    return lambda tf, x: tf.matmul(x, tf.constant(weights(channels, count)))


def resize(size: int, **options: Any) -> Any:
    """A bilinear resize."""
    return lambda tf, x: tf.compat.v1.image.resize_bilinear(x, [size, size], **options)


def layer_norm(tf: Any, x: Any) -> Any:
    """A normalisation over channels."""
    mean = tf.reduce_mean(x, -1, keepdims=True)
    apart = x - mean
    return apart * tf.math.rsqrt(tf.reduce_mean(apart * apart, -1, keepdims=True) + 1e-5)


def power(tf: Any, spectrum: Any) -> Any:
    """The squares of the numbers of a spectrum."""
    real, imag = tf.math.real(spectrum), tf.math.imag(spectrum)
    return real * real + imag * imag


def rows_power(tf: Any, x: Any) -> Any:
    """The power spectra of frames."""
    return power(tf, tf.signal.rfft(x))


def image_power(tf: Any, x: Any) -> Any:
    """The power spectra of images."""
    return power(tf, tf.signal.rfft2d(x))


SPECTRA: dict[str, Layer] = {
    "spectrum_frames_512": (((100, 512),), rows_power),
    "spectrum_frames_2048": (((100, 2048),), rows_power),
    "spectrum_frame_512": (((1, 512),), rows_power),
    "spectrum_frame_2048": (((1, 2048),), rows_power),
    "spectrum_64": (((1, 64, 64),), image_power),
    "spectrum_256": (((1, 256, 256),), image_power),
    "spectrum_filled": (
        ((100, 400),),
        lambda tf, x: power(tf, tf.signal.rfft(x, [512])),
    ),
}
"""Layers of floating-point numbers alone."""
TFLITE: dict[str, Layer] = {
    **SPECTRA,
    "conv_3x3": ((IMAGE,), conv(32, 32)),
    "conv_rgb": (((1, 224, 224, 3),), conv(3, 32, 3, 2)),
    "conv_dilated": ((IMAGE,), conv(32, 32, rate=2)),
    "conv_grouped": ((IMAGE,), conv(32, 64, groups=4)),
    "conv_to_3": ((IMAGE,), conv(32, 3)),
    "conv_7": (((1, 56, 56, 7),), conv(7, 17)),
    "conv_17": (((1, 56, 56, 17),), conv(17, 33)),
    "conv_1x1_33": (((1, 56, 56, 33),), conv(33, 17, 1)),
    "conv_5x5": (((1, 28, 28, 24),), conv(24, 24, 5)),
    "conv_1d": (((1, 256, 64),), conv_1d(64, 64, 5)),
    "conv_batch_4": (((4, 28, 28, 32),), conv(32, 32)),
    "depthwise": ((IMAGE,), depthwise(32)),
    "depthwise_times_2": ((IMAGE,), depthwise(32, 2)),
    "depthwise_times_8": (((1, 56, 56, 3),), depthwise(3, 8)),
    "depthwise_5x5": ((IMAGE,), depthwise(32, size=5, stride=2)),
    "depthwise_dilated": ((IMAGE,), depthwise(32, rate=2)),
    "depthwise_7": (((1, 56, 56, 7),), depthwise(7)),
    "transposed_2x2": (((1, 28, 28, 32),), transposed(32, 16, 2, 2, 28)),
    "transposed_3x3": (((1, 28, 28, 32),), transposed(32, 16, 3, 2, 28)),
    "transposed_4x4": (((1, 28, 28, 32),), transposed(32, 32, 4, 2, 28)),
    "transposed_to_3": (((1, 56, 56, 32),), transposed(32, 3, 3, 2, 56)),
    "transposed_step_1": (((1, 28, 28, 32),), transposed(32, 16, 3, 1, 28)),
    "average_pool_3x3": ((IMAGE,), lambda tf, x: tf.nn.avg_pool2d(x, 3, 1, "SAME")),
    "average_pool_2x2": ((IMAGE,), lambda tf, x: tf.nn.avg_pool2d(x, 2, 2, "VALID")),
    "max_pool_3x3": ((IMAGE,), lambda tf, x: tf.nn.max_pool2d(x, 3, 2, "SAME")),
    "max_pool_2x2": ((IMAGE,), lambda tf, x: tf.nn.max_pool2d(x, 2, 2, "VALID")),
    "pool_global": (((1, 14, 14, 256),), lambda tf, x: tf.reduce_mean(x, [1, 2])),
    "conv_1x1_step_2": ((IMAGE,), conv(32, 64, 1, 2)),
    "resize_nearest_3x": (
        ((1, 28, 28, 32),),
        lambda tf, x: tf.compat.v1.image.resize_nearest_neighbor(x, [84, 84]),
    ),
    "resize_nearest_odd": (
        ((1, 28, 28, 32),),
        lambda tf, x: tf.compat.v1.image.resize_nearest_neighbor(x, [45, 45]),
    ),
    "resize_2x": (((1, 28, 28, 32),), resize(56)),
    "resize_half_pixel": (((1, 28, 28, 32),), resize(56, half_pixel_centers=True)),
    "resize_corners": (((1, 28, 28, 32),), resize(65, align_corners=True)),
    "resize_nearest": (
        ((1, 28, 28, 32),),
        lambda tf, x: tf.compat.v1.image.resize_nearest_neighbor(x, [56, 56]),
    ),
    "dense": ((TOKENS,), dense(256, 256)),
    "dense_row": (((1, 512),), dense(512, 512)),
    "matmul": (((4, 64, 64), (4, 64, 64)), lambda tf, x, y: tf.matmul(x, y)),
    "matmul_turned": (((4, 64, 64), (4, 64, 64)), lambda tf, x, y: tf.matmul(x, y, transpose_b=True)),
    "softmax": ((TOKENS,), lambda tf, x: tf.nn.softmax(x)),
    "log_softmax": ((TOKENS,), lambda tf, x: tf.nn.log_softmax(x)),
    "layer_norm": ((TOKENS,), layer_norm),
    "mean_last": ((TOKENS,), lambda tf, x: tf.reduce_mean(x, -1)),
    "sum_first": ((TOKENS,), lambda tf, x: tf.reduce_sum(x, 1)),
    "max_last": ((TOKENS,), lambda tf, x: tf.reduce_max(x, -1)),
    "max_first": ((TOKENS,), lambda tf, x: tf.reduce_max(x, 1)),
    "arg_max": ((TOKENS,), lambda tf, x: tf.argmax(x, -1)),
    "arg_max_first": ((TOKENS,), lambda tf, x: tf.argmax(x, 1)),
    "add": ((IMAGE, IMAGE), lambda tf, x, y: x + y),
    "mul": ((IMAGE, IMAGE), lambda tf, x, y: x * y),
    "sub": ((IMAGE, IMAGE), lambda tf, x, y: x - y),
    "maximum": ((IMAGE, IMAGE), lambda tf, x, y: tf.maximum(x, y)),
    "add_channels": ((IMAGE, (1, 1, 1, 32)), lambda tf, x, y: x + y),
    "mul_channels": ((IMAGE, (1, 1, 1, 32)), lambda tf, x, y: x * y),
    "mul_positions": ((IMAGE, (1, 56, 56, 1)), lambda tf, x, y: x * y),
    "relu": ((IMAGE,), lambda tf, x: tf.nn.relu(x)),
    "relu6": ((IMAGE,), lambda tf, x: tf.nn.relu6(x)),
    "leaky_relu": ((IMAGE,), lambda tf, x: tf.nn.leaky_relu(x, 0.1)),
    "prelu": (
        (IMAGE,),
        lambda tf, x: tf.maximum(x, 0.0) + tf.minimum(x, 0.0) * tf.constant(weights(1, 32)[0]),
    ),
    "hard_sigmoid": ((IMAGE,), lambda tf, x: tf.nn.relu6(x + 3.0) * (1 / 6)),
    "hard_swish": ((IMAGE,), lambda tf, x: x * tf.nn.relu6(x + 3.0) * (1 / 6)),
    "gelu": ((IMAGE,), lambda tf, x: tf.nn.gelu(x)),
    "elu": ((IMAGE,), lambda tf, x: tf.nn.elu(x)),
    "sigmoid": ((IMAGE,), lambda tf, x: tf.sigmoid(x)),
    "tanh": ((IMAGE,), lambda tf, x: tf.tanh(x)),
    "exp": ((IMAGE,), lambda tf, x: tf.exp(x)),
    "rsqrt": ((IMAGE,), lambda tf, x: tf.math.rsqrt(tf.abs(x) + 1.0)),
    "square_difference": ((IMAGE, IMAGE), lambda tf, x, y: tf.math.squared_difference(x, y)),
    "pad": ((IMAGE,), lambda tf, x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])),
    "pad_channels": ((IMAGE,), lambda tf, x: tf.pad(x, [[0, 0], [0, 0], [0, 0], [3, 5]])),
    "pad_rgb": (((1, 112, 112, 3),), lambda tf, x: tf.pad(x, [[0, 0], [0, 0], [0, 0], [0, 1]])),
    "pad_mirror": ((IMAGE,), lambda tf, x: tf.pad(x, [[0, 0], [2, 2], [2, 2], [0, 0]], "REFLECT")),
    "concat": ((IMAGE, IMAGE), lambda tf, x, y: tf.concat([x, y], -1)),
    "concat_3": ((IMAGE, (1, 56, 56, 3)), lambda tf, x, y: tf.concat([x, y], -1)),
    "concat_rows": ((IMAGE, IMAGE), lambda tf, x, y: tf.concat([x, y], 1)),
    "split": ((IMAGE,), lambda tf, x: tf.split(x, 2, -1)),
    "slice": ((IMAGE,), lambda tf, x: x[:, 3:51, 2:50, 4:28]),
    "slice_strided": ((IMAGE,), lambda tf, x: x[:, ::2, ::2]),
    "slice_channels": ((IMAGE,), lambda tf, x: x[..., ::2]),
    "reverse": ((IMAGE,), lambda tf, x: tf.reverse(x, [2])),
    "tile": ((IMAGE,), lambda tf, x: tf.tile(x, [1, 1, 1, 2])),
    "transpose_to_nchw": ((IMAGE,), lambda tf, x: tf.transpose(x, [0, 3, 1, 2])),
    "transpose_heads": (((1, 128, 8, 32),), lambda tf, x: tf.transpose(x, [0, 2, 1, 3])),
    "transpose_from_rgb": (((1, 112, 112, 3),), lambda tf, x: tf.transpose(x, [0, 3, 1, 2])),
    "transpose_16": (((1, 56, 56, 16),), lambda tf, x: tf.transpose(x, [0, 3, 1, 2])),
    "transpose_64": (((1, 56, 56, 64),), lambda tf, x: tf.transpose(x, [0, 3, 1, 2])),
    "transpose_rgb": (((1, 3, 112, 112),), lambda tf, x: tf.transpose(x, [0, 2, 3, 1])),
    "space_to_depth": ((IMAGE,), lambda tf, x: tf.nn.space_to_depth(x, 2)),
    "depth_to_space": ((IMAGE,), lambda tf, x: tf.nn.depth_to_space(x, 2)),
    "space_to_depth_4": ((IMAGE,), lambda tf, x: tf.nn.space_to_depth(x, 4)),
    "depth_to_space_4": ((IMAGE,), lambda tf, x: tf.nn.depth_to_space(x, 4)),
    "gather": ((TOKENS,), lambda tf, x: tf.gather(x, np.arange(0, 128, 3, dtype=np.int32), axis=1)),
    "gather_last": ((TOKENS,), lambda tf, x: tf.gather(x, np.arange(0, 256, 3, dtype=np.int32), axis=2)),
    "cumsum": ((TOKENS,), lambda tf, x: tf.cumsum(x, 1)),
    "l2_normalize": ((TOKENS,), lambda tf, x: tf.math.l2_normalize(x, -1)),
    "average_pool_nchw": (
        (IMAGE,),
        lambda tf, x: tf.transpose(tf.nn.avg_pool2d(x, 3, 1, "SAME"), [0, 3, 1, 2]),
    ),
}


def onnx_conv(channels: int, count: int, size: int, group: int = 1, **attributes: Any) -> Any:
    """A convolution of as many dimensions as the attributes have, two without them."""

    def body(network: Any, x: str) -> str:
        dims = attributes.pop("dims", 2)
        kernel = network.weights(count, channels // group, *[size] * dims, depth=channels * size**dims)
        attributes.setdefault("pads", [size // 2] * 2 * dims)
        result: str = network.op("Conv", x, kernel, group=group, **attributes)
        return result

    return body


def onnx_transposed(channels: int, count: int, size: int, stride: int) -> Any:
    """A transposed convolution."""

    def body(network: Any, x: str) -> str:
        kernel = network.weights(channels, count, size, size, depth=channels * size)
        result: str = network.op("ConvTranspose", x, kernel, strides=[stride] * 2)
        return result

    return body


def onnx_resize(mode: str, coordinates: str) -> Any:
    """Twice the height and the width."""

    def body(network: Any, x: str) -> str:
        scales = network.const(np.array([1, 1, 2, 2], np.float32))
        result: str = network.op(
            "Resize", x, "", scales, mode=mode, coordinate_transformation_mode=coordinates
        )
        return result

    return body


def onnx_norm(network: Any, x: str) -> str:
    """A layer norm."""
    ones, zeros = (network.const(np.full(256, one, np.float32)) for one in (1, 0))
    result: str = network.op("LayerNormalization", x, ones, zeros)
    return result


def onnx_instance_norm(network: Any, x: str) -> str:
    """A normalisation of each channel."""
    ones, zeros = (network.const(np.full(32, one, np.float32)) for one in (1, 0))
    result: str = network.op("InstanceNormalization", x, ones, zeros)
    return result


def plain(name: str, **attributes: Any) -> Any:
    """An operator of its operands alone."""
    return lambda network, *operands: network.op(name, *operands, **attributes)


CHANNELS_FIRST = (1, 32, 56, 56)
ONNX: dict[str, Layer] = {
    "conv_3x3": ((CHANNELS_FIRST,), onnx_conv(32, 32, 3)),
    "conv_grouped": ((CHANNELS_FIRST,), onnx_conv(32, 64, 3, 4)),
    "conv_dilated": ((CHANNELS_FIRST,), onnx_conv(32, 32, 3, dilations=[2, 2], pads=[2] * 4)),
    "conv_1d": (((1, 64, 256),), onnx_conv(64, 64, 5, dims=1)),
    "conv_3d": (((1, 8, 16, 28, 28),), onnx_conv(8, 16, 3, dims=3)),
    "depthwise": ((CHANNELS_FIRST,), onnx_conv(32, 32, 3, 32)),
    "depthwise_times_2": ((CHANNELS_FIRST,), onnx_conv(32, 64, 3, 32)),
    "depthwise_1d": (((1, 64, 256),), onnx_conv(64, 64, 5, 64, dims=1)),
    "transposed_2x2": (((1, 32, 28, 28),), onnx_transposed(32, 16, 2, 2)),
    "transposed_to_3": (((1, 32, 56, 56),), onnx_transposed(32, 3, 3, 2)),
    "max_pool_3x3": ((CHANNELS_FIRST,), plain("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)),
    "max_pool_2x2": ((CHANNELS_FIRST,), plain("MaxPool", kernel_shape=[2, 2], strides=[2, 2])),
    "average_pool_3x3": (
        (CHANNELS_FIRST,),
        plain("AveragePool", kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4),
    ),
    "pool_global": (((1, 256, 14, 14),), plain("GlobalAveragePool")),
    "resize_linear": (((1, 32, 28, 28),), onnx_resize("linear", "half_pixel")),
    "resize_nearest": (((1, 32, 28, 28),), onnx_resize("nearest", "asymmetric")),
    "matmul": (((4, 64, 64), (4, 64, 64)), plain("MatMul")),
    "gemm_turned": (((64, 256), (128, 256)), plain("Gemm", transB=1)),
    "layer_norm": ((TOKENS,), onnx_norm),
    "instance_norm": ((CHANNELS_FIRST,), onnx_instance_norm),
    "arg_max": ((CHANNELS_FIRST,), plain("ArgMax", axis=1)),
    "pixel_shuffle": ((CHANNELS_FIRST,), plain("DepthToSpace", blocksize=2, mode="CRD")),
    "softmax": ((TOKENS,), plain("Softmax", axis=-1)),
    "softmax_middle": ((TOKENS,), plain("Softmax", axis=1)),
    "gelu": ((TOKENS,), plain("Gelu")),
    "hard_swish": ((CHANNELS_FIRST,), plain("HardSwish")),
    "leaky_relu": ((CHANNELS_FIRST,), plain("LeakyRelu")),
    "transpose": ((CHANNELS_FIRST,), plain("Transpose", perm=[0, 2, 3, 1])),
    "reduce_mean": ((TOKENS,), plain("ReduceMean", keepdims=1)),
    "add": ((CHANNELS_FIRST, (1, 32, 1, 1)), plain("Add")),
}
