"""COND_IF and WHILE_LOOP, every line of their pseudo-code (TOSA 1.0.1 section 2.16)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests import oracle, reference
from tests.building import add_all, assert_runs, cond_if, int32, region, truth, while_loop
from tests.strategies import TARGETS, difference
from tosajit.checks.validation import validate
from tosajit.dtypes import BOOL, INT8, INT16, INT32, INT48
from tosajit.files import to_bytes
from tosajit.graph import Graph
from tosajit.operators import (
    ADD,
    BITWISE_NOT,
    COND_IF,
    GREATER,
    IDENTITY,
    LOGICAL_NOT,
    MUL,
    PAD,
    RESHAPE,
    RESIZE,
    REVERSE,
    SELECT,
    SLICE,
    SUB,
    TILE,
    WHILE_LOOP,
    ResizeMode,
)
from tosajit.tracing.builder import GraphBuilder


def add(block: GraphBuilder, a: str, b: str | int) -> str:
    """Add a value or a number."""
    return block.add(ADD(), [a, number(block, a, b) if isinstance(b, int) else b])


def number(block: GraphBuilder, like: str, value: int) -> str:
    """Make a constant that broadcasts with a value."""
    return block.const(np.full((1,) * len(block.value(like).shape or ()), value, np.int32))


def is_positive(block: GraphBuilder, value: str) -> str:
    """Compare with zero."""
    return block.add(GREATER(), [value, number(block, value, 0)])


def choice(shape: tuple[int, ...] = (1,), width: int = 5) -> Graph:
    """Add one if the condition holds, else subtract two."""
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, shape), builder.input("x", INT32, (width,))
    outputs = cond_if(
        builder,
        condition,
        [x],
        lambda block, x: add(block, x, 1),
        lambda block, x: block.add(SUB(), [x, number(block, x, 2)]),
    )
    builder.output(*outputs)
    return builder.build()


def countdown(shape: tuple[int, ...] = (1,)) -> Graph:
    """Count n down to zero and double y each time."""
    builder = GraphBuilder()
    n, y = builder.input("n", INT32, shape), builder.input("y", INT32, (4,))
    outputs = while_loop(
        builder,
        [n, y],
        lambda block, n, y: is_positive(block, n),
        lambda block, n, y: (block.add(SUB(), [n, number(block, n, 1)]), add(block, y, y)),
    )
    builder.output(*outputs)
    return builder.build()


def on_model(graph: Graph, *arrays: np.ndarray) -> None:
    """Compare the oracle with the reference model."""
    inputs = dict(zip(graph.main.inputs, arrays, strict=True))
    outputs = reference.run(to_bytes(graph), inputs)
    for name, expected in zip(graph.main.outputs, oracle.run_graph(graph, arrays), strict=True):
        assert not difference(outputs[name], expected)


# COND_IF


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
@pytest.mark.parametrize("value", [False, True])
def test_cond_if_runs_the_branch_that_the_condition_names(shape: tuple[int, ...], value: bool) -> None:
    assert_runs(choice(shape), truth(value, *shape), np.arange(5, dtype=np.int32))


def test_one_executable_takes_both_branches() -> None:
    graph = choice()
    executable = tj.compile(graph)
    for value in (True, False, True):
        assert_runs(graph, truth(value, 1), int32(1, 2, 3, 4, 5), executable=executable)


@pytest.mark.parametrize("value", [False, True])
def test_the_condition_may_be_a_constant(value: bool) -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT32, (2,))
    condition = builder.const(truth(value, 1))
    outputs = cond_if(builder, condition, [x], lambda b, x: add(b, x, 7), lambda b, x: add(b, x, -7))
    builder.output(*outputs)
    assert_runs(builder.build(), int32(1, 2))


def test_operators_before_and_after_a_branch_see_its_values() -> None:
    builder = GraphBuilder()
    a, b = builder.input("a", INT32, (1,)), builder.input("b", INT32, (1,))
    total = add(builder, a, b)
    condition = builder.add(GREATER(), [a, b])
    (chosen,) = cond_if(
        builder, condition, [total, a], lambda r, t, a: add(r, t, a), lambda r, t, a: add(r, a, a)
    )
    builder.output(add(builder, chosen, total), total)
    for x, y in ((1, 2), (2, 1)):
        assert_runs(builder.build(), int32(x), int32(y))


@pytest.mark.parametrize("value", [False, True])
def test_a_branch_may_return_inputs_constants_and_one_value_twice(value: bool) -> None:
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT32, (3,))

    def constants(block: GraphBuilder, x: str) -> tuple[str, ...]:
        c = block.const(int32(7, 8, 9))
        return c, c, x

    outputs = cond_if(builder, condition, [x], lambda block, x: (x, x, add(block, x, 1)), constants)
    builder.output(*outputs)
    results = assert_runs(builder.build(), truth(value, 1), int32(1, 2, 3))
    results[0][:] = -1
    assert results[1][0] != -1, "two outputs share memory"


def test_a_branch_may_have_no_inputs() -> None:
    builder = GraphBuilder()
    condition = builder.input("condition", BOOL, (1,))
    builder.output(
        *cond_if(
            builder, condition, [], lambda block: block.const(int32(1)), lambda block: block.const(int32(2))
        )
    )
    for value in (False, True):
        assert_runs(builder.build(), truth(value, 1))


def test_branches_carry_every_integer_type() -> None:
    builder = GraphBuilder()
    condition = builder.input("condition", BOOL, (1,))
    types = [(BOOL, (2,)), (INT8, (3, 1)), (INT16, ()), (INT32, (2, 2)), (INT48, (1, 2))]
    names = [builder.input(f"x{i}", dtype, shape) for i, (dtype, shape) in enumerate(types)]

    def same(block: GraphBuilder, *names: str) -> list[str]:
        return [block.add(IDENTITY(), [name]) for name in names]

    builder.output(*cond_if(builder, condition, names, same, lambda block, *names: names))
    arrays = [np.ones(shape, dtype.storage) for dtype, shape in types]
    for value in (False, True):
        assert_runs(builder.build(), truth(value, 1), *arrays)


def test_only_the_branch_that_is_taken_runs() -> None:
    """The other one would break a REQUIRE, which a checked executable would report."""
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT32, (1,))
    outputs = cond_if(builder, condition, [x], lambda r, x: add(r, x, 1), lambda r, x: add(r, x, 0))
    builder.output(*outputs)
    executable = tj.compile(builder.build(), checked=True)
    assert executable(truth(False, 1), int32(2**31 - 1))[0] == 2**31 - 1
    with pytest.raises(tj.RequireError):
        executable(truth(True, 1), int32(2**31 - 1))


# WHILE_LOOP


@pytest.mark.parametrize("rounds", [-1, 0, 1, 2, 13])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_loop_runs_as_often_as_its_condition_says(rounds: int, shape: tuple[int, ...]) -> None:
    assert_runs(countdown(shape), np.full(shape, rounds, np.int32), int32(1, 2, 3, 4))


def test_a_loop_leaves_the_arrays_of_the_caller_alone() -> None:
    n, y = int32(3), int32(1, 2, 3, 4)
    executable = tj.compile(countdown())
    first = executable(n, y)
    second = executable(n, y)
    assert (n.tolist(), y.tolist()) == ([3], [1, 2, 3, 4])
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    idle = executable(int32(0), y)
    idle[1][:] = 99
    assert y.tolist() == [1, 2, 3, 4]


def test_a_body_may_swap_what_goes_round() -> None:
    builder = GraphBuilder()
    n, a, b = (builder.input(name, INT32, (1,)) for name in "nab")
    outputs = while_loop(
        builder,
        [n, a, b],
        lambda block, n, a, b: is_positive(block, n),
        lambda block, n, a, b: (block.add(SUB(), [n, number(block, n, 1)]), b, add(block, a, 10)),
    )
    builder.output(*outputs)
    for rounds in (0, 1, 2, 5):
        assert_runs(builder.build(), int32(rounds), int32(1), int32(2))


def test_one_value_may_go_round_twice_and_constants_may_come_back() -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT32, (1,))
    outputs = while_loop(
        builder,
        [x, x, x],
        lambda block, n, a, b: is_positive(block, n),
        lambda block, n, a, b: (
            block.add(SUB(), [n, number(block, n, 1)]),
            add(block, a, b),
            block.const(int32(3)),
        ),
    )
    builder.output(*outputs)
    for start in (-1, 1, 4):
        assert_runs(builder.build(), int32(start))


def test_loops_nest() -> None:
    """Multiply by adding, add by incrementing."""
    builder = GraphBuilder()
    a, b = builder.input("a", INT32, (1,)), builder.input("b", INT32, (1,))

    def less_one(block: GraphBuilder, value: str) -> str:
        return block.add(SUB(), [value, number(block, value, 1)])

    def outer(block: GraphBuilder, a: str, b: str, total: str) -> tuple[str, ...]:
        _, total = while_loop(
            block,
            [b, total],
            lambda r, b, t: is_positive(r, b),
            lambda r, b, t: (less_one(r, b), add(r, t, 1)),
        )
        return less_one(block, a), b, total

    zero = builder.const(int32(0))
    outputs = while_loop(builder, [a, b, zero], lambda block, a, b, t: is_positive(block, a), outer)
    builder.output(outputs[2])
    assert assert_runs(builder.build(), int32(6), int32(7))[0] == 42


def test_a_branch_inside_a_loop_inside_a_branch() -> None:
    """Steps of the Collatz sequence."""
    builder = GraphBuilder()
    condition, n = builder.input("condition", BOOL, (1,)), builder.input("n", INT32, (1,))
    more = GREATER()

    def step(block: GraphBuilder, n: str, count: str) -> tuple[str, ...]:
        half = block.add(MUL(), [n, number(block, n, 1 << 15), block.const(np.array([16], np.int8))])
        rounded_up = add(block, half, half)
        is_even = block.add(GREATER(), [add(block, n, 1), rounded_up])
        (following,) = cond_if(
            block,
            is_even,
            [n, half],
            lambda r, n, half: r.add(IDENTITY(), [half]),
            lambda r, n, half: add(r, add(r, n, n), add(r, n, 1)),
        )
        return following, add(block, count, 1)

    def sequence(block: GraphBuilder, n: str) -> str:
        return while_loop(
            block, [n, block.const(int32(0))], lambda r, n, c: r.add(more, [n, number(r, n, 1)]), step
        )[1]

    builder.output(*cond_if(builder, condition, [n], sequence, lambda block, n: n))
    for value, start in ((True, 6), (True, 1), (True, 27), (False, 5)):
        (result,) = assert_runs(builder.build(), truth(value, 1), int32(start))
        assert result[0] == {6: 8, 1: 0, 27: 111, 5: 5}[start]


def test_layout_and_selection_in_a_body() -> None:
    builder = GraphBuilder()
    n, x = builder.input("n", INT32, (1, 1)), builder.input("x", INT32, (3, 37))

    def body(block: GraphBuilder, n: str, x: str) -> tuple[str, str]:
        turned = block.add(REVERSE(axis=1), [x])
        larger = block.add(SELECT(), [block.add(GREATER(), [x, turned]), x, add(block, turned, 1)])
        return block.add(SUB(), [n, number(block, n, 1)]), larger

    builder.output(*while_loop(builder, [n, x], lambda block, n, x: is_positive(block, n), body))
    x_value = np.random.default_rng(0).integers(-100, 100, (3, 37)).astype(np.int32)
    assert_runs(builder.build(), np.full((1, 1), 5, np.int32), x_value)


@pytest.mark.parametrize("target", TARGETS)
def test_regions_have_shapes_of_their_own(target: str) -> None:
    """Shape operands are constants of the region that uses them, however deep it is."""
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT8, (1, 4, 4, 2))

    def padded(block: GraphBuilder, x: str) -> str:
        zero = block.const(np.full(1, 7, np.int8), INT8)
        wide = block.add(PAD(), [x, block.shape([0, 0, 1, 0, 0, 1, 0, 0]), zero])
        tiled = block.add(TILE(), [wide, block.shape([1, 1, 1, 2])])
        cut = block.add(SLICE(), [tiled, block.shape([0, 1, 0, 1]), block.shape([1, 4, 4, 2])])
        return block.add(
            RESHAPE(), [block.add(RESHAPE(), [cut, block.shape([32])]), block.shape([1, 4, 4, 2])]
        )

    def resized(block: GraphBuilder, x: str) -> str:
        shapes = [block.shape(numbers) for numbers in ([1, 1, 1, 1], [0, 0], [0, 0])]
        return block.add(RESIZE(mode=ResizeMode.NEAREST), [x, *shapes])

    def once(block: GraphBuilder, condition: str, x: str) -> list[str]:
        inner = cond_if(block, condition, [x], padded, resized)[0]
        return [block.add(LOGICAL_NOT(), [condition]), block.add(REVERSE(axis=1), [inner])]

    def again(block: GraphBuilder, condition: str, x: str) -> str:
        return condition

    outer = while_loop(builder, [condition, x], again, once)
    builder.output(cond_if(builder, outer[0], [outer[1]], resized, padded)[0])
    graph = builder.build()
    array = np.arange(32, dtype=np.int8).reshape(1, 4, 4, 2)
    executable = tj.compile(graph, target=TARGETS[target])
    for value in (True, False):
        assert_runs(graph, truth(value, 1), array, executable=executable)


def test_a_shape_does_not_come_from_another_region() -> None:
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT32, (4,))
    builder.shape([2, 2], name="outside")

    def shaped(block: GraphBuilder, x: str) -> str:
        flat = block.add(RESHAPE(), [x, block.shape([2, 2], name="inside")])
        return block.add(RESHAPE(), [flat, block.shape([4])])

    builder.output(*cond_if(builder, condition, [x], shaped, lambda block, x: x))
    graph = builder.build()
    assert not validate(graph)
    regions = [*graph.regions]
    (inner,) = (place for place, found in enumerate(regions) if "inside" in found.blocks[0].values)
    block = regions[inner].blocks[0]
    nodes = tuple(
        replace(node, inputs=tuple("outside" if name == "inside" else name for name in node.inputs))
        for node in block.nodes
    )
    regions[inner] = replace(regions[inner], blocks=(replace(block, nodes=nodes),))
    with pytest.raises(tj.GraphError, match="outside: is not declared in the block"):
        tj.compile(replace(graph, regions=tuple(regions)))


def test_the_reference_model_agrees_on_control_flow() -> None:
    for value in (False, True):
        on_model(choice(), truth(value, 1), int32(1, 2, 3, 4, 5))
    for rounds in (0, 1, 5):
        on_model(countdown(), int32(rounds), int32(1, 2, 3, 4))


# Nesting


def nested(depth: int) -> Graph:
    """So many COND_IFs inside each other."""
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT32, (1,))

    def level(left: int) -> Any:
        def body(block: GraphBuilder, condition: str, x: str) -> str:
            if left == 0:
                return add(block, x, 1)
            return cond_if(
                block, condition, [condition, x], level(left - 1), lambda r, c, x: r.add(IDENTITY(), [x])
            )[0]

        return body

    builder.output(level(depth)(builder, condition, x))
    return builder.build()


def test_control_flow_nests_as_deep_as_the_level_allows() -> None:
    assert_runs(nested(6), truth(True, 1), int32(41))


def test_deeper_nesting_is_an_error() -> None:
    with pytest.raises(tj.GraphError, match="nest"):
        tj.compile(nested(7))
    with pytest.raises(oracle.Illegal):
        oracle.run_graph(nested(7), [truth(True, 1), int32(41)])


def test_without_a_level_control_flow_nests_deeper() -> None:
    assert not validate(nested(12), level="none")
    executable = tj.compile(nested(12), level="none")
    assert executable(truth(True, 1), int32(41))[0] == 42


@pytest.mark.parametrize("twice", [True, False])
@pytest.mark.parametrize("depth", [6, 256])
def test_the_deepest_nesting_compiles_every_region_once(depth: int, twice: bool) -> None:
    """Each region inverts its input, and runs the next one, in both branches or in one."""
    builder = GraphBuilder()
    types = [(BOOL, (1,)), (INT32, (1,))]

    def invert(block: GraphBuilder, level: int, condition: str, x: str) -> str:
        value = block.add(BITWISE_NOT(), [x])
        if level == depth:
            return value
        operator = COND_IF(
            then_graph=f"level {level + 1}", else_graph=f"level {level + 1}" if twice else "last"
        )
        return add_all(block, operator, [condition, condition, value], types[1:])[0]

    condition, x = (builder.input(name, *kind) for name, kind in zip("cx", types, strict=True))
    builder.output(invert(builder, 0, condition, x))
    for level in range(1, depth + 1):
        region(builder, f"level {level}", types, lambda block, c, x, level=level: invert(block, level, c, x))
    region(builder, "last", types, lambda block, c, x: x)
    graph = builder.build()
    assert str(graph)
    executable = tj.compile(graph, level="8K" if depth == 6 else "none")
    assert str(executable)
    number = np.array([41], np.int32)
    assert executable(truth(True, 1), number) == ~41  # inverted an odd number of times
    assert executable(truth(False, 1), number) == ~41


@pytest.mark.parametrize("level", ["8K", "none"])
def test_a_region_that_runs_itself_is_an_error(level: str) -> None:
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT32, (1,))
    types = [(BOOL, (1,)), (INT32, (1,))]
    again = COND_IF(then_graph="again", else_graph="done")
    region(builder, "done", types, lambda block, c, x: x)
    region(builder, "again", types, lambda block, c, x: add_all(block, again, [c, c, x], types[1:]))
    builder.output(*add_all(builder, again, [condition, condition, x], types[1:]))
    with pytest.raises(tj.GraphError):
        tj.compile(builder.build(), level=level)


# ERROR_IF


def branches(
    condition: Any = (BOOL, (1,)),
    taken: Any = ((INT32, (2,)),),
    given: Any = ((INT32, (2,)),),
    then: Any = ((INT32, (2,)),),
    other: Any = ((INT32, (2,)),),
) -> Graph:
    """Make a COND_IF whose regions return their inputs; `then` and `other` are what they take."""
    builder = GraphBuilder()
    c = builder.input("condition", *condition)
    names = [builder.input(f"x{i}", *kind) for i, kind in enumerate(taken)]
    region(builder, "then", then, lambda block, *names: names)
    region(builder, "else", other, lambda block, *names: names)
    builder.output(*add_all(builder, COND_IF(then_graph="then", else_graph="else"), [c, *names], given))
    return builder.build()


WIDE, NARROW = ((INT32, (2,)),), ((INT32, (3,)),)
BYTES = ((INT8, (2,)),)

BAD_BRANCHES: dict[str, dict[str, Any]] = {
    "condition-of-two": {"condition": (BOOL, (2,))},
    "condition-of-no-bool": {"condition": (INT32, (1,))},
    "then-takes-another-shape": {"then": NARROW},
    "else-takes-another-shape": {"other": NARROW},
    "then-takes-another-type": {"then": BYTES},
    "else-takes-another-type": {"other": BYTES},
    "outputs-of-another-shape": {"given": NARROW},
    "outputs-of-another-type": {"given": BYTES},
    "too-few-outputs": {"given": ()},
    "too-many-outputs": {"given": WIDE + WIDE},
    "too-few-inputs": {"taken": ()},
    "too-many-inputs": {"taken": WIDE + WIDE},
    "then-takes-more": {"then": WIDE + WIDE},
    "else-takes-less": {"other": ()},
}


def test_the_branches_that_the_next_tests_break_are_right() -> None:
    assert not validate(branches())


@pytest.mark.parametrize("fault", BAD_BRANCHES)
def test_cond_if_with_wrong_signatures_is_an_error(fault: str) -> None:
    graph = branches(**BAD_BRANCHES[fault])
    assert any(v.operator == "COND_IF" for v in validate(graph))
    with pytest.raises(tj.GraphError):
        tj.compile(graph)


def loop(
    taken: Any = WIDE, given: Any = WIDE, seen: Any = WIDE, carried: Any = WIDE, verdict: Any = (BOOL, (1,))
) -> Graph:
    """Make a WHILE_LOOP whose body returns its inputs and whose condition is a constant."""
    builder = GraphBuilder()
    names = [builder.input(f"x{i}", *kind) for i, kind in enumerate(taken)]
    dtype, shape = verdict
    region(builder, "cond", seen, lambda block, *names: block.const(np.zeros(shape, dtype.storage)))
    region(builder, "body", carried, lambda block, *names: names)
    builder.output(*add_all(builder, WHILE_LOOP(cond_graph="cond", body_graph="body"), names, given))
    return builder.build()


BAD_LOOPS: dict[str, dict[str, Any]] = {
    "outputs-of-another-shape": {"given": NARROW},
    "outputs-of-another-type": {"given": BYTES},
    "too-few-outputs": {"given": ()},
    "cond-takes-another-shape": {"seen": NARROW},
    "cond-takes-another-type": {"seen": BYTES},
    "cond-takes-more": {"seen": WIDE + WIDE},
    "body-takes-another-shape": {"carried": NARROW},
    "body-takes-another-type": {"carried": BYTES},
    "body-takes-less": {"carried": ()},
    "cond-gives-two": {"verdict": (BOOL, (2,))},
    "cond-gives-no-bool": {"verdict": (INT32, (1,))},
}


def test_the_loop_that_the_next_tests_break_is_right() -> None:
    assert_runs(loop(), int32(1, 2))


@pytest.mark.parametrize("fault", BAD_LOOPS)
def test_while_loop_with_wrong_signatures_is_an_error(fault: str) -> None:
    graph = loop(**BAD_LOOPS[fault])
    assert any(v.operator == "WHILE_LOOP" for v in validate(graph))
    with pytest.raises(tj.GraphError):
        tj.compile(graph)


def test_a_body_must_give_what_it_takes() -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT32, (2,))
    region(builder, "cond", WIDE, lambda block, x: block.const(truth(False, 1)))
    region(builder, "body", WIDE, lambda block, x: block.const(int32(1, 2, 3)))
    builder.output(*add_all(builder, WHILE_LOOP(cond_graph="cond", body_graph="body"), [x], WIDE))
    assert any(v.operator == "WHILE_LOOP" for v in validate(builder.build()))


@pytest.mark.parametrize("operator", ["COND_IF", "WHILE_LOOP"])
def test_a_region_that_is_not_there_is_an_error(operator: str) -> None:
    builder = GraphBuilder()
    c, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT32, (2,))
    if operator == "COND_IF":
        outputs = add_all(builder, COND_IF(then_graph="a", else_graph="b"), [c, x], WIDE)
    else:
        outputs = add_all(builder, WHILE_LOOP(cond_graph="a", body_graph="b"), [x], WIDE)
    builder.output(*outputs)
    with pytest.raises(tj.GraphError):
        tj.compile(builder.build())


@pytest.mark.parametrize("count", [64, 65])
def test_lists_are_as_long_as_the_level_allows(count: int) -> None:
    graph = loop(*((((INT32, (1,)),) * count,) * 4))
    kinds = {violation.kind for violation in validate(graph)}
    assert kinds == (set() if count == 64 else {"level"})
    assert not validate(graph, level="none")


def test_control_flow_needs_its_extension() -> None:
    assert not validate(choice(), extensions=["EXT-CONTROLFLOW"])
    assert {violation.kind for violation in validate(choice(), extensions=[])} == {"profile"}


@pytest.mark.parametrize("exchange", [False, True])
@pytest.mark.parametrize("rounds", range(6))
def test_a_loop_may_go_on_by_one_of_its_values_and_leave_or_exchange_others(
    rounds: int, exchange: bool
) -> None:
    builder = GraphBuilder()
    names = [builder.input("go", BOOL, (1,))]
    names += [builder.input(name, INT32, (1,)) for name in ("left", "a", "b", "stays")]

    def body(block: GraphBuilder, go: str, left: str, a: str, b: str, stays: str) -> list[str]:
        one, zero = (block.const(np.array([value], np.int32), INT32) for value in (1, 0))
        less = block.add(SUB(), [left, one])
        goes_on, more = block.add(GREATER(), [less, zero]), block.add(ADD(), [b, stays])
        return [goes_on, less, more, a if exchange else b, stays]

    builder.output(*while_loop(builder, names, lambda block, go, *others: go, body))
    graph = builder.build()
    assert_runs(graph, truth(rounds > 0, 1), int32(rounds), int32(5), int32(7), int32(100))


@pytest.mark.parametrize("rounds", range(6))
def test_a_loop_leaves_inputs_alone_and_gives_arrays_of_its_own(rounds: int) -> None:
    builder = GraphBuilder()
    names = [builder.input(name, INT32, (1,)) for name in ("left", "x", "stays")]

    def body(block: GraphBuilder, left: str, x: str, stays: str) -> list[str]:
        less = block.add(SUB(), [left, block.const(np.array([1], np.int32), INT32)])
        return [less, block.add(ADD(), [x, stays]), stays]

    def goes_on(block: GraphBuilder, left: str, x: str, stays: str) -> str:
        return block.add(GREATER(), [left, block.const(np.zeros(1, np.int32), INT32)])

    builder.output(*while_loop(builder, names, goes_on, body))
    made, inputs = tj.compile(builder.build()), [int32(rounds), int32(1), int32(10)]
    made.wait()
    found = [made(*inputs) for _ in range(2)]
    for arrays in found:
        assert [array.tolist() for array in arrays] == [[0], [1 + 10 * rounds], [10]]
        for array in arrays:
            array[...] = 55
    assert [array.tolist() for array in inputs] == [[rounds], [1], [10]]
