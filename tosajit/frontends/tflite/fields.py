"""How the fields of TFLite's tables of attributes are declared and read.

A field's place in its class is its place in the table, its annotation says how it is stored, and its value is
the schema's default.
"""

from enum import IntEnum
from functools import lru_cache
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

from tosajit.files.cursor import Table

Ints = tuple[int, ...]
Longs = Annotated[tuple[int, ...], "q"]
Long = Annotated[int, "q"]
Floats = tuple[float, ...]
Bytes = Annotated[tuple[int, ...], "B"]
Unsigned = Annotated[int, "I"]


class Padding(IntEnum):
    """Where windows begin and end."""

    SAME = 0
    VALID = 1


class Activation(IntEnum):
    """What is done to the results of an operator before they are stored."""

    NONE = 0
    RELU = 1
    RELU_N1_TO_1 = 2
    RELU6 = 3
    TANH = 4
    SIGN_BIT = 5


class MirrorPadMode(IntEnum):
    """Whether the border itself is repeated."""

    REFLECT = 0
    SYMMETRIC = 1


class LSTMKernel(IntEnum):
    """Which of two operators an LSTM is."""

    FULL = 0
    BASIC = 1


class WeightsFormat(IntEnum):
    """How the weights of FULLY_CONNECTED lie in memory."""

    DEFAULT = 0
    SHUFFLED4X16INT8 = 1


class ReduceFunction(IntEnum):
    """What REDUCE_WINDOW combines elements by."""

    UNSUPPORTED = 0
    ADD = 1
    MUL = 2
    MINIMUM = 3
    MAXIMUM = 4
    ALL = 5
    ANY = 6


class Combiner(IntEnum):
    """What sums of weighted rows are divided by: nothing, their weights, or the root of squares of those."""

    SUM = 0
    MEAN = 1
    SQRTN = 2


@dataclass_transform(frozen_default=True)
class Options:
    """A table of attributes, or one without fields: those of a class are its annotations, with defaults.

    There are some sixty, most of which no process needs: making dataclasses of them took longer than
    importing all the rest of the front end.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self.names(), values, strict=False))
        given |= named
        if len(given) < len(values) + len(named) or not given.keys() <= set(self.names()):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self.names())}")
        vars(self).update(given)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The fields, as they stand in the file's table."""
        return tuple(cls.__annotations__)

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.names()])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __repr__(self) -> str:
        pairs = zip(self.names(), self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in pairs)})"


T = TypeVar("T", bound=Options)


def read_options(kind: type[T], table: Table) -> T:
    """Read a table of attributes."""
    return kind(**{name: _read(table, name, code, default) for name, code, default in layout(kind)})  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def layout(kind: type[Options]) -> tuple[tuple[str, Any, Any], ...]:
    """Name, storage and default of each field; an enumeration is its own storage."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((name, _storage(hints[name]), getattr(kind, name)) for name in kind.names())


def _storage(hint: Any) -> Any:
    """A code of `struct`, in brackets for a vector, an enumeration, or `str`."""
    if get_origin(hint) is Annotated:
        kind, code = get_args(hint)
        return f"[{code}]" if get_origin(kind) is tuple else code
    if get_origin(hint) is tuple:
        return f"[{_storage(get_args(hint)[0])}]"
    return {bool: "?", int: "i", float: "f"}.get(hint, hint)


def code_of(enumeration: type[IntEnum]) -> str:
    """How an enumeration is stored, as `struct` codes it."""
    return "i" if enumeration is ReduceFunction else "b"


def _read(table: Table, name: str, storage: Any, default: Any) -> Any:
    if storage is str:
        return table.string(name)
    if storage == "?":
        return table.boolean(name, default)
    if isinstance(storage, str):
        return table.numbers(name, storage[1]) if storage[0] == "[" else table.number(name, storage, default)
    number = table.number(name, code_of(storage), default)
    if number not in storage._value2member_map_:
        known = ", ".join(f"{one.value} ({one.name})" for one in storage)
        table.fail(name, f"expected one of {known}, found {number}")
    return storage(number)
