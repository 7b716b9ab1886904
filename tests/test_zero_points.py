"""Zero points of contractions: constants, inputs and results of the graph, for every pair of types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.strategies import TARGETS, difference
from tosajit.operators import CONV2D, CONV3D, DEPTHWISE_CONV2D, IDENTITY, MATMUL, TRANSPOSE_CONV2D, AccType

# Operator, attributes, shapes of the operands.
CASES: dict[str, tuple[Any, dict[str, Any], tuple[int, ...], tuple[int, ...], int]] = {
    "CONV2D": (
        CONV2D,
        {"pad": (1, 1, 1, 0), "stride": (1, 1), "dilation": (1, 1)},
        (2, 6, 5, 3),
        (4, 3, 3, 3),
        4,
    ),
    "CONV2D of one channel": (
        CONV2D,
        {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1)},
        (2, 6, 5, 1),
        (4, 3, 3, 1),
        4,
    ),
    "CONV3D": (
        CONV3D,
        {"pad": (1, 1, 1, 0, 0, 1), "stride": (1, 1, 1), "dilation": (1, 1, 1)},
        (1, 3, 4, 4, 2),
        (3, 2, 2, 2, 2),
        3,
    ),
    "DEPTHWISE_CONV2D": (
        DEPTHWISE_CONV2D,
        {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1)},
        (2, 6, 5, 3),
        (3, 3, 3, 2),
        6,
    ),
    "DEPTHWISE_CONV2D of one channel": (
        DEPTHWISE_CONV2D,
        {"pad": (0, 2, 2, 1), "stride": (3, 1), "dilation": (1, 3)},
        (2, 5, 2, 1),
        (1, 2, 1, 1),
        1,
    ),
    "TRANSPOSE_CONV2D": (
        TRANSPOSE_CONV2D,
        {"out_pad": (0, 1, 0, 0), "stride": (2, 2)},
        (1, 3, 4, 3),
        (5, 3, 2, 3),
        5,
    ),
}
TYPES = [(tj.INT8, tj.INT8, tj.INT32), (tj.INT16, tj.INT8, tj.INT48), (tj.INT8, tj.INT4, tj.INT32)]
WAYS = ("constant", "input", "result")


class Drawn:
    """A graph, and arrays for its inputs."""

    def __init__(self) -> None:
        self.graph = tj.GraphBuilder()
        self.arrays: list[np.ndarray] = []
        self.random = np.random.default_rng(1)

    def random_array(self, dtype: tj.DType, shape: tuple[int, ...]) -> np.ndarray:
        low, high = (-(10**6), 10**6) if dtype.bits > 16 else (dtype.minimum, dtype.maximum)
        return self.random.integers(int(low), int(high) + 1, shape).astype(dtype.storage)

    def input(self, dtype: tj.DType, array: np.ndarray) -> str:
        self.arrays.append(array)
        return self.graph.input(f"x{len(self.arrays)}", dtype, array.shape)

    def number(self, dtype: tj.DType, value: int, way: str) -> str:
        """Bring a number of one element into the graph."""
        array = np.array([value], dtype.storage)
        if way == "constant":
            return self.graph.const(array, dtype)
        name = self.input(dtype, array)
        return name if way == "input" else self.graph.add(IDENTITY(), [name])

    def check(self, result: str) -> None:
        """Compare all targets with the oracle."""
        self.graph.output(result)
        graph = self.graph.build()
        (expected,) = oracle.run_graph(graph, self.arrays)
        for name, target in TARGETS.items():
            fault = difference(tj.compile(graph, target=target)(*self.arrays), expected)
            assert not fault, f"{name}{fault}"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("points", [(0, 0), (0, 5), (-128, 127), (127, -128)])
@pytest.mark.parametrize("types", TYPES, ids=lambda types: f"{types[0]}-{types[1]}")
@pytest.mark.parametrize("case", CASES)
def test_convolutions_subtract_both_zero_points(
    case: str, types: tuple[tj.DType, ...], points: tuple[int, int], way: str
) -> None:
    left, right, total = types
    operator, attributes, shape, weight_shape, channels = CASES[case]
    input_zp = 0 if left is tj.INT16 else points[0]
    weight_zp = 0 if right is tj.INT4 else points[1]
    drawn = Drawn()
    x = drawn.input(left, drawn.random_array(left, shape))
    weight = drawn.graph.const(drawn.random_array(right, weight_shape), right)
    bias = drawn.graph.const(drawn.random_array(total, (channels,)), total)
    zeros = drawn.number(left, input_zp, way), drawn.number(right, weight_zp, way)
    drawn.check(drawn.graph.add(operator(**attributes, acc_type=total.name), [x, weight, bias, *zeros]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("points", [(0, 0), (-128, 127), (127, -128)])
@pytest.mark.parametrize("kind", [tj.INT8, tj.INT16], ids=str)
def test_matrix_products_subtract_both_zero_points(kind: tj.DType, points: tuple[int, int], way: str) -> None:
    drawn = Drawn()
    a = drawn.input(kind, drawn.random_array(kind, (2, 5, 7)))
    b = drawn.input(kind, drawn.random_array(kind, (2, 7, 9)))
    zeros = [drawn.number(kind, 0 if kind is tj.INT16 else point, way) for point in points]
    drawn.check(drawn.graph.add(MATMUL(), [a, b, *zeros]))


@pytest.mark.parametrize("target", TARGETS)
def test_a_zero_point_that_must_be_zero_is_checked_when_it_is_known(target: str) -> None:
    drawn = Drawn()
    x = drawn.input(tj.INT16, drawn.random_array(tj.INT16, (1, 4, 4, 2)))
    weight = drawn.graph.const(drawn.random_array(tj.INT8, (3, 1, 1, 2)), tj.INT8)
    bias = drawn.graph.const(drawn.random_array(tj.INT48, (3,)), tj.INT48)
    zeros = drawn.number(tj.INT16, 1, "result"), drawn.number(tj.INT8, 0, "input")
    operator = CONV2D(pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT48)
    result = drawn.graph.add(operator, [x, weight, bias, *zeros])
    drawn.graph.output(result)
    executable = tj.compile(drawn.graph.build(), target=TARGETS[target])
    with pytest.raises(tj.GraphError, match=rf"{result} \(CONV2D\) input_zp: .*2\.3\.3"):
        executable(*drawn.arrays)
