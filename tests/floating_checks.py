"""Holding a drawn floating-point graph against fp64 arithmetic, operator by operator, on every target.

Of a sequence of operators the specification asks that each is accurate on what it is given (TOSA 1.0.1
section 1.10.3). So all values of a graph are made outputs, and each is checked against fp64 arithmetic on the
values that its operator read. The graph itself, whose operators are fused, must then give the same bits. Sums
may be calculated in any order: such values leave the graph, are checked, and are handed back for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import tosajit as tj
from tests import floating_oracle as oracle
from tests import reference
from tests.floating_graphs import FloatingGraph, accuracy_types, draw
from tests.strategies import TARGETS
from tosajit import accuracy
from tosajit.conformance.arm import ArmTools
from tosajit.errors import PlanError
from tosajit.files import to_bytes
from tosajit.graph import Node

Arrays = Mapping[str, np.ndarray]


def check(drawn: FloatingGraph, model: ArmTools | None = None) -> bool:
    """Compare every target, and perhaps Arm's reference model; false if it fits on one of them alone."""
    exposed = tj.compile(drawn.exposed())
    values, fits = check_target(drawn, exposed, "host"), True
    for target, threads in (*((target, 1) for target in TARGETS if target != "host"), ("host", 2)):
        try:
            check_target(drawn, exposed, target, threads)
        except PlanError:
            if target == "host":
                raise
            fits = False
    if model is not None:
        check_model(drawn, values)
    return fits


def check_target(
    drawn: FloatingGraph, exposed: tj.Executable, target: str, threads: int = 1
) -> dict[str, np.ndarray]:
    """Compare a target with fp64 arithmetic; return all values."""
    graph = drawn.graph()
    found = run(tj.compile(graph, target=TARGETS[target], threads=threads), drawn.inputs, graph)
    values = exposed_values(drawn, exposed, found)
    for node in drawn.nodes:
        name = node.outputs[0]
        fault = check_node(drawn, node, values, values[name])
        assert not fault, f"{target}: {fault}\n{drawn}"
    for name in set(found) - set(drawn.cuts):
        same = (found[name] == values[name]) | (np.isnan(found[name]) & np.isnan(values[name]))
        assert same.all(), (
            f"{target}: {name} differs from what its operators give one by one: "
            f"{found[name][~same][0]}, not {values[name][~same][0]}\n{drawn}"
        )
    return values


def exposed_values(drawn: FloatingGraph, exposed: tj.Executable, found: Arrays) -> dict[str, np.ndarray]:
    """All values of the graph on the host, calculated from the sums that a target has found."""
    given = {f"given_{name}": found[name] for name in drawn.cuts}
    values = run(exposed, {**drawn.inputs, **given}, drawn.exposed())
    constants = {n: e.array for n, e in drawn.entries.items() if e.kind in ("constant", "shape")}
    return {**constants, **drawn.inputs, **values, **{name: found[name] for name in drawn.cuts}}


def run(executable: tj.Executable, given: Arrays, graph: tj.Graph) -> dict[str, np.ndarray]:
    """Call an executable by names."""
    outputs = executable(*(given[name] for name in graph.main.inputs))
    arrays = outputs if isinstance(outputs, tuple) else (outputs,)
    return dict(zip(graph.main.outputs, arrays, strict=True))


def check_node(
    drawn: FloatingGraph, node: Node, values: Arrays, found: np.ndarray, expected: np.ndarray | None = None
) -> str:
    """Say what is wrong with a result, given what its operator read; empty if nothing is."""
    operator, name = node.operator.opcode, node.outputs[0]
    dtype, attributes = drawn.entries[name].dtype, dict(node.operator)
    inputs = [values[name] for name in node.inputs]
    if expected is None:
        expected = oracle.evaluate(operator, attributes, inputs, dtype)
    if found.shape != expected.shape:
        return f"{name} = {operator} has the shape {list(found.shape)}, not {list(expected.shape)}"
    if dtype not in accuracy_types():
        wrong = (found != expected) & ~undefined(operator, inputs, dtype)
        return f"{name} = {operator} gives {found[wrong][0]}, not {expected[wrong][0]}" if wrong.any() else ""
    result = judged(operator, attributes, dtype, inputs, found, expected)
    if not result and operator in oracle.SUMS and inputs[0].dtype == tj.BF16.storage:
        # Instructions for products of bf16 take subnormal operands as zero, which every operator may do.
        inputs = [flushed(array) for array in inputs]
        expected = oracle.evaluate(operator, attributes, inputs, dtype)
        result = judged(operator, attributes, dtype, inputs, found, expected)
    return "" if result else f"{name} = {operator} is {result}"


def flushed(array: np.ndarray) -> np.ndarray:
    """Replace subnormal numbers by zero."""
    small = np.abs(array.astype(np.float64)) < accuracy.format_of(array.dtype).normal_min
    return np.where(small, np.zeros_like(array), array)


def undefined(operator: str, inputs: list[np.ndarray], dtype: str) -> np.ndarray:
    """Where a result is unpredictable: integers of NaN."""
    if operator == "CAST" and inputs[0].dtype.kind not in "biu":
        return np.isnan(inputs[0].astype(np.float64))
    return np.zeros((), np.bool_)


def judged(
    operator: str,
    attributes: Mapping[str, object],
    dtype: str,
    inputs: list[np.ndarray],
    found: np.ndarray,
    expected: np.ndarray,
) -> accuracy.Result:
    """Check a floating-point result."""
    if operator == "REDUCE_PRODUCT":
        allowed = accuracy.bound(operator, expected, dtype, inputs[0])
        free = leaves_range(inputs[0], attributes, dtype)
        return accuracy.check_bound(found, expected, dtype, np.where(free, np.inf, allowed))
    if operator not in oracle.SUMS:
        if operator not in accuracy.BOUNDS and operator != "CLAMP":
            return accuracy.check(found, accuracy.format_of(dtype).rounded(expected), dtype, 0)
        return accuracy.check_operator(operator, found, expected, dtype, *operands(operator, inputs))
    stored = tj.dtypes.dtype_of(inputs[0].dtype)
    sizes = [accuracy.magnitudes(array, stored) for array in inputs[: 1 if operator in SINGLE else 3]]
    bounds = oracle.evaluate(operator, attributes, sizes, dtype)
    ks = kernel_size(operator, attributes, inputs)
    acc = getattr(attributes.get("acc_type"), "name", "FP32" if dtype == "BF16" else dtype)
    # The sum of an average may overflow where the average does not.
    held = bounds * (ks if operator == "AVG_POOL2D" else 1)
    bounds = np.where(held > 0.99 * accuracy.format_of(acc).normal_max, np.inf, bounds)
    bias = operator == "CONV2D" and bool(inputs[2].any())
    ksb = accuracy.kernel_size_bound(ks, dtype, acc, bias)
    # The variance is for data sets of many products: here each element may be off by its bound.
    return accuracy.check_dot_product(
        found, expected, bounds, dtype, ksb, variance_error_bound=(2.0 * ksb) ** 2
    )


def leaves_range(x: np.ndarray, attributes: Mapping[str, object], dtype: str) -> np.ndarray:
    """Where factors may overflow or underflow on the way, in some order, although their product does not."""
    kind, size = accuracy.format_of(dtype), np.abs(x.astype(np.float64))
    with np.errstate(all="ignore"):
        large = oracle.evaluate("REDUCE_PRODUCT", attributes, [np.maximum(size, 1)], dtype)
        small = oracle.evaluate(
            "REDUCE_PRODUCT", attributes, [np.where((size > 0) & (size < 1), size, 1)], dtype
        )
    outside = (large > 0.99 * kind.normal_max) | (small < kind.normal_min)
    return outside & np.isfinite(x.astype(np.float64)).all(axis=int(str(attributes["axis"])), keepdims=True)


SINGLE = ("REDUCE_SUM", "AVG_POOL2D")


def operands(operator: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """What the bound of an operator depends on."""
    return [np.broadcast_arrays(*inputs)[k] for k in range(2)] if operator == "POW" else inputs[:1]


def kernel_size(operator: str, attributes: Mapping[str, object], inputs: list[np.ndarray]) -> int:
    """How many products a sum has."""
    match operator:
        case "MATMUL":
            return int(inputs[0].shape[2])
        case "REDUCE_SUM":
            return int(inputs[0].shape[attributes["axis"]])  # type: ignore[index]
        case "AVG_POOL2D":
            return int(np.prod(attributes["kernel"]))  # type: ignore[call-overload]
    return int(np.prod(inputs[1].shape[1:]))


def check_model(drawn: FloatingGraph, values: Arrays) -> None:
    """Compare every operator with Arm's reference model in fp64, on the values that the host has found."""
    apart = drawn.apart()
    given = {name: values[name.removeprefix("given_")] for name in apart.main.inputs}
    expected = reference.run(to_bytes(apart), given, precise=True)
    for node in drawn.nodes:
        name = node.outputs[0]
        fault = check_node(drawn, node, values, values[name], expected[name])
        assert not fault, f"the reference model: {fault}\n{drawn}"


def smallest(seed: int, model: ArmTools | None = None) -> FloatingGraph:
    """Find the shortest beginning of a failing graph that fails too."""
    for operators in range(1, 9):
        drawn = draw(seed, operators)
        try:
            check(drawn, model)
        except Exception:
            return drawn
    return draw(seed)
