"""Depthwise convolutions with several results a channel are those of an input whose channels are repeated."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tests.summing import summed_by_channel
from tests.test_host import LIBRARIES, TYPES, Drawn
from tosajit.kernels.contract.geometry import DepthwiseGeometry
from tosajit.operators import DEPTHWISE_CONV2D, AccType

SHAPES = [
    # shape, times, kernel, stride, pad
    ((1, 9, 8, 16), 2, (3, 3), (1, 1), (1, 1, 1, 1)),
    ((2, 7, 9, 7), 3, (3, 3), (2, 2), (1, 1, 1, 1)),
    ((1, 5, 1, 33), 9, (3, 1), (1, 1), (1, 1, 0, 0)),
    ((1, 6, 17, 3), 8, (2, 5), (1, 3), (0, 1, 2, 1)),
    ((1, 4, 5, 17), 2, (1, 1), (1, 1), (0, 0, 0, 0)),
]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", range(len(SHAPES)))
@pytest.mark.parametrize("form", ["i8", "i16", "rescaled"])
def test_integers_have_the_bits_of_the_oracle(
    library: str, case: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, times, kernel, stride, pad = SHAPES[case]
    drawn, channels = Drawn(case), shape[3] * times
    kind, acc, bias_type = TYPES["i16" if form == "i16" else "i8"]
    operands = [
        drawn.input(kind, shape),
        drawn.const(tj.INT8, (*kernel, shape[3], times)),
        drawn.graph.const(
            drawn.array(tj.INT32, (channels,)).astype(bias_type), tj.INT48 if form == "i16" else tj.INT32
        ),
        drawn.number(kind, 0 if form == "i16" else 11),
        drawn.number(tj.INT8, 0 if form == "i16" or case else -3),
    ]
    operator = DEPTHWISE_CONV2D(pad=pad, stride=stride, dilation=(1, 1), acc_type=acc)
    result = drawn.graph.add(operator, operands)
    if form == "rescaled":
        result = drawn.rescaled(result, channels, double=True, shift=36)
    drawn.check(result, library, 1, monkeypatch)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", range(len(SHAPES)))
@pytest.mark.parametrize("kind", [tj.FP32, tj.FP16])
def test_floating_point_numbers_are_exact_where_sums_are(
    library: str, case: int, kind: tj.DType, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, times, kernel, stride, pad = SHAPES[case]
    random, graph, channels = np.random.default_rng(case), tj.GraphBuilder(), shape[3] * times
    x, weights, bias = (
        random.integers(-2, 3, extents).astype(kind.storage)
        for extents in (shape, (*kernel, shape[3], times), (channels,))
    )
    zeros = [graph.const(np.zeros(1, kind.storage), kind) for _ in range(2)]
    operands = [graph.input("x", kind, shape), graph.const(weights, kind), graph.const(bias, kind), *zeros]
    operator = DEPTHWISE_CONV2D(pad=pad, stride=stride, dilation=(1, 1), acc_type=AccType.FP32)
    graph.output(graph.add(operator, operands))
    monkeypatch.setenv("TOSAJIT_CPU", library)
    executable = tj.compile(graph.build())
    taken = sum(bool(section.nest.prepared) for section in executable.program.sections)
    assert taken == (library != "none")
    found = executable(x)
    window = DepthwiseGeometry(
        shape[:3], found.shape[:3], shape[3], times, kernel, stride, (pad[0], pad[2]), (1, 1)
    )
    exact = summed_by_channel(x.astype(np.float64), weights.astype(np.float64), window)
    np.testing.assert_array_equal(found, exact.reshape(found.shape) + bias)
