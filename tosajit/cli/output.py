"""What commands print."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from sim.bar import WIDTH, bar_text


def print_json(value: Any) -> None:
    """Print a value as JSON that people can read, too."""
    print(json_text(value, indent=2))


def json_text(value: Any, indent: int | None = None) -> str:
    r"""JSON with what a terminal would obey, or not encode, written as `\u202e`; the same value."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one == "\n" or one.isprintable() else json.dumps(one)[1:-1] for one in text)


def bytes_text(size: int) -> str:
    """A size with a unit."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def seconds_text(seconds: float) -> str:
    """A time with a unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.2f} {unit}"
    return f"{seconds / 1e-6:.1f} µs"


@dataclass
class Bar:
    """Shows on a terminal how far long work is."""

    width: int = WIDTH
    noun: str = "kernels"
    drawn: bool = False

    def __call__(self, done: int, total: int) -> None:
        """Show `done` of `total`."""
        if not sys.stderr.isatty() or total == 0:
            return
        print(
            f"\r{bar_text(done, total, self.width)} {done}/{total} {self.noun}",
            end="",
            file=sys.stderr,
            flush=True,
        )
        self.drawn = True

    def close(self) -> None:
        """Wipe the bar away."""
        if self.drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
