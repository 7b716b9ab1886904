"""Groups of small graphs, as they are for machines with a scratchpad."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiling.nest import Nest
from tosajit.compiler.options import Options
from tosajit.compiler.planning import ROOMY
from tosajit.dtypes import INT8, INT32, DType
from tosajit.graph import Graph
from tosajit.operators import CONV2D, DEPTHWISE_CONV2D
from tosajit.operators.types import AccType
from tosajit.runtime.body import Compute
from tosajit.runtime.build import build
from tosajit.tracing.builder import GraphBuilder


def groups(graph: Graph) -> tuple[Nest, ...]:
    """The fused nests of a graph without control flow."""
    (step,) = build(graph, Options(ROOMY, run=False)).steps
    assert isinstance(step, Compute)
    return step.groups.nests


def convolution(
    shape: Sequence[int],
    filters: Sequence[int],
    stride: tuple[int, int] = (1, 1),
    pad: tuple[int, int, int, int] = (0, 0, 0, 0),
    dilation: tuple[int, int] = (1, 1),
    depthwise: bool = False,
) -> Nest:
    """The group of a convolution with sums as results."""
    builder = GraphBuilder()
    source = builder.input("input", INT8, tuple(shape))
    kind = DEPTHWISE_CONV2D if depthwise else CONV2D
    columns = filters[2] * filters[3] if depthwise else filters[0]
    operator = kind(pad=pad, stride=stride, dilation=dilation, acc_type=AccType.INT32, local_bound=False)
    inputs = [
        source,
        builder.const(np.ones(tuple(filters), np.int8), INT8),
        builder.const(np.arange(columns, dtype=np.int32), INT32),
        builder.const(np.ones(1, np.int8), INT8),
        builder.const(np.zeros(1, np.int8), INT8),
    ]
    builder.output(builder.add(operator, inputs))
    (nest,) = groups(builder.build())
    return nest


def zero(builder: GraphBuilder, dtype: DType = INT8) -> str:
    """A constant zero."""
    return builder.const(np.zeros(1, dtype.storage), dtype)
