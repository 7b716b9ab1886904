"""Operators on volumes, spread images and grids of quantisation, and what NumPy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tensorflow_cases import oracle
from tests.tensorflow_cases.integers import of_type
from tests.tensorflow_cases.operators import case, real

Array = np.ndarray[Any, Any]


def _transposed() -> None:
    image, weights = real(1, 9, 8, 3), real(3, 2, 2, 3, seed=5)
    wide = np.zeros((5, 3, 2, 3), np.float32)
    wide[::2, ::2] = weights
    case(
        "Conv2DBackpropInput",
        [[1, 13, 10, 2], weights, image],
        oracle.transposed_conv2d(image, wide, 1, (13, 10), "VALID"),
        constants=[0],
        strides=[1, 1, 1, 1],
        dilations=[1, 2, 2, 1],
        padding="VALID",
        note="dilated",
    )
    volume, cube = real(1, 3, 2, 4, 3), real(2, 3, 3, 2, 3, seed=6)
    for padding, size in (("SAME", (6, 4, 8)), ("VALID", (6, 5, 9))):
        case(
            "Conv3DBackpropInputV2",
            [[1, *size, 2], cube, volume],
            oracle.transposed_conv3d(volume, cube, 2, size, padding),
            constants=[0],
            strides=[1, 2, 2, 2, 1],
            padding=padding,
            note=padding,
        )


def _pooled() -> None:
    volume = real(2, 4, 6, 4, 3)
    blocks = volume.reshape(2, 2, 2, 3, 2, 2, 2, 3)
    for op, reduce in (("MaxPool3D", np.max), ("AvgPool3D", np.mean)):
        windows: dict[str, Any] = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1]}
        case(op, [volume], reduce(blocks, axis=(2, 4, 6)), padding="VALID", note="VALID", **windows)
        # The borders that SAME asks for count nowhere: the last windows are smaller.
        odd = volume[:, :3, :, :3]
        ones = [reduce(odd[:, z : z + 2, y : y + 2, x : x + 2], axis=(1, 2, 3))
                for z in (0, 2) for y in (0, 2, 4) for x in (0, 2)]  # fmt: skip
        wanted = np.stack(ones, 1).reshape(2, 2, 3, 2, 3)
        case(op, [odd], wanted, padding="SAME", note="SAME", **windows)
        first = volume.transpose(0, 4, 1, 2, 3).copy()
        turned = reduce(blocks, axis=(2, 4, 6)).transpose(0, 4, 1, 2, 3)
        windows = {"ksize": [1, 1, 2, 2, 2], "strides": [1, 1, 2, 2, 2]}
        case(op, [first], turned, padding="VALID", data_format="NCDHW", note="first", **windows)
    for kind in (np.int8, np.int16):
        image = of_type(kind, 1, 4, 6, 2)
        wanted = image.reshape(1, 2, 2, 3, 2, 2).max((2, 4))
        case("MaxPool", [image], wanted, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID",
             note=np.dtype(kind).name)  # fmt: skip


def _moved() -> None:
    a = real(4, 6)
    case("Roll", [a, [1, -2], [0, 1]], np.roll(a, (1, -2), (0, 1)), constants=[1, 2])
    case("Roll", [a, 7, 1], np.roll(a, 7, 1), constants=[1, 2], note="round")
    image, mean, variance = real(1, 2, 3, 4), real(4), real(4, low=0.5)
    offset, scale = real(4, seed=5), real(4, seed=6)
    normal = (image - mean) / np.sqrt(variance + np.float32(0.01))
    for scaled in (True, False):
        case(
            "BatchNormWithGlobalNormalization",
            [image, mean, variance, offset, scale],
            normal * (scale if scaled else 1) + offset,
            variance_epsilon=0.01,
            scale_after_normalization=scaled,
            note=str(scaled),
        )


def _gridded() -> None:
    a, low, high = real(8, 9, low=-3, high=3), np.float32(-1.3), np.float32(1.1)
    for signed in (True, False):
        for narrow in (True, False):
            shared: dict[str, Any] = {"signed_input": signed, "narrow_range": narrow}
            note = f"{'signed' if signed else 'plain'}{narrow}"
            for mode in ("HALF_TO_EVEN", "HALF_UP"):
                wanted = oracle.round_trip(a, low, high, 6, signed, narrow, mode)
                case("QuantizeAndDequantizeV2", [a, low, high], wanted, constants=[1, 2], range_given=True,
                     num_bits=6, round_mode=mode, note=f"{note}{mode}", **shared)  # fmt: skip
            own = a if signed else np.abs(a)
            wanted = oracle.round_trip(own, own.min(), own.max(), 6, signed, narrow, "HALF_TO_EVEN")
            case("QuantizeAndDequantizeV2", [own, low, high], wanted, constants=[1, 2], num_bits=6,
                 note=f"{note}own", **shared)  # fmt: skip
    wanted = oracle.round_trip(a, low, high, 5, True, False, "HALF_TO_EVEN")
    case("QuantizeAndDequantizeV3", [a, low, high, 5], wanted, constants=[1, 2, 3], range_given=True)
    columns = [oracle.round_trip(one, one.min(), one.max(), 8, True, False, "HALF_TO_EVEN") for one in a.T]
    ends = np.zeros(9, np.float32)
    case("QuantizeAndDequantizeV4", [a, ends, ends], np.stack(columns, 1), constants=[1, 2], axis=1)


for _family in (_transposed, _pooled, _moved, _gridded):
    _family()
