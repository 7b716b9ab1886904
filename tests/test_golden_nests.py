"""What each operator lowers into stays as it is: its nests as text, with what they read and write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests import oracle
from tests.floating_steps import draw
from tests.strategies import operator_graph
from tiling.text import nest_text
from tosajit.dtypes import INT8, INT32
from tosajit.graph import Block, Node
from tosajit.graph.binding import use_of
from tosajit.graph.operator import OPERATORS
from tosajit.operators import TRANSPOSE_CONV2D, AccType
from tosajit.operators.lowering import Lowering
from tosajit.tracing.builder import GraphBuilder

Golden = Callable[[str, str], None]
MOST, FEW = 12, 5
"""Modes of an operator, and its nodes in graphs drawn by chance, that are looked at."""


def lowered(node: Node, block: Block) -> Iterator[str]:
    """The nests of a node; each with its extents, its text, and its accesses."""
    use = use_of(node, block)
    operator: Any = use.operator
    if not hasattr(operator, "lower"):
        return
    yield f"{use.operator}"
    for nest in operator.lower(Lowering(use)):
        yield f"{nest.verb} {nest.outer} of {len(nest.axes)} {[axis.extent for axis in nest.axes]}"
        yield nest_text(nest)
        for one in nest.accesses:
            filled = " filled" if one.fill is not None else ""
            yield f"  {one.operand} {one.type}{list(one.shape)} {one.strides}{filled}"


@pytest.mark.parametrize("name", sorted(set(OPERATORS) & set(oracle.MODES)))
def test_operators_lower_into_what_they_did(name: str, golden: Golden) -> None:
    modes = oracle.MODES[name]
    lines: list[str] = []
    for number, mode in enumerate(modes[:: len(modes) // MOST + 1]):
        for seed in range(3 if number % 4 == 0 else 1):
            block = operator_graph(name, mode, 1000 * number + seed, 200).graph.main
            lines += lowered(block.nodes[-1], block)
    if lines:
        golden(f"nests_{name.lower()}", "\n".join(lines))


def test_operators_of_floating_point_lower_into_what_they_did(golden: Golden) -> None:
    lines: list[str] = []
    drawn: Counter[str] = Counter()
    for block in (draw(seed).graph().main for seed in range(90)):
        for node in block.nodes:
            drawn[node.operator.opcode] += 1
            if drawn[node.operator.opcode] <= FEW:
                lines += lowered(node, block)
    golden("nests_of_floating_point", "\n".join(lines))


def test_wide_steps_of_transposed_convolutions_lower_into_what_they_did(golden: Golden) -> None:
    lines: list[str] = []
    for stride, kernel, pad in (
        ((1, 21), (1, 20), (0, 0, -3, -2)), ((21, 1), (3, 2), (1, 0, -1, 2)),
        ((17, 18), (2, 3), (-1, 3, 0, 0)), ((2, 3), (3, 2), (-1, 1, 2, 0)),
        ((4, 4), (2, 9), (0, 0, 0, 0)), ((16, 1), (1, 1), (0, 5, 0, 1)),
    ):  # fmt: skip
        builder = GraphBuilder()
        point = builder.const(np.array([3], np.int8), INT8)
        operator = TRANSPOSE_CONV2D(out_pad=pad, stride=stride, acc_type=AccType.INT32)
        weight = builder.const(np.ones((2, *kernel, 4), np.int8), INT8)
        bias = builder.const(np.array([1000, -1000], np.int32), INT32)
        image = builder.input("x", INT8, (1, 3, 5, 4))
        builder.output(builder.add(operator, [image, weight, bias, point, point]))
        block = builder.build().main
        lines += lowered(block.nodes[-1], block)
    golden("nests_of_wide_steps", "\n".join(lines))
