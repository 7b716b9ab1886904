"""Whether something was said while a model was read that the user should hear again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from tosajit.graph import Graph
from tosajit.log import LOG


class _Warnings(logging.Handler):
    """Whether anything was said in this thread that the user should hear again."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.thread, self.any = threading.get_ident(), not LOG.isEnabledFor(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        self.any |= record.thread == self.thread


def heard(lower: Callable[[], Graph]) -> tuple[Graph, bool]:
    """A graph, and whether nothing was said while it was made, and would have been heard."""
    warnings = _Warnings()
    LOG.addHandler(warnings)
    try:
        return lower(), not warnings.any
    finally:
        LOG.removeHandler(warnings)
