"""Rewriting a nest keeps its meaning: axes split, exchanged or reversed, operands seen in another shape."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.planning.drawing import Chain, chains
from tests.planning.interpreter import interpret
from tests.planning.test_fuse import arrays
from tests.planning.tiles import at
from tiling.expr import Expr, apply, const, read, rewrite, walk
from tiling.nest import Access, Affine, Nest, along, nest_exprs, split_axis, with_axes
from tiling.substitute import is_permutation, reshape_read


def computes_the_same(chain: Chain, number: int, other: Nest) -> bool:
    sizes = {name: prod(shape) for name, shape in chain.shapes.items()}
    given_arrays = arrays(chain, number)
    changed = [other if position == number else nest for position, nest in enumerate(chain.nests)]
    before, after = interpret(chain.nests, given_arrays, sizes), interpret(changed, given_arrays, sizes)
    return all(np.array_equal(before[name], after[name]) for name in before)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Chain, int]:
    """A chain and the number of one of its nests."""
    chain = draw(chains())
    assume(chain.nests)
    return chain, draw(st.integers(0, len(chain.nests) - 1))


def factors(size: int) -> list[int]:
    return [number for number in range(1, size + 1) if size % number == 0]


@given(cases(), st.data())
def test_a_split_axis_is_the_same_loop(case: tuple[Chain, int], data: st.DataObject) -> None:
    chain, number = case
    nest = chain.nests[number]
    assume(nest.axes)
    position = data.draw(st.integers(0, len(nest.axes) - 1))
    inner = data.draw(st.sampled_from(factors(nest.axes[position].extent)))
    split = split_axis(nest, position, inner)
    assert split.points == nest.points
    assert computes_the_same(chain, number, split)


@given(cases(), st.data())
def test_kept_axes_can_stand_in_any_order_and_run_backwards(
    case: tuple[Chain, int], data: st.DataObject
) -> None:
    chain, number = case
    nest = chain.nests[number]
    count = len(nest.axes)
    order = [*data.draw(st.permutations(range(nest.outer))), *range(nest.outer, count)]
    old = [along(order.index(position), count) for position in range(count)]
    if nest.outer and data.draw(st.booleans()):
        last = nest.axes[order[0]].extent - 1
        old[order[0]] = along(0, count, -1, last)
    moved = with_axes(nest, tuple(nest.axes[position] for position in order), old)
    assert computes_the_same(chain, number, moved)


@given(cases(), st.data())
def test_an_operand_in_another_shape_is_read_alike_or_not_at_all(
    case: tuple[Chain, int], data: st.DataObject
) -> None:
    chain, number = case
    nest = chain.nests[number]
    position = data.draw(st.integers(0, len(nest.reads) - 1))
    first = data.draw(st.sampled_from(factors(prod(nest.reads[position].shape))))
    second = data.draw(st.sampled_from(factors(prod(nest.reads[position].shape) // first)))
    shape = (first, second, prod(nest.reads[position].shape) // first // second)
    seen = reshape_read(nest, position, shape)
    if seen is None:
        return
    assert seen.reads[position].shape == shape or seen is nest
    assert computes_the_same(chain, number, seen)


@given(cases())
def test_a_shape_of_its_own_always_fits(case: tuple[Chain, int]) -> None:
    chain, number = case
    nest = chain.nests[number]
    for position, access in enumerate(nest.reads):
        assert reshape_read(nest, position, access.shape) is nest


@given(cases())
def test_a_nest_over_its_own_axes_is_the_same_nest(case: tuple[Chain, int]) -> None:
    chain, number = case
    nest = chain.nests[number]
    count = len(nest.axes)
    assert with_axes(nest, nest.axes, [along(position, count) for position in range(count)]) == nest


@given(cases())
def test_parts_come_before_what_needs_them_and_once(case: tuple[Chain, int]) -> None:
    chain, number = case
    seen: list[Expr] = []
    for expr in walk(*nest_exprs(chain.nests[number])):
        assert expr not in seen
        assert set(expr.operands) <= set(seen)
        seen.append(expr)


def test_equal_expressions_are_one_object() -> None:
    first = apply("add", read(0, "i32"), const(1, "i32"))
    assert first is apply("add", read(0, "i32"), const(1, "i32"))
    assert first is not apply("add", read(0, "i32"), const(2, "i32"))
    assert const(1, "i32") is not const(1, "i64")
    assert const(0.0, "f32") is not const(-0.0, "f32")
    assert rewrite(first, lambda leaf: leaf) is first


def test_rewriting_keeps_shared_parts_shared() -> None:
    value = read(0, "i32")
    for _ in range(200):
        value = value + value
    other = rewrite(value, lambda leaf: read(3, "i32"))
    assert len(list(walk(other))) == 201


def test_expressions_cannot_be_changed() -> None:
    value = read(0, "i32")
    with pytest.raises(AttributeError, match="immutable"):
        value.op = "const"
    assert value.op == "read"


@given(st.data())
def test_a_permutation_meets_each_element_once_and_each_dimension_by_one_axis(data: st.DataObject) -> None:
    extents = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    steps = st.sampled_from([0, 0, 0, 1, 1, 2, -1])
    rank = data.draw(st.integers(1, 3))
    index = tuple(
        Affine(data.draw(st.tuples(*[steps] * len(extents))), data.draw(st.sampled_from([0, 0, 0, 1])))
        for _ in range(rank)
    )
    shape = data.draw(st.tuples(*[st.sampled_from([*extents, 1])] * rank))
    places = [tuple(at(one, point) for one in index) for point in product(*map(range, extents))]
    once = sorted(places) == list(product(*map(range, shape)))
    long = [axis for axis, extent in enumerate(extents) if extent > 1]
    alone = all(
        [one.coefficients[axis] for axis in long if one.coefficients[axis]] in ([], [1]) for one in index
    )
    assert is_permutation(Access("x", "i32", shape, index), extents) == (once and alone)
