"""Every integer operator in every mode gives the oracle's bits, on the host and on a target of 2 KiB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

import tosajit as tj
from tests import oracle
from tests.oracle.violations import VIOLATIONS
from tests.strategies import TARGETS, Drawn, assert_same, operator_graph, violating_graph
from tosajit.graph import Graph, Node, Region
from tosajit.graph.operator import TYPES, Mode, Operand, Operator
from tosajit.operators import OPERATORS
from tosajit.tracing.builder import GraphBuilder

CASES = [
    pytest.param(name, mode, id=f"{name}-{mode}") for name, modes in oracle.MODES.items() for mode in modes
]
SIZES = (60, 2500)
"""Of how many elements the drawn tensors are at most."""
FLOATS = frozenset({"FP16", "BF16", "FP32", "FP8E4M3", "FP8E5M2"})


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("operator", "mode"), CASES)
def test_an_operator_gives_the_bits_of_the_oracle(operator: str, mode: oracle.Mode, target: str) -> None:
    for seed, size in enumerate(SIZES):
        drawn = operator_graph(operator, mode, seed, maximum_elements=size)
        executable = tj.compile(drawn.graph, target=TARGETS[target])
        assert_same(drawn, executable(*drawn.inputs.values()))


@pytest.mark.parametrize(("operator", "mode"), CASES)
def test_an_operator_of_constants_gives_the_same_bits(operator: str, mode: oracle.Mode) -> None:
    drawn = operator_graph(operator, mode, 100)
    frozen = with_constant_inputs(drawn)
    assert_same(frozen, tj.compile(frozen.graph)())


@pytest.mark.parametrize(("operator", "mode"), CASES)
def test_an_operator_without_constants_gives_the_same_bits(operator: str, mode: oracle.Mode) -> None:
    """EXT-DYNAMIC: zero points, multipliers, shifts and tables are inputs; shapes stay constants."""
    drawn = without_constants(operator_graph(operator, mode, 200))
    executable = tj.compile(drawn.graph, target=TARGETS["tiny"])
    assert_same(drawn, executable(*drawn.inputs.values()))


@pytest.mark.parametrize(("operator", "mode"), CASES)
def test_the_inferred_shape_is_that_of_the_oracle(operator: str, mode: oracle.Mode) -> None:
    drawn = operator_graph(operator, mode, 7)
    builder = GraphBuilder()
    block = drawn.graph.main
    for value in drawn.graph.inputs:
        builder.input(value.name, value.dtype, value.shape or ())
    names = {name: name for name in block.inputs}
    for node in block.nodes:
        value = block.values[node.outputs[0]]
        if value.data is not None and node.operator.opcode == "CONST":
            names[value.name] = builder.const(value.data, value.dtype)
        elif value.data is not None:
            names[value.name] = builder.shape(value.data.tolist())
        else:
            operands = [names[name] for name in node.inputs]
            names[value.name] = builder.add(node.operator, operands, dtype=value.dtype)
    builder.output(names[block.outputs[0]])
    (output,) = builder.build().outputs
    (expected,) = drawn.graph.outputs
    assert (output.shape, output.dtype) == (expected.shape, expected.dtype)


def integer_rows(operator: type[Operator]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The types of all operands in the modes without floating point."""

    def name_of(mode: Mode, operand: Operand) -> str:
        return (mode.types.get(operand.type) or TYPES[operand.type]).name

    for mode in operator.modes:
        inputs = tuple(
            name_of(mode, operand) for operand in operator.operands_read if operand.type in mode.types
        )
        outputs = tuple(name_of(mode, operand) for operand in operator.operands_written)
        if not FLOATS & {*inputs, *outputs}:
            yield inputs, outputs


@pytest.mark.parametrize("operator", oracle.MODES)
def test_the_integer_rows_of_the_type_tables_are_those_of_the_text(operator: str) -> None:
    """First inputs and outputs only: zero points, shifts and shapes repeat or do not vary."""
    declared = {(inputs[0], outputs) for inputs, outputs in integer_rows(OPERATORS[operator])}
    assert declared == {(key_of(operator, mode), mode.outputs) for mode in oracle.MODES[operator]}


def key_of(operator: str, mode: oracle.Mode) -> str:
    """The type of the first operand that the type table lists."""
    return mode.inputs[1] if operator == "SELECT" else mode.inputs[0]


def without_constants(drawn: Drawn) -> Drawn:
    """The same graph with the constants as inputs."""
    block = drawn.graph.main
    constants = [node.outputs[0] for node in block.nodes if node.operator.opcode == "CONST"]
    values = dict(block.values)
    inputs = dict(drawn.inputs)
    for name in constants:
        data = values[name].data
        assert data is not None
        inputs[name] = data
        values[name] = replace(values[name], data=None)
    nodes = tuple(node for node in block.nodes if node.operator.opcode != "CONST")
    block = replace(block, nodes=nodes, values=values, inputs=tuple(inputs))
    return replace(drawn, graph=Graph((Region("main", (block,)),)), inputs=inputs)


def with_constant_inputs(drawn: Drawn) -> Drawn:
    """The same graph with the inputs as constants."""
    block = drawn.graph.main
    values = dict(block.values)
    for name, array in drawn.inputs.items():
        values[name] = replace(values[name], data=array)
    constants = tuple(Node(OPERATORS["CONST"](), (), (name,)) for name in drawn.inputs)
    block = replace(block, nodes=constants + block.nodes, values=values, inputs=())
    return replace(drawn, graph=Graph((Region("main", (block,)),)), inputs={})


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_checked_executable_says_which_require_is_violated_where(name: str) -> None:
    violation = VIOLATIONS[name]
    drawn = violating_graph(violation)
    with pytest.raises((tj.RequireError, tj.GraphError)) as caught:
        tj.compile(drawn.graph, checked=True)(*drawn.inputs.values())
    message = str(caught.value)
    (node,) = drawn.expected
    assert f"{node} ({violation.operator})" in message
    if isinstance(caught.value, tj.RequireError):
        where = tuple(int(place) for place in re.findall(r"=(-?\d+)", message))
        index = violation.index
        if "axis" in violation.attributes:  # the index of a reduction does not count the axis that is gone
            index = index[: violation.attributes["axis"]] + index[violation.attributes["axis"] + 1 :]
        assert where[: len(index)] == index


@pytest.mark.parametrize("name", VIOLATIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_an_unchecked_executable_survives_a_violated_require(name: str, target: str) -> None:
    """Its result is unpredictable, but it neither crashes nor reads beyond its tensors."""
    drawn = violating_graph(VIOLATIONS[name])
    try:
        outputs = tj.compile(drawn.graph, target=TARGETS[target])(*drawn.inputs.values())
    except tj.TosaError:
        return
    (expected,) = drawn.expected.values()
    assert (outputs.shape, outputs.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize(("operator", "mode"), CASES)
def test_a_checked_executable_gives_the_same_bits(operator: str, mode: oracle.Mode) -> None:
    drawn = operator_graph(operator, mode, 3)
    assert_same(drawn, tj.compile(drawn.graph, checked=True)(*drawn.inputs.values()), "checked")
