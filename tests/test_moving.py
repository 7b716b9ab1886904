"""Moves of constants give what kernels give for the same operators on inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tiling.expr import call, const, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, identity
from tosajit.compiler import stages
from tosajit.compiler.moving import moved
from tosajit.dtypes import BF16, FP8E4M3, FP8E5M2, FP16, FP32, INT8, INT16, INT32, DType
from tosajit.kernels.link import link as linked
from tosajit.operators import (
    ADD,
    CAST,
    CONCAT,
    PAD,
    RESHAPE,
    REVERSE,
    SLICE,
    TILE,
    TRANSPOSE,
    TRANSPOSE_CONV2D,
    AccType,
)

SHAPE = (2, 3, 4)


def chain(dtype: DType, constant: bool) -> tj.Graph:
    """Layout operators on a tensor that is a constant or an input, added to an input."""
    b = tj.GraphBuilder()
    x = b.const(numbers(dtype), dtype) if constant else b.input("x", dtype, SHAPE)
    y = b.add(TRANSPOSE(perms=(2, 0, 1)), [x])
    y = b.add(REVERSE(axis=1), [y])
    y = b.add(SLICE(), [y, b.shape([1, 0, 1]), b.shape([3, 2, 2])])
    y = b.add(TILE(), [y, b.shape([1, 3, 2])])
    y = b.add(RESHAPE(), [y, b.shape([6, 12])])
    y = b.add(CONCAT(axis=0), [y, y])
    y = b.add(PAD(), [y, b.shape([1, 0, 0, 2]), b.const(np.array([7], dtype.storage), dtype)])
    wide = y if dtype is INT32 else b.add(CAST(), [y], dtype=INT32)
    b.output(b.add(ADD(), [wide, b.input("z", INT32, (13, 14))]))
    return b.build()


def numbers(dtype: DType) -> np.ndarray:
    return np.arange(24).reshape(SHAPE).astype(dtype.storage)


@pytest.mark.parametrize("dtype", [INT8, INT16, INT32], ids=lambda dtype: dtype.name)
def test_moved_constants_are_what_kernels_move(dtype: DType) -> None:
    z = np.full((13, 14), 5, np.int32)
    folded, whole = tj.compile(chain(dtype, constant=True)), tj.compile(chain(dtype, constant=False))
    np.testing.assert_array_equal(folded(z), whole(numbers(dtype), z))


@pytest.mark.parametrize("dtype", [FP32, FP16, BF16, FP8E4M3, FP8E5M2], ids=lambda dtype: dtype.name)
def test_constants_of_floating_point_types_are_moved_bit_by_bit(dtype: DType) -> None:
    bits = np.random.default_rng(0).integers(0, 256, (2, 6 * dtype.storage.itemsize)).astype(np.uint8)
    values = bits.view(dtype.storage).reshape(2, 6)
    builder = tj.GraphBuilder()
    y = builder.add(TRANSPOSE(perms=(1, 0)), [builder.const(values, dtype)])
    builder.output(builder.add(REVERSE(axis=0), [y]))
    assert tj.compile(builder.build())().tobytes() == values.T[::-1].tobytes()


def test_a_transposed_constant_needs_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    b = tj.GraphBuilder()
    moved = b.add(TRANSPOSE(perms=(2, 0, 1)), [b.const(numbers(INT32), INT32)])
    b.output(b.add(ADD(), [moved, b.input("z", INT32, (4, 2, 3))]))
    links: list[Any] = []

    def link(first: Any, *more: Any) -> Any:
        links.append(first)
        return linked(first, *more)

    monkeypatch.setattr(stages, "linked", link)
    tj.compile(b.build())
    assert len(links) == 1


@pytest.mark.parametrize("pad", [(0, 0, 0, 0), (0, 0, -3, -2)])
def test_a_constant_with_several_writers_is_made_by_all_of_them(pad: tuple[int, int, int, int]) -> None:
    """The bias first fills the result of a wide transposed convolution, and sums go over it."""
    random = np.random.default_rng(0)
    image = random.integers(-128, 128, (1, 2, 3, 2)).astype(np.int8)
    weight = random.integers(-127, 128, (2, 1, 20, 2)).astype(np.int8)

    def graph(constant: bool) -> tj.Graph:
        b = tj.GraphBuilder()
        x = b.const(image, INT8) if constant else b.input("x", INT8, image.shape)
        point = b.const(np.zeros(1, np.int8), INT8)
        bias = b.const(np.array([1000, -1000], np.int32), INT32)
        operator = TRANSPOSE_CONV2D(out_pad=pad, stride=(1, 21), acc_type=AccType.INT32)
        y = b.add(operator, [x, b.const(weight, INT8), bias, point, point])
        b.output(b.add(ADD(), [y, b.input("z", INT32, b.value(y).shape or ())]))
        return b.build()

    z = np.zeros(graph(constant=True).inputs[0].shape or (), np.int32)
    folded, whole = tj.compile(graph(constant=True)), tj.compile(graph(constant=False))
    np.testing.assert_array_equal(folded(z), whole(image, z))


def test_one_element_is_repeated_as_dense_as_kernels_read_it() -> None:
    """A pad around nothing: NumPy would flatten one element in every place without copying it."""
    nest = Nest(
        "move",
        (Axis("i", 8),),
        (Access("one", "i32", (), ()),),
        (Write(Access("all", "i32", (8,), identity(1)), read(0, "i32")),),
        None,
        ("all",),
    )
    made, rest = moved([nest], {"one": np.array(7, np.int32)})
    assert not rest
    assert made["all"].tolist() == [7] * 8
    assert made["all"].flags.c_contiguous


def plain() -> Nest:
    """A move of six elements in order."""
    axes = (Axis("i", 2), Axis("j", 3))
    source, target = (Access(name, "i32", (2, 3), identity(2)) for name in ("one", "two"))
    return Nest("move", axes, (source,), (Write(target, read(0, "i32")),), members=("m",))


def written(nest: Nest, **changes: Any) -> Nest:
    (write,) = nest.writes
    return replace(nest, writes=(replace(write, access=replace(write.access, **changes)),))


def fed(nest: Nest, **changes: Any) -> Nest:
    return replace(nest, reads=(replace(nest.reads[0], **changes),))


PLACE = Indirect(read(1, "i32"))
SPOILED: dict[str, Callable[[Nest], Nest]] = {
    "verb": lambda nest: replace(nest, verb="map"),
    "reduction": lambda nest: replace(nest, reduction=Reduction("add", 0, "i32", read(0, "i32"))),
    "no source": lambda nest: replace(nest, reads=()),
    "two sources": lambda nest: replace(nest, reads=nest.reads * 2),
    "two results": lambda nest: replace(nest, writes=nest.writes * 2),
    "computed": lambda nest: replace(
        nest, writes=(replace(nest.writes[0], value=call("abs_i32", read(0, "i32"))),)
    ),
    "filled": lambda nest: fed(nest, fill=const(0, "i32")),
    "chosen by data": lambda nest: fed(nest, index=(PLACE, nest.reads[0].index[1])),
    "put by data": lambda nest: written(nest, index=(PLACE, nest.reads[0].index[1])),
    "beginning later": lambda nest: written(nest, shape=(3, 3), index=(Affine((1, 0), 1), Affine((0, 1)))),
    "a part": lambda nest: written(nest, shape=(3, 3)),
    "transposed": lambda nest: written(nest, shape=(3, 2), index=(Affine((0, 1)), Affine((1, 0)))),
}


def test_a_plain_move_is_done_without_a_kernel() -> None:
    constant = np.arange(6, dtype=np.int32)
    made, rest = moved([plain()], {"one": constant})
    assert made["two"].tolist() == constant.tolist()
    assert rest == []
    assert moved([plain()], {}) == ({}, [plain()])


@pytest.mark.parametrize("fault", SPOILED)
def test_what_is_no_plain_move_is_left_to_kernels(fault: str) -> None:
    nest = SPOILED[fault](plain())
    assert moved([nest], {"one": np.arange(6, dtype=np.int32)}) == ({}, [nest])
