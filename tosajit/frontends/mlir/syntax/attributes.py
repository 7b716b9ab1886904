"""Attributes in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tosajit.frontends.mlir.syntax.cursor import Cursor, Token, unquoted
from tosajit.frontends.mlir.syntax.records import (
    Attribute,
    Dense,
    Dictionary,
    Foreign,
    Many,
    Number,
    Resource,
    Span,
    Symbol,
    Text,
    Word,
)
from tosajit.frontends.mlir.syntax.types import Types

_TYPED = re.compile(r"\s*(?:tensor|vector)\s*<")
_STRING = re.compile(r'\s*"[^"\\]*(?:\\.[^"\\]*)*"\s*>')
_LONGEST = 500
_PLAIN = re.compile(rf'\{{[^{{}}"#!%@/]{{0,{_LONGEST}}}+\}}')
"""Attributes that mean the same wherever they stand, unless elements are among them."""
_CONSTANTS = frozenset({"true", "false", "unit"})
_TYPES = re.compile(r"(?:[su]?i[0-9]+|index|none|bf16|tf32|f[0-9]+\w*|tensor|tuple|memref|vector|complex)$")


class Attributes:
    """Reads attributes; aliases are what was said before of them."""

    def __init__(self, cursor: Cursor, types: Types) -> None:
        self.cursor, self.types = cursor, types
        self.aliases: dict[str, Attribute] = {}
        self._seen: dict[str, dict[str, Attribute]] = {}
        """Attributes as they are written: many operations have the same."""

    def attribute(self) -> Attribute:
        """An attribute."""
        with self.cursor.nested():
            token = self.cursor.token
            match token.kind:
                case "number":
                    return self._number()
                case "string":
                    return Text(unquoted(self.cursor.advance().text))
                case "symbol":
                    return Symbol(symbol_of(self.cursor.advance()))
                case "hash":
                    return self._of_dialect()
                case "type":
                    return self.types.type()
                case "word":
                    return self._word()
            return self._between(token)

    def _between(self, token: Token) -> Attribute:
        """What stands between brackets, braces or parentheses."""
        match token.text:
            case "[":
                self.cursor.advance()
                return Many(self.cursor.list_of(self.attribute, "]"))
            case "{":
                return Dictionary(self.dictionary())
            case "(":
                return self.types.function()
        self.cursor.unexpected("an attribute")

    def dictionary(self) -> dict[str, Attribute]:
        """Attributes by name, between braces."""
        cursor = self.cursor
        known = cursor.known(_PLAIN, self._seen)
        if known is not None:
            return dict(known)
        start = cursor.expect("{").start
        found: dict[str, Attribute] = {}
        cursor.list_of(lambda: self._entry(found), "}")
        self.keep(self._seen, start, found)
        return found

    def keep(self, seen: dict[str, dict[str, Attribute]], start: int, found: Mapping[str, Attribute]) -> None:
        """Note what has been read from a place on, if it is short and says the same elsewhere."""
        stop = self.cursor.last
        if stop - start <= _LONGEST and not any(isinstance(one, Dense | Resource) for one in found.values()):
            seen[self.cursor.text[start:stop]] = dict(found)

    def _entry(self, found: dict[str, Attribute]) -> None:
        token = self.cursor.token
        if token.kind not in ("word", "string"):
            self.cursor.unexpected("the name of an attribute")
        self.cursor.advance()
        name = token.text if token.kind == "word" else unquoted(token.text).decode("utf-8", "replace")
        if name in found:
            self.cursor.fail(token.span, f"the attribute {name} is there twice")
        found[name] = self.attribute() if self.cursor.accept("=") else Word("unit")

    def _number(self) -> Number:
        token = self.cursor.advance()
        return Number(token.text, self.types.type() if self.cursor.accept(":") else None)

    def _word(self) -> Attribute:
        token = self.cursor.token
        match token.text:
            case "dense":
                return self._dense()
            case "dense_resource":
                return self._resource()
            case "array":
                return self._array()
            case "sparse" | "affine_map" | "affine_set" | "strided" | "distinct" | "loc":
                self.cursor.fail(token.span, f"attributes of the kind `{token.text}` are not read")
        if token.text not in _CONSTANTS and _TYPES.match(token.text):
            return self.types.type()
        return Word(self.cursor.advance().text)

    def _of_dialect(self) -> Attribute:
        token = self.cursor.advance()
        name = token.text[1:]
        if self.cursor.token.text == "<" or ("." in name and name not in self.aliases):
            found = Foreign(name, self.types.angles() if self.cursor.token.text == "<" else "")
            if self.cursor.accept(":"):  # the type that a member of an enumeration is kept in
                self.types.type()
            return found
        if name in self.aliases:
            return self.aliases[name]
        self.cursor.fail(token.span, f"`#{name}` is not defined")

    def _dense(self) -> Dense:
        cursor = self.cursor
        word = cursor.advance()
        if cursor.token.text != "<":
            cursor.unexpected("`<`", "behind `dense`")
        start = cursor.token.stop
        if _TYPED.match(cursor.text, start):
            cursor.fail(word.span, "elements of the types of dialects are not read", "TOSA 1.0.1 has none")
        quoted = _STRING.match(cursor.text, start)
        stop = quoted.end() - 1 if quoted else cursor.text.find(">", start)
        if stop < 0:
            cursor.fail(word.span, "this is not closed", "close it with `>`")
        cursor.go_to(stop + 1)
        cursor.expect(":", "behind the elements")
        return Dense(Span(start, stop), self.types.type())

    def _resource(self) -> Resource:
        word = self.cursor.advance()
        key = self.types.angles()
        self.cursor.expect(":", "behind the name of the elements")
        return Resource(
            unquoted(key).decode("utf-8", "replace") if key[:1] == '"' else key, self.types.type(), word.span
        )

    def _array(self) -> Many:
        word = self.cursor.advance()
        _, _, items = self.types.angles().partition(":")
        numbers = [item.strip() for item in items.split(",")] if items.strip() else []
        if any(not re.fullmatch(r"-?[0-9.eE+-]+|true|false|0x[0-9A-Fa-f]+", item) for item in numbers):
            self.cursor.fail(word.span, "expected numbers behind the type of the array")
        return Many(tuple(map(Number, numbers)))


def symbol_of(token: Token) -> str:
    """The name that a symbol stands for."""
    name = token.text[1:]
    return unquoted(name).decode("utf-8", "replace") if name[:1] == '"' else name
