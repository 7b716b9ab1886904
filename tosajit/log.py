"""The logger `tosajit`: what is compiled, what the cache has, and what is done the slow way.

Silent unless a program asks: `logging.basicConfig(level=logging.INFO)`, or DEBUG for every stage and kernel.
A program that asks has imported `logging`; this package does not, as that takes longer than to load a model.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logging import Logger


class _Logger:
    """Python's logger once the program has imported `logging`; until then nobody can hear it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_logger(), name) if "logging" in sys.modules else _unheard

    def warning(self, text: str, *given: object) -> None:
        """Warn, and tell `collected`."""
        if _thread.said is not None:
            _thread.said.append(text % given if given else text)
        if "logging" in sys.modules:
            _logger().warning(text, *given, stacklevel=2)


class _Thread(threading.local):
    """The warnings that a thread collects, if it does."""

    said: list[str] | None = None


_thread = _Thread()


@contextmanager
def collected() -> Iterator[list[str]]:
    """The warnings that this thread gives inside of `with`, whether anybody hears them or not."""
    outer, said = _thread.said, list[str]()
    _thread.said = said
    try:
        yield said
    finally:
        _thread.said = outer
        if outer is not None:
            outer += said


@functools.cache
def _logger() -> Logger:
    import logging

    logger = logging.getLogger("tosajit")
    logger.addHandler(logging.NullHandler())
    return logger


def _unheard(*_: object) -> bool:
    """Do nothing; nor is any level enabled."""
    return False


if TYPE_CHECKING:
    LOG: Logger
else:
    LOG = _Logger()
