"""Processes of this Python: they find the modules that it finds, and run nothing of the folder they start in.

Python by itself looks for modules in the current folder first, and does what variables named PYTHON… say.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HOME = str(Path(__file__).parents[1])
"""Where these packages are."""


def python(code: str, beside: bool = False) -> list[str]:
    """The command that runs `code` in a new process; `beside` as in `search_path`."""
    return [sys.executable, "-I", "-c", f"import sys; sys.path[:] = {search_path(beside)!a}; {code}"]


def search_path(beside: bool = False) -> list[str]:
    """Where this process looks for modules, without the current folder, unless these packages are there.

    With `beside` it comes last if this process looks there: modules of the user's own are found, and none of
    them stands before another.
    """
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        here = ""
    found = [os.path.join(here, one) if one else here for one in sys.path if isinstance(one, str)]
    path = [one for one in found if one and (one != here or here == HOME)]
    if HOME not in path:
        path.append(HOME)
    if beside and here in found and here not in path:
        path.append(here)
    return [one for one in path if one]
