"""Tables and sums of 16 bits on the Ethos-U, held against what Vela 5.2.0 says of a TANH and of an ADD."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from sim.cost.ethos.stages import stages_of
from tests.sim.nests import groups
from tosajit import ops
from tosajit.operators import ADD, LOGICAL_LEFT_SHIFT, RESCALE, TABLE
from tosajit.tracing.builder import GraphBuilder
from tosajit.tracing.tensor import Tensor

U55 = "ethos-u55-128/high-end-embedded/shared-sram"
LARGER = "ethos-u55-256/high-end-embedded/sram-only"
U85 = "ethos-u85-256/sys-dram-mid/sram-only"
DEDICATED = "ethos-u65-256/high-end/dedicated-sram-384kb"
ENTRIES = np.arange(-128, 128, dtype=np.int8)
SMALL, LARGE = (1, 16, 16, 16), (1, 32, 32, 16)


def rescaled(builder: GraphBuilder, value: str, source: Any, result: Any, shift: int = 30) -> str:
    operator = RESCALE(scale32=True, input_unsigned=False, output_unsigned=False)
    multiplier = builder.const(np.array([1 << 30], np.int32))
    zeros = (builder.const(np.zeros(1, one.storage), one) for one in (source, result))
    return str(
        builder.add(
            operator, [value, multiplier, builder.const(np.array([shift], np.int8)), *zeros], dtype=result
        )
    )


def looked_up(builder: GraphBuilder, value: str, dtype: Any) -> str:
    """A table, whose result is scaled to what its index is where it has 16 bits."""
    if dtype is tj.INT8:
        entries = builder.const(np.arange(-128, 128, dtype=np.int8))
        return str(builder.add(TABLE(), [value, entries]))
    entries = builder.const(np.linspace(-32768, 32767, 513).astype(np.int16))
    found = builder.add(TABLE(), [value, entries])
    return rescaled(builder, str(found), tj.INT32, tj.INT16, 37)


def table(dtype: Any, shape: tuple[int, ...], times: int = 1) -> tj.Graph:
    builder = GraphBuilder()
    value = builder.input("x", dtype, shape)
    for _ in range(times):
        value = looked_up(builder, value, dtype)
    builder.output(value)
    return builder.build()


@pytest.mark.parametrize(
    ("machine", "dtype", "shape", "cycles"),
    [
        (U55, tj.INT8, SMALL, 4352),
        (U55, tj.INT8, LARGE, 16640),
        (LARGER, tj.INT8, SMALL, 3232),
        (LARGER, tj.INT8, LARGE, 8384),
        (U85, tj.INT8, SMALL, 3392),
        (U85, tj.INT8, LARGE, 9536),
        (U55, tj.INT16, SMALL, 8544),
        (U55, tj.INT16, LARGE, 33120),
        (LARGER, tj.INT16, SMALL, 4368),
        (LARGER, tj.INT16, LARGE, 16656),
        (U85, tj.INT16, SMALL, 5952),
        (U85, tj.INT16, LARGE, 18240),
    ],
)
def test_a_table_is_a_pooling_of_single_elements(
    machine: str, dtype: Any, shape: tuple[int, ...], cycles: int
) -> None:
    assert tj.simulate(table(dtype, shape), machine).busy["vector"] == cycles


def test_tables_of_bytes_become_one_and_tables_of_words_do_not() -> None:
    for dtype, passes in ((tj.INT8, 1), (tj.INT16, 2)):
        one, two = (tj.simulate(table(dtype, SMALL, times), U55).busy["vector"] for times in (1, 2))
        assert two == passes * one


@pytest.mark.parametrize(("machine", "cycles"), [(U55, 6144), (U85, 1024)])
def test_a_sum_of_words_is_one_pass_like_one_of_bytes(machine: str, cycles: int) -> None:
    """One operand is shifted before it is scaled, for its precision; the hardware has a shift of its own."""
    builder = GraphBuilder()
    one, other = (builder.input(name, tj.INT16, SMALL) for name in "ab")
    wide = rescaled(builder, other, tj.INT16, tj.INT32)
    shift = builder.const(np.full((1, 1, 1, 1), 7, np.int32))
    shifted = rescaled(builder, str(builder.add(LOGICAL_LEFT_SHIFT(), [wide, shift])), tj.INT32, tj.INT32)
    total = builder.add(ADD(), [rescaled(builder, one, tj.INT16, tj.INT32), shifted])
    builder.output(rescaled(builder, str(total), tj.INT32, tj.INT16))
    assert tj.simulate(builder.build(), machine).busy["vector"] == cycles


def test_a_table_that_two_operators_read_is_looked_up_once() -> None:
    def network(x: Tensor) -> tuple[Tensor, Tensor]:
        found = ops.table(x, ENTRIES)
        return ops.reduce_max(found, axis=0), ops.rescale(found, multiplier=1 << 30, shift=29, dtype=tj.INT8)

    found = groups(tj.trace(network, tj.Value("x", tj.INT8, (64, 16))))
    assert [any("table" in name for name in nest.members) for nest in found].count(True) == 1


def test_a_function_of_a_table_that_is_kept_is_an_operation_behind_it() -> None:
    def wide(x: Tensor) -> Tensor:
        return ops.rescale(x, multiplier=1 << 30, shift=30, dtype=tj.INT32)

    def narrow(x: Tensor) -> Tensor:
        return ops.rescale(x, multiplier=1 << 30, shift=31, dtype=tj.INT8)

    def cell(x: Tensor, y: Tensor) -> Tensor:
        gate = ops.table(x, ENTRIES)
        rest = narrow(ops.sub(ops.const(np.array([255], np.int32)), wide(gate)))
        return narrow(ops.add(wide(rest), wide(narrow(ops.mul(wide(gate), wide(y))))))

    x, y = (tj.Value(name, tj.INT8, (64,)) for name in "xy")
    (nest,) = groups(tj.trace(cell, x, y))
    assert [stage.table for stage in stages_of(nest).after].count(True) == 1


def test_a_table_comes_behind_the_last_pass_of_the_operator_in_front() -> None:
    """What sums up takes long, but what is behind it does not, and hides less of a table's coming."""

    def network(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        wide = ops.rescale(x, multiplier=1 << 30, shift=30, dtype=tj.INT32)
        total = ops.sub(ops.reduce_sum(wide, axis=0), np.array([[9]], np.int32))
        return ops.rescale(total, multiplier=1 << 30, shift=36, dtype=tj.INT8), ops.table(y, ENTRIES)

    graph = tj.trace(network, tj.Value("x", tj.INT8, (4096, 16)), tj.Value("y", tj.INT8, (64,)))
    first, second = tj.simulate(graph, U55).operators
    assert first.busy["array"] > 1000
    assert 200 <= second.cycles.get("dependency", 0) <= 320


def test_copies_are_poolings_of_single_elements() -> None:
    """Vela 5.2.0, of two maps side by side: two operations of 4496 cycles."""

    def network(x: Tensor, y: Tensor) -> Tensor:
        return ops.concat([x, y], axis=3)

    graph = tj.trace(network, *(tj.Value(name, tj.INT8, (1, 14, 14, 16)) for name in "xy"))
    assert tj.simulate(graph, U55).busy["vector"] == 8992


@pytest.mark.parametrize(("multiplied", "least", "most"), [(False, 0, 0), (True, 520, 568)])
def test_what_hides_a_table_has_its_maps_where_they_live(multiplied: bool, least: int, most: int) -> None:
    """As Vela 5.2.0 has it: behind a pooling of elements in DRAM a table of the U65 comes unseen."""

    def network(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if not multiplied:
            return ops.table(x, ENTRIES), ops.table(y, ENTRIES)
        wide = ops.rescale(x, multiplier=1 << 30, shift=30, dtype=tj.INT32)
        return ops.rescale(ops.mul(wide, wide), multiplier=1 << 30, shift=37, dtype=tj.INT8), ops.table(
            y, ENTRIES
        )

    x, y = tj.Value("x", tj.INT8, (1, 12)), tj.Value("y", tj.INT8, (16,))
    _, second = tj.simulate(tj.trace(network, x, y), DEDICATED).operators
    assert least <= second.cycles.get("dependency", 0) <= most


def dense(x: Tensor, *behind: Tensor) -> Tensor:
    """A layer whose weights take long to come, and additions behind it."""
    weights = np.random.default_rng(1).integers(-127, 128, (16, 1, 1, 64), np.int8)
    total = ops.conv2d(x, ops.const(weights), ops.const(np.zeros(1, np.int32)))
    found = ops.rescale(total, multiplier=1 << 30, shift=40, dtype=tj.INT8)
    for other in behind:
        one, two = (ops.rescale(v, multiplier=1 << 30, shift=30, dtype=tj.INT32) for v in (found, other))
        found = ops.rescale(ops.add(one, two), multiplier=1 << 30, shift=31, dtype=tj.INT8)
    return found


def test_a_table_does_not_come_while_weights_do() -> None:
    """The layer in front waits for its weights, and they have the port that the table comes by."""
    x, y = tj.Value("x", tj.INT8, (1, 1, 1, 64)), tj.Value("y", tj.INT8, (64,))
    graph = tj.trace(lambda x, y: (dense(x), ops.table(y, ENTRIES)), x, y)
    first, second = tj.simulate(graph, U55).operators
    assert first.cycles["weights"] > 320
    assert second.cycles["dependency"] == 320 - first.cycles["compute"] - first.cycles["fill"]


def test_passes_behind_a_layer_do_not_hide_its_weights() -> None:
    x, y = tj.Value("x", tj.INT8, (1, 1, 1, 64)), tj.Value("y", tj.INT8, (1, 1, 1, 16))
    alone, more = tj.trace(dense, x), tj.trace(dense, x, y)
    one, two = (tj.simulate(graph, U55).operators for graph in (alone, more))
    assert len(one) == len(two) == 1
    assert two[0].total - one[0].total == 24
