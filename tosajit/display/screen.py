"""Text as a terminal shows it: in its width, with a little colour; in files and pipes it stays as it is."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

STYLES = {"bold": "1", "faint": "2", "red": "31", "green": "32", "yellow": "33"}
_NARROWEST, _LEAST_NAME = 40, 12
_GAP = re.compile(r" {2,}(?=\S)")


def show(text: object, stream: TextIO | None = None) -> None:
    """Print text: on a terminal its first line stands out, and tables fit."""
    stream = sys.stdout if stream is None else stream
    lines = str(text)
    if stream.isatty():
        lines = fitted(lines, max(shutil.get_terminal_size().columns, _NARROWEST))
        first, line, rest = lines.partition("\n")
        lines = styled(first, "bold", stream) + line + _ruled(rest, stream)
    print(lines, file=stream)


def styled(text: str, style: str, stream: TextIO) -> str:
    """Text in a style, for a stream; as it is where there are no colours."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if text and has_colours(stream) else text


def has_colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and nobody asked for none (no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def fitted(text: str, width: int) -> str:
    """Text whose lines are no longer than a width: names in tables are shortened, sentences are wrapped."""
    return "\n".join("\n".join(_block(block, width)) for block in _blocks(text.split("\n")))


def _ruled(text: str, stream: TextIO) -> str:
    """Lines with faint rules."""
    return "\n".join(styled(line, "faint", stream) if _is_rule(line) else line for line in text.split("\n"))


def _is_rule(line: str) -> bool:
    """Whether a line is drawn below a head."""
    return set(line) == {"─"}


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines between empty ones, which are blocks of their own."""
    block: list[str] = []
    for line in lines:
        if line.strip():
            block.append(line)
            continue
        if block:
            yield block
        yield [line]
        block = []
    if block:
        yield block


def _block(lines: list[str], width: int) -> Iterator[str]:
    if max(map(len, lines)) <= width:
        yield from lines
    elif any(map(_is_rule, lines)):
        yield from _table(lines, width)
    else:
        for line in lines:
            yield from _wrapped(line, width)


def _table(lines: list[str], width: int) -> Iterator[str]:
    """A table with a shorter first column, and without the last ones if it is too wide even then."""
    second = min(_second(line) for line in lines if _is_row(line))
    widest = max(len(line) for line in lines if _is_row(line) or _is_rule(line))
    name = max(second - 2 - (widest - width), _LEAST_NAME)
    head = _row(lines[0], second, name)
    end = max((one.end() for one in re.finditer(r"\S+(?: \S+)*", head) if one.end() <= width - 3), default=0)
    for line in lines:
        if _is_rule(line):
            yield line[:width]
        elif not _is_row(line):
            yield from _wrapped(line, width)
        else:
            found = _row(line, second, name)
            yield found if len(head) <= width else f"{found[:end].ljust(end)}  …"


def _is_row(line: str) -> bool:
    """Whether a line of a table has columns."""
    return not _is_rule(line) and _GAP.search(line) is not None


def _row(line: str, second: int, name: int) -> str:
    """A row with a shorter first column."""
    return _short(line[:second].rstrip(), name).ljust(name) + "  " + line[second:]


def _second(line: str) -> int:
    """Where the second column of a line begins."""
    found = _GAP.search(line)
    return len(line) if found is None else found.end()


def _short(text: str, width: int) -> str:
    """Text without its middle, if it is too long."""
    if len(text) <= width:
        return text
    left = (width - 1) // 2
    return text[:left] + "…" + text[len(text) - (width - 1 - left) :]


def _wrapped(line: str, width: int) -> list[str]:
    """A line on several, below its text: a label in front stands alone."""
    label = re.match(r" *\S+(?: \S+)? {2,}| *", line)
    indent = min(len(label[0]) if label else 0, width // 2)
    return textwrap.wrap(
        line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False,
        drop_whitespace=True, replace_whitespace=False,
    ) or [line]  # fmt: skip
