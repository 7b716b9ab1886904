"""`tiling.records.dataclass` makes what Python's `dataclass` makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any, ClassVar

import pytest

from tiling.records import dataclass, replace

Classes = list[Any]
"""Ours, and Python's."""


def _defined(decorator: Any, **options: bool) -> Any:
    class Point:
        """A class with all that fields may be."""

        x: int
        y: tuple[int, ...] = (1, 2)
        made: list[int] = field(default_factory=list, compare=False)
        hidden: int = field(default=3, repr=False)
        counted: int = field(default=4, hash=False)
        fixed: int = field(default=5, init=False)
        named: str = field(default="n", kw_only=True)
        kind: ClassVar[str] = "point"

        @property
        def double(self) -> int:
            return 2 * self.x

    return decorator(**options)(Point)


OPTIONS = [
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "repr": False},
    {"frozen": True, "kw_only": True},
    {"slots": True},
    {},
]


@pytest.fixture(params=OPTIONS, ids=str)
def pair(request: pytest.FixtureRequest) -> Classes:
    return [_defined(decorator, **request.param) for decorator in (dataclass, dataclasses.dataclass)]


def test_signatures_are_those_of_python(pair: Classes) -> None:
    ours, theirs = map(inspect.signature, pair)
    assert ours == theirs


def test_instances_print_compare_and_hash_as_those_of_python(pair: Classes) -> None:
    answers = []
    for cls in pair:
        one, same, other = cls(x=1), cls(x=1, made=[7]), cls(x=1, named="m")
        is_hashed = cls.__hash__ is not None
        hashes = [is_hashed and hash(one) == hash(value) for value in (one, same, other, cls(x=1, counted=9))]
        shown = repr(one) if cls.__dataclass_params__.repr else ""
        answers.append(
            (one == same, one == other, one == 1, is_hashed, hashes, shown, dataclasses.asdict(one))
        )
    assert answers[0] == answers[1]


def test_fields_and_parameters_are_those_of_python(pair: Classes) -> None:
    ours, theirs = pair
    named = [[(f.name, f.type) for f in dataclasses.fields(cls)] for cls in pair]
    assert named[0] == named[1]
    assert ours.__annotations__ == theirs.__annotations__
    assert repr(ours.__dataclass_params__) == repr(theirs.__dataclass_params__)
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours(x=1), "__dict__") == hasattr(theirs(x=1), "__dict__")
    assert dataclasses.replace(ours(x=1), x=2).double == 4


def test_wrong_arguments_are_refused_in_the_words_of_python(pair: Classes) -> None:
    wrong: list[dict[str, int]] = [{}, {"x": 1, "unknown": 2}, {"x": 1, "fixed": 2}]
    for arguments in wrong:
        messages = []
        for cls in pair:
            with pytest.raises(TypeError) as error:
                cls(**arguments)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


def test_a_copy_with_other_values_is_that_of_python(pair: Classes) -> None:
    for cls in pair:
        one = cls(x=1, made=[7])
        for changes in ({"x": 2}, {"y": (), "named": "m"}, {}):
            ours, theirs = replace(one, **changes), dataclasses.replace(one, **changes)
            assert type(ours) is cls
            assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
        for wrong in ({"fixed": 1}, {"unknown": 1}):
            with pytest.raises((TypeError, ValueError)):
                replace(one, **wrong)


def test_frozen_fields_stay_as_they_are() -> None:
    one = _defined(dataclass, frozen=True, slots=True)(x=1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x


@dataclass(frozen=True, slots=True)
class Pair:
    """One that can be found by its name."""

    first: int
    second: list[int]

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("first is negative")


@dataclass(frozen=True, slots=True)
class Triple(Pair):
    """One that inherits."""

    third: int = 0


@pytest.mark.parametrize("value", [Pair(1, [2]), Triple(1, [2], 3)])
def test_instances_are_copied_and_pickled(value: Pair) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    copied = copy.deepcopy(value)
    assert copied == value
    assert copied.second is not value.second
    assert copy.copy(value).second is value.second


def test_a_copy_with_other_values_is_looked_at_and_of_the_same_class() -> None:
    second = [2]
    changed = replace(Triple(1, second, 3), first=4)
    assert changed == Triple(4, [2], 3)
    assert changed.second is second
    with pytest.raises(ValueError, match="first is negative"):
        replace(Pair(1, []), first=-1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'unknown'"):
        replace(Pair(1, []), unknown=1)  # type: ignore[call-arg]


def test_values_are_looked_at_once_they_are_set() -> None:
    with pytest.raises(ValueError, match="first is negative"):
        Pair(-1, [])
    with pytest.raises(ValueError, match="first is negative"):
        Triple(-1, [])


def test_methods_of_a_class_stay() -> None:
    @dataclass(frozen=True, slots=True)
    class Named:
        """One with methods of its own."""

        name: str

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "mine"

    assert Named("a") == Named("b")
    assert repr(Named("a")) == "mine"
    assert hash(Named("a")) == hash(("a",))


def test_one_that_is_called_by_a_class_that_inherits_is_written_for_its_own() -> None:
    class Child(Pair):
        """An ordinary class."""

    child: Any = Child(1, [2])
    child.other = 3
    assert (child.first, child.other) == (1, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        child.first = 2
