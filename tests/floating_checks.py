"""Holding a drawn floating-point graph against fp64 arithmetic, operator by operator, on every target.

Of a sequence of operators the specification asks that each is accurate on what it is given (TOSA 1.0.1
section 1.10.3). So all values of a graph are made outputs, and each is checked against fp64 arithmetic on the
values that its operator read. The graph itself, whose operators are fused, must then give the same bits. Sums
may be calculated in any order: such values leave the graph, are checked, and are handed back for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import tosajit as tj
from tests import floating_oracle as oracle
from tests import floating_sums, reference
from tests.floating_graphs import FloatingGraph, accuracy_types
from tests.floating_steps import draw
from tests.floating_sums import SUMS, TRANSFORMS
from tests.strategies import TARGETS
from tosajit import accuracy
from tosajit.conformance.arm import ArmTools
from tosajit.errors import PlanError
from tosajit.files import to_bytes
from tosajit.graph import Node
from tosajit.graph.operator import Operator

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
        fault = check_node(drawn, node, values, [values[name] for name in node.outputs])
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
    drawn: FloatingGraph,
    node: Node,
    values: Arrays,
    found: Sequence[np.ndarray],
    expected: Sequence[np.ndarray] | None = None,
) -> str:
    """Say what is wrong with the results of a node, given what it read; empty if nothing is."""
    operator, inputs = meant(drawn, node, values)
    dtype = drawn.entries[node.outputs[-1]].dtype
    if expected is None:
        expected = evaluated(drawn, node, operator, inputs, dtype)
    if operator.opcode in TRANSFORMS:
        found, expected = [np.stack(list(found))], [np.stack(list(expected))]
    for place, (ours, wanted) in enumerate(zip(found, expected, strict=True)):
        name = f"{node.outputs[place]} = {operator.opcode}"
        if ours.shape != wanted.shape:
            return f"{name} has the shape {list(ours.shape)}, not {list(wanted.shape)}"
        fault = wrong(operator, drawn.entries[node.outputs[place]].dtype, inputs, ours, wanted)
        if fault:
            return f"{name} {fault}"
    return ""


def meant(drawn: FloatingGraph, node: Node, values: Arrays) -> tuple[Operator, list[np.ndarray]]:
    """The operator that a node applies, and its operands: of control flow, what was done."""
    inputs = [values[name] for name in node.inputs]
    meaning = drawn.meanings.get(node.outputs[0])
    if meaning is not None and meaning.kind == "if":
        return meaning.operators[0 if inputs[0].item() else 1], inputs[1:]
    if meaning is not None and meaning.kind == "while":
        return meaning.operators[0], inputs
    return node.operator, inputs


def evaluated(
    drawn: FloatingGraph, node: Node, operator: Operator, inputs: list[np.ndarray], dtype: str
) -> list[np.ndarray]:
    """What fp64 arithmetic gives for a node."""
    meaning = drawn.meanings.get(node.outputs[0])
    if meaning and meaning.kind == "while":
        array = inputs[1]
        for _ in range(int(inputs[0][0])):
            array = oracle.evaluate(operator.opcode, dict(operator), [array, array], dtype)
        return [np.zeros(1, np.int32), array]
    found = oracle.evaluate(operator.opcode, dict(operator), inputs, dtype)
    return list(found) if operator.opcode in TRANSFORMS else [found]


def wrong(
    operator: Operator, dtype: str, inputs: list[np.ndarray], found: np.ndarray, expected: np.ndarray
) -> str:
    """Say what is wrong with a result; empty if nothing is."""
    opcode, attributes = operator.opcode, dict(operator)
    if dtype not in accuracy_types():
        differs = (found != expected) & ~undefined(opcode, inputs, dtype)
        return f"gives {found[differs][0]}, not {expected[differs][0]}" if differs.any() else ""
    result = judged(opcode, attributes, dtype, inputs, found, expected)
    return "" if result else f"is {result}"


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
    if operator in SUMS:
        return floating_sums.judged(operator, attributes, dtype, inputs, found, expected)
    nearest = operator == "RESIZE" and getattr(attributes["mode"], "name", "") == "NEAREST"
    if nearest or (operator not in accuracy.BOUNDS and operator != "CLAMP"):
        return accuracy.check(found, accuracy.format_of(dtype).rounded(expected), dtype, 0)
    return accuracy.check_operator(operator, found, expected, dtype, *operands(operator, inputs))


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


def operands(operator: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """What the bound of an operator depends on."""
    return [np.broadcast_arrays(*inputs)[k] for k in range(2)] if operator == "POW" else inputs[:1]


def check_model(drawn: FloatingGraph, values: Arrays) -> None:
    """Compare every operator with Arm's reference model in fp64, on the values that the host has found."""
    apart = drawn.apart()
    given = {name: values[name.removeprefix("given_")] for name in apart.main.inputs}
    expected = reference.run(to_bytes(apart), given, precise=True)
    for node in drawn.nodes:
        ours, theirs = ([arrays[name] for name in node.outputs] for arrays in (values, expected))
        operator, inputs = meant(drawn, node, values)
        if operator.opcode in TRANSFORMS:
            theirs = without_residues(theirs, operator, inputs)
        fault = check_node(drawn, node, values, ours, theirs)
        assert not fault, f"the reference model: {fault}\n{drawn}"


def without_residues(
    model: Sequence[np.ndarray], operator: Operator, inputs: list[np.ndarray]
) -> list[np.ndarray]:
    """The model's transform; where it differs from the exact one by the rounding of fp64 angles alone, that.

    An odd quarter of a turn has a cosine of 6e-17 in fp64, which the bound does not allow for.
    """
    exact = oracle.evaluate(operator.opcode, dict(operator), inputs, "FP32")
    with np.errstate(all="ignore"):
        sizes = [np.abs(x.astype(np.float64)).sum(axis=(1, 2), keepdims=True) for x in inputs]
        rounding = 2.0**-52 * 2 * np.pi * sum(inputs[0].shape[1:]) * sum(sizes)
        return [np.where(np.abs(a - b) <= rounding, b, a) for a, b in zip(model, exact, strict=True)]


def smallest(seed: int, model: ArmTools | None = None) -> FloatingGraph:
    """Find the shortest beginning of a failing graph that fails too."""
    for operators in range(1, 9):
        drawn = draw(seed, operators)
        try:
            check(drawn, model)
        except Exception:
            return drawn
    return draw(seed)
