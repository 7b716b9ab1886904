"""Fields of machines that a space varies: whether they exist, and whether a value is one of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from sim.explore.errors import SpaceError
from sim.explore.expression import Symbol
from sim.explore.values import Axis, Choices, Range, Value
from sim.machine.errors import Fault, MachineError, shown
from sim.machine.faults import faults_of
from sim.machine.machine import Machine
from sim.machine.paths import FREE, paths

SHOWN_PATHS = 8
CHECKED = 1000
"""Values of a range that are looked at one by one; what is between two of them is inside the same bounds."""


Given = Range | Sequence[Value] | Mapping[str, Any]
"""What a space has for a field."""


@dataclass(frozen=True)
class Fields:
    """What the fields of some machines are, with parts that may stand in their places."""

    machines: Sequence[Machine]
    parts: Mapping[str, Sequence[BaseModel]]
    """Parts that a space has as values, by path."""

    def given(self, path: str, given: Given) -> Given:
        """A list or a range, which files have as a dictionary."""
        if not isinstance(given, Mapping) or not ({"low", "high"} & set(given)):
            return given
        try:
            return Range.from_dict(given)
        except SpaceError as error:
            raise SpaceError([one.under(path) for one in error.faults]) from None

    def axis(self, path: str, given: Given) -> Axis:
        """The values of a field, checked by its own type and bounds."""
        owners = self._owners(path)
        if not owners:
            raise SpaceError([Fault(path, f"no such field; {self._hint(path)}")])
        if isinstance(given, Range):
            return self._range(path, owners, given)
        if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
            text = f"{shown(given)} is not a list or a range; write a single value as [{shown(given)}]"
            raise SpaceError([Fault(path, text)])
        return self._list(path, owners, given)

    def checked(self, path: str, value: Value) -> Value:
        """The value as the field keeps it."""
        return _first(path, self._owners(path), value)

    def symbol(self, path: str) -> Symbol | None:
        """What the field is in expressions; None for parts and tables."""
        kinds = {kind for place in self._owners(path) for kind in place.kinds}
        if kinds & {int, float}:
            return Symbol("number", path)
        if bool in kinds:
            return Symbol("truth", path)
        choices = tuple(one for place in self._owners(path) for one in place.choices)
        return Symbol("text", path, tuple(dict.fromkeys(choices))) if str in kinds else None

    def _list(self, path: str, owners: list[_Place], given: Sequence[object]) -> Axis:
        if not given:
            raise SpaceError([Fault(path, "has no values; give at least one, or leave it out")])
        found: list[Value] = []
        faults: list[Fault] = []
        for one in given:
            try:
                value = plain_value(_first(path, owners, plain_value(one)))
            except MachineError as error:
                faults += error.faults
                continue
            if value in found:
                faults.append(Fault(path, f"{shown(one)} occurs twice"))
            found.append(value)
        if faults:
            raise SpaceError(faults)
        return Choices(tuple(found))

    def _range(self, path: str, owners: list[_Place], given: Range) -> Axis:
        kinds = {kind for place in owners for kind in place.kinds}
        if not kinds & {int, float}:
            raise SpaceError(
                [Fault(path, f"a range needs a field of numbers; list values, e.g. {_listed(owners)}")]
            )
        try:
            axis = given.axis(whole=float not in kinds)
        except SpaceError as error:
            raise SpaceError([one.under(path) for one in error.faults]) from None
        if axis.size is None:
            ends = [given.low, given.high]
        else:
            ends = [axis.value(number) for number in range(min(axis.size, CHECKED))] + [
                axis.value(axis.size - 1)
            ]
        for value in ends:
            _first(path, owners, value)
        return axis

    def _owners(self, path: str) -> list[_Place]:
        """Where a field with this path can be, in one kind of part each."""
        steps = path.split(".")
        return list(dict.fromkeys(self._walk(steps))) if steps[0] not in FREE else []

    def _walk(self, steps: list[str]) -> Iterator[_Place]:
        starts: list[tuple[BaseModel, int]] = [(one, 0) for one in self.machines]
        starts += [(one, at.count(".") + 1) for at, ones in self.parts.items() for one in ones
                   if steps[: at.count(".") + 1] == at.split(".")]  # fmt: skip
        for part, depth in starts:
            found: object = part
            for number in range(depth, len(steps)):
                if not isinstance(found, BaseModel) or steps[number] not in type(found).model_fields:
                    break
                owner, found = type(found), getattr(found, steps[number])
                left = len(steps) - number - 1
                if left == 0 or (left == 1 and isinstance(found, dict)):
                    yield _Place(owner, steps[number], steps[-1] if left else "")

    def _hint(self, path: str) -> str:
        known = list(dict.fromkeys(self.known()))
        near = get_close_matches(path, known, 3, 0.6)
        if near:
            return f"did you mean {' or '.join(near)}?"
        part = path.partition(".")[0]
        inside = [one for one in known if one.startswith(f"{part}.")] or [
            one for one in known if "." not in one
        ]
        return f"there are {', '.join(inside[:SHOWN_PATHS])}{', …' if len(inside) > SHOWN_PATHS else ''}"

    def known(self) -> Iterator[str]:
        """The paths of all fields there are."""
        for machine in self.machines:
            yield from paths(machine)
        for path, parts in self.parts.items():
            for part in parts:
                yield from paths(part, f"{path}.")


@dataclass(frozen=True)
class _Place:
    """A field of a kind of part, or an entry of its table."""

    owner: type[BaseModel]
    name: str
    key: str

    @property
    def kinds(self) -> set[object]:
        """The types of its values."""
        annotation = self.owner.model_fields[self.name].annotation
        return set(_kinds(get_args(annotation)[1] if self.key else annotation))

    @property
    def choices(self) -> tuple[str, ...]:
        """The strings that it can be."""
        annotation = self.owner.model_fields[self.name].annotation
        return get_args(annotation) if get_origin(annotation) is Literal else ()

    def checked(self, value: Value) -> Value:
        """The value as the field keeps it."""
        given = {self.key: value} if self.key else value
        try:
            made = _alone(self.owner, self.name).model_validate({self.name: given})
        except ValidationError as error:
            raise SpaceError(faults_of(self.owner, error)) from None
        found = getattr(made, self.name)
        return found[self.key] if self.key else found


def _first(path: str, owners: Sequence[_Place], value: Value) -> Value:
    """The value as one of the places keeps it; the first one says what is wrong."""
    fault: SpaceError | None = None
    for place in owners:
        try:
            return place.checked(value)
        except SpaceError as error:
            fault = fault or error
    assert fault is not None
    stem = path.removesuffix(f"{owners[0].name}.{owners[0].key}" if owners[0].key else owners[0].name)
    raise SpaceError([one.under(stem.rstrip(".")) for one in fault.faults])


@cache
def _alone(owner: type[BaseModel], name: str) -> type[BaseModel]:
    """A model with this field only."""
    field = owner.model_fields[name]
    kind: Any = field.annotation
    if field.metadata:
        kind = Annotated[(kind, *field.metadata)]
    definition: Any = (kind, ...)
    return create_model("Alone", __config__=ConfigDict(hide_input_in_errors=True), **{name: definition})


def _kinds(annotation: Any) -> Iterator[object]:
    origin = get_origin(annotation)
    if origin is Literal:
        yield str
    elif origin in (Union, UnionType):
        for one in get_args(annotation):
            yield from _kinds(one)
    elif hasattr(annotation, "__metadata__"):
        yield from _kinds(get_args(annotation)[0])
    else:
        yield annotation


def _listed(owners: Sequence[_Place]) -> str:
    """Values of a field that are no numbers, as examples."""
    place = owners[0]
    if place.choices:
        return f"[{', '.join(place.choices)}]"
    return "[true, false]" if bool in place.kinds else "[{…}, {…}]"


def plain_value(value: object) -> Value:
    """A value as JSON has it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {name: plain_value(one) for name, one in value.items()}
    item = getattr(value, "item", None)  # a NumPy scalar
    return item() if callable(item) and getattr(value, "shape", None) == () else value
