"""The functions of `tosajit.ops`: they record what the specification says, and run at once on arrays."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.strategies import assert_same, difference, operator_graph
from tosajit import ops
from tosajit.checks.validation import validate
from tosajit.graph import Node, Value
from tosajit.operators import OPERATORS, RoundingMode
from tosajit.operators.types import ACCUMULATORS, Accumulating
from tosajit.tracing import TraceError

ROOT = Path(__file__).parents[1]
CASES = [
    pytest.param(name, mode, id=f"{name}-{mode}") for name, modes in oracle.MODES.items() for mode in modes
]
FIRST = [pytest.param(name, modes[0], id=name) for name, modes in oracle.MODES.items()]
FUNCTIONS = {name: getattr(ops, name.lower()) for name in OPERATORS}
DERIVED = ("acc_type", "scale32", "per_channel")


def arguments(node: Node, operands: list[Any], result: Value) -> tuple[list[Any], dict[str, Any]]:
    """How the function of a node's operator is called."""
    named = dict(node.operator)
    if "dtype" in inspect.signature(FUNCTIONS[node.operator.opcode]).parameters:
        named["dtype"] = result.dtype
    return ([operands] if node.operator.operands_read[0].is_list else operands), named


def array_of(value: Value, given: dict[str, np.ndarray]) -> Any:
    array = given[value.name] if value.data is None else value.data
    return array.astype(ml_dtypes.int4) if value.dtype is tj.INT4 else array


@pytest.mark.parametrize(("operator", "mode"), FIRST)
def test_a_function_on_arrays_gives_the_bits_of_the_oracle(operator: str, mode: oracle.Mode) -> None:
    drawn = operator_graph(operator, mode, 3)
    block = drawn.graph.main
    node = block.nodes[-1]
    operands = [array_of(block.values[name], dict(drawn.inputs)) for name in node.inputs]
    before = [operand.tobytes() for operand in operands]
    positional, named = arguments(node, operands, block.values[node.outputs[0]])
    assert_same(drawn, FUNCTIONS[operator](*positional, **named))
    assert [operand.tobytes() for operand in operands] == before


@pytest.mark.parametrize(("operator", "mode"), CASES)
def test_a_function_records_its_operator(operator: str, mode: oracle.Mode) -> None:
    drawn = operator_graph(operator, mode, 5)
    block = drawn.graph.main
    node = block.nodes[-1]

    def body(tensors: list[Any]) -> Any:
        given = dict(zip(block.inputs, tensors, strict=True))
        operands = [
            given[name] if name in given else array_of(block.values[name], {}) for name in node.inputs
        ]
        positional, named = arguments(node, operands, block.values[node.outputs[0]])
        if operator != "RESCALE" or node.operator.per_channel == (operands[1].size > 1):  # type: ignore[attr-defined]
            named = {key: value for key, value in named.items() if key not in DERIVED}
        return FUNCTIONS[operator](*positional, **named)

    graph = tj.trace(body, list(drawn.graph.inputs))
    recorded = graph.main.nodes[-1]
    assert recorded.operator == node.operator
    assert [graph.main.values[name].type for name in recorded.inputs] == [
        block.values[name].type for name in node.inputs
    ]
    assert [value.type for value in graph.outputs] == [value.type for value in drawn.graph.outputs]
    assert validate(graph) == ()


def test_the_module_is_what_the_tool_writes() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_ops.py"), "--check"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_a_documented_function(operator: str) -> None:
    function = FUNCTIONS[operator]
    assert operator.lower() in ops.__all__
    assert f"TOSA 1.0.1 section {OPERATORS[operator].section}" in (function.__doc__ or "")
    assert operator in (function.__doc__ or "")
    parameters = inspect.signature(function).parameters
    assert all(parameter.annotation is not parameter.empty for parameter in parameters.values())


@pytest.mark.parametrize("operator", oracle.MODES)
def test_operands_come_first_then_what_is_needed_and_options_by_name(operator: str) -> None:
    parameters = inspect.signature(FUNCTIONS[operator]).parameters
    declared = OPERATORS[operator]
    operands = [one.name for one in declared.operands_read]
    assert list(parameters)[: len(operands)] == operands
    attributes = list(parameters.values())[len(operands) :]
    by_place = [one for one in attributes if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert attributes[: len(by_place)] == by_place
    assert all(one.default is one.empty for one in by_place)
    assert {one.name for one in attributes} - {"dtype"} == set(declared.fields)


IMAGE = np.arange(32, dtype=np.int8).reshape(1, 4, 4, 2)
WEIGHT = np.arange(-9, 9, dtype=np.int8).reshape(1, 3, 3, 2)


def constants(function: Any, *args: Any) -> list[tuple[str, list[int]]]:
    graph = tj.trace(function, *args)
    values = (graph.main.values[name] for name in graph.main.nodes[-1].inputs)
    return [(value.type, value.data.ravel().tolist()) for value in values if value.data is not None]


def test_zero_points_and_bias_are_zero_of_the_right_type() -> None:
    assert constants(lambda x: ops.conv2d(x, WEIGHT), IMAGE)[1:] == [
        ("INT32[1]", [0]),
        ("INT8[1]", [0]),
        ("INT8[1]", [0]),
    ]
    assert constants(lambda x: ops.conv2d(x, WEIGHT), IMAGE.astype(np.int16))[1:] == [
        ("INT48[1]", [0]),
        ("INT16[1]", [0]),
        ("INT8[1]", [0]),
    ]


def test_python_numbers_take_the_type_of_the_other_operands() -> None:
    found = constants(
        lambda x: ops.rescale(x, [1 << 30, 5], [30, 31], -3, 7, dtype="INT8", per_channel=True), IMAGE
    )
    assert found[2:] == [("INT8[1]", [-3]), ("INT8[1]", [7])]
    assert found[:2] == [("INT32[2]", [1 << 30, 5]), ("INT8[2]", [30, 31])]


def test_int48_is_rescaled_by_16_bits() -> None:
    graph = tj.trace(lambda x: ops.rescale(x, 3, 20, dtype=tj.INT16), tj.Value("x", tj.INT48, (2,)))
    assert not graph.main.nodes[-1].operator.scale32  # type: ignore[attr-defined]
    assert graph.main.values[graph.main.nodes[-1].inputs[1]].dtype is tj.INT16


def test_zero_points_without_a_sign_reach_255() -> None:
    array = np.array([0, 200, 255], np.uint8)
    found = ops.rescale(array.view(np.int8), 1 << 30, 30, 200, 0, dtype=tj.INT8, input_unsigned=True)
    np.testing.assert_array_equal(found, np.array([-128, 0, 55], np.int8))
    with pytest.raises(TraceError, match=r"RESCALE input_zp: 200 is not a number that INT8 can hold"):
        ops.rescale(array.view(np.int8), 1 << 30, 30, 200, 0, dtype=tj.INT8)


def test_attributes_may_be_given_by_name() -> None:
    graph = tj.trace(
        lambda x: ops.rescale(x, 5, 31, dtype="int32", rounding_mode="double_round"), np.zeros(2, np.int8)
    )
    assert graph.main.nodes[-1].operator.rounding_mode is RoundingMode.DOUBLE_ROUND  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "dtype", [tj.BF16, "BF16", "bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)], ids=repr
)
def test_a_type_may_be_told_as_numpy_tells_it(dtype: Any) -> None:
    halves = ops.cast(np.array([0.5, 1.5], np.float32), dtype=dtype)
    assert halves.dtype == ml_dtypes.bfloat16


def test_int64_stands_for_int48_as_a_type_too() -> None:
    wide = tj.trace(lambda: ops.const([1], dtype=np.int64))
    assert [value.dtype for value in wide.outputs] == [tj.INT48]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.add(1, np.array([2], np.int32)), "ADD input1: the Python number 1 has no TOSA type"),  # type: ignore[type-var]
        (lambda: ops.add("a", np.array([2], np.int32)), "ADD input1: expected an array, got str"),  # type: ignore[type-var]
        (lambda: ops.conv2d(IMAGE, WEIGHT, pad=(1, 1)), "CONV2D pad: there are 2 integers, but must be 4"),
        (lambda: ops.conv2d(IMAGE, WEIGHT, input_zp=300), "input_zp: 300 is not a number that INT8 can hold"),
        (lambda: ops.conv2d(IMAGE, WEIGHT, input_zp=0.5), "input_zp: 0.5 is not a number that INT8 can hold"),
        (lambda: ops.rescale(IMAGE, 1, 30), "RESCALE output_zp: its type does not follow"),
        (lambda: ops.cast(IMAGE, dtype="INT9"), "there is no type 'INT9'; there are BOOL, INT4"),
        (lambda: ops.cast(IMAGE, dtype=np.uint32), "there is no type <class 'numpy.uint32'>; there are BOOL"),
        (lambda: ops.cast(IMAGE, dtype=object), "there is no type <class 'object'>"),
        (lambda: ops.reshape(IMAGE, 32), "shape: expected a tuple of integers, got 32"),  # type: ignore[arg-type]
        (lambda: ops.concat(IMAGE, axis=0), "CONCAT input1: expected a list of tensors, got a single one"),  # type: ignore[arg-type]
        (lambda: ops.reverse(IMAGE, axis=0.5), "REVERSE axis: 0.5 is not an integer"),  # type: ignore[arg-type]
        (lambda: ops.add(np.zeros(2, "u4"), np.zeros(2, "u4")), "TOSA has no type that is stored as"),
        (lambda: ops.variable("v", np.array([0], np.int8)), "a variable belongs to a graph"),
        (lambda: ops.const([300], dtype=tj.INT8), "CONST: INT8 cannot hold these values"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(TraceError, match=re.escape(message)):
        call()


def test_illegal_operators_say_what_the_specification_says() -> None:
    with pytest.raises(
        tj.GraphError, match=r"max_val: it is 2, but min_val is 3 \[TOSA 1.0.1 section 2.4.1\]"
    ):
        ops.clamp(IMAGE, min_val=3, max_val=2)
    with pytest.raises(tj.GraphError, match="choose one with dtype"):
        ops.cast(IMAGE, dtype=None)  # type: ignore[arg-type]


def test_arrays_of_any_order_and_layout_are_taken() -> None:
    big = np.arange(6, dtype=">i4").reshape(2, 3)
    turned = np.arange(6, dtype=np.int32).reshape(3, 2).T
    assert not difference(ops.add(big, turned), np.asarray(big + turned, np.int32))


def test_a_constant_outside_of_a_trace_is_an_array() -> None:
    assert ops.const([1, -7], dtype=tj.INT4).dtype == ml_dtypes.int4
    assert ops.const_shape((2, 3)).tolist() == [2, 3]
    assert constants(lambda x: ops.conv2d(x, ops.const(np.zeros((1, 1, 1, 2)), dtype=tj.INT4)), IMAGE)[0] == (
        "INT4[1, 1, 1, 2]",
        [0, 0],
    )


def test_control_flow_on_arrays_calls_the_functions() -> None:
    assert ops.cond_if(np.bool_(True), lambda x: x, lambda x: -x, np.array([3], np.int32)).tolist() == [3]
    found = ops.while_loop(
        lambda i, total: ops.reshape(ops.greater(np.array([4], np.int32), i), ()),
        lambda i, total: (ops.add(i, np.array([1], np.int32)), ops.add(total, i)),
        np.array([0], np.int32),
        np.array([0], np.int32),
    )
    assert [array.tolist() for array in found] == [[4], [6]]
    with pytest.raises(TraceError, match=r"the condition is int32\[1\], but must be one BOOL"):
        ops.cond_if(np.array([1], np.int32), lambda: 0, lambda: 0)


def test_custom_runs_what_was_registered() -> None:
    tj.register_custom("test_ops", "double", lambda x: x * np.int32(2), lambda shape: [shape])
    found = ops.custom(
        np.array([3], np.int32), operator_name="double", domain_name="test_ops", outputs=[("INT32", (1,))]
    )
    assert found.tolist() == [6]


def test_a_second_call_of_the_same_kind_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from tosajit.tracing import eager

    ops.clamp(IMAGE, min_val=-3, max_val=3)
    monkeypatch.setattr(eager, "_compiled", lambda call: pytest.fail("compiled again"))
    assert ops.clamp(-IMAGE, min_val=-3, max_val=3).min() == -3


ADDING = [name for name, operator in OPERATORS.items() if issubclass(operator, Accumulating)]


@pytest.mark.parametrize("name", ADDING)
def test_sums_are_of_the_first_type_that_all_operands_leave(name: str) -> None:
    operator: Any = OPERATORS[name]
    for mode in operator.modes:
        types = {
            place: type for place, type in mode.types.items() if place in ("in_t", "weight_t", "in_out_t")
        }
        fitting = [one for one in operator.modes if all(one.types[place] is types[place] for place in types)]
        order = [one.dtype for one in ACCUMULATORS]
        first = min({one.types["acc_t"] for one in fitting}, key=order.index)
        attributes, chosen = operator.completed({"acc_type": None}, types, {})
        assert attributes["acc_type"].dtype is first
        assert chosen == {"acc_t": first}
