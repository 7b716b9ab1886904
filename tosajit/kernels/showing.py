"""How far compiling is, on a terminal or in a notebook, where it takes long enough to be noticed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from time import perf_counter
from typing import Any

from sim.bar import bar_text, in_notebook
from tosajit.kernels.ready import FOLDER

Progress = Callable[[int, int], None]
AFTER_SECONDS = 0.5
"""What is done sooner is not shown."""


@contextmanager
def shown(progress: Progress | bool | None) -> Iterator[Progress]:
    """What is to be told of progress: a caller's function, nothing (False), or what suits where we are."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield _silent
    else:
        line = _Line()
        try:
            yield line.tell
        finally:
            line.close()


def _silent(done: int, total: int) -> None:
    """Nobody looks."""


@cache
def _tell_remedy() -> None:
    """Tell once that a copy of the repository, which brings no kernels, can have them."""
    if not FOLDER.is_dir() and (FOLDER.parents[2] / "Makefile").is_file():
        text = (
            "tosajit: this copy of the repository has no kernels; `make kernels` makes those of most models"
        )
        print(text, file=sys.stderr, flush=True)


class _Line:
    """A line that is drawn again and again."""

    def __init__(self) -> None:
        self._began, self._last, self._notebook = perf_counter(), "", in_notebook()
        self._handle: Any = None

    def tell(self, done: int, total: int) -> None:
        """Draw it."""
        seconds = perf_counter() - self._began
        if seconds < AFTER_SECONDS:
            return
        if self._notebook:
            left = f", {total - done} left" if done < total else f" in {seconds:.1f} s"
            self._write(f"{done} of {total} kernels compiled{left}")
        elif sys.stderr.isatty():
            self._last = f"{bar_text(done, total)} {done} of {total} kernels compiled, {total - done} left"
            print(f"\r{self._last}\033[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Wipe it away on a terminal; in a notebook it stays."""
        if self._last:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        if self._last or self._handle:
            _tell_remedy()

    def _write(self, text: str) -> None:
        from IPython.display import display

        data: dict[str, Any] = {"text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
