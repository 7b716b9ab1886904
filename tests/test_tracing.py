"""Tracing: what a function records, how it is specialised, and what it must not do."""

from __future__ import annotations

import functools
import re
import threading
from collections import namedtuple
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tiling.target import TINY
from tosajit import ops
from tosajit.checks.validation import validate
from tosajit.dtypes import dtype_of
from tosajit.tracing import Tensor, TraceError
from tosajit.tracing.recorder import Trace

X = np.arange(6, dtype=np.int32).reshape(2, 3)
ONE = np.array([1], np.int32)


def opcodes(graph: tj.Graph) -> list[str]:
    return [node.operator.opcode for node in graph.main.nodes if node.inputs]


def scalar(tensor: Any) -> Any:
    return ops.reshape(tensor, ())


OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "+": (lambda a, b: a + b, "ADD"),
    "-": (lambda a, b: a - b, "SUB"),
    "*": (lambda a, b: a * b, "MUL"),
    "&": (lambda a, b: a & b, "BITWISE_AND"),
    "|": (lambda a, b: a | b, "BITWISE_OR"),
    "^": (lambda a, b: a ^ b, "BITWISE_XOR"),
    "<<": (lambda a, b: a << b, "LOGICAL_LEFT_SHIFT"),
    ">>": (lambda a, b: a >> b, "ARITHMETIC_RIGHT_SHIFT"),
    "==": (lambda a, b: a == b, "EQUAL"),
    "!=": (lambda a, b: a != b, "LOGICAL_NOT"),
    ">": (lambda a, b: a > b, "GREATER"),
    ">=": (lambda a, b: a >= b, "GREATER_EQUAL"),
    "<": (lambda a, b: a < b, "GREATER"),
    "<=": (lambda a, b: a <= b, "GREATER_EQUAL"),
}


@pytest.mark.parametrize("symbol", OPERATORS)
def test_python_operators_do_what_numpy_does(symbol: str) -> None:
    function, opcode = OPERATORS[symbol]
    named: Callable[..., Any] = function
    left, right = X * 5 - 9, np.array([[1, 2, 3]], np.int32)
    assert opcodes(tj.trace(function, left, right))[-1] == opcode
    for a, b in ((left, right), (left, right[0]), (left, np.int32(2)), (right[0], left % 4)):
        expected = function(a, b)
        np.testing.assert_array_equal(tj.jit(function)(a, b), expected)
        np.testing.assert_array_equal(tj.jit(functools.partial(named, b=b))(a), expected)
        np.testing.assert_array_equal(tj.jit(lambda y, a=a: function(a, y))(b)[()], expected)


def test_defaults_and_what_partial_binds_are_python_values() -> None:
    def scaled(x: Any, factor: int = 3, perms: tuple[int, ...] = (1, 0)) -> Any:
        return ops.transpose(x, perms=perms) * np.int32(factor)

    np.testing.assert_array_equal(tj.jit(scaled)(X), X.T * 3)
    kept = functools.partial(scaled, factor=5, perms=(0, 1))
    np.testing.assert_array_equal(tj.jit(kept)(X), X * 5)
    assert len(tj.trace(kept, X).inputs) == 1
    with pytest.raises(TraceError, match=r"argument perms_0: .* or bind it with functools.partial"):
        tj.jit(scaled)(X, perms=(0, 1))


@pytest.mark.parametrize(
    ("symbol", "opcode"),
    [("&", "LOGICAL_AND"), ("|", "LOGICAL_OR"), ("^", "LOGICAL_XOR"), ("!=", "LOGICAL_XOR")],
)
def test_booleans_have_operators_of_their_own(symbol: str, opcode: str) -> None:
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    function = OPERATORS[symbol][0]
    assert opcodes(tj.trace(function, a, b)) == [opcode]
    np.testing.assert_array_equal(tj.jit(function)(a, b), function(a, b))


def test_unary_operators() -> None:
    np.testing.assert_array_equal(tj.jit(lambda x: -x)(X), -X)
    np.testing.assert_array_equal(tj.jit(lambda x: ~x)(X), ~X)
    assert opcodes(tj.trace(lambda x: ~x, X > 2)) == ["LOGICAL_NOT"]


def test_lower_ranks_are_aligned_by_reshape() -> None:
    graph = tj.trace(lambda x, y: x + y, X, X[0])
    assert opcodes(graph) == ["RESHAPE", "ADD"]
    assert validate(graph) == ()
    assert opcodes(tj.trace(lambda x: x + X[0], X)) == ["ADD"]


def test_outputs_keep_their_structure() -> None:
    Pair = namedtuple("Pair", "first second")

    @tj.jit
    def function(x: Any, *, more: Any) -> Any:
        total = x + more["y"][0]
        return {"sum": total, "parts": [x, (total, Pair(x, X))], "none": None}

    found = function(X, more={"y": (ONE.reshape(1, 1),)})
    np.testing.assert_array_equal(found["sum"], X + 1)
    assert found["none"] is None
    inner = found["parts"][1]
    np.testing.assert_array_equal(inner[0], X + 1)
    assert isinstance(inner[1], Pair)
    np.testing.assert_array_equal(inner[1].second, X)
    assert [value.name for value in function.graph(X, more={"y": [ONE]}).inputs] == ["x", "more_y_0"]


def test_it_is_traced_once_for_each_shape_and_type() -> None:
    traced: list[tuple[int, ...]] = []

    @tj.jit
    def function(x: Any) -> Any:
        traced.append(x.shape)
        return ops.reverse(x, axis=0)

    for array in (X, X + 1, X[:1], X.astype(np.int8), X):
        np.testing.assert_array_equal(function(array), array[::-1])
    assert traced == [(2, 3), (1, 3), (2, 3)]
    assert repr(function).endswith(": 3 executables>")
    assert function.executable(X) is function.executable(X * 2)


def test_every_way_of_passing_arrays_gives_the_same() -> None:
    @tj.jit
    def function(x: Any, y: Any = X) -> Any:
        return x - y

    for _ in range(2):
        for result in (function(X * 3, X), function(x=X * 3), function(X * 3, y=X), function(X * 3)):
            np.testing.assert_array_equal(result, X * 2)
        np.testing.assert_array_equal(function((X * 3).astype(">i4"), X), X * 2)


def test_captured_arrays_are_constants_of_the_first_call() -> None:
    captured = np.array([1, 2, 3], np.int32)
    function = tj.jit(lambda x: x + captured)
    np.testing.assert_array_equal(function(X), X + np.array([1, 2, 3], np.int32))
    captured[:] = 7
    np.testing.assert_array_equal(function(X), X + np.array([1, 2, 3], np.int32))
    function.clear()
    np.testing.assert_array_equal(function(X), X + 7)


def test_constants_that_differ_in_few_bytes_stay_apart() -> None:
    arrays = np.zeros((8, 100_000), np.float32)
    arrays[np.arange(8), np.arange(8) + 50_001] = 1

    def added(x: Any) -> Any:
        return functools.reduce(ops.add, [*arrays, *arrays.copy()], x)

    graph = tj.trace(added, arrays[0])
    assert opcodes(graph).count("ADD") == 16
    assert sum(node.operator.opcode == "CONST" for node in graph.main.nodes) == 8
    np.testing.assert_array_equal(tj.compile(graph)(arrays[0]), arrays[0] + 2 * arrays.sum(0))


def test_equal_constants_are_stored_once() -> None:
    big = np.arange(300, dtype=np.int32)
    graph = tj.trace(lambda x: (x + big) * big + np.int32(1) + np.int32(1), big)
    assert sorted(value.data.size for value in graph.main.values.values() if value.data is not None) == [
        1,
        1,
        300,
    ]


@pytest.mark.parametrize("size", [1, 100])
def test_constants_are_equal_if_their_bits_type_and_shape_are(size: int) -> None:
    zeros = np.zeros(size, np.float32)
    others = -zeros, zeros.astype(np.float16), zeros.astype(np.int32), zeros.reshape(1, size)
    trace = Trace()
    names = [trace.constant(array, dtype_of(array.dtype)).name for array in (zeros, *others)]
    assert trace.constant(zeros[::-1], tj.FP32).name == names[0]
    assert len(set(names)) == len(names)


def test_the_settings_reach_the_executable() -> None:
    @tj.jit(threads=2, target=TINY, checked=True)
    def function(x: Any) -> Any:
        return ops.intdiv(X, x)

    target = function.executable(X).program.target
    assert (target.name, target.cores) == ("tiny", 2)
    with pytest.raises(tj.RequireError, match="intdiv"):
        function(X * 0)


def test_a_jitted_function_inside_of_another_is_a_part_of_it() -> None:
    inner = tj.jit(lambda x: x + ONE)
    outer = tj.jit(lambda x: inner(inner(x)))
    np.testing.assert_array_equal(outer(X), X + 2)
    assert opcodes(outer.graph(X)) == ["ADD", "ADD"]
    assert repr(inner).endswith(": 0 executables>")


def test_methods_are_specialised_for_each_instance() -> None:
    class Layer:
        def __init__(self, weight: np.ndarray) -> None:
            self.weight = weight

        @tj.jit
        def forward(self, x: Any) -> Any:
            """Add the weight."""
            return x + self.weight

    first, second = Layer(ONE), Layer(ONE * 5)
    np.testing.assert_array_equal(first.forward(X), X + 1)
    np.testing.assert_array_equal(second.forward(X), X + 5)
    assert first.forward is first.forward
    assert first.forward.__doc__ == "Add the weight."


def test_values_stand_for_arrays() -> None:
    function = tj.jit(lambda x: x + x)
    value = tj.Value("anything", tj.INT32, (4,))
    assert function.graph(value).inputs[0].type == "INT32[4]"
    with pytest.raises(TraceError, match="x: a type is given, but running needs an array"):
        function(value)


def branched(x: Any, y: Any) -> Any:
    total = x + y
    return ops.cond_if(
        scalar(x > np.array([3], np.int32)), lambda a: (a + total, x), lambda a: (a - ONE, total), y
    )


def test_branches_capture_what_they_use() -> None:
    graph = tj.trace(branched, ONE, ONE)
    assert validate(graph) == ()
    assert [len(region.blocks[0].inputs) for region in graph.regions] == [2, 3, 3]
    function = tj.jit(branched)
    assert [array.tolist() for array in function(ONE * 5, ONE)] == [[7], [5]]
    assert [array.tolist() for array in function(ONE * 2, ONE)] == [[0], [3]]


def powers(x: Any, n: Any) -> Any:
    def again(i: Any, product: Any) -> Any:
        return scalar(i < n)

    def step(i: Any, product: Any) -> Any:
        return i + ONE, product * x

    return ops.while_loop(again, step, ONE * 0, ONE)


def test_loops_carry_what_they_capture() -> None:
    assert validate(tj.trace(powers, ONE, ONE)) == ()
    count, product = tj.jit(powers)(ONE * 3, ONE * 4)
    assert (count.tolist(), product.tolist()) == ([4], [81])
    assert tj.jit(powers)(ONE * 3, ONE * 0)[1].tolist() == [1]


def test_control_flow_nests() -> None:
    def collatz(n: Any) -> Any:
        def step(n: Any, steps: Any) -> Any:
            odd = scalar((n & ONE) == ONE)
            following = ops.cond_if(odd, lambda: n * np.array([3], np.int32) + ONE, lambda: n >> ONE)
            return following, steps + ONE

        return ops.while_loop(lambda n, steps: scalar(n > ONE), step, n, ONE * 0)[1]

    assert validate(tj.trace(collatz, ONE)) == ()
    assert tj.jit(collatz)(np.array([27], np.int32)).tolist() == [111]


def test_constants_of_the_outer_trace_stay_constants_in_regions() -> None:
    def function(x: Any) -> Any:
        zero = ops.const(np.array([3], np.int8))
        return ops.cond_if(scalar(x > np.int32(0)), lambda: ops.negate(x), lambda: ops.mul(x, x, zero))

    assert validate(tj.trace(function, ONE)) == ()


def test_variables_persist_and_are_each_functions_own() -> None:
    def count(x: Any) -> Any:
        held = ops.variable("count", np.array([5], np.int8))
        following = ops.cast(ops.cast(held.read(), dtype="int32") + ops.cast(x, dtype="int32"), dtype="int8")
        held.write(following)
        return following

    first, second = tj.jit(count), tj.jit(count)
    assert [first(np.array([2], np.int8)).item() for _ in range(3)] == [7, 9, 11]
    assert second(np.array([1], np.int8)).item() == 6
    assert first.context["count"].tolist() == [11]


def test_variables_without_a_value_are_written_first() -> None:
    def function(x: Any) -> Any:
        held = ops.variable("v", shape=(1,), dtype=tj.INT8)
        ops.variable_write(held, x)
        return ops.variable_read(held)

    assert tj.jit(function)(np.array([4], np.int8)).tolist() == [4]


def raised(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(TraceError) as caught:
        tj.trace(function, *args)
    assert isinstance(caught.value, tj.TosaError)
    assert isinstance(caught.value, TypeError)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x else X, "x: INT32[2, 3]) has no value while it is traced, so Python cannot"),
        (lambda x: x if x > X else X, "use np.where, ops.cond_if or ops.while_loop"),
        (lambda x: range(x), "so it cannot be a Python number"),
        (lambda x: x[2], "Tensor(%x: INT32[2, 3]): index 2 is outside of axis 0, which has 2"),
        (lambda x: x[0, 0, 0], "has 2 axes, and 3 are indexed"),
        (lambda x: x["a"], "cannot be indexed by 'a': an integer, a slice, None, `...`, or one array"),
        (lambda x: x[2:1], "has no elements, which TOSA has no tensors for"),
        (lambda x: x[[0, 2]], "an index of [0, 2] is outside of axis 0, which has 2"),
        (lambda x: x[x > 1], "has to be INT32; of a mask, use np.where"),
        (lambda x: x[[0], [1]], "one index can be an array, beside slices alone"),
        (lambda x: len(x.sum()), "has no length: it is a single number"),
        (lambda x: x.reshape(4, -1), "has 6 elements, which have no shape (4, -1)"),
        (lambda x: x.transpose(0, 0), "each of its axes has to be there once"),
        (lambda x: x.sum(2), "has no axis 2: it has 2"),
        (lambda x: x.squeeze(1), "axis 1 has more than one element"),
        (lambda x: np.broadcast_to(x, (3, 3)), "cannot be broadcast to (3, 3)"),
        (lambda x: x @ x, "types and inner extents have to be the same"),
        (lambda x: x.mean(), "has fractions: cast it first, as in x.astype(np.float32)"),
        (lambda x: x / 2, "use // for integers, or cast first, as in x.astype(np.float32)"),
        (lambda x: x**-1, "cast first, as in x.astype(np.float32)"),
        (lambda x: x.astype(float) // 2, "take np.floor(x / y) of floating-point numbers"),
        (lambda x: x + x.astype(float), "INT32 and FP32 do not mix; cast one of them, as in x.astype(tj"),
        (lambda x: np.sum(x, where=x), "NumPy's sum of Tensor(%x: INT32[2, 3]): got an unexpected keyword"),
        (lambda x: np.pad(x, 1, "edge"), "TOSA pads by constants, not by mode 'edge'"),
        (lambda x: np.split(x, 4), "axis 0 has 2 elements, not 4 equal parts"),
        (lambda x: np.asarray(x), "so it cannot be an array"),
        (lambda x: np.arctan(x), "NumPy's arctan cannot be applied to Tensor(%x: INT32[2, 3]): use the"),
        (lambda x: np.linalg.norm(x), "NumPy's norm cannot be applied"),
        (lambda x: np.add.reduce(x), "NumPy's add cannot be applied"),
        (lambda x: x + 2**31, "2147483648 is no INT32: cast the tensor first"),
        (lambda x: 2.5 * x, "2.5 is no INT32: cast the tensor first, as in x.astype(np.float32)"),
        (lambda x: x * True, "True beside INT32: write a number, or an array of that type"),
        (lambda x: x * [[1], [1, 2]], "is no array: its lists have different lengths"),
        (lambda x: x + "a", "expected a traced tensor or an array, got str"),
        (lambda x: 3, "the Python number 3 has no TOSA type"),
        (lambda x: "text", "returns result: expected a tensor, got str"),
        (lambda x: None, "<lambda> returns no tensor"),
        (lambda x: ops.cond_if(scalar(x), lambda: x, lambda: [x]), "functions return tensors in different"),
        (lambda x: ops.while_loop(lambda x: x, lambda x: (x, x), x), "returns 2 tensors, not 1"),
        (lambda x: ops.variable("v"), "variable v: give an initial value, or shape and dtype"),
        (lambda x: ops.variable("v", X).write(X[0]), "variable v is INT32[2, 3], but INT32[3] is written"),
    ],
)  # fmt: skip
def test_what_cannot_be_recorded_is_said_clearly(function: Callable[..., Any], message: str) -> None:
    argument = X[:1, 0] if "cond_if" in message or "different" in message else X
    assert message in raised(function, argument)


@pytest.mark.parametrize(
    ("argument", "message"),
    [(3, "argument x: the Python number 3 has no TOSA type"), ("a", "argument x: expected an array, got str"),
     (np.zeros(2, "u4"), "TOSA has no type that is stored as"),
     ({"k": [2]}, "argument x_k_0: the Python number 2")],
)  # fmt: skip
def test_wrong_arguments_are_named(argument: Any, message: str) -> None:
    assert message in raised(lambda x: x, argument)


def keep(kept: list[Any], one: Any, result: Any) -> Any:
    kept.append(one)
    return result


def test_a_tensor_is_of_no_use_after_its_trace() -> None:
    kept: list[Any] = []
    tj.trace(lambda x: keep(kept, x, x), X)
    uses: list[Callable[[], object]] = [lambda: kept[0] + X, lambda: ops.add(kept[0], X)]
    for use in uses:
        with pytest.raises(TraceError, match="is used outside its trace"):
            use()
    assert "belongs to another trace" in raised(lambda y: y + kept[0], X)
    assert "belongs to another trace" in raised(lambda y: ops.add(y, kept[0]), X)
    assert "argument x: Tensor(%x: INT32[2, 3]) is used outside" in raised(lambda x: x, kept[0])


def test_a_tensor_of_a_region_does_not_leave_it() -> None:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        ops.cond_if(scalar(x > ONE), lambda: keep(kept, x + x, x), lambda: x)
        return kept[0] + x

    assert "belongs to another trace" in raised(function, ONE)


def test_a_variable_of_another_trace_is_refused() -> None:
    kept: list[Any] = []
    tj.trace(lambda x: keep(kept, ops.variable("v", X), x), X)
    assert "variable v belongs to another trace" in raised(lambda x: kept[0].read(), X)


def test_an_error_while_tracing_ends_the_trace() -> None:
    with pytest.raises(ZeroDivisionError):
        tj.trace(lambda x: 1 // 0, X)
    assert isinstance(ops.add(X, X), np.ndarray)


def test_errors_of_the_graph_come_where_they_are_made() -> None:
    with pytest.raises(
        tj.GraphError, match=re.escape("input2: is INT8, but input1 is INT32 [TOSA 1.0.1 section 2.5.1]")
    ):
        tj.trace(lambda x: ops.add(x, np.array([[1]], np.int8)), X)


def test_threads_do_not_see_each_others_traces() -> None:
    inside, seen = threading.Barrier(2), []

    def function(x: Any) -> Any:
        inside.wait(10)
        result = x + ONE
        inside.wait(10)
        return result

    def plain() -> None:
        inside.wait(10)
        seen.append(ops.add(X, X))
        inside.wait(10)

    with ThreadPoolExecutor(2) as pool:
        traced, done = pool.submit(tj.trace, function, X), pool.submit(plain)
        graph = traced.result()
        done.result()
    assert opcodes(graph) == ["ADD"]
    assert isinstance(seen[0], np.ndarray)


def test_a_tensor_of_another_threads_trace_is_refused() -> None:
    def function(x: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            with pytest.raises(TraceError, match="outside its trace"):
                pool.submit(lambda: x + ONE).result()
        return x

    tj.trace(function, X)


def test_many_threads_compile_once() -> None:
    traced: list[int] = []

    @tj.jit
    def function(x: Any) -> Any:
        traced.append(1)
        return x + ONE

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(function, [X + number for number in range(64)]))
    assert len(traced) == 1
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result, X + number + 1)


def test_a_tensor_shows_its_type() -> None:
    def function(x: Tensor) -> Tensor:
        assert (x.shape, x.ndim, x.size, x.dtype, x.name) == ((2, 3), 2, 6, tj.INT32, "x")
        assert repr(x) == "Tensor(%x: INT32[2, 3])"
        return x

    tj.trace(function, X)


def test_a_condition_is_an_array_and_python_says_which() -> None:
    @tj.jit
    def chosen(x: Any, condition: Any) -> Any:
        return ops.cond_if(condition, lambda: ops.add(x, x), lambda: ops.sub(x, x))

    x = np.arange(4, dtype=np.int32)
    for condition in (np.bool_(True), np.array(True), np.array([[True]])):
        assert np.array_equal(chosen(x, condition), 2 * x)
        assert not chosen(x, ~condition).any()
    with pytest.raises(tj.TosaError, match=r"write np\.bool_\(True\)"):
        chosen(x, True)

    @tj.jit
    def fixed(x: Any) -> Any:
        return ops.cond_if(True, lambda: ops.add(x, x), lambda: ops.sub(x, x))

    with pytest.raises(tj.TosaError, match=r"write np\.bool_\(True\)"):
        fixed(x)
