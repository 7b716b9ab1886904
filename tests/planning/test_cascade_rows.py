"""What makes its result in rows, and what reads it so: only such groups pass on parts of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tiling.cascade_stripes import in_rows, makes_rows, row_of
from tiling.expr import acc, const, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, identity

AXES = (Axis("y", 6), Axis("x", 4), Axis("c", 3), Axis("k", 2, True))


def at(*coefficients: int, offset: int = 0) -> Affine:
    """An index over the four axes."""
    return Affine(coefficients, offset)


def nest(write: Access, *more: Write) -> Nest:
    """A sum over the last axis, stored by an access."""
    reduction = Reduction("add", 0, "i32", read(0, "i32"))
    source = Access("a", "i32", (6, 4, 3, 2), identity(4))
    return Nest("reduce", AXES, (source,), (Write(write, acc("i32")), *more), reduction)


WHOLE = Access("b", "i32", (6, 4, 3), identity(3, 0, 4))


def test_a_result_of_all_kept_axes_in_order_is_made_in_rows() -> None:
    assert makes_rows(nest(WHOLE))


@pytest.mark.parametrize(
    "write",
    [
        replace(WHOLE, shape=(7, 4, 3)),
        replace(WHOLE, shape=(6, 4, 4)),
        replace(WHOLE, shape=(6, 12), index=(at(1, 0, 0, 0), at(0, 3, 1, 0))),
        replace(WHOLE, index=(at(-1, 0, 0, 0, offset=5), *WHOLE.index[1:])),
        replace(WHOLE, shape=(4, 6, 3), index=(WHOLE.index[1], WHOLE.index[0], WHOLE.index[2])),
        replace(WHOLE, index=(at(1, 0, 0, 0, offset=1), *WHOLE.index[1:]), shape=(7, 4, 3)),
    ],
)
def test_a_result_with_gaps_or_in_another_order_is_not(write: Access) -> None:
    assert not makes_rows(nest(write))


def test_two_results_are_not_made_in_rows() -> None:
    assert not makes_rows(nest(WHOLE, Write(replace(WHOLE, operand="c"), acc("i32"))))


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ((at(1, 0, 0, 0), at(0, 1, 0, 0), at(0, 0, 1, 0)), True),
        ((at(2, 0, 0, 1, offset=-1), at(0, 1, 0, 0), at(0, 0, 0, 1)), True),
        ((at(1, 0, 0, 0), at(0, 0, 0, 0, offset=2), at(0, -1, 0, 0, offset=3)), True),
        ((at(0, 1, 0, 0), at(0, 0, 1, 0), at(0, 0, 0, 1)), False),
        ((at(-1, 0, 0, 0, offset=5), at(0, 1, 0, 0), at(0, 0, 1, 0)), False),
        ((at(1, 0, 0, 0), at(1, 1, 0, 0), at(0, 0, 1, 0)), False),
        ((at(1, 0, 0, 0), at(0, 1, 0, 0), at(2, 0, 1, 0)), False),
        ((at(0, 1, 0, 0), at(1, 0, 0, 0), at(0, 0, 1, 0)), False),
        ((at(1, 0, 0, 0), Indirect(const(1, "i32")), at(0, 0, 1, 0)), False),
        ((), False),
    ],
)
def test_rows_are_read_forwards_by_the_first_axis_alone(
    index: tuple[Affine | Indirect, ...], expected: bool
) -> None:
    shape = (30, 30, 30)[: len(index)]
    assert in_rows(Access("b", "i32", shape, index), nest(WHOLE)) == expected


def test_a_row_has_the_elements_of_all_dimensions_behind_the_first() -> None:
    assert [row_of(replace(WHOLE, shape=shape)) for shape in ((6, 4, 3), (5, 1, 7), (9, 2, 2))] == [12, 7, 4]
