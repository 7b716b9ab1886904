"""Python's search for cyclic garbage waits while much is made that stays.

Reading and compiling a model make hundreds of thousands of objects, among which a sixth of the time would be
spent on looking for garbage that is not there.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_lock = threading.Lock()
_calls = 0
"""How many calls are under way, in all threads."""
_again = False
"""Whether the last of them has the search go on: it does not if it was off before."""


def keeps_garbage(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function, during which no garbage is searched for."""

    @wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        _begin()
        try:
            return function(*args, **kwargs)
        finally:
            _end()

    return called


def _begin() -> None:
    global _calls, _again
    with _lock:
        if not _calls:
            _again = gc.isenabled()
            gc.disable()
        _calls += 1


def _end() -> None:
    global _calls
    with _lock:
        _calls -= 1
        if not _calls and _again:
            gc.enable()
