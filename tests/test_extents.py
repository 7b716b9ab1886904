"""Shapes that files leave open are closed by what is given, or the batch is taken as 1."""

from __future__ import annotations

import pytest

from tosajit.errors import InputError
from tosajit.graph.extents import Open, check_names, closed, written


@pytest.mark.parametrize(
    ("declared", "given", "expected"),
    [
        ((2, 3), None, (2, 3)),
        ((), None, ()),
        ((-1,), None, (1,)),
        ((-1, 3), None, (1, 3)),
        ((0, 3), None, (0, 3)),
        ((2, 0), None, (2, 0)),
        (None, (4, 5), (4, 5)),
        (None, (), ()),
        ((-1, 3), (7, 3), (7, 3)),
        ((-1, 3), (0, 3), (0, 3)),
        ((2, -1, -1), (2, 5, 6), (2, 5, 6)),
        ((2, 3), (2, 3), (2, 3)),
        ((0,), (0,), (0,)),
    ],
)
def test_a_shape_is_closed(
    declared: tuple[int, ...] | None, given: tuple[int, ...] | None, expected: tuple[int, ...]
) -> None:
    assert closed("x", declared, given) == expected


@pytest.mark.parametrize(
    ("declared", "given", "message"),
    [
        (None, None, "its shape is not known; give shapes={'x': (…)}"),
        ((2, -1), None, "its shape is [2, ?]; give shapes={'x': (…)}"),
        ((-1, 3, -1), None, "its shape is [?, 3, ?]; give shapes={'x': (…)}"),
        ((-1, 3), (2, 4), "its shape is [?, 3], but [2, 4] is given"),
        ((2, 3), (3, 2), "its shape is [2, 3], but [3, 2] is given"),
        ((0, 3), (1, 3), "its shape is [0, 3], but [1, 3] is given"),
        ((-1, 3), (2, 3, 1), "its shape is [?, 3], but [2, 3, 1] is given"),
        ((-1, 3), (-1, 3), "its shape is [?, 3], but [-1, 3] is given"),
        (None, (2, -1), "its shape is not known, but [2, -1] is given"),
    ],
)
def test_a_shape_that_cannot_be_closed_says_why(
    declared: tuple[int, ...] | None, given: tuple[int, ...] | None, message: str
) -> None:
    with pytest.raises(Open) as caught:
        closed("x", declared, given)
    assert str(caught.value) == message


def test_shapes_are_of_inputs() -> None:
    check_names({"x": (1,)}, ["x", "y"])
    check_names(None, [])
    with pytest.raises(InputError, match="shapes has 'z', but the inputs are x, y"):
        check_names({"x": (1,), "z": (1,)}, ["x", "y"])
    with pytest.raises(InputError, match="shapes has 'z', but the inputs are none"):
        check_names({"z": (1,)}, [])


def test_open_extents_are_written_as_questions() -> None:
    assert written((-1, 0, 1)) == "[?, 0, 1]"
