"""What normal forms look like: as few axes, reads and dimensions as the computation needs."""

from __future__ import annotations

from collections.abc import Sequence

from tiling.expr import axis, call, const, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, along, fixed, identity
from tiling.normal import drop_unit_dimensions, normalise, share_reads, split_dimensions


def copy(extents: Sequence[int], source: Access, target: Access, reduced: Sequence[int] = ()) -> Nest:
    """A nest that copies, or adds up."""
    axes = tuple(Axis("abcdef"[n], extent, n in reduced) for n, extent in enumerate(extents))
    total = Reduction("add", 0, "i32", read(0, "i32")) if reduced else None
    return Nest("move", axes, (source,), (Write(target, read(0, "i32")),), total)


def whole(name: str, shape: Sequence[int], axes: int | None = None) -> Access:
    """An access whose dimensions are the first axes."""
    return Access(name, "i32", tuple(shape), identity(len(shape), 0, axes))


def named(nest: Nest) -> list[tuple[str, int]]:
    """Names and extents of axes."""
    return [(one.name, one.extent) for one in nest.axes]


def test_a_copy_of_a_tensor_is_a_copy_of_a_vector() -> None:
    nest = normalise(copy((2, 3, 1, 4, 5), whole("x", (2, 3, 1, 4, 5)), whole("y", (2, 3, 1, 4, 5))))
    assert named(nest) == [("abde", 120)]
    assert [access.shape for access in nest.accesses] == [(120,), (120,)]


def test_axes_stay_where_one_access_needs_both() -> None:
    turned = Access("x", "i32", (4, 2, 3), (along(2, 3), along(0, 3), along(1, 3)))
    nest = normalise(copy((2, 3, 4), turned, whole("y", (2, 3, 4))))
    assert named(nest) == [("ab", 6), ("c", 4)]
    assert [access.shape for access in nest.accesses] == [(4, 6), (6, 4)]


def test_a_merged_axis_merges_with_the_one_in_front_of_it() -> None:
    # The two last axes merge first only after a look at the two in front, which then fit as well.
    source = Access("x", "i32", (24,), (Affine((12, 4, 1)),))
    nest = normalise(copy((2, 3, 4), source, Access("y", "i32", (24,), (Affine((12, 4, 1)),))))
    assert named(nest) == [("abc", 24)]
    gap = Access("x", "i32", (2, 16), (along(0, 3), Affine((0, 4, 1))))
    assert named(normalise(copy((2, 3, 4), gap, whole("y", (2, 3, 4))))) == [("a", 2), ("bc", 12)]


def test_a_part_of_a_dimension_is_no_run() -> None:
    part = Access("x", "i32", (3, 5), identity(2))
    assert named(normalise(copy((3, 4), part, whole("y", (3, 4))))) == [("a", 3), ("b", 4)]
    later = Access("x", "i32", (3, 4), (along(0, 2), along(1, 2, offset=-1)), const(0, "i32"))
    assert named(normalise(copy((3, 4), later, whole("y", (3, 4))))) == [("a", 3), ("b", 4)]
    apart = Access("x", "i32", (3, 2, 4), (along(0, 2), fixed(1, 2), along(1, 2)))
    nest = normalise(copy((3, 4), apart, whole("y", (3, 4))))
    assert named(nest) == [("a", 3), ("b", 4)]
    assert nest.reads[0].index[1] == fixed(1, 2)


def test_kept_and_reduced_axes_stay_apart() -> None:
    nest = normalise(copy((3, 4, 5), whole("x", (3, 4, 5)), whole("y", (3,), 3), reduced=(1, 2)))
    assert [(one.extent, one.reduced) for one in nest.axes] == [(3, False), (20, True)]
    assert nest.reads[0].shape == (3, 20)


def test_axes_whose_number_is_used_stay() -> None:
    value = call("add_i64", axis(1), const(0, "i64"), type="i64")
    axes = tuple(Axis(name, 4) for name in "abcd")
    target = Access("y", "i64", (4, 4, 4, 4), identity(4))
    nest = normalise(Nest("map", axes, (), (Write(target, value),)))
    assert named(nest) == [("a", 4), ("b", 4), ("cd", 16)]
    last = normalise(Nest("map", axes, (), (Write(target, axis(3)),)))
    assert named(last) == [("abc", 64), ("d", 4)]
    assert last.writes[0].value == axis(1)


def test_equal_reads_are_one_and_unused_ones_none() -> None:
    x, y = whole("x", (4,)), whole("y", (4,))
    value = call("add_i32", read(1, "i32"), read(3, "i32"), type="i32")
    axes = (Axis("a", 4),)
    shared = share_reads(Nest("map", axes, (y, x, y, x), (Write(whole("z", (4,)), value),)))
    assert shared.reads == (x,)
    assert shared.writes[0].value == call("add_i32", read(0, "i32"), read(0, "i32"), type="i32")


def test_what_an_index_or_a_fill_reads_is_used() -> None:
    chosen = Access("x", "i32", (9,), (Indirect(read(1, "i32")),))
    at, fill = whole("i", (4,)), Access("f", "i32", (), ())
    padded = Access("x", "i32", (4,), (along(0, 1, offset=1),), read(3, "i32"))
    value = call("add_i32", read(0, "i32"), read(2, "i32"), type="i32")
    nest = Nest("map", (Axis("a", 4),), (chosen, at, padded, fill), (Write(whole("z", (4,)), value),))
    assert {access.operand for access in share_reads(nest).reads} == {"x", "i", "f"}


def test_dimensions_of_one_element_go_where_they_cannot_be_missed() -> None:
    moved = Access("x", "i32", (1, 4, 1), (fixed(0, 1), along(0, 1), along(0, 1)), const(3, "i32"))
    assert drop_unit_dimensions(moved).shape == (4, 1)
    beside = Access("x", "i32", (1, 4), (fixed(1, 1), along(0, 1)), const(3, "i32"))
    assert drop_unit_dimensions(beside) == beside
    chosen = Access("x", "i32", (1, 4), (Indirect(read(0, "i32")), along(0, 1)))
    assert drop_unit_dimensions(chosen) == chosen


def split(shape: Sequence[int], index: Affine, nest: Nest, mixed: bool = False) -> Access:
    """A one-dimensional access with a dimension for each axis, where it can be."""
    return split_dimensions(Access("x", "i32", tuple(shape), (index,)), nest, mixed)


def test_a_dimension_that_several_axes_walk_is_blocks_of_blocks() -> None:
    nest = copy((2, 3, 4), whole("x", (2, 3, 4)), whole("y", (2, 3, 4)))
    found = split((48,), Affine((24, 8, 2), 1), nest)
    assert found.shape == (2, 3, 4, 2)
    assert found.index == (along(0, 3), along(1, 3), along(2, 3), fixed(1, 3))
    later = split((64,), Affine((32, 8, 1), 8 + 3), nest)
    assert (later.shape, later.start(), later.strides) == ((2, 4, 8), 11, (32, 8, 1))
    assert later.index == (along(0, 3), along(1, 3, offset=1), along(2, 3, offset=3))


def test_what_are_no_blocks_stays_one_dimension() -> None:
    nest = copy((2, 3, 4), whole("x", (2, 3, 4)), whole("y", (2, 3, 4)))
    for size, index in [
        (50, Affine((24, 8, 2))),  # no whole number of blocks
        (24, Affine((12, 4, -1), 3)),  # backwards
        (24, Affine((12, 4, 1), 1)),  # beyond its block
        (24, Affine((8, 0, 0))),  # one axis
        (24, Affine((12, 5, 1))),  # no blocks of blocks
        (36, Affine((12, 4, 1), -12)),  # begins in front
        (24, Affine((12, 4, 1), 12)),  # ends behind
    ]:
        assert split((size,), index, nest) == Access("x", "i32", (size,), (index,)), index
    padded = Access("x", "i32", (24,), (Affine((12, 4, 1)),), const(0, "i32"))
    assert split_dimensions(padded, nest) == padded


def test_a_dimension_of_kept_and_reduced_axes_is_split_on_request() -> None:
    nest = copy((4, 3), whole("x", (4, 3)), whole("y", (4,), 2), reduced=(1,))
    inside, outside = Affine((3, 1)), Affine((1, 4))
    for index in (inside, outside):
        assert split((12,), index, nest).shape == (12,)
    assert split((12,), outside, nest, mixed=True).shape == (3, 4)
    assert split((12,), inside, nest, mixed=True).shape == (12,)
