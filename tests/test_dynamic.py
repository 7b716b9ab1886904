"""EXT-DYNAMIC: what is a constant elsewhere may come with the data, and is checked when it is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.building import while_loop
from tests.strategies import TARGETS, difference
from tosajit.operators import (
    AVG_POOL2D,
    CLAMP,
    GREATER,
    MATMUL,
    MUL,
    NEGATE,
    PAD,
    RESCALE,
    SUB,
    TABLE,
)

SCALING: dict[str, Any] = {
    "scale32": True,
    "rounding_mode": "SINGLE_ROUND",
    "per_channel": False,
    "input_unsigned": False,
    "output_unsigned": False,
}
POOL: dict[str, Any] = {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0, 0, 0), "acc_type": "INT32"}
I8, I16, I32 = tj.INT8, tj.INT16, tj.INT32
# Operator, its operands, the type of the result, what is wrong.
FAULTS: dict[str, tuple[Any, list[tuple[tj.DType, Any]], tj.DType | None, str]] = {
    "a zero point of INT32": (
        RESCALE(**SCALING),
        [(I32, [5]), (I32, [1 << 30]), (I8, [31]), (I32, [3]), (I8, [0])],
        I8,
        r"node \(RESCALE\) input_zp: it is 3, .*2\.13\.2",
    ),
    "a shift": (
        RESCALE(**SCALING),
        [(I32, [5]), (I32, [1 << 30]), (I8, [70]), (I32, [0]), (I8, [0])],
        I8,
        r"node \(RESCALE\) shift: it is 70, .*2\.13\.2",
    ),
    "a multiplier": (
        RESCALE(**SCALING),
        [(I32, [5]), (I32, [-5]), (I8, [31]), (I32, [0]), (I8, [0])],
        I8,
        r"node \(RESCALE\) multiplier: it is -5, .*2\.13\.2",
    ),
    "a zero point of INT16": (
        NEGATE(),
        [(I16, [1]), (I16, [2]), (I16, [0])],
        None,
        r"node \(NEGATE\) input1_zp: it is 2, .*2\.6\.10",
    ),
    "a zero point of a matrix": (
        MATMUL(),
        [(I16, [[[1]]]), (I16, [[[1]]]), (I16, [2]), (I16, [0])],
        None,
        r"node \(MATMUL\) A_zp: it is 2, .*2\.3\.7",
    ),
    "a zero point of a pool": (
        AVG_POOL2D(**POOL),
        [(I16, [[[[1]]]]), (I16, [0]), (I16, [1])],
        None,
        r"node \(AVG_POOL2D\) output_zp: it is 1, .*2\.3\.2",
    ),
    "a shift that only INT32 has": (
        MUL(),
        [(I16, [1]), (I16, [1]), (I8, [3])],
        None,
        r"node \(MUL\) shift: it is 3, .*2\.5\.14",
    ),
    "a shift that is negative": (
        MUL(),
        [(I32, [1]), (I32, [1]), (I8, [-7])],
        None,
        r"node \(MUL\) shift: it is -7, .*2\.5\.14",
    ),
}


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fault", FAULTS)
def test_operands_are_checked_when_they_are_known(fault: str, target: str, checked: bool) -> None:
    operator, operands, dtype, message = FAULTS[fault]
    graph = tj.GraphBuilder()
    arrays = [np.asarray(array, kind.storage) for kind, array in operands]
    names = [graph.input(f"x{n}", kind, arrays[n].shape) for n, (kind, _) in enumerate(operands)]
    graph.output(graph.add(operator, names, dtype=dtype, name="node"))
    executable = tj.compile(graph.build(), target=TARGETS[target], checked=checked)
    with pytest.raises(tj.GraphError, match=message):
        executable(*arrays)


@pytest.mark.parametrize("target", TARGETS)
def test_one_executable_takes_other_numbers_with_every_call(target: str) -> None:
    """Tables, scales and padding that come with the data, between operators that fuse."""
    graph, random = tj.GraphBuilder(), np.random.default_rng(6)
    x = graph.input("x", I32, (3, 7))
    scale, shift = graph.input("scale", I32, (1,)), graph.input("shift", I8, (1,))
    points = graph.const(np.zeros(1, np.int32), I32), graph.input("zero", I8, (1,))
    small = graph.add(RESCALE(**SCALING), [x, scale, shift, *points], dtype=I8)
    looked = graph.add(TABLE(), [small, graph.input("table", I8, (256,))])
    wide = graph.add(PAD(), [looked, graph.shape([1, 0, 0, 2]), graph.input("fill", I8, (1,))])
    graph.output(graph.add(CLAMP(min_val=-100, max_val=100), [wide]), small)
    built = graph.build()
    executable = tj.compile(built, target=TARGETS[target])
    for _ in range(5):
        arrays = [
            random.integers(-1000, 1000, (3, 7), np.int32),
            random.integers(1 << 20, 1 << 30, 1, np.int32),
            random.integers(30, 36, 1, np.int8),
            random.integers(-128, 128, 1, np.int8),
            random.integers(-128, 128, 256, np.int8),
            random.integers(-128, 128, 1, np.int8),
        ]
        for array, wanted in zip(executable(*arrays), oracle.run_graph(built, arrays), strict=True):
            fault = difference(array, wanted)
            assert not fault, fault


def test_a_loop_checks_every_round() -> None:
    graph = tj.GraphBuilder()
    x, shift = graph.input("x", I32, (1,)), graph.input("shift", I8, (1,))
    one = np.ones(1, np.int8)

    def again(region: tj.GraphBuilder, x: str, shift: str) -> str:
        return region.add(GREATER(), [x, region.const(np.zeros(1, np.int32), I32)])

    def step(region: tj.GraphBuilder, x: str, shift: str) -> list[str]:
        (factor,) = (region.const(np.ones(1, np.int32), I32),)
        less = region.add(SUB(), [region.add(MUL(), [x, factor, shift], name="scaled"), factor])
        zeros = [region.const(one * 0, I8), region.const(one, I8)]
        return [less, region.add(NEGATE(), [region.add(NEGATE(), [shift, *zeros]), zeros[0], zeros[0]])]

    graph.output(*while_loop(graph, [x, shift], again, step))
    executable = tj.compile(graph.build())
    assert executable(np.array([1], np.int32), np.array([0], np.int8))[0] == 0
    with pytest.raises(tj.GraphError, match=r"scaled \(MUL\) shift: it is -1, "):
        executable(np.array([5], np.int32), np.array([0], np.int8))
