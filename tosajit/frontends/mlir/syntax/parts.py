"""Parts that operations of all forms have: operands, arguments, locations."""

from __future__ import annotations

import re

from tosajit.frontends.mlir.syntax.attributes import Attributes
from tosajit.frontends.mlir.syntax.cursor import Cursor, Token, unquoted
from tosajit.frontends.mlir.syntax.records import (
    Argument,
    Attribute,
    Function,
    Operand,
    Operation,
    Region,
    Span,
)
from tosajit.frontends.mlir.syntax.types import Types

Results = tuple[tuple[str, int], ...]
_OPERAND = r"%([0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*)(?:#([0-9]{1,9}))?"
_OPERANDS = re.compile(rf"{_OPERAND}(?:, {_OPERAND})*+")
_EACH = re.compile(_OPERAND)
_PARENTHESES = re.compile(r'[()]|"[^"\\\n]*(?:\\.[^"\\\n]*)*"')


class Parts:
    """Reads what operations consist of."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.types = Types(cursor)
        self.attributes = Attributes(cursor, self.types)
        self.given: dict[str, dict[str, Attribute]] = {}
        """Attributes as arguments, as they are written."""

    def made(
        self,
        token: Token,
        results: Results,
        operands: tuple[Operand, ...],
        attributes: dict[str, Attribute],
        regions: tuple[Region, ...],
        type: Function,
        name: str = "",
    ) -> Operation:
        """An operation, as soon as all of it was read but its location."""
        location = self.location()
        return Operation(
            name or token.text, token.span, results, operands, attributes, regions, type, location
        )

    def argument(self) -> Argument:
        """What a block takes, or a function."""
        token = self.cursor.take("value", "an argument")
        self.cursor.expect(":", "behind the argument")
        type = self.types.type()
        attributes = self.attributes.dictionary() if self.cursor.token.text == "{" else {}
        self.location()
        return Argument(token.text[1:], type, token.span, attributes)

    def operands(self) -> tuple[Operand, ...]:
        """Uses of values with commas between them, as many as there are."""
        cursor = self.cursor
        found = []
        while cursor.token.kind == "value":
            many = _OPERANDS.match(cursor.text, cursor.token.start)
            if many is None:
                break
            for one in _EACH.finditer(cursor.text, many.start(), many.end()):
                found.append(Operand(one[1], int(one[2] or 0), Span(*one.span())))
            cursor.go_to(many.end())
            if not cursor.accept(","):
                break
        return tuple(found)

    def operand(self) -> Operand:
        """A use of a value."""
        token = self.cursor.take("value", "an operand")
        number = 0
        if self.cursor.token.kind == "hash" and self.cursor.token.start == token.stop:
            text = self.cursor.advance().text[1:]
            if not text.isdigit() or len(text) > 9:
                self.cursor.fail(token.span, f"expected the number of a result, but found `#{text}`")
            number = int(text)
        return Operand(token.text[1:], number, token.span)

    def location(self) -> str:
        """What stands in `loc(…)`: a name, or the place in a file."""
        if not self.cursor.accept("loc"):
            return ""
        start = self.cursor.expect("(")
        found = self._location()
        if self.cursor.token.text != ")":
            self.cursor.go_to(_closing(self.cursor, start))
        self.cursor.expect(")")
        return found

    def _location(self) -> str:
        token = self.cursor.advance()
        if token.kind == "hash":
            return token.text  # it may be defined further down
        if token.kind != "string":
            return "" if token.text == "unknown" else token.text
        name = unquoted(token.text).decode("utf-8", "replace")
        if not self.cursor.accept(":"):
            return name
        line = self.cursor.integer("a line")
        self.cursor.expect(":")
        return f"{name}:{line}:{self.cursor.integer('a column')}"


def _closing(cursor: Cursor, opening: Token) -> int:
    """Where the parenthesis is that closes another one."""
    depth = 0
    for found in _PARENTHESES.finditer(cursor.text, opening.start):
        depth += {"(": 1, ")": -1}.get(found.group(), 0)
        if depth == 0:
            return found.start()
    cursor.fail(opening.span, "this is not closed", "close it with `)`")
