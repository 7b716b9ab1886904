"""From a text to records: operations in the generic form, and those of TOSA in both of the pretty ones."""

from __future__ import annotations

import re

from tosajit.frontends.mlir.syntax.cursor import Cursor, Token, unquoted
from tosajit.frontends.mlir.syntax.parts import Parts, Results
from tosajit.frontends.mlir.syntax.pretty import PRETTY, Pretty
from tosajit.frontends.mlir.syntax.records import (
    Argument,
    Attribute,
    Block,
    Module,
    Operation,
    Region,
    Span,
    Text,
)

_STRING = re.compile(r'\s*"[^"\\]*(?:\\.[^"\\]*)*"')


def parse(text: str, name: str) -> Module:
    """The operations of a text; `ScriptError` with the place if it is none. Messages call it by its name."""
    return Parser(text, name).module()


class Parser(Parts):
    """Reads operations, one after another."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(Cursor(text, name))
        self._resources: dict[str, Span] = {}
        self._locations: dict[str, str] = {}

    def module(self) -> Module:
        """Everything up to the end."""
        operations: list[Operation] = []
        while self.cursor.token.kind != "end":
            match self.cursor.token.kind, self.cursor.token.text:
                case "hash" | "type", _:
                    self._alias()
                case _, "{-#":
                    self._metadata()
                case _:
                    operations.append(self.operation())
        return Module(self.cursor.name, self.cursor.text, tuple(operations), self._resources, self._locations)

    def operation(self) -> Operation:
        """An operation with its results."""
        with self.cursor.nested():
            start = self.cursor.token
            results = self._results() if start.kind == "value" else ()
            token = self.cursor.token
            if token.kind == "string":
                found = self._generic(token, results)
            elif token.kind == "word":
                self.cursor.advance()
                reader = PRETTY.get(token.text, Pretty.other)
                found = reader(Pretty(self, self.region), token, results)
            else:
                self.cursor.unexpected("an operation")
            return found

    def region(self, arguments: tuple[Argument, ...] = ()) -> Region:
        """Blocks between braces; the first one may have its arguments from what runs it."""
        with self.cursor.nested():
            opening = self.cursor.expect("{")
            blocks: list[Block] = []
            while not self.cursor.accept("}"):
                if self.cursor.token.kind == "end":
                    self.cursor.fail(opening.span, "this is not closed", "close it with `}`")
                blocks.append(self._block(arguments if not blocks else ()))
            return Region(tuple(blocks) or (Block(arguments, ()),))

    def _results(self) -> Results:
        def result() -> tuple[str, int]:
            name = self.cursor.take("value", "the name of a result").text[1:]
            return name, self.cursor.integer("how many results there are") if self.cursor.accept(":") else 1

        found = [result()]
        while self.cursor.accept(","):
            found.append(result())
        self.cursor.expect("=", "behind the results")
        return tuple(found)

    def _generic(self, token: Token, results: Results) -> Operation:
        self.cursor.advance()
        self.cursor.expect("(", "before the operands")
        operands = self.operands()
        self.cursor.expect(")", "behind the operands")
        if self.cursor.token.text == "[":
            self.cursor.fail(self.cursor.token.span, "branches to other blocks are not part of TOSA")
        attributes: dict[str, Attribute] = {}
        if self.cursor.accept("<"):
            attributes = self.attributes.dictionary()
            self.cursor.expect(">", "behind the properties")
        regions: tuple[Region, ...] = ()
        if self.cursor.accept("("):
            regions = self.cursor.list_of(self.region, ")")
        if self.cursor.token.text == "{":
            attributes |= self.attributes.dictionary()
        self.cursor.expect(":", "before the type of the operation")
        name = unquoted(token.text).decode("utf-8", "replace")
        return self.made(token, results, operands, attributes, regions, self.types.function(), name)

    def _block(self, arguments: tuple[Argument, ...]) -> Block:
        if self.cursor.token.kind == "block":
            self.cursor.advance()
            if self.cursor.accept("("):
                arguments = self.cursor.list_of(self.argument, ")")
            self.cursor.expect(":", "behind the head of the block")
        operations: list[Operation] = []
        while self.cursor.token.kind not in ("block", "end") and self.cursor.token.text != "}":
            operations.append(self.operation())
        return Block(arguments, tuple(operations))

    def _alias(self) -> None:
        """`#name = …` or `!name = …`."""
        token = self.cursor.advance()
        self.cursor.expect("=", "behind the alias")
        if token.kind == "type":
            self.types.aliases[token.text[1:]] = self.types.type()
        elif self.cursor.token.text == "loc":
            self._locations[token.text] = self.location()
        else:
            self.attributes.aliases[token.text[1:]] = self.attributes.attribute()

    def _metadata(self) -> None:
        """What stands between `{-#` and `#-}`: the elements of resources, of whatever dialect."""
        opening = self.cursor.advance()
        depth, key = 0, ""
        while self.cursor.token.text != "#-}" or self.cursor.token.kind == "string":
            token = self.cursor.token
            if token.kind == "end":
                self.cursor.fail(opening.span, "this is not closed", "close it with `#-}`")
            if token.text == ":" and depth > 1:
                found = _STRING.match(self.cursor.text, token.stop)
                if found is not None:
                    quote = self.cursor.text.index('"', token.stop)
                    self._resources[key] = Span(quote, found.end())
                    self.cursor.go_to(found.end())
                    continue
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            key = token.text if token.kind == "word" else key
            key = Text(unquoted(token.text)).text if token.kind == "string" else key
            self.cursor.advance()
        self.cursor.advance()
