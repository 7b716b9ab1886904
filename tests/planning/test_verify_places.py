"""What the verifier says of places is what walking over all points says: bounds, writes, and their order."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.tiles import at
from tiling.expr import axis, call, const, read
from tiling.nest import Access, Affine, Axis, Nest, Write
from tiling.program import Operand
from tiling.verify import verify_nest, verify_nests

SIZES = st.integers(1, 4)


@st.composite
def accesses(draw: st.DrawFn, name: str, extents: tuple[int, ...]) -> Access:
    """Any access over axes, inside of its operand or not."""
    rank = draw(st.integers(1, 2))
    step, offset = st.integers(-3, 4), st.integers(-2, 3)
    index = tuple(Affine(tuple(draw(st.tuples(*[step] * len(extents)))), draw(offset)) for _ in range(rank))
    return Access(name, "i32", tuple(draw(st.tuples(*[st.integers(1, 12)] * rank))), index)


@st.composite
def copies(draw: st.DrawFn) -> Nest:
    """A nest that copies from any places to any places."""
    extents = tuple(draw(st.lists(SIZES, min_size=1, max_size=3)))
    source, target = draw(accesses("x", extents)), draw(accesses("y", extents))
    axes = tuple(Axis("abc"[number], extent) for number, extent in enumerate(extents))
    return Nest("move", axes, (source,), (Write(target, read(0, "i32")),), None, ("copy",))


def places(access: Access, extents: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The element that each point meets."""
    return [tuple(at(i, point) for i in access.index) for point in product(*map(range, extents))]


def inside(access: Access, place: tuple[int, ...]) -> bool:
    return all(0 <= i < extent for i, extent in zip(place, access.shape, strict=True))


@given(copies())
def test_places_outside_of_an_operand_are_found(nest: Nest) -> None:
    faults = verify_nest(nest)
    for access in nest.accesses:
        outside = [place for place in places(access, nest.extents) if not inside(access, place)]
        assert any(f"of {access.operand} has" in fault for fault in faults) == bool(outside)
        if access.fill is None and outside:
            filled = Nest("move", nest.axes, (), (Write(access, const(0, "i32")),), None, ("copy",))
            assert any(f"of {access.operand} has" in fault for fault in verify_nest(filled))


@given(copies())
def test_elements_written_twice_are_found(nest: Nest) -> None:
    target = nest.writes[0].access
    elements = [
        sum(i * stride for i, stride in zip(place, target.strides, strict=True))
        for place in places(target, nest.extents)
    ]
    twice = len(set(elements)) < len(elements)
    found = "copy: elements of y are written more than once" in verify_nest(nest)
    assert found == twice


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=4))
def test_parts_are_written_once_and_read_where_something_was_written(
    parts: list[tuple[int, int, int]],
) -> None:
    meant = [set(range(first, first + count * step, step)) for first, count, step in parts]
    size = max(set().union(*meant)) + 2  # no part is all of it
    operands = {"y": Operand("y", "i32", size, "temporary"), "z": Operand("z", "i32", size, "output")}
    nests = []
    for number, (first, count, step) in enumerate(parts):
        part = Access("y", "i32", (size,), (Affine((step,), first),))
        write = Write(part, const(1, "i32"))
        nests.append(Nest("map", (Axis("i", count),), (), (write,), None, (f"part {number}",)))
    again = [n for n, one in enumerate(meant) if one & set().union(*meant[:n])]
    faults = [f"part {number}: y is written again" for number in again]
    assert verify_nests(nests, {"y": operands["y"]}) == faults
    # All of it is read, or what one part wrote.
    for first, count, step in [(0, size, 1), *parts]:
        source = Access("y", "i32", (size,), (Affine((step,), first),))
        target = Write(Access("z", "i32", (size,), (Affine((1,)),)), read(0, "i32"))
        reader = Nest("move", (Axis("i", count),), (source,), (target,), None, ("reader",))
        lacking = ["reader: elements of y are read that nothing has written"] if count == size else []
        assert verify_nests([*nests, reader], operands) == faults + lacking


@pytest.mark.parametrize(("number", "faults"), [(-1, 1), (0, 0), (1, 1)])
def test_axes_and_reads_have_numbers_from_zero_on(number: int, faults: int) -> None:
    axes, every = (Axis("i", 4),), (Affine((1,)),)
    whole, target = Access("x", "i32", (4,), every), Access("y", "i32", (4,), every)
    for value in (call("to_i32", axis(number)), read(number, "i32")):
        nest = Nest("map", axes, (whole,), (Write(target, value),), None, ("numbers",))
        assert len(verify_nest(nest)) == faults
