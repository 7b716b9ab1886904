"""The greatest of windows, found by one kernel for all of their sizes, strides and paddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.plain_kernels import Kernels
from tests.test_host import LIBRARIES
from tests.test_plain_kernels import SETS
from tosajit import ops
from tosajit.kernels.contract.source import window_source
from tosajit.kernels.contract.windows import Along, Axis, Window

TYPES = [np.int8, np.int16, np.float32]
WINDOWS = {
    "squares": ((2, 2), (2, 2), (0, 0, 0, 0)),
    "padded": ((3, 3), (2, 2), (1, 1, 1, 1)),
    "padded behind": ((3, 3), (2, 2), (0, 0, 0, 0)),
    "in place": ((5, 5), (1, 1), (2, 2, 2, 2)),
    "lines": ((1, 4), (1, 1), (0, 0, 3, 0)),
    "columns": ((7, 1), (3, 1), (3, 3, 0, 0)),
    "apart": ((2, 3), (3, 2), (0, 0, 0, 0)),
}


def least_of(dtype: Any) -> float:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def greatest(image: Any, kernel: Any, stride: Any, pad: Any, fill: Any = None) -> Any:
    """What NumPy finds."""
    values = least_of(image.dtype) if fill is None else fill
    around = np.pad(image, [(0, 0), pad[:2], pad[2:], (0, 0)], constant_values=values)
    found = np.lib.stride_tricks.sliding_window_view(around, kernel, (1, 2))
    return found[:, :: stride[0], :: stride[1]].max((-2, -1))


def fitting(kernel: Any, stride: Any, pad: Any, channels: int, type: Any, batch: int = 1) -> Any:
    """An image about as large as 11 by 9 that windows fit into without a rest."""
    sides = [
        size - (size + sum(pad[2 * i : 2 * i + 2]) - kernel[i]) % stride[i] for i, size in enumerate((11, 9))
    ]
    return np.random.default_rng(5).integers(-128, 128, (batch, *sides, channels)).astype(type)


def made(image: Any, kernel: Any, stride: Any, pad: Any, **options: Any) -> tj.Executable:
    graph = tj.trace(lambda x: ops.max_pool2d(x, kernel=kernel, stride=stride, pad=pad), image)
    return tj.compile(graph, **options)


def units(found: tj.Executable) -> list[str]:
    return [unit.name for unit in found.stages["prepare"].values["main"].units.values()]


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "none"])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_all_forms(name: str, type: Any, library: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    image = fitting(*WINDOWS[name], 33, type, batch=2)
    found = made(image, *WINDOWS[name], threads=2)
    np.testing.assert_array_equal(found(image), greatest(image, *WINDOWS[name]))
    assert units(found) == ["greatest"]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("channels", [2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130])
def test_rows_of_all_lengths(channels: int, type: Any) -> None:
    image = fitting(*WINDOWS["padded"], channels, type)
    found = made(image, *WINDOWS["padded"])
    np.testing.assert_array_equal(found(image), greatest(image, *WINDOWS["padded"]))
    assert units(found) == ["greatest"]


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "none"])
def test_a_window_with_nan_gives_nan_of_either_sign(library: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    image = fitting(*WINDOWS["padded"], 33, np.float32)
    places = np.random.default_rng(9).integers(0, 100, image.shape)
    for number, value in enumerate((np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45)):
        image[places == number] = value
    found = made(image, *WINDOWS["padded"])
    np.testing.assert_array_equal(found(image), greatest(image, *WINDOWS["padded"]))
    least = np.full_like(image, -np.inf)
    np.testing.assert_array_equal(found(least), greatest(least, *WINDOWS["padded"]))


def drawn(seed: int) -> tuple[Any, ...]:
    """A part of an image, windows in it, and what is around it."""
    random = np.random.default_rng(seed)
    type, kernel = TYPES[seed % 3], tuple(int(size) for size in random.integers(1, 6, 2))
    stride = tuple(int(step) for step in random.integers(1, 5, 2))
    pad = [int(random.integers(0, kernel[i // 2])) * int(random.integers(2)) for i in range(4)]
    channels = int(random.choice([1, 2, 3, 5, 16, 19, 33, 80]))
    image = fitting(kernel, stride, pad, channels, type)
    larger = [int(extra) for extra in random.integers(0, 3, 3)]
    around = np.pad(image, [(0, 0), *((extra, extra) for extra in larger)], constant_values=99)
    return image, around, (0, *larger), kernel, stride, pad


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "none"])
@pytest.mark.parametrize("seed", range(24))
def test_filled_windows_in_parts_of_images(seed: int, library: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    image, around, start, kernel, stride, pad = drawn(seed)
    fill = np.array([(-3, 0, 7)[seed % 3]], image.dtype)

    def pooled(x: Any) -> Any:
        part = ops.slice(x, start=start, size=image.shape)
        filled = ops.pad(part, np.array([0, 0, *pad, 0, 0]), pad_const=fill)
        return ops.max_pool2d(filled, kernel=kernel, stride=stride, pad=(0, 0, 0, 0))

    found = tj.compile(tj.trace(pooled, around))
    np.testing.assert_array_equal(found(around), greatest(image, kernel, stride, pad, fill[0]))


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("stride", [(1, 1), (3, 3), (2, 1), (1, 4)])
@pytest.mark.parametrize("fill", [None, 0])
def test_windows_that_are_inside_or_filled_have_the_kernel(stride: Any, fill: Any, type: Any) -> None:
    pad = (0,) * 4 if fill is None else (1, 1, 1, 1)
    image = fitting((3, 3), stride, pad, 19, type)

    def pooled(x: Any) -> Any:
        if fill is not None:
            x = ops.pad(x, np.array([0, 0, *pad, 0, 0]), pad_const=np.array([fill], type))
        return ops.max_pool2d(x, kernel=(3, 3), stride=stride, pad=(0,) * 4)

    found = tj.compile(tj.trace(pooled, image))
    np.testing.assert_array_equal(found(image), greatest(image, (3, 3), stride, pad, fill))
    assert units(found) == ["greatest"]


def test_what_is_outside_is_not_skipped_if_it_is_nan() -> None:
    image = fitting((3, 3), (1, 1), (1, 1, 1, 1), 5, np.float32)

    def pooled(x: Any) -> Any:
        filled = ops.pad(x, np.array([0, 0, 1, 1, 1, 1, 0, 0]), pad_const=np.array([np.nan], np.float32))
        return ops.max_pool2d(filled, kernel=(3, 3), stride=(1, 1), pad=(0,) * 4)

    expected = greatest(image, (3, 3), (1, 1), (1, 1, 1, 1), np.nan)
    np.testing.assert_array_equal(tj.compile(tj.trace(pooled, image))(image), expected)


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "none"])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("shape", [(1, 31, 301), (5, 7, 64), (300, 2, 33)])
def test_the_greatest_of_rows(shape: Any, type: Any, library: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    values = np.random.default_rng(8).integers(-128, 128, shape).astype(type)
    if values.dtype.kind == "f":
        values[:, 1, ::9] = np.nan
    for axis in (0, 1):
        found = tj.compile(tj.trace(lambda x, axis=axis: ops.reduce_max(x, axis=axis), values))
        np.testing.assert_array_equal(found(values), values.max(axis, keepdims=True))


@pytest.mark.parametrize("shape", [(3, 1, 3, 64), (1, 1, 1, 64), (2, 5, 7, 1), (1, 3, 1, 8)])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 1), (1, 3), (3, 3)])
def test_small_images_and_windows(kernel: tuple[int, int], shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(3).integers(-128, 128, shape).astype(np.int8)
    pad = (kernel[0] // 2, kernel[0] // 2, kernel[1] // 2, kernel[1] // 2)
    np.testing.assert_array_equal(
        made(image, kernel, (1, 1), pad)(image), greatest(image, kernel, (1, 1), pad)
    )


def test_other_work_on_windows_is_done_otherwise() -> None:
    image = fitting(*WINDOWS["squares"], 8, np.float32)
    for function in (
        lambda x: ops.max_pool2d(x, kernel=(2, 2), stride=(2, 2), pad=[0] * 4, nan_mode="IGNORE"),
        lambda x: ops.exp(ops.max_pool2d(x, kernel=(2, 2), stride=(2, 2), pad=[0] * 4)),
        lambda x: ops.reduce_min(x, axis=1),
    ):
        graph = tj.trace(function, image)
        found = tj.compile(graph)
        assert "greatest" not in units(found)
        np.testing.assert_allclose(found(image), tj.compile(graph, interpret=True)(image), rtol=1e-5)


@pytest.mark.parametrize("type", TYPES)
def test_windows_are_found_otherwise_until_their_kernel_is_compiled(type: Any) -> None:
    image = fitting(*WINDOWS["in place"], 33, type)
    found = made(image, *WINDOWS["in place"], generic="always")
    assert units(found) == []
    np.testing.assert_array_equal(found(image), greatest(image, *WINDOWS["in place"]))


@pytest.mark.parametrize("isa", SETS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("type", ["i8", "i16", "f32"])
def test_the_kernel_in_plain_python(isa: Any, type: str) -> None:
    dtype = np.dtype({"i8": np.int8, "i16": np.int16, "f32": np.float32}[type])
    image = np.random.default_rng(2).integers(-128, 128, (5, 6, 41)).astype(dtype)
    room, size = np.full((3 + 2, 3, 41), 77, dtype), dtype.itemsize
    result = room[1:-1]
    args = np.zeros(Axis.COLUMNS + len(Along), np.int64)
    least = int(np.array(least_of(dtype), dtype).view(f"i{size}"))
    args[[Window.SOURCE, Window.TARGET, Window.SIZE, Window.LEAST, Window.FILL]] = (
        image.ctypes.data - 6 * 41 * size, result.ctypes.data, 41 * size, least, least,
    )  # fmt: skip
    args[Axis.OUTER + Along.HIGH] = 1
    rows = (0, 3, 2 * 6 * 41 * size, 3 * 41 * size, 3, 6 * 41 * size, -1, 2, 5, 3)
    columns = (0, 3, 2 * 41 * size, 41 * size, 2, 41 * size, 0, 2, 6, 3)
    args[Axis.ROWS : Axis.ROWS + len(Along)] = rows
    args[Axis.COLUMNS : Axis.COLUMNS + len(Along)] = columns
    Kernels(isa).run(window_source(isa, type), args)
    np.testing.assert_array_equal(result, greatest(image[None], (3, 2), (2, 2), (1, 1, 0, 0))[0])
    assert (room[0] == 77).all()
    assert (room[-1] == 77).all()
