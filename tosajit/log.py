"""The logger `tosajit`: what is compiled, what the cache has, and what is done the slow way.

Silent unless a program asks: `logging.basicConfig(level=logging.INFO)`, or DEBUG for every stage and kernel.
A program that asks has imported `logging`; this package does not, as that takes longer than to load a model.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logging import Logger

WARNING = 30
"""The level of warnings, by its number in `logging`."""


class _Logger:
    """Python's logger once the program has imported `logging`; until then nobody can hear it."""

    def __getattr__(self, name: str) -> Any:
        if "logging" in sys.modules:
            return getattr(_logger(), name)
        return _count if name == "warning" else _unheard


class _Warnings(threading.local):
    """How many warnings a thread has given."""

    count = 0


_warnings = _Warnings()


def warnings() -> int:
    """How many warnings this thread has given so far, but for those that the program does not want."""
    return _warnings.count


def wants_warnings() -> bool:
    """Whether the program has not said that it does not want to hear warnings."""
    return "logging" not in sys.modules or bool(LOG.isEnabledFor(WARNING))


@functools.cache
def _logger() -> Logger:
    import logging

    class Counting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            _count()

    logger = logging.getLogger("tosajit")
    logger.addHandler(Counting(WARNING))
    return logger


def _count(*_: object) -> None:
    _warnings.count += 1


def _unheard(*_: object) -> bool:
    """Do nothing; nor is any level enabled."""
    return False


if TYPE_CHECKING:
    LOG: Logger
else:
    LOG = _Logger()
