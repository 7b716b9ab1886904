"""Many machines that differ from one in a few fields, each as `Machine.replace` makes it, but faster.

Only what changes is checked; of fields with the same values, once. What is wrong is said by `replace` itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from sim.machine.errors import Fault, MachineError
from sim.machine.figures import Table
from sim.machine.machine import Machine
from sim.machine.paths import merged, named, touched

Key = Any
"""What values that are alike have in common; hashable."""
PLAIN = {int, float, bool, str, type(None)}
REMEMBERED = 1 << 14
"""Values of fields that are kept."""


def variants(
    base: Machine, paths: Sequence[str], rows: Iterable[Sequence[Any]], source: str = ""
) -> list[Machine | MachineError]:
    """For each row of values, `base.replace` of the fields with these paths, or what is wrong with it."""
    maker = _Maker(base, source, tuple(paths))
    return [maker.of(row) for row in rows]


class _Maker:
    """Makes machines from changes; remembers fields that are checked, and errors."""

    def __init__(self, base: Machine, source: str, paths: tuple[str, ...]) -> None:
        self.base, self.source, self.paths, self.tree = base, source, paths, base.to_dict()
        self.fields = {name: getattr(base, name) for name in type(base).model_fields}
        self.known: dict[Key, Any] = {}
        self.errors: dict[Key, MachineError] = {}
        self.sources: dict[frozenset[str], Table[str]] = {}
        self.columns: dict[str, list[int]] = {}
        """Which columns change a field of the machine."""
        for number, path in enumerate(paths):
            self.columns.setdefault(path.partition(".")[0], []).append(number)
        self.usual = len(set(paths)) == len(paths) and self.columns.keys() <= self.fields.keys() - {"sources"}
        self.left: Table[str] | None = None
        """Sources that rows of plain values leave."""

    def of(self, row: Sequence[Any]) -> Machine | MachineError:
        """The machine of a row, or its error."""
        if len(row) != len(self.paths):
            raise ValueError(f"a row has {len(row)} values, but there are {len(self.paths)} paths")
        if not self.usual:
            return self._replaced(self._changes(row))
        fields, wrong = dict(self.fields), []
        for name, columns in self.columns.items():
            values = [row[number] for number in columns]
            key = name, *map(_key, values)
            if key not in self.known:
                self.known[key] = self._field(name, dict(zip(columns, values, strict=True)))
            fields[name] = self.known[key]
            if fields[name] is _WRONG:
                wrong.append(key)
        if wrong:
            return self._error(("name" in self.columns and fields["name"], *wrong), row)
        fields["sources"] = self._sources(row)
        machine = type(self.base).model_construct(set(fields), **fields)
        machine.take_point()
        faults = [Fault(path, text) for bad, path, text in machine.rules() if bad]
        return machine if not faults else MachineError(faults, self._where(row))

    def _changes(self, row: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.paths, row, strict=True))

    def _field(self, name: str, values: Mapping[int, Any]) -> Any:
        """A field with what changes in it, or `_WRONG`."""
        if len(self.known) >= REMEMBERED:
            self.known.clear()
        changes = named({self.paths[number]: value for number, value in values.items()})
        try:
            given = merged({name: self.tree[name]}, changes)[name]
            return _adapter(type(self.base), name).validate_python(given)
        except (ValidationError, MachineError):
            return _WRONG

    def _sources(self, row: Sequence[Any]) -> Table[str]:
        """What is left of the sources."""
        plain = all(type(value) in PLAIN for value in row)
        if plain and self.left is not None:
            return self.left
        tree = named(self._changes(row))
        places = frozenset(touched(tree))
        if places not in self.sources:
            self.sources[places] = Table(merged(self.tree, tree, self.source)["sources"])
        if plain:
            self.left = self.sources[places]
        return self.sources[places]

    def _where(self, row: Sequence[Any]) -> str:
        """The name that errors begin with."""
        name = self._changes(row).get("name", self.base.name)
        return name if isinstance(name, str) and len(name) < 100 else ""

    def _error(self, key: Key, row: Sequence[Any]) -> Machine | MachineError:
        """What is wrong with some fields, whatever the others are."""
        if key not in self.errors:
            if len(self.errors) >= REMEMBERED:
                self.errors.clear()
            found = self._replaced(self._changes(row))
            if not isinstance(found, MachineError):
                return found
            self.errors[key] = found
        return self.errors[key]

    def _replaced(self, changes: Mapping[str, Any]) -> Machine | MachineError:
        try:
            return self.base.replace(changes, self.source)
        except MachineError as error:
            return error


_WRONG = object()


@cache
def _adapter(machine: type[Machine], name: str) -> TypeAdapter[Any]:
    """What checks a field by itself."""
    field = machine.model_fields[name]
    kind: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    return TypeAdapter(kind)


def _key(value: Any) -> Key:
    """The value in a form that can be looked up: 1, 1.0 and True are three values."""
    if type(value) in PLAIN:
        return type(value), value
    if isinstance(value, Mapping):
        return (dict, *((name, _key(one)) for name, one in value.items()))
    if isinstance(value, list | tuple):
        return (list, *map(_key, value))
    try:
        hash(value)
    except TypeError:
        return object()
    return type(value), value
