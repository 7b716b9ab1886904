"""A place among tokens, and what every part of the parser asks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tosajit.frontends.nnef.syntax.source import Faults, Span
from tosajit.frontends.nnef.syntax.tokens import KEYWORDS, WORD_OPERATORS, Kind, Token

DEEPEST = 100
"""How deep expressions and blocks may be nested."""

BEGINNINGS = ("operator", "graph", "public")
"""What definitions begin with."""

T = TypeVar("T")


class SyntaxFault(Exception):
    """Raised where the text is not what the grammar says; what is being parsed is given up."""

    def __init__(self, span: Span, message: str, section: str = "2.16", remedy: str = "") -> None:
        super().__init__(message)
        self.span, self.message, self.section, self.remedy = span, message, section, remedy


class Cursor:
    """The tokens of a text, one after another."""

    def __init__(self, tokens: list[Token], faults: Faults) -> None:
        self._tokens, self.faults = tokens, faults
        self._place = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._place]

    def ahead(self, count: int) -> Token:
        """A token behind the next one."""
        return self._tokens[min(self._place + count, len(self._tokens) - 1)]

    @property
    def text(self) -> str:
        """The text of the next token, if it is a symbol or a keyword, which are what they are."""
        token = self.token
        return token.text if token.kind in (Kind.SYMBOL, Kind.KEYWORD) else ""

    @property
    def operator(self) -> str:
        """The text of the next token, if it may be an operator between operands."""
        return self.token.text if self.token.text in WORD_OPERATORS else self.text

    def advance(self) -> Token:
        """Take a token."""
        token = self.token
        if token.kind is not Kind.END:
            self._place += 1
        return token

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is one of these symbols or keywords."""
        return self.advance() if self.text in texts and self.text else None

    def expect(self, text: str, where: str = "") -> Token:
        """Take a symbol or keyword that must come."""
        found = self.accept(text)
        if found is None:
            raise self.unexpected(f"`{text}`", where)
        return found

    def name(self, what: str = "a name") -> Token:
        """Take a name."""
        if self.token.kind is not Kind.NAME:
            remedy = "a keyword cannot be a name" if self.token.text in KEYWORDS else ""
            raise self.unexpected(what, remedy=remedy)
        return self.advance()

    def word(self, text: str) -> bool:
        """Take a name that means something only here."""
        if self.token.kind is Kind.NAME and self.token.text == text:
            self.advance()
            return True
        return False

    def unexpected(
        self, expected: str, where: str = "", section: str = "2.16", remedy: str = ""
    ) -> SyntaxFault:
        """What to raise when something else was expected."""
        place = f" {where}" if where else ""
        message = f"expected {expected}{place}, but found {self.token}"
        return SyntaxFault(self._behind() if expected == "`;`" else self.token.span, message, section, remedy)

    def since(self, start: Token) -> Span:
        """From a token to the last one that was taken."""
        return Span(start.start, max(start.stop, self._tokens[self._place - 1].stop if self._place else 0))

    def _behind(self) -> Span:
        """Where a missing semicolon belongs: behind the last token, if that is on another line."""
        last = self._tokens[self._place - 1] if self._place else self.token
        between = self.faults.source.text[last.stop : self.token.start]
        return Span(last.stop, last.stop) if "\n" in between else self.token.span

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Something within something: the text must not make the parser recurse without end."""
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                raise SyntaxFault(
                    self.token.span, f"this is nested more than {DEEPEST} deep", "2.16", "name a part of it"
                )
            yield
        finally:
            self._depth -= 1

    def list_of(self, item: Callable[[], T], close: str) -> tuple[T, ...]:
        """Items with commas between them, up to a closing symbol, which is taken."""
        found: list[T] = []
        while self.text != close:
            found.append(item())
            if not self.accept(","):
                break
        self.expect(close)
        return tuple(found)

    def several(self, item: Callable[[], T]) -> tuple[T, ...]:
        """One item or more, with commas between them."""
        found = [item()]
        while self.accept(","):
            found.append(item())
        return tuple(found)

    def items_until(self, close: str, item: Callable[[], T | None]) -> tuple[T, ...]:
        """Items that end by themselves, up to a closing symbol; a wrong one is told of and left out."""
        found: list[T] = []
        while self.text != close:
            if self.token.kind is Kind.END or self.text in BEGINNINGS or self.text[:1] == "@":
                raise self.unexpected(f"`{close}`")
            start = self._place
            try:
                parsed = item()
            except SyntaxFault as fault:
                self.tell(fault)
                self._recover(start, close)
                continue
            if parsed is not None:
                found.append(parsed)
        self.advance()
        return tuple(found)

    def tell(self, fault: SyntaxFault) -> None:
        """Note a fault."""
        self.faults.add(fault.span, fault.message, fault.section, fault.remedy)

    def _recover(self, start: int, close: str) -> None:
        """Go on behind the semicolon that ends an item, or at the end of the block it is in."""
        fault, self._place = self._place, start
        depth = 0
        while self.token.kind is not Kind.END:
            text = self.text
            if text in BEGINNINGS or text[:1] == "@" or (depth == 0 and text == close):
                return
            depth += {"{": 1, "}": -1}.get(text, 0)
            self.advance()
            if text == ";" and depth <= 0 and self._place > fault:
                return
