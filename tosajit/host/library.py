"""Which register tiles this machine has."""

from __future__ import annotations

import os

from tosajit.kernels.contract.host import library_of_host


def array_library() -> str | None:
    """The library of array kernels for this core; `TOSAJIT_ARRAY` names another one, or `none`."""
    chosen = os.environ.get("TOSAJIT_ARRAY", "")
    return None if chosen == "none" else chosen or library_of_host()
