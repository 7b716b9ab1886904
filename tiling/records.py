"""Dataclasses that cost little to define: a third of an import was to write the methods of Python's.

Python writes six functions for each that is frozen and compiles every one by itself. Here `__init__` alone
is written, when it is first wanted; what compares, hashes and prints is common to all classes. In all else
they are Python's dataclasses.

`replace` is Python's, too, in less than half the time: passes change nests by the ten thousand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """Python's `dataclass`; classes that inherit from no other are defined faster."""

        def made(cls):
            is_first = not hasattr(cls, "__dataclass_fields__")
            return (_defined if is_first else dataclasses.dataclass)(cls, **options)

        return made if cls is None else made(cls)


__all__ = ["dataclass", "replace"]

Methods = dict[str, Any]
Fields = Sequence[dataclasses.Field[Any]]
FACTORY = dataclasses._HAS_DEFAULT_FACTORY  # type: ignore[attr-defined]
"""What signatures show in place of what a factory will make."""


if TYPE_CHECKING:
    from dataclasses import replace as replace  # checkers know the names and types of its arguments
else:

    def replace(record, /, **changes):
        """A copy of an instance of a dataclass with other values of some fields."""
        cls = record.__class__
        changed = _CHANGED.get(cls)
        if changed is None:
            changed = _CHANGED[cls] = _changing(cls)
        return changed(record, **changes)


_CHANGED: dict[type, Callable[..., Any]] = {}


def _changing(cls: Any) -> Callable[..., Any]:
    """What `replace` does for a class: Python's, if it has more than fields that can be given."""
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    if len(names) != len(cls.__dataclass_fields__):
        return dataclasses.replace
    parameters = ", ".join([f"{name}=_none" for name in names])
    values = ", ".join([f"{name}=_self.{name} if {name} is _none else {name}" for name in names])
    known: dict[str, Any] = {"_cls": cls, "_none": FACTORY}
    exec(f"def replace(_self, /, *, {parameters}):\n return _cls({values})", known)
    return known["replace"]  # type: ignore[no-any-return]


def _defined(
    cls: type, *, init: bool = True, repr: bool = True, eq: bool = True, frozen: bool = False, **options: Any
) -> type:
    given = {name for name, value in vars(cls).items() if (name, value) != ("__hash__", None)}
    cls.__doc__ = cls.__doc__ or cls.__name__  # or Python looks for its signature
    written = vars(cls).get("__annotations__", {})
    cls.__annotations__ = {name: _seen(type) for name, type in written.items()}
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    made.__annotations__ = written
    parameters, fields = made.__dataclass_params__, dataclasses.fields(made)
    for field in fields:
        field.type = written[field.name]
    parameters.frozen, parameters.init, parameters.repr, parameters.eq = frozen, init, repr, eq
    methods: Methods = _guards(made, fields) if frozen else {}
    if init:
        methods["__init__"] = _Init(made)
    if repr:
        methods["__repr__"] = _repr(fields)
    if eq:
        methods |= _comparison(fields, frozen)
    if frozen and options.get("slots"):
        methods |= _state(fields)
    for name, method in methods.items():
        if name not in given:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _seen(type: Any) -> Any:
    """An annotation as Python is shown it: three times it parses each text, to see if it is no field."""
    return object if isinstance(type, str) and "Var" not in type and "KW_ONLY" not in type else type


class _Init:
    """An `__init__` that is written when somebody wants it, and then takes this one's place."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, instance: object, owner: type) -> Any:
        """The function, or the instance's method."""
        written = self._cls.__init__ = _written(self._cls)
        return written if instance is None else written.__get__(instance, owner)


def _written(cls: Any) -> Callable[..., None]:
    """What Python's dataclasses do at last: it is compiled from a text, so that it runs as fast as theirs."""
    fields = dataclasses.fields(cls)
    names: dict[str, Any] = {"_set": object.__setattr__, "_none": FACTORY}
    text = "self.{} = {}"
    if cls.__dataclass_params__.frozen:
        slots = {field.name: vars(cls).get(field.name) for field in fields}
        has_slots = all(isinstance(slot, MemberDescriptorType) for slot in slots.values())
        text = "_set_{}(self, {})" if has_slots else "_set(self, {!r}, {})"
        names |= {f"_set_{name}": slot.__set__ for name, slot in slots.items() if has_slots}
    places: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for field in fields:
        names |= {f"_default_{field.name}": field.default, f"_make_{field.name}": field.default_factory}
        default, value = _value(field)
        if value:
            lines.append(text.format(field.name, value))
        if field.init:
            (named if field.kw_only else places).append(field.name + default)
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *places, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), names)
    made: Any = names["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return made  # type: ignore[no-any-return]


def _value(field: dataclasses.Field[Any]) -> tuple[str, str]:
    """How `__init__` names the default of a field, and what it sets it to; nothing if it leaves it alone."""
    name = field.name
    if field.default is not dataclasses.MISSING:
        return f"=_default_{name}", name if field.init else f"_default_{name}"
    if field.default_factory is not dataclasses.MISSING:
        made = f"_make_{name}()"
        return "=_none", f"{made} if {name} is _none else {name}" if field.init else made
    return "", name if field.init else ""


def _guards(cls: Any, fields: Fields) -> Methods:
    """What keeps the fields of instances as they are."""
    names = frozenset(field.name for field in fields)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _repr(fields: Fields) -> Callable[[Any], str]:
    names = [field.name for field in fields if field.repr]

    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _comparison(fields: Fields, frozen: bool) -> Methods:
    compared = _values([field.name for field in fields if field.compare])
    hashed = _values([one.name for one in fields if (one.compare if one.hash is None else one.hash)])

    def __eq__(self: Any, other: Any) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(hashed(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values of some fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _state(fields: Fields) -> Methods:
    """What copies and pickles instances without `__dict__`, whose fields cannot be assigned."""
    names = [field.name for field in fields]

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: Sequence[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": __getstate__, "__setstate__": __setstate__}
