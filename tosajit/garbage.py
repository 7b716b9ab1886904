"""Python's search for cyclic garbage waits while much is made that stays.

Importing, reading and compiling make hundreds of thousands of objects, among which a sixth of the time would
be spent on looking for garbage that is not there. When that is over they are old at once: the next search
looks at what is made from then on, and at these when it is the turn of all objects.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
MANY, MOST = 10_000, 1_000_000
"""Objects that take long to look at, and as many as are made old before a search among all is due."""
_lock = threading.Lock()
_calls = 0
"""How many calls are under way, in all threads."""
_again = False
"""Whether the last of them has the search go on: it does not if it was off before."""
_aged = 0, 0
"""How often there was a search among all objects, and how many were made old since."""
_frozen = -1
"""As `_aged`'s first, when objects of the program were last found frozen: to count a million takes 20 ms."""


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
            _age()
            gc.enable()


def _age() -> None:
    """Move all objects to the oldest generation, unless the program has frozen some, which must stay so."""
    global _aged, _frozen
    young, searches = gc.get_count()[0], gc.get_stats()[-1]["collections"]
    if young < MANY or _frozen == searches:
        return
    if gc.get_freeze_count():
        _frozen = searches
        return
    aged = young + (_aged[1] if _aged[0] == searches else 0)
    if aged > MOST:
        gc.collect()
    else:
        gc.freeze()
        gc.unfreeze()
        _aged = searches, aged
