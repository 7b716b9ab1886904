"""Costs: every nest of every operator takes time on every machine, once computed and shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import log2
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike

import sim
from sim.cost.costs import Costs
from sim.cost.forms import form_of
from sim.cost.support import LANES_OF, UnsupportedError, array_rate, lane_steps, operand_types
from tests.sim.test_systolic import matmul
from tiling.expr import Expr, apply, read
from tiling.nest import Nest, Reduction
from tosajit.dtypes import INT8, INT16, INT32, DType
from tosajit.npu.simulate import Network
from tosajit.operators import (
    ARGMAX,
    AVG_POOL2D,
    CONCAT,
    GATHER,
    MATMUL,
    MAX_POOL2D,
    PAD,
    REDUCE_SUM,
    RESIZE,
    REVERSE,
    SCATTER,
    TABLE,
    TILE,
    TRANSPOSE,
    ResizeMode,
)
from tosajit.operators.types import AccType
from tosajit.runtime.body import Compute
from tosajit.tracing.builder import GraphBuilder

MACHINES = ("tiny", "systolic-16", "eyeriss-v1", "ethos-u55-32", "ethos-u65-256", "ethos-u85-256")
Make = Callable[[GraphBuilder, str], str]
WINDOW: dict[str, Any] = {"kernel": (2, 2), "stride": (2, 2), "pad": (0, 0, 0, 0)}


def zeros(builder: GraphBuilder, count: int = 1, dtype: DTypeLike = np.int8) -> str:
    return builder.const(np.zeros(count, dtype))


CASES: dict[str, Make] = {
    "argmax": lambda b, x: b.add(ARGMAX(axis=1), [x]),
    "reverse": lambda b, x: b.add(REVERSE(axis=1), [x]),
    "transpose": lambda b, x: b.add(TRANSPOSE(perms=(0, 2, 1)), [x]),
    "concat": lambda b, x: b.add(CONCAT(axis=1), [x, x]),
    "pad": lambda b, x: b.add(PAD(), [x, b.shape([0, 0, 1, 1, 2, 2]), zeros(b)]),
    "tile": lambda b, x: b.add(TILE(), [x, b.shape([1, 2, 3])]),
    "table": lambda b, x: b.add(TABLE(), [x, zeros(b, 256)]),
    "matmul": lambda b, x: b.add(MATMUL(), [x, b.input("z", INT8, (2, 8, 5)), zeros(b), zeros(b)]),
    "gather": lambda b, x: b.add(GATHER(), [x, b.input("i", INT32, (2, 5))]),
    "scatter": lambda b, x: b.add(SCATTER(), [x, b.input("i", INT32, (2, 5)), b.input("v", INT8, (2, 5, 8))]),
}
IMAGES: dict[str, Make] = {
    "average": lambda b, x: b.add(AVG_POOL2D(**WINDOW, acc_type=AccType.INT32), [x, zeros(b), zeros(b)]),
    "maximum": lambda b, x: b.add(MAX_POOL2D(**WINDOW), [x]),
    "resize": lambda b, x: b.add(
        RESIZE(mode=ResizeMode.BILINEAR), [x, b.shape([4, 2, 4, 2]), b.shape([0, 0]), b.shape([2, 2])]
    ),
}


def nests_of(make: Make, dtype: DType = INT8, shape: tuple[int, ...] = (2, 16, 8)) -> list[Nest]:
    builder = GraphBuilder()
    builder.output(make(builder, builder.input("x", dtype, shape)))
    body = Network(builder.build()).body
    return [nest for step in body.steps if isinstance(step, Compute) for nest in step.groups.nests]


def nests_named(name: str) -> list[Nest]:
    if name == "sum":
        return nests_of(lambda b, x: b.add(REDUCE_SUM(axis=1), [x]), INT32)
    if name in IMAGES:
        return nests_of(IMAGES[name], shape=(1, 8, 8, 8))
    return nests_of(CASES[name])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", [*CASES, *IMAGES, "sum"])
def test_nothing_is_free(name: str, machine: str) -> None:
    costs = Costs.of(sim.machine(machine))
    for nest in nests_named(name):
        for tile in (nest.extents, (1,) * len(nest.axes)):
            found = costs.work(nest, tile)
            assert found.cycles >= 1
            assert 0 <= found.fill <= found.cycles
            assert len(found.traffic) == len(nest.reads) + len(nest.writes)
            assert min(found.traffic) >= 0


def test_nests_that_differ_in_names_share_their_work() -> None:
    nest = matmul(10, 20, 30)
    reads = tuple(replace(access, operand=f"other {access.operand}") for access in nest.reads)
    other = replace(nest, reads=reads, members=("elsewhere",))
    costs = Costs.of(sim.machine("systolic-16"))
    assert form_of(nest) is form_of(other)
    assert costs.work(nest, (10, 30, 20)) is costs.work(other, (10, 30, 20))
    assert costs.work(nest, (10, 30, 20)) is not costs.work(nest, (10, 30, 10))


def test_the_parts_of_a_split_sum_do_its_products_and_results_once() -> None:
    nest = matmul(16, 64, 16)
    value = apply("add", nest.writes[0].value, nest.writes[0].value)
    nest = replace(nest, writes=(replace(nest.writes[0], value=value),))
    costs = Costs.of(sim.machine("systolic-16"))
    whole = costs.work(nest, (16, 16, 64))
    parts = [costs.work(nest, (16, 16, 16)) for _ in range(4)]
    assert sum(part.macs for part in parts) == whole.macs
    assert sum(part.operations for part in parts) == whole.operations


def typed(left: str, right: str, total: str) -> Nest:
    """A product of other types."""
    nest = matmul(8, 8, 8)
    value = apply("mul", *(Expr(f"to_{total}", (read(n, t),), total) for n, t in enumerate((left, right))))
    reads = tuple(replace(a, type=t) for a, t in zip(nest.reads, (left, right), strict=True))
    writes = (replace(nest.writes[0], value=Expr("acc", (), total)),)
    return Nest("contract", nest.axes, reads, writes, Reduction("add", 0, total, value))


@pytest.mark.parametrize(
    ("rates", "left", "right", "expected"),
    [
        ({"8x8": 1.0}, "i8", "i8", (1, 1.0)),
        ({"8x8": 1.0}, "i16", "i8", (2, 1.0)),
        ({"8x8": 1.0}, "i16", "i16", (4, 1.0)),
        ({"8x8": 1.0, "16x8": 0.5}, "i8", "i16", (1, 0.5)),
        ({"16x16": 1.0}, "i8", "i8", (1, 1.0)),
        ({"fp32": 1.0}, "f16", "f16", (1, 1.0)),
        ({"8x8": 1.0}, "f16", "f16", None),
        ({"fp16": 1.0}, "f32", "f32", None),
        ({"fp16": 1.0}, "i8", "i8", None),
    ],
)
def test_arrays_multiply_other_types_in_passes_or_not_at_all(
    rates: dict[str, float], left: str, right: str, expected: tuple[int, float] | None
) -> None:
    found = array_rate(rates, left, right)
    assert (found and (found.passes, found.rate)) == expected


def test_pairs_of_types_have_names() -> None:
    assert operand_types("i8", "i16") == "16x8"
    assert operand_types("u8", "i8") == "8x8"
    assert operand_types("f8e4m3", "f8e5m2") == "fp8"
    assert operand_types("i8", "f32") == "fp32"


def test_a_type_takes_the_best_lanes_that_can_stand_in() -> None:
    assert lane_steps({"i8": 16, "i32": 4}, "i8") == (16, 1)
    assert lane_steps({"i32": 4}, "u16") == (4, 1)
    assert lane_steps({"i32": 4}, "i64") == (4, 3)
    assert lane_steps({"f32": 2, "i32": 64}, "f16") == (64, 16)
    assert lane_steps({"i8": 4}, "i64") is None


@pytest.mark.parametrize("types", [("f32", "f32", "f32"), ("i16", "i16", "i64")])
def test_missing_types_of_an_array_are_emulated_or_refused(types: tuple[str, str, str]) -> None:
    base = sim.machine("systolic-16")
    assert base.array is not None
    base = base.model_copy(update={"array": base.array.model_copy(update={"rates": {"8x8": 1.0}})})
    nest = typed(*types)
    assert dict(Costs.of(base).work(nest, nest.extents).detail).keys() & {"emulated_macs", "passes"}
    refusing = base.model_copy(update={"missing_types": "refuse"})
    with pytest.raises(UnsupportedError, match=r"the array of systolic-16 has no .*only 8x8"):
        Costs.of(refusing).work(nest, nest.extents)


@pytest.mark.parametrize("machine", ["systolic-16", "eyeriss-v1", "tiny"])
def test_larger_tiles_take_no_less(machine: str) -> None:
    costs, nest = Costs.of(sim.machine(machine)), matmul(40, 40, 40)
    for tile in product((3, 20, 40), repeat=3):
        for axis in range(3):
            larger = tuple(size + (number == axis) for number, size in enumerate(tile))
            if machine != "eyeriss-v1":
                assert costs.work(nest, larger).cycles >= costs.work(nest, tile).cycles
            assert costs.work(nest, larger).macs > costs.work(nest, tile).macs


def test_wider_integers_take_as_long_at_least() -> None:
    costs = Costs.of(sim.machine("systolic-16"))
    small, large = typed("i8", "i8", "i32"), typed("i16", "i8", "i32")
    assert costs.work(large, large.extents).cycles >= costs.work(small, small.extents).cycles
    assert INT16.bits == 2 * INT8.bits


def test_integers_of_twice_the_bits_take_three_steps_and_wider_lanes_one() -> None:
    bits = {"bool": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
    for kind, lanes in LANES_OF.items():
        for other, steps in lanes:
            if kind in bits:
                assert steps == 3 ** max(0, log2(bits[kind] / bits[other]))
            else:  # the more bits a number has, the longer integers take for it; wider floats take one step
                emulated = {"f8e4m3": 12, "f8e5m2": 12, "f16": 16, "bf16": 16, "f32": 24, "f64": 60}
                assert steps == (emulated[kind] if other == "i32" else 20 if kind == "f64" else 1)
