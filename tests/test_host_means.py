"""The means of windows, found by one kernel for all of their sizes, strides and paddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.plain_kernels import Kernels
from tests.test_host import LIBRARIES
from tests.test_host_windows import TYPES, WINDOWS, drawn, fitting, units
from tests.test_plain_kernels import SETS
from tosajit import ops
from tosajit.host.window_work import MOST_TAPS
from tosajit.kernels.arithmetic import reciprocal_multiplier, reciprocal_shift
from tosajit.kernels.contract.source import window_source
from tosajit.kernels.contract.windows import Along, Axis, Window

SETS_THERE = [name for name in LIBRARIES if name != "none"]


def image_of(image: Any, seed: int) -> Any:
    """Numbers whose sums are rounded, or any integers."""
    random = np.random.default_rng(seed)
    if image.dtype.kind == "f":
        return random.standard_normal(image.shape).astype(np.float32)
    limits = np.iinfo(image.dtype)
    return random.integers(limits.min, limits.max + 1, image.shape).astype(image.dtype)


def pooled(x: Any, kernel: Any, stride: Any, pad: Any) -> Any:
    points = (-7, 100) if str(x.dtype) == "INT8" else (0, 0)
    return ops.avg_pool2d(x, *points, kernel=kernel, stride=stride, pad=pad)


def check(function: Any, image: Any, name: str = "mean") -> None:
    """The bits of the interpreter, by a kernel of this name or by none of windows."""
    graph = tj.trace(function, image)
    found = tj.compile(graph, threads=2)
    np.testing.assert_array_equal(found(image), tj.compile(graph, interpret=True)(image))
    assert units(found) == [name] * bool(name)


@pytest.mark.parametrize("library", SETS_THERE)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_all_forms(name: str, type: Any, library: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    image = image_of(fitting(*WINDOWS[name], 33, type, batch=2), 4)
    few = type == np.float32 and np.prod(WINDOWS[name][0]) <= 9
    check(lambda x: pooled(x, *WINDOWS[name]), image, "" if few else "mean")


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("channels", [2, 3, 5, 8, 15, 17, 31, 33, 64, 65, 130])
def test_rows_of_all_lengths(channels: int, type: Any) -> None:
    image = image_of(fitting(*WINDOWS["in place"], channels, type), channels)
    check(lambda x: pooled(x, *WINDOWS["in place"]), image)


@pytest.mark.parametrize("library", SETS_THERE)
@pytest.mark.parametrize("seed", range(24))
def test_windows_in_parts_of_images(seed: int, library: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    image, around, start, kernel, stride, pad = drawn(seed)
    whole = image_of(around, seed)
    graph = tj.trace(
        lambda x: pooled(ops.slice(x, start=start, size=image.shape), kernel, stride, pad), whole
    )
    np.testing.assert_array_equal(tj.compile(graph)(whole), tj.compile(graph, interpret=True)(whole))


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
def test_padding_may_count(type: Any, stride: Any) -> None:
    pad, zero = (1, 1, 0, 2), np.array([-7 if type == np.int8 else 0], type)
    image = image_of(fitting((3, 4), stride, pad, 19, type), 6)

    def counted(x: Any) -> Any:
        around = ops.pad(x, np.array([0, 0, *pad, 0, 0]), pad_const=zero)
        return pooled(around, (3, 4), stride, (0,) * 4)

    check(counted, image)


@pytest.mark.parametrize("type", TYPES)
def test_what_the_kernel_does_not_is_done_otherwise(type: Any) -> None:
    image = image_of(np.zeros((1, 17, 18, 6), type), 2)
    filled = np.array([3], type)
    around = np.array([0, 0, 1, 1, 1, 1, 0, 0])
    check(lambda x: pooled(ops.pad(x, around, pad_const=filled), (3, 3), (1, 1), (0,) * 4), image, "")
    if type != np.float32:
        check(lambda x: pooled(x, (16, 16), (1, 1), (0,) * 4), image, "")


@pytest.mark.parametrize("type", TYPES)
def test_means_are_found_otherwise_until_their_kernel_is_compiled(type: Any) -> None:
    image = image_of(fitting(*WINDOWS["in place"], 33, type), 3)
    graph = tj.trace(lambda x: pooled(x, *WINDOWS["in place"]), image)
    found = tj.compile(graph, generic="always")
    assert units(found) == []
    np.testing.assert_array_equal(found(image), tj.compile(graph, interpret=True)(image))


@pytest.mark.parametrize("kind", ["i8", "i16"])
def test_the_nearest_mean_is_the_one_of_the_multipliers(kind: str) -> None:
    """Of all sums for bytes; of those near halves and of some others for words."""
    limit = {"i8": 255, "i16": 1 << 15}[kind]
    for count in range(1, MOST_TAPS[kind] + 1):
        sums = np.arange(-limit * count, limit * count + 1, dtype=np.int64)
        multiplier = int(reciprocal_multiplier(np.int32(count)))
        shift = int(reciprocal_shift(np.int32(count)))
        exact = (sums * multiplier + (1 << (shift - 1))) >> shift
        means = sums.astype(np.float32) / np.float32(count)
        nearest = (means + np.copysign(np.float32(0.5), means)).astype(np.int32)
        np.testing.assert_array_equal(nearest, exact)


@pytest.mark.parametrize("isa", SETS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("type", ["i8", "i16", "f32"])
def test_the_kernel_in_plain_python(isa: Any, type: str) -> None:
    dtype = np.dtype({"i8": np.int8, "i16": np.int16, "f32": np.float32}[type])
    image = image_of(np.zeros((6, 7, 41), dtype), 2)
    room, size = np.full((3 + 2, 3, 41), 77, dtype), dtype.itemsize
    result, zero, point = room[1:-1], 3 * (type == "i8"), 5 * (type == "i8")
    args = np.zeros(Axis.COLUMNS + len(Along), np.int64)
    args[[Window.SOURCE, Window.TARGET, Window.SIZE, Window.INPUT_ZP, Window.OUTPUT_ZP]] = (
        image.ctypes.data, result.ctypes.data, 41 * size, zero, point,
    )  # fmt: skip
    args[Axis.OUTER + Along.HIGH] = 1
    rows = (0, 3, 2 * 7 * 41 * size, 3 * 41 * size, 2, 7 * 41 * size, 0, 2, 6, 3)
    columns = (0, 3, 2 * 41 * size, 41 * size, 3, 41 * size, 0, 2, 7, 3)
    args[Axis.ROWS : Axis.ROWS + len(Along)] = rows
    args[Axis.COLUMNS : Axis.COLUMNS + len(Along)] = columns
    Kernels(isa).run(window_source(isa, type, mean=True), args)
    graph = tj.trace(lambda x: ops.avg_pool2d(x, zero, point, kernel=(2, 3), stride=(2, 2)), image[None])
    np.testing.assert_array_equal(result, tj.compile(graph, interpret=True)(image[None])[0])
    assert (room[0] == 77).all()
    assert (room[-1] == 77).all()
