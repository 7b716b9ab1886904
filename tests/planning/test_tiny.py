"""What can be tiled is tiled: every operator fits 2 KiB, however long its axes and large its tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import tosajit as tj
from tests.oracle import MODES, Mode
from tests.oracle.drawing import EXTENTS
from tests.strategies import operator_graph
from tiling.choose import least_room
from tiling.expr import read
from tiling.menu import menu_of
from tiling.nest import Access, Axis, Indirect, Nest, Write, along
from tiling.target import TINY, Target
from tosajit import ops

EVERY = [
    pytest.param(name, mode, id=f"{name}-{mode}")
    for name, modes in MODES.items()
    for mode in modes
    if "inexact" not in mode.variant
]
LONG = (*EXTENTS, 129, 513, 2049, 5000, 20_000)
ELEMENTS = 20_000


def check(graph: tj.Graph) -> None:
    """Timed, and of that time every cycle has its cause: so it has been planned."""
    report = tj.simulate(graph, "tiny")
    assert report.peak_scratchpad_bytes <= (TINY.scratch_bytes or 0)


@pytest.mark.parametrize(("operator", "mode"), EVERY)
def test_an_operator_of_large_shapes_fits(operator: str, mode: Mode) -> None:
    check(operator_graph(operator, mode, 1701, ELEMENTS, LONG).graph)


def zeros(*shape: int) -> NDArray[np.float32]:
    return np.zeros(shape, np.float32)


FLOATING = {
    "fft2d": tj.trace(ops.fft2d, zeros(1, 64, 1024), zeros(1, 64, 1024)),
    "rfft2d": tj.trace(ops.rfft2d, zeros(2, 256, 128)),
    "matmul": tj.trace(ops.matmul, zeros(2, 3, 5000), zeros(2, 5000, 7)),
    "argmax": tj.trace(lambda x: ops.argmax(x, axis=1), zeros(3, 9000)),
    "reduce_product": tj.trace(lambda x: ops.reduce_product(x, axis=0), zeros(9000, 3)),
    "transpose": tj.trace(lambda x: ops.transpose(x, (2, 0, 1)), zeros(30, 70, 50)),
    "gather": tj.trace(ops.gather, zeros(1, 40, 900), np.zeros((1, 7), np.int32)),
    "pool": tj.trace(
        lambda x: ops.avg_pool2d(x, kernel=(90, 90), stride=(1, 1), pad=(0, 0, 0, 0), acc_type="FP32"),
        zeros(1, 95, 95, 3),
    ),
    "resize": tj.trace(
        lambda x: ops.resize(x, scale=(4, 2, 4, 2), offset=(0, 0), border=(0, 0), mode="BILINEAR"),
        zeros(1, 40, 50, 3),
    ),
}


@pytest.mark.parametrize("name", FLOATING)
def test_an_operator_of_floating_point_numbers_fits(name: str) -> None:
    check(FLOATING[name])


def looked_up(elements: int, operands: int) -> Nest:
    """Adds up several operands, of which the first is a table that data choose from."""
    index = Indirect(read(1, "i32"))
    others = [Access(f"x{number}", "i32", (64,), (along(0, 1),)) for number in range(operands)]
    table = Access("table", "i32", (elements,), (index,))
    write = Write(Access("y", "i32", (64,), (along(0, 1),)), read(0, "i32"))
    return Nest("map", (Axis("i", 64),), (table, *others), (write,), None, ("lookup",))


@pytest.mark.parametrize("operands", [1, 15, 16, 30])
def test_a_table_stays_in_memory_where_it_leaves_no_room_for_a_tile(operands: int) -> None:
    """Half of the scratchpad is for a table; beside it, 64 bytes apart, 16 boxes have room."""
    nest, target = looked_up(256, operands), replace(TINY, alignment=64)
    menu = menu_of(nest, target)
    inside = operands + 1 <= 16
    assert (menu.rooms[:, 0] > 0).all() == inside
    assert menu.least == least_room(nest, target) == 64 * (operands + 1) + inside * 1024


@pytest.mark.parametrize("elements", [1, 255, 256, 257, 10_000])
@pytest.mark.parametrize("capacity", [64, 1024, 2048])
def test_no_table_is_too_large(elements: int, capacity: int) -> None:
    assert least_room(looked_up(elements, 1), Target("small", capacity, 4)) <= capacity
