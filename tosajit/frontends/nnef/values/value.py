"""What expressions are worth, and what is wrong with them (NNEF 2.0 section 2.3)."""

from __future__ import annotations

from typing import TypeAlias

from tosajit.frontends.nnef.syntax.source import Span

Item: TypeAlias = int | float | bool | str
Value: TypeAlias = Item | tuple[Item, ...] | None
"""An item, a pack of items of one type, or null."""

LONGEST_PACK = 1 << 20
"""Items of a pack: a text may ask for any number of them."""

LONGEST_TEXT = 1 << 16
"""Characters of a string that is put together."""

_NAMES = {bool: "bool", int: "int", float: "real", str: "str"}


class ValueFault(Exception):
    """Raised where an expression has no value."""

    def __init__(self, span: Span, message: str, section: str = "2.4", remedy: str = "") -> None:
        super().__init__(message)
        self.span, self.message, self.section, self.remedy = span, message, section, remedy


def type_of(item: Item) -> str:
    """The type of an item, as the language calls it."""
    return _NAMES[type(item)]


def described(value: Value) -> str:
    """The type of a value, for messages."""
    match value:
        case None:
            return "null"
        case ():
            return "an empty pack"
        case tuple():
            return f"a pack of {type_of(value[0])}"
    return type_of(value)


def text_of(value: Value) -> str:
    """A value as a message shows it, and as it stands in a formatted string."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case tuple():
            return f"[{', '.join(map(text_of, value))}]"
    return str(value)
