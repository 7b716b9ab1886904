"""CUSTOM operators run what the user registered (TOSA 1.0.1 section 2.15)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.building import ONE, add_all, assert_runs, cond_if, int32, truth
from tosajit.checks.validation import validate
from tosajit.compiler import options
from tosajit.dtypes import BOOL, INT8, INT32, INT48
from tosajit.files import from_bytes, to_bytes
from tosajit.graph import Graph
from tosajit.operators import ADD, CUSTOM
from tosajit.tracing.builder import GraphBuilder

DOMAIN = "tests.example"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what a test registers."""
    monkeypatch.setattr(options, "_registered", {})


def custom_graph(
    inputs: Any = ((INT32, (4,)),), outputs: Any = ((INT32, (4,)),), name: str = "f", attributes: bytes = b""
) -> Graph:
    """Make a graph of one CUSTOM operator."""
    builder = GraphBuilder()
    names = [builder.input(f"x{i}", *kind) for i, kind in enumerate(inputs)]
    operator = CUSTOM(operator_name=name, domain_name=DOMAIN, implementation_attrs=attributes)
    builder.output(*add_all(builder, operator, names, outputs))
    return builder.build()


def meaning(function: Any, shape: Any = None, name: str = "f") -> dict[tuple[str, str], Any]:
    """Register a function for one call of compile."""
    return {(DOMAIN, name): tj.Custom(function, shape)}


def test_a_custom_operator_runs_the_given_function() -> None:
    assert_runs(custom_graph(), int32(1, 2, 3, 4), custom=meaning(lambda x: x * x))


def test_a_registered_function_is_found() -> None:
    tj.register_custom(DOMAIN, "f", lambda x: x + np.int32(1), lambda shape: [shape])
    assert tj.compile(custom_graph())(int32(1, 2, 3, 4)).tolist() == [2, 3, 4, 5]


def test_what_compile_is_given_comes_before_what_is_registered() -> None:
    tj.register_custom(DOMAIN, "f", lambda x: x)
    executable = tj.compile(custom_graph(), custom=meaning(lambda x: -x))
    assert executable(int32(1, 2, 3, 4)).tolist() == [-1, -2, -3, -4]


def test_an_unregistered_operator_is_an_error_when_it_is_compiled() -> None:
    with pytest.raises(tj.TosaError, match=rf"CUSTOM.*\bf\b.*{DOMAIN}"):
        tj.compile(custom_graph())


def test_domains_keep_equal_names_apart() -> None:
    tj.register_custom("elsewhere", "f", lambda x: x)
    with pytest.raises(tj.TosaError, match="not registered"):
        tj.compile(custom_graph())


def test_an_unregistered_operator_in_a_branch_is_found_too() -> None:
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT32, (1,))
    operator = CUSTOM(operator_name="f", domain_name=DOMAIN)
    outputs = cond_if(builder, condition, [x], lambda b, x: add_all(b, operator, [x], [ONE]), lambda b, x: x)
    builder.output(*outputs)
    with pytest.raises(tj.TosaError, match="not registered"):
        tj.compile(builder.build())
    for value in (False, True):
        assert_runs(builder.build(), truth(value, 1), int32(5), custom=meaning(lambda x: x * np.int32(2)))


def test_several_inputs_and_outputs_of_several_types() -> None:
    graph = custom_graph(
        ((INT32, (2, 3)), (BOOL, (2, 3)), (INT48, ())), ((INT48, (3,)), (INT8, ()), (BOOL, (2, 3)))
    )

    def function(x: np.ndarray, mask: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, ...]:
        total = np.where(mask, x, 0).astype(np.int64).sum(axis=0) + bias
        return total, np.array(mask.sum(), np.int8), ~mask

    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert_runs(graph, x, x % 2 == 0, np.array(1 << 40), custom=meaning(function))


def test_an_operator_without_inputs() -> None:
    assert_runs(custom_graph(inputs=()), custom=meaning(lambda: int32(1, 2, 3, 4)))


def test_attributes_reach_a_function_that_asks_for_them() -> None:
    def function(x: np.ndarray, attributes: bytes) -> np.ndarray:
        return x + np.int32(attributes[0])

    graph = custom_graph(attributes=b"\x07rest")
    assert tj.compile(graph, custom=meaning(function))(int32(0, 0, 0, 1)).tolist() == [7, 7, 7, 8]


def test_a_numba_function() -> None:
    numba = pytest.importorskip("numba")

    def function(x: Any) -> Any:
        result = np.empty_like(x)
        for i in range(x.size):
            result[i] = x[x.size - 1 - i]
        return result

    assert_runs(custom_graph(), int32(1, 2, 3, 4), custom=meaning(numba.njit(function)))


def test_operators_around_a_custom_one() -> None:
    builder = GraphBuilder()
    x, y = builder.input("x", INT32, (1,)), builder.input("y", INT32, (1,))
    total = builder.add(ADD(), [x, y])
    operator = CUSTOM(operator_name="f", domain_name=DOMAIN)
    (made,) = add_all(builder, operator, [total], [ONE])
    again = builder.add(ADD(), [made, total])
    builder.output(builder.add(ADD(), [again, *add_all(builder, operator, [again], [ONE])]), total)
    assert_runs(builder.build(), int32(3), int32(4), custom=meaning(lambda x: x * x))


# The shape rule


def test_the_shape_rule_accepts_the_declared_shapes() -> None:
    graph = custom_graph(((INT32, (2, 3)), (INT32, (3, 5))), ((INT32, (2, 5)),))

    def rule(a: tuple[int, ...], b: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [(a[0], b[1])]

    a, b = np.ones((2, 3), np.int32), np.ones((3, 5), np.int32)
    assert_runs(graph, a, b, custom=meaning(lambda a, b: a @ b, rule))


@pytest.mark.parametrize("shapes", [[(3,)], [], [(4,), (4,)], [(4, 1)]])
def test_outputs_that_the_shape_rule_does_not_give_are_an_error(shapes: Any) -> None:
    with pytest.raises(tj.TosaError, match="CUSTOM"):
        tj.compile(custom_graph(), custom=meaning(lambda x: x, lambda shape: shapes))


# What a function may get wrong


@pytest.mark.parametrize(
    "result",
    [int32(1, 2, 3), np.zeros((4, 1), np.int32), np.zeros(4, np.int64), np.zeros(4, np.float32), 0, None, ()],
    ids=["short", "rank", "int64", "float", "number", "nothing", "empty"],
)
def test_a_wrong_result_is_an_error(result: Any) -> None:
    executable = tj.compile(custom_graph(), custom=meaning(lambda x: result))
    with pytest.raises(tj.TosaError, match="CUSTOM"):
        executable(int32(1, 2, 3, 4))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_results_is_an_error(count: int) -> None:
    graph = custom_graph(outputs=((INT32, (4,)), (INT32, (4,))))
    executable = tj.compile(graph, custom=meaning(lambda x: (x,) * count))
    with pytest.raises(tj.TosaError, match="CUSTOM"):
        executable(int32(1, 2, 3, 4))


def test_an_exception_of_the_function_comes_through() -> None:
    def function(x: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("of my own")

    with pytest.raises((ZeroDivisionError, tj.TosaError), match="of my own"):
        tj.compile(custom_graph(), custom=meaning(function))(int32(1, 2, 3, 4))


def test_a_function_that_changes_its_inputs_changes_nothing_else() -> None:
    def function(x: np.ndarray) -> np.ndarray:
        x[:] = 0
        return x

    builder = GraphBuilder()
    x = builder.input("x", INT32, (4,))
    operator = CUSTOM(operator_name="f", domain_name=DOMAIN)
    outputs = add_all(builder, operator, [x], [(INT32, (4,))])
    builder.output(*outputs, builder.add(ADD(), [x, x]))
    given = int32(1, 2, 3, 4)
    zeros, doubled = tj.compile(builder.build(), custom=meaning(function))(given)
    assert (zeros.tolist(), doubled.tolist(), given.tolist()) == ([0] * 4, [2, 4, 6, 8], [1, 2, 3, 4])


def test_a_function_that_keeps_its_result_cannot_change_it_later() -> None:
    kept = int32(1, 2, 3, 4)
    executable = tj.compile(custom_graph(), custom=meaning(lambda x: kept))
    result = executable(int32(0, 0, 0, 0))
    kept[:] = 9
    assert result.tolist() == [1, 2, 3, 4]
    result[:] = 7
    assert kept.tolist() == [9] * 4


# The graph


@pytest.mark.parametrize("count", [64, 65])
def test_lists_are_as_long_as_the_level_allows(count: int) -> None:
    long = (ONE,) * count
    for graph in (custom_graph(inputs=long), custom_graph(outputs=long)):
        assert {violation.kind for violation in validate(graph)} == (set() if count == 64 else {"level"})
        assert not validate(graph, level="none")


def test_custom_operators_survive_a_file() -> None:
    graph = from_bytes(to_bytes(custom_graph(attributes=b"\x00\xffx", name="an operator")))
    (node,) = graph.main.nodes
    operator: Any = node.operator
    assert (operator.operator_name, operator.domain_name) == ("an operator", DOMAIN)
    assert operator.implementation_attrs == b"\x00\xffx"
    assert_runs(graph, int32(1, 2, 3, 4), custom=meaning(lambda x: x, name="an operator"))
