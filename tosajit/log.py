"""The logger `tosajit`: what is compiled, what the cache has, and what is done the slow way.

Silent unless a program asks: `logging.basicConfig(level=logging.INFO)`, or DEBUG for every stage and kernel.
A program that asks has imported `logging`; this package does not, as that takes longer than to load a model.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logging import Logger


class _Logger:
    """Python's logger once the program has imported `logging`; until then nobody can hear it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_logger(), name) if "logging" in sys.modules else _unheard


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
