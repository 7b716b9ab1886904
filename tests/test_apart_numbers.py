"""Which numbers of a group are equal is no part of its kernel's text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tosajit as tj
from tiling.expr import call, read, walk
from tiling.nest import Access, Axis, Nest, Write, identity
from tosajit.dtypes import INT8, INT32
from tosajit.host.numbers import apart_numbers
from tosajit.kernels.emit import Emitted
from tosajit.operators import ADD, MUL
from tosajit.tracing.builder import GraphBuilder


def polynomial(first: int, second: int, third: int) -> tj.Graph:
    """`((x + first) * x + second) * x + third`."""
    builder = GraphBuilder()
    x = total = builder.input("x", INT32, (40,))
    shift = builder.const(np.zeros(1, np.int8), INT8)
    for place, number in enumerate((first, second, third)):
        if place:
            total = builder.add(MUL(), [total, x, shift])
        total = builder.add(ADD(), [total, builder.const(np.array([number], np.int32), INT32)])
    builder.output(total)
    return builder.build()


def text_of(graph: tj.Graph) -> str:
    made = tj.compile(graph, generic="never")
    (code,) = made.stages["emit"].values["main"].codes
    assert isinstance(code, Emitted)
    return code.source


@pytest.mark.parametrize("numbers", [(5, 5, 7), (5, 7, 5), (7, 5, 5), (5, 5, 5)])
def test_a_kernel_is_the_same_whichever_of_its_numbers_are_equal(numbers: tuple[int, int, int]) -> None:
    graph, x = polynomial(*numbers), np.arange(-20, 20, dtype=np.int32)
    assert text_of(graph) == text_of(polynomial(3, 4, 5))
    first, second, third = numbers
    expected = ((x + first) * x + second) * x + third
    np.testing.assert_array_equal(tj.compile(graph, generic="never")(x), expected)


def test_constants_are_read_for_each_use_and_other_values_once() -> None:
    x, n = read(0, "i32"), read(1, "i32")
    total = call("add_i32", x, n, type="i32")
    value = call("add_i32", call("add_i32", total, total, type="i32"), n, type="i32")
    along = Access("x", "i32", (8,), identity(1))
    reads, write = (along, Access("n", "i32", (), ())), Write(replace(along, operand="y"), value)
    nest = Nest("map", (Axis("x", 8),), reads, (write,))
    for constants, operands in (({"n": np.ones(1, np.int32)}, ["x", "n", "n"]), ({}, ["x", "n"])):
        made = apart_numbers(nest, constants)
        assert [access.operand for access in made.reads] == operands
        assert sum(bool(node.operands) for node in walk(made.writes[0].value)) == 3
