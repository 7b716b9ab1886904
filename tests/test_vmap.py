"""`tj.vmap` equals a loop over the examples: bit by bit for integers, for every operator of the registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.strategies import operator_graph
from tests.validate_samples import SAMPLES
from tosajit import nn, ops
from tosajit.arrays import Array
from tosajit.graph import Graph
from tosajit.operators import OPERATORS
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

EXAMPLES = 3
CASES = [
    pytest.param(name, mode, id=f"{name}-{mode}")
    for name, modes in oracle.MODES.items()
    for mode in modes
    if OPERATORS[name].batched
]
Function = Callable[..., Any]


def recorded(graph: Graph) -> Function:
    """A function that records the nodes of a graph."""

    def function(*inputs: Tensor) -> Any:
        trace = current_trace()
        assert trace is not None
        values = dict(zip(graph.main.inputs, inputs, strict=True))
        for node in graph.main.nodes:
            results = [graph.main.values[name] for name in node.outputs]
            if node.operator.holds_data:
                data = results[0].data
                assert data is not None
                is_shape = results[0].dtype is tj.SHAPE
                constant = trace.shape(data.tolist()) if is_shape else trace.constant(data, results[0].dtype)
                values[node.name] = constant
                continue
            given = [values[name] for name in node.inputs]
            made = trace.add_all(node.operator, given, [(one.dtype, one.shape or ()) for one in results])
            values |= dict(zip(node.outputs, made, strict=True))
        found = [values[name] for name in graph.main.outputs]
        return found[0] if len(found) == 1 else tuple(found)

    return function


def run(function: Function, types: Sequence[tj.DType], *arrays: Array) -> tuple[Array, ...]:
    """What a function gives, without compiling it, also with more dimensions than a level has."""
    values = (
        tj.Value(f"x{n}", one, array.shape) for n, (one, array) in enumerate(zip(types, arrays, strict=True))
    )
    found = tj.compile(tj.trace(function, *values), interpret=True, level="none")(*arrays)
    return found if isinstance(found, tuple) else (found,)


def looped(
    function: Function, types: Sequence[tj.DType], axes: Sequence[int | None], arrays: Sequence[Array]
) -> list[Array]:
    """What a function gives for each example, one after the other."""
    pairs = list(zip(arrays, axes, strict=True))
    results = [
        run(
            function,
            types,
            *(one if axis is None else np.take(one, number, axis).copy() for one, axis in pairs),
        )
        for number in range(EXAMPLES)
    ]
    return [np.stack(parts) for parts in zip(*results, strict=True)]


def equals_a_loop(graph: Graph, axes: Sequence[int | None], arrays: Sequence[Array]) -> None:
    """Compare a batch with a loop."""
    function, types = recorded(graph), [value.dtype for value in graph.inputs]
    if any(value.dtype is tj.INT48 for value in graph.outputs) and not _can_reshape(graph):
        with pytest.raises(tj.TraceError, match="a result is INT48, which TOSA only scales of a batch"):
            run(tj.vmap(function, in_axes=tuple(axes)), types, *arrays)
        return
    found = run(tj.vmap(function, in_axes=tuple(axes)), types, *arrays)
    for one, other in zip(found, looped(function, types, axes, arrays), strict=True):
        assert one.shape == other.shape
        if one.dtype.kind in "iub":
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=1e-5, atol=1e-5)


def _can_reshape(graph: Graph) -> bool:
    """Whether the results of a graph of one operator have the batch first, not as a part of N."""
    return all(node.operator.batched in ("", "first") for node in graph.nodes)


def can_be_batched(graph: Graph) -> list[bool]:
    """For each input of a graph of one operator, whether it can differ from example to example."""
    (node,) = (node for node in graph.main.nodes if not node.operator.holds_data)
    declared = node.operator.operands_read
    places = {name: declared[min(place, len(declared) - 1)] for place, name in enumerate(node.inputs)}
    return [node.operator.takes_batch(places[name]) for name in graph.main.inputs]


@pytest.mark.parametrize(("operator", "mode"), CASES)
def test_integers_give_the_bits_of_a_loop(operator: str, mode: oracle.Mode) -> None:
    drawn = [operator_graph(operator, mode, seed, maximum_elements=60) for seed in range(2)]
    for case in drawn:
        arrays = list(case.inputs.values())
        batches = can_be_batched(case.graph)
        stacked = [
            np.stack([np.roll(one.reshape(-1), turn).reshape(one.shape) for turn in range(EXAMPLES)])
            if batch
            else one
            for one, batch in zip(arrays, batches, strict=True)
        ]
        if any(batches):
            equals_a_loop(case.graph, [0 if one else None for one in batches], stacked)
        for place in (place for place, batch in enumerate(batches) if batch and sum(batches) > 1):
            axes = [0 if one == place else None for one in range(len(arrays))]
            mixed = [stacked[one] if one == place else arrays[one] for one in range(len(arrays))]
            equals_a_loop(case.graph, axes, mixed)


def drawn_for(value: tj.Value, generator: np.random.Generator) -> Array:
    shape = (*(value.shape or ()), EXAMPLES)
    if value.dtype.is_float:
        return generator.uniform(0.5, 2, shape).astype(value.dtype.storage)
    return generator.integers(0, 2, shape).astype(value.dtype.storage)


@pytest.mark.parametrize("name", [name for name in SAMPLES if OPERATORS[name].batched])
def test_every_operator_that_takes_batches_equals_a_loop(name: str) -> None:
    graph = SAMPLES[name].graph()
    batches = can_be_batched(graph)
    arrays = [drawn_for(value, np.random.default_rng(1)) for value in graph.inputs]
    given = [one if batch else one[..., 0].copy() for one, batch in zip(arrays, batches, strict=True)]
    equals_a_loop(graph, [-1 if one else None for one in batches], given)


def test_every_operator_is_batched_or_refused() -> None:
    """Those that no dimension is for are the ones that hold data, run regions or keep state."""
    refused = {name for name, one in OPERATORS.items() if not one.batched and not one.holds_data}
    assert refused == {"COND_IF", "WHILE_LOOP", "CUSTOM", "VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE"}
    tested = SAMPLES.keys() | oracle.MODES.keys() | REAL.keys()
    assert {name for name, one in OPERATORS.items() if one.batched} <= tested


REAL: dict[str, Function] = {
    name: getattr(ops, name.lower())
    for name in ("CEIL", "COS", "ERF", "EXP", "FLOOR", "LOG", "RECIPROCAL", "RSQRT", "SIGMOID", "SIN", "TANH")
} | {"POW": lambda x: ops.pow(x, x), "REDUCE_PRODUCT": lambda x: ops.reduce_product(x, axis=0)}


@pytest.mark.parametrize("name", REAL)
def test_functions_of_real_numbers_equal_a_loop(name: str) -> None:
    x = np.linspace(0.5, 2, 12, dtype=np.float32).reshape(4, 3)
    expected = np.stack([REAL[name](np.ascontiguousarray(column)) for column in x.T])
    np.testing.assert_array_equal(tj.vmap(REAL[name], in_axes=1)(x), expected)


X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)


def layers(x: Any, weight: Any) -> Any:
    return nn.softmax(np.maximum(x @ weight, 0)), {"sum": x.sum(), "max": [x.max()]}


def test_a_network_equals_a_loop_and_has_none() -> None:
    weight = np.linspace(-1, 2, 30, dtype=np.float32).reshape(6, 5)
    found, more = tj.vmap(layers, in_axes=(0, None))(X, weight)
    for number, row in enumerate(X):
        expected, others = tj.jit(layers)(row, weight)
        np.testing.assert_allclose(found[number], expected, rtol=1e-6)
        np.testing.assert_allclose(more["sum"][number], others["sum"], rtol=1e-6)
        assert more["max"][0][number] == others["max"][0]
    graph = tj.trace(tj.vmap(layers, in_axes=(0, None)), X, weight)
    kinds = [node.operator.opcode for node in graph.nodes]
    assert kinds.count("MATMUL") == 1
    assert "TILE" not in kinds


def test_axes_are_where_they_are_said_to_be() -> None:
    function = lambda a, b: (a * b, a.max())  # noqa: E731
    found, greatest = tj.vmap(function, in_axes=(1, -2), out_axes=(-1, 0))(X, X.T)
    np.testing.assert_array_equal(found, X * X)
    np.testing.assert_array_equal(greatest, X.max(axis=0))


def test_batches_of_batches() -> None:
    outer = tj.vmap(tj.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_array_equal(outer(X[:, 0], X[0]), np.outer(X[:, 0], X[0]))


def test_what_all_examples_share_is_there_for_each() -> None:
    found, alone = tj.vmap(lambda x: (np.ones(2, np.float32), x), out_axes=(0, 1))(X)
    assert found.tolist() == [[1, 1]] * 4
    np.testing.assert_array_equal(alone, X.T)
    shared = tj.vmap(lambda x, y: y + 1, in_axes=(0, None), out_axes=None)(X, X[0])
    np.testing.assert_array_equal(shared, X[0] + 1)


def test_tensors_from_outside_are_shared() -> None:
    @tj.jit
    def function(x: Any, scale: Any) -> Any:
        return tj.vmap(lambda row: row * scale.sum())(x)

    np.testing.assert_allclose(function(X, X[0]), X * X[0].sum(), rtol=1e-6)


def test_quantized_layers_of_words_are_scaled_where_their_sums_are() -> None:
    generator = np.random.default_rng(0)
    x = generator.integers(-999, 999, (3, 2, 8)).astype(np.int16)
    weight = generator.integers(-99, 99, (4, 8)).astype(np.int8)

    def layer(x: Any) -> Any:
        return nn.quantized.dense(x, weight, x_scale=0.1, weight_scale=0.1, out_scale=0.3)

    np.testing.assert_array_equal(tj.vmap(layer)(x), np.stack([layer(one) for one in x]))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tj.vmap(abs, in_axes=None)(X), "vmap of abs: no argument has an axis of examples"),
        (lambda: tj.vmap(np.add)(X, X[:3]), "argument_1 has 3 examples along axis 0, others 4"),
        (lambda: tj.vmap(abs, in_axes=2)(X), "argument_0: FP32[4, 6] has no axis 2"),
        (lambda: tj.vmap(abs, in_axes=(0, 1))(X), "in_axes is (0, 1), which does not fit 1 values"),
        (lambda: tj.vmap(abs, out_axes=2)(X), "out_axes: a result of 2 dimensions has no axis 2"),
        (lambda: tj.vmap(abs, out_axes=None)(X), "differs from example to example, so it needs an axis"),
        (
            lambda: tj.vmap(lambda w: nn.dense(X[:1], w))(np.stack([X, X])),
            "(CONV2D) weight: it differs from example to example, which",
        ),
        (
            lambda: tj.vmap(lambda x: ops.cond_if(x.sum() > 0, lambda: x, lambda: -x))(X),
            "(COND_IF) takes no batch",
        ),
    ],
)  # fmt: skip
def test_faults_say_what_to_do(call: Callable[[], object], text: str) -> None:
    with pytest.raises(tj.TraceError) as raised:
        call()
    assert text in str(raised.value)
