"""Small graphs with regions, for tests of control flow, variables and custom operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import tosajit as tj
from tests import oracle
from tests.strategies import difference
from tosajit.dtypes import INT32, DType
from tosajit.graph import Graph
from tosajit.graph.operator import Operator
from tosajit.operators import COND_IF, WHILE_LOOP
from tosajit.tracing.builder import GraphBuilder

Signature = Sequence[tuple[DType, tuple[int, ...]]]
Body = Callable[..., Any]


def region(builder: GraphBuilder, name: str, inputs: Signature, body: Body) -> GraphBuilder:
    """Add a region: `body(region, *names of its inputs)` returns the name or names of its outputs."""
    made = builder.region(name)
    names = [made.input(f"in{i}", dtype, shape) for i, (dtype, shape) in enumerate(inputs)]
    outputs = body(made, *names)
    made.output(*([outputs] if isinstance(outputs, str) else outputs))
    return made


def signature(builder: GraphBuilder, names: Sequence[str]) -> Signature:
    """Types and shapes of values."""
    values = [builder.value(name) for name in names]
    return [(value.dtype, value.shape or ()) for value in values]


def cond_if(
    builder: GraphBuilder, condition: str, inputs: Sequence[str], then: Body, other: Body
) -> tuple[str, ...]:
    """Add a COND_IF with regions of its own."""
    number = len(builder._regions)
    types = signature(builder, inputs)
    first = region(builder, f"then_{number}", types, then)
    region(builder, f"else_{number}", types, other)
    operator = COND_IF(then_graph=f"then_{number}", else_graph=f"else_{number}")
    outputs = signature(first, first.block().outputs)
    return add_all(builder, operator, [condition, *inputs], outputs)


def while_loop(builder: GraphBuilder, inputs: Sequence[str], condition: Body, body: Body) -> tuple[str, ...]:
    """Add a WHILE_LOOP with regions of its own."""
    number = len(builder._regions)
    types = signature(builder, inputs)
    region(builder, f"cond_{number}", types, condition)
    region(builder, f"body_{number}", types, body)
    return add_all(
        builder, WHILE_LOOP(cond_graph=f"cond_{number}", body_graph=f"body_{number}"), inputs, types
    )


def add_all(
    builder: GraphBuilder, operator: Operator, inputs: Sequence[str], outputs: Signature
) -> tuple[str, ...]:
    """Add an operator whose outputs have names that say where they are from."""
    stem = f"{operator.opcode.lower()}_{len(builder.block().values)}"
    names = [f"{stem}_{place}" for place in range(len(outputs))]
    return builder.add_all(operator, inputs, outputs, names)


def assert_runs(
    graph: Graph,
    *arrays: Any,
    context: Any = None,
    known: oracle.Context | None = None,
    executable: Any = None,
    custom: Mapping[tuple[str, str], Any] | None = None,
) -> list[np.ndarray]:
    """Run a graph and compare it with the oracle; returns the outputs."""
    functions = {key: value.function for key, value in (custom or {}).items()}
    expected = oracle.run_graph(graph, arrays, known, functions)
    run = executable or tj.compile(graph, custom=custom)
    outputs = run(*arrays) if context is None else run(*arrays, context=context)
    results = list(outputs) if isinstance(outputs, tuple) else [outputs]
    assert len(results) == len(expected)
    for number, (array, wanted) in enumerate(zip(results, expected, strict=True)):
        fault = difference(array, wanted)
        assert not fault, f"output {number}{fault}"
    return results


def int32(*values: int) -> np.ndarray:
    """Make an INT32 tensor of rank one."""
    return np.array(values, np.int32)


def truth(value: bool, *shape: int) -> np.ndarray:
    """Make a condition."""
    return np.full(shape, value, np.bool_)


ONE = (INT32, (1,))
