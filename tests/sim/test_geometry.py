"""What contractions and reductions are, by how they reach their operands."""

from __future__ import annotations

import numpy as np
import pytest

from sim.cost.geometry import Geometry, geometry, squarest
from tests.sim.nests import convolution, groups, zero
from tiling.nest import Nest
from tosajit.dtypes import INT8, INT32
from tosajit.operators import ADD, AVG_POOL2D, MATMUL, MAX_POOL2D, REDUCE_MAX, REDUCE_SUM, TRANSPOSE_CONV2D
from tosajit.operators.types import AccType, NanMode
from tosajit.tracing.builder import GraphBuilder


def whole(nest: Nest) -> Geometry:
    found = geometry(nest, nest.extents)
    assert found is not None
    return found


def test_a_convolution_has_its_window_stride_and_channels() -> None:
    found = whole(convolution((1, 17, 19, 8), (24, 3, 5, 8), (2, 1), (1, 1, 2, 2)))
    assert (found.kind, found.height, found.width, found.columns) == ("contract", 9, 19, 24)
    assert (found.kernel, found.in_channels, found.stride) == ((3, 5), 8, (2, 1))
    assert (found.rows, found.window, found.macs) == (171, 120, 171 * 120 * 24)
    assert found.input == (17, 19)


def test_a_dilated_window_reaches_further() -> None:
    found = whole(convolution((1, 20, 20, 4), (8, 3, 3, 4), dilation=(2, 3)))
    assert (found.kernel, found.dilation, found.height, found.width) == ((3, 3), (2, 3), 16, 14)


def test_a_part_of_a_convolution_has_the_extents_of_the_part() -> None:
    nest = convolution((1, 16, 16, 8), (16, 3, 3, 8), pad=(1, 1, 1, 1))
    tile = list(nest.extents)
    tile[0] = 4
    found = geometry(nest, tile)
    assert found is not None
    assert (found.height, found.width) == (4, 16)
    assert found.input[0] == 6


def test_positions_of_a_pointwise_convolution_form_a_rectangle() -> None:
    found = whole(convolution((1, 12, 12, 32), (16, 1, 1, 32)))
    assert (found.height, found.width, found.kernel, found.in_channels) == (12, 12, (1, 1), 32)


def test_a_strided_pointwise_convolution_keeps_its_stride() -> None:
    found = whole(convolution((1, 15, 15, 32), (64, 1, 1, 32), stride=(2, 2)))
    assert (found.height, found.width, found.kernel, found.stride) == (8, 8, (1, 1), (2, 2))
    assert (found.columns, found.in_channels) == (64, 32)


@pytest.mark.parametrize("multiplier", [1, 4])
def test_a_depthwise_convolution_has_no_channels_to_sum(multiplier: int) -> None:
    found = whole(convolution((1, 16, 16, 32), (3, 3, 32, multiplier), pad=(1, 1, 1, 1), depthwise=True))
    assert (found.kind, found.columns, found.in_channels) == ("depthwise", 32 * multiplier, 1)
    assert (found.kernel, found.macs) == ((3, 3), 16 * 16 * 32 * multiplier * 9)


def test_a_batch_shares_the_weights_of_a_convolution() -> None:
    found = whole(convolution((3, 8, 8, 8), (8, 3, 3, 8), pad=(1, 1, 1, 1)))
    assert (found.groups, found.images, found.rows) == (1, 3, 3 * 64)


def test_a_batch_of_products_shares_nothing() -> None:
    builder = GraphBuilder()
    left, right = (builder.input(n, INT8, s) for n, s in (("a", (3, 20, 32)), ("b", (3, 32, 24))))
    builder.output(builder.add(MATMUL(), [left, right, zero(builder), zero(builder)]))
    (nest,) = groups(builder.build())
    found = whole(nest)
    assert (found.groups, found.rows, found.columns, found.window) == (3, 20, 24, 32)


def test_a_transposed_convolution_has_all_its_products() -> None:
    builder = GraphBuilder()
    weights = builder.const(np.ones((6, 3, 3, 5), np.int8), INT8)
    bias = builder.const(np.zeros(6, np.int32), INT32)
    operator = TRANSPOSE_CONV2D(
        out_pad=(0, 0, 0, 0), stride=(2, 2), acc_type=AccType.INT32, local_bound=False
    )
    source = builder.input("input", INT8, (1, 8, 8, 5))
    builder.output(builder.add(operator, [source, weights, bias, zero(builder), zero(builder)]))
    nests = [nest for nest in groups(builder.build()) if nest.verb == "contract"]
    assert nests
    for nest in nests:
        found = whole(nest)
        assert found.macs == nest.points
        assert found.columns == 6


def test_pooling_is_a_window_of_each_channel() -> None:
    builder = GraphBuilder()
    source = builder.input("input", INT8, (1, 16, 16, 24))
    pool = AVG_POOL2D(kernel=(3, 3), stride=(2, 2), pad=(1, 0, 1, 0), acc_type=AccType.INT32)
    builder.output(builder.add(pool, [source, zero(builder), zero(builder)]))
    most = MAX_POOL2D(kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0), nan_mode=NanMode.PROPAGATE)
    builder.output(builder.add(most, [source]))
    average, maximum = (whole(nest) for nest in groups(builder.build()))
    assert (average.kind, average.op, average.kernel, average.stride) == ("window", "add", (3, 3), (2, 2))
    assert (maximum.kind, maximum.op, maximum.kernel) == ("window", "max", (2, 2))
    assert average.columns == maximum.columns == 24
    assert average.in_channels == 1


def test_a_reduction_of_channels_is_not_one_of_a_window() -> None:
    for operator, op in (
        (REDUCE_SUM(axis=1), "add"),
        (REDUCE_MAX(axis=1, nan_mode=NanMode.PROPAGATE), "max"),
    ):
        builder = GraphBuilder()
        builder.output(builder.add(operator, [builder.input("input", INT32, (12, 40))]))
        (nest,) = groups(builder.build())
        found = whole(nest)
        assert (found.kind, found.op, found.rows, found.in_channels) == ("channel", op, 12, 40)


def test_elementwise_work_has_no_geometry() -> None:
    builder = GraphBuilder()
    pair = [builder.input(name, INT32, (4, 4)) for name in "ab"]
    builder.output(builder.add(ADD(), pair))
    (nest,) = groups(builder.build())
    assert geometry(nest, nest.extents) is None


def test_folding_is_exact_and_as_square_as_can_be() -> None:
    assert [squarest(n) for n in (1, 12, 49, 125, 13)] == [(1, 1), (3, 4), (7, 7), (5, 25), (1, 13)]
