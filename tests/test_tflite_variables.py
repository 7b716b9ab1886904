"""Variables of TFLite models: what they hold at first, and from run to run."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.options import (
    AddOptions,
    CallOnceOptions,
    CallOptions,
    VarHandleOptions,
    WhileOptions,
)
from tosajit.frontends.tflite.schema import Type
from tosajit.operators import WHILE_LOOP

HANDLE = RawTensor("handle", Type.RESOURCE, ())
TOTAL = VarHandleOptions("", "total")


def node(
    name: str, inputs: tuple[int, ...], outputs: tuple[int, ...], options: Options | None = None
) -> RawOperator:
    return RawOperator(name, inputs, outputs, options)


def initial(*numbers: float) -> RawSubgraph:
    value = RawTensor("first", Type.FLOAT32, (len(numbers),), np.array(numbers, np.float32).tobytes())
    return RawSubgraph(
        [HANDLE, value],
        [node("VAR_HANDLE", (), (0,), TOTAL), node("ASSIGN_VARIABLE", (0, 1), ())],
        [],
        [],
        "initial",
    )


def totals(
    *others: RawSubgraph, before: tuple[RawOperator, ...] = (), behind: tuple[RawOperator, ...] = ()
) -> bytes:
    """The sum of all inputs so far."""
    tensors = [HANDLE, *(RawTensor(name, Type.FLOAT32, (2,)) for name in ("x", "held", "sum"))]
    operators = [
        *before,
        node("VAR_HANDLE", (), (0,), TOTAL),
        node("READ_VARIABLE", (0,), (2,)),
        node("ADD", (2, 1), (3,), AddOptions()),
        node("ASSIGN_VARIABLE", (0, 3), ()),
        *behind,
    ]
    return RawModel([RawSubgraph(tensors, operators, [1], [3], "main"), *others]).bytes()


ONCE = node("CALL_ONCE", (), (), CallOnceOptions(1))
X = np.array([1, 10], np.float32)


def test_a_variable_keeps_what_is_assigned_from_call_to_call() -> None:
    model = tj.compile(tj.load(totals(initial(5, 6), before=(ONCE,))))
    assert [model(X).tolist() for _ in range(3)] == [[6, 16], [7, 26], [8, 36]]


def test_a_new_context_begins_with_the_first_values() -> None:
    model = tj.compile(tj.load(totals(initial(5, 6), before=(ONCE,))))
    model(X)
    fresh = model.context()
    assert model(X, context=fresh).tolist() == [6, 16]
    assert fresh["total"].tolist() == [6, 16]
    assert model(X).tolist() == [7, 26]


def test_two_executables_share_no_variables() -> None:
    graph = tj.load(totals(initial(5, 6), before=(ONCE,)))
    first, second = tj.compile(graph), tj.compile(graph)
    first(X)
    assert second(X).tolist() == [6, 16]


def test_variables_stay_in_written_files() -> None:
    graph = tj.from_bytes(tj.to_bytes(tj.load(totals(initial(5, 6), before=(ONCE,)))))
    model = tj.compile(graph)
    assert [model(X).tolist() for _ in range(2)] == [[6, 16], [7, 26]]


def test_what_is_read_before_it_is_written_is_an_error() -> None:
    with pytest.raises(tj.TosaError, match="total is read before it is written"):
        tj.compile(tj.load(totals()))(X)


def test_a_first_value_of_another_shape_is_refused() -> None:
    data = totals(initial(5, 6, 7), before=(ONCE,))
    with pytest.raises(tj.ModelError, match=r"variable total is float32\[3\], but is used as float32\[2\]"):
        tj.load(data)


def test_a_first_value_behind_the_first_use_is_refused() -> None:
    with pytest.raises(tj.ModelError, match="variable total gets its first value after it has been used"):
        tj.load(totals(initial(5, 6), behind=(ONCE,)))


def test_a_first_value_that_is_computed_is_refused() -> None:
    tensors = [HANDLE, RawTensor("held", Type.FLOAT32, (2,))]
    operators = [
        node("VAR_HANDLE", (), (0,), VarHandleOptions("", "other")),
        node("READ_VARIABLE", (0,), (1,)),
        node("VAR_HANDLE", (), (0,), TOTAL),
        node("ASSIGN_VARIABLE", (0, 1), ()),
    ]
    data = totals(RawSubgraph(tensors, operators, [], [], "initial"), before=(ONCE,))
    with pytest.raises(tj.ModelError, match="the first value of variable total is not a constant"):
        tj.load(data)


def test_a_tensor_is_no_handle() -> None:
    with pytest.raises(tj.ModelError, match="x is float32, but must be the handle of a variable"):
        tj.load(totals(initial(5, 6), before=(ONCE,), behind=(node("ASSIGN_VARIABLE", (1, 3), ()),)))


def test_handles_go_into_subgraphs() -> None:
    held = RawTensor("inner", Type.FLOAT32, (2,))
    doubled = RawSubgraph(
        [HANDLE, held, RawTensor("twice", Type.FLOAT32, (2,))],
        [
            node("READ_VARIABLE", (0,), (1,)),
            node("ADD", (1, 1), (2,), AddOptions()),
            node("ASSIGN_VARIABLE", (0, 2), ()),
        ],
        [0],
        [],
        "doubled",
    )  # fmt: skip
    call = node("CALL", (0,), (), CallOptions(2))
    model = tj.compile(tj.load(totals(initial(5, 6), doubled, before=(ONCE,), behind=(call,))))
    assert [model(X).tolist() for _ in range(2)] == [[6, 16], [13, 42]]


def test_handles_go_round_in_loops() -> None:
    """The body has a handle of its own for the variable, and gives that back."""
    count, less = RawTensor("count", Type.INT32, ()), RawTensor("less", Type.BOOL, ())
    three, one = (RawTensor(str(value), Type.INT32, (), np.int32(value).tobytes()) for value in (3, 1))
    goes_on = RawSubgraph([count, HANDLE, three, less], [node("LESS", (0, 2), (3,))], [0, 1], [3], "more")
    following = RawTensor("next", Type.INT32, ())
    pair = [RawTensor(name, Type.FLOAT32, (2,)) for name in ("held", "twice")]
    body = RawSubgraph(
        [count, HANDLE, one, following, *pair, HANDLE],
        [
            node("ADD", (0, 2), (3,), AddOptions()),
            node("READ_VARIABLE", (1,), (4,)),
            node("ADD", (4, 4), (5,), AddOptions()),
            node("VAR_HANDLE", (), (6,), TOTAL),
            node("ASSIGN_VARIABLE", (6, 5), ()),
        ],
        [0, 1],
        [3, 6],
        "turn",
    )
    tensors = [count, HANDLE, RawTensor("end", Type.INT32, ()), HANDLE, pair[0]]
    operators = [
        ONCE,
        node("VAR_HANDLE", (), (1,), TOTAL),
        node("WHILE", (0, 1), (2, 3), WhileOptions(2, 3)),
        node("READ_VARIABLE", (3,), (4,)),
    ]
    main = RawSubgraph(tensors, operators, [0], [4], "main")
    graph = tj.load(RawModel([main, initial(5, 6), goes_on, body]).bytes())
    (loop,) = [found for found in graph.main.nodes if isinstance(found.operator, WHILE_LOOP)]
    assert loop.inputs == ("count",)
    assert tj.compile(graph)(np.array(0, np.int32)).tolist() == [40, 48]


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        (Type.INT32, np.array([-(2**31), 2**31 - 1, -1, 255, -256, 1 << 24], np.int32)),
        (Type.INT16, np.array([-32768, 32767, -1, 255, -256, 128], np.int16)),
        (Type.BOOL, np.array([True, False, True])),
    ],
    ids=lambda one: one.label if isinstance(one, Type) else "",
)
def test_numbers_that_tosa_has_no_variables_of_come_back(kind: Type, numbers: np.ndarray) -> None:
    first = RawTensor("first", kind, numbers.shape, numbers.tobytes())
    once = RawSubgraph(
        [HANDLE, first],
        [node("VAR_HANDLE", (), (0,), TOTAL), node("ASSIGN_VARIABLE", (0, 1), ())],
        [],
        [],
        "initial",
    )
    operators = [
        ONCE,
        node("VAR_HANDLE", (), (0,), TOTAL),
        node("READ_VARIABLE", (0,), (2,)),
        node("ASSIGN_VARIABLE", (0, 1), ()),
    ]
    tensors = [HANDLE, *(RawTensor(name, kind, numbers.shape) for name in ("x", "held"))]
    model = tj.compile(tj.load(RawModel([RawSubgraph(tensors, operators, [1], [2], "main"), once]).bytes()))
    turned = numbers[::-1].copy()
    for given, expected in ((turned, numbers), (numbers, turned), (numbers, numbers)):
        np.testing.assert_array_equal(model(given), expected)
