"""A place in a text, and the words that follow it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, Never, TypeVar

from tosajit.errors import ScriptError
from tosajit.frontends.mlir.syntax.records import Span
from tosajit.frontends.text import fault_at

DEEPEST = 100
"""How deep regions, attributes and types may be nested."""

T = TypeVar("T")

_SPACE = r"(?:[ \t\r\n]++|//[^\n]*+)*+"
_TOKEN = re.compile(
    _SPACE
    + r"""(?:(?P<value>%(?:[0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*))
    |(?P<mark>->|::|\{-\#|\#-\}|\.\.\.|[(){}\[\]<>,:=?*+|]|\#(?![0-9A-Za-z_$])|-(?![0-9]))
    |(?P<word>[A-Za-z_][A-Za-z0-9_$.]*)
    |(?P<number>-?(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?))
    |(?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*")
    |(?P<type>![A-Za-z_$][A-Za-z0-9_$.-]*)
    |(?P<symbol>@(?:[A-Za-z_][A-Za-z0-9_$.]*|"[^"\\\n]*(?:\\.[^"\\\n]*)*"))
    |(?P<hash>\#(?:[0-9]+|[A-Za-z_$][A-Za-z0-9_$.-]*))
    |(?P<block>\^[A-Za-z0-9$._-]+)
    |(?P<end>\Z))""",
    re.VERBOSE,
)
"""A word and the space in front of it: one match for each."""
_BLANK = re.compile(_SPACE)
_ESCAPE = re.compile(rb'\\([0-9A-Fa-f]{2}|[nt"\\])')
_LETTERS = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}


class Token(NamedTuple):
    """A word, what kind it is, and where it stands."""

    kind: str
    text: str
    start: int
    stop: int

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self.start, self.stop)

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else f"`{self.text[:40]}`"


class Cursor:
    """Words one after another, found when they are asked for: what stands between angles is no words."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self._depth = 0
        self._token = self._read(0)
        self.last = 0
        """Where the word that was taken last ends."""

    @property
    def token(self) -> Token:
        """The word that comes next."""
        return self._token

    def advance(self) -> Token:
        """Take a word."""
        token = self._token
        self.last = token.stop
        self._token = self._read(token.stop)
        return token

    def known(self, pattern: re.Pattern[str], seen: Mapping[str, T]) -> T | None:
        """Take what was read before, word for word; None if the next words are others."""
        found = pattern.match(self.text, self._token.start)
        value = None if found is None else seen.get(found[0])
        if found is not None and value is not None:
            self.go_to(found.end())
        return value

    def go_to(self, place: int) -> None:
        """Go on elsewhere."""
        self.last = place
        self._token = self._read(place)

    def accept(self, text: str) -> bool:
        """Take the next word if it is this one."""
        if self._token.text != text or self._token.kind == "string":
            return False
        self.advance()
        return True

    def expect(self, text: str, where: str = "") -> Token:
        """Take a word that must come."""
        if self._token.text != text or self._token.kind == "string":
            self.unexpected(f"`{text}`", where)
        return self.advance()

    def take(self, kind: str, what: str) -> Token:
        """Take a word of a kind."""
        if self._token.kind != kind:
            self.unexpected(what)
        return self.advance()

    def unexpected(self, expected: str, where: str = "") -> Never:
        """Say what was expected in place of the next word."""
        place = f" {where}" if where else ""
        self.fail(self._token.span, f"expected {expected}{place}, but found {self._token}")

    def fail(self, span: Span, message: str, remedy: str = "") -> Never:
        """Raise with a place of the text."""
        raise ScriptError([fault_at(self.name, self.text, span.start, span.stop, message, remedy)])

    def nested(self) -> Cursor:
        """Something within something: the text must not make the parser recurse without end."""
        if self._depth >= DEEPEST:
            self.fail(self._token.span, f"this is nested more than {DEEPEST} deep")
        return self

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1

    def list_of(self, item: Callable[[], T], close: str) -> tuple[T, ...]:
        """Items with commas between them, up to a closing mark, which is taken."""
        found: list[T] = []
        while self._token.text != close:
            found.append(item())
            if not self.accept(","):
                break
        self.expect(close)
        return tuple(found)

    def integer(self, what: str) -> int:
        """Take an integer that is not negative."""
        token = self._token
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 18:
            self.unexpected(what)
        return int(self.advance().text)

    def _read(self, place: int) -> Token:
        found = _TOKEN.match(self.text, place)
        if found is None:
            blank = _BLANK.match(self.text, place)
            place = blank.end() if blank else place
            self.fail(Span(place, place + 1), f"{self.text[place]!r} begins nothing in this language")
        kind = found.lastgroup or ""
        start, stop = found.span(kind)
        return Token(kind, found[kind], start, stop)


def unquoted(text: str) -> bytes:
    """The bytes that a text between quotes means."""
    data = text[1:-1].encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(lambda found: _LETTERS.get(found[1]) or bytes.fromhex(found[1].decode()), data)
