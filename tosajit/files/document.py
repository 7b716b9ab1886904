"""Documents in JSON: each value knows where it is, so that what is wrong is told by place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from tosajit.errors import FileError

_NAMES = {
    str: "a text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
_LONGEST = 80
_SPECIAL = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}


@dataclass(frozen=True, slots=True)
class Field:
    """A value of a document."""

    value: Any
    place: str

    @property
    def text(self) -> str:
        """It, as a text."""
        return self._as(str)  # type: ignore[no-any-return]

    @property
    def integer(self) -> int:
        """It, as an integer of 64 bits."""
        found: int = self._as(int)
        if not -(1 << 63) <= found < 1 << 64:
            self.fail("expected an integer of 64 bits")
        return found

    @property
    def boolean(self) -> bool:
        """It, as true or false."""
        return self._as(bool)  # type: ignore[no-any-return]

    @property
    def real(self) -> float:
        """It, as a number; what JSON has no number for is a text."""
        if isinstance(self.value, str) and self.value in _SPECIAL:
            return _SPECIAL[self.value]
        if type(self.value) is int:
            return float(self.integer)
        return self._as(float)  # type: ignore[no-any-return]

    @property
    def items(self) -> Iterator[Field]:
        """The elements of a list."""
        for number, one in enumerate(self._as(list)):
            yield Field(one, f"{self.place}[{number}]")

    @property
    def entries(self) -> Iterator[tuple[str, Field]]:
        """The names and values of an object."""
        for name, one in self._as(dict).items():
            yield name, Field(one, f"{self.place}.{name}")

    @property
    def only(self) -> tuple[str, Field]:
        """The name and the value of an object that has one."""
        if len(self._as(dict)) != 1:
            self.fail("expected an object with one field")
        return next(self.entries)

    @property
    def is_null(self) -> bool:
        """Whether it is nothing."""
        return self.value is None

    def get(self, name: str) -> Field | None:
        """A field of an object that may be left out."""
        found = self._as(dict).get(name)
        return None if found is None else Field(found, f"{self.place}.{name}")

    def __getitem__(self, name: str) -> Field:
        """A field of an object that must be there."""
        if name not in self._as(dict):
            self.fail(f"expected a field {name}")
        return Field(self.value[name], f"{self.place}.{name}")

    def _as(self, kind: type) -> Any:
        if type(self.value) is not kind:
            self.fail(f"expected {_NAMES[kind]}")
        return self.value

    def fail(self, message: str) -> NoReturn:
        """Refuse the value."""
        if isinstance(self.value, list | dict):
            found = f"{_NAMES[type(self.value)]} of {len(self.value)}"
        else:
            text = str(self.value)
            found = repr(text[:_LONGEST]) if isinstance(self.value, str) else text[:_LONGEST]
        raise FileError(f"{self.place[-2 * _LONGEST :]}: {message}, found {found}")


def document(data: bytes | memoryview | str, place: str) -> Field:
    """The document that bytes are."""
    try:
        return Field(json.loads(data if isinstance(data, str) else bytes(data)), place)
    except RecursionError:
        raise FileError(f"{place}: it is nested too deeply") from None
    except ValueError as error:  # no JSON, no UTF-8, or numbers of thousands of digits
        raise FileError(f"{place}: it is no JSON: {error}") from None
