"""Tables and sums of 16 bits on the Ethos-U, held against what Vela 5.2.0 says of a TANH and of an ADD."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit.operators import ADD, LOGICAL_LEFT_SHIFT, RESCALE, TABLE
from tosajit.tracing.builder import GraphBuilder

U55 = "ethos-u55-128/high-end-embedded/shared-sram"
LARGER = "ethos-u55-256/high-end-embedded/sram-only"
U85 = "ethos-u85-256/sys-dram-mid/sram-only"
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
