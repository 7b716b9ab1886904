"""What stands between the quotes of a string (NNEF 2.0 section 2.4)."""

from __future__ import annotations

from collections.abc import Iterator

from tosajit.frontends.nnef.syntax.cursor import SyntaxFault
from tosajit.frontends.nnef.syntax.source import Span
from tosajit.frontends.nnef.syntax.tokens import Token

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def string_of(token: Token) -> Iterator[str | Span]:
    """Texts, and the places of expressions between `{` and `}`."""
    text, place, stop = token.text, 1, len(token.text) - 1
    piece: list[str] = []
    while place < stop:
        letter = text[place]
        if letter == "\\":
            piece.append(_ESCAPES.get(text[place + 1], text[place + 1]))
            place += 2
        elif letter == "{":
            close = text.find("}", place, stop)
            if close < 0:
                here = Span(token.start + place, token.start + place + 1)
                raise SyntaxFault(here, "`{` in the string is not closed", "2.4", "write \\{ for the letter")
            yield "".join(piece)
            piece = []
            yield Span(token.start + place + 1, token.start + close)
            place = close + 1
        else:
            piece.append(letter)
            place += 1
    yield "".join(piece)
