r"""Names that strangers chose, and texts with such names in them, as people may safely see them.

What a terminal or a page would obey instead of showing (control characters, escape sequences, marks of
direction, characters of no width, halves of pairs) is written out, as `\x1b` or `\u202e`. What is long is cut
in its middle. Data (files, JSON, keys) keep names as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 120
"""Characters of a name that are shown."""
_LONGEST_WORD, _LONGEST_LINE = 400, 4000
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""What Python calls printable, though nothing is to be seen of it."""


def plain(name: str, most: int | None = LONGEST) -> str:
    """A name on one line, whatever is in it; of a longer one the beginning, its length and the end."""
    if len(name) > (most or len(name)):
        return _cut(name, most or 0)
    if _is_plain(name):
        return name
    # With its backslashes doubled, no other name looks the same.
    text = "".join(
        letter if _is_plain(letter) and letter != "\\" else _written_out(letter) for letter in name
    )
    return text if len(text) <= (most or len(text)) else _cut(name, most or 0)


def listed(names: Iterable[str]) -> str:
    """Names one after the other."""
    return ", ".join(map(plain, names))


def paragraph(text: str) -> str:
    """A message whose lines are its own, with names in it that may be anything."""
    if len(text) <= _LONGEST_WORD and _is_plain(text):
        return text
    return "\n".join(_line(line) for line in text.split("\n"))


def isolated(name: str) -> str:
    """A name in HTML; letters that are read from right to left do not turn what stands beside it."""
    from html import escape

    return f"<bdi>{escape(plain(name))}</bdi>"


class TextError(Exception):
    """An exception whose message may hold names of strangers; `args` has the message as it was made."""

    def __str__(self) -> str:
        return paragraph(super().__str__())


def _line(line: str) -> str:
    line = re.sub(rf"\S{{{_LONGEST_WORD + 1},}}", lambda word: _cut(word[0], _LONGEST_WORD), line)
    line = line if len(line) <= _LONGEST_LINE else _cut(line, _LONGEST_LINE)
    return "".join(letter if _is_plain(letter) else _written_out(letter) for letter in line)


def _is_plain(text: str) -> bool:
    return (text.isascii() and text.isprintable()) or (text.isprintable() and _BLANK.isdisjoint(text))


def _written_out(letter: str) -> str:
    return ascii(letter)[1:-1]


def _cut(name: str, most: int) -> str:
    """Beginning and end of what is too long; what is written out may make it a little longer still."""
    note = f"…({len(name)} characters)…"
    room = max(most - len(note), 2)
    tail = room // 3
    return plain(name[: room - tail], None) + note + plain(name[len(name) - tail :], None)
