"""Processes that compile kernels beside this one, into the cache; what they leave is compiled here."""

import atexit
import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

HELPER = "tosajit.kernels.helper"
"""The module that a helper process runs."""
PATIENCE_SECONDS = 2.0
"""How long a helper waits for more work; its start takes most of a second."""
START_SECONDS = 5.0
"""How long the end of this process waits for helpers that it has begun to start."""

_changed = threading.Condition()
_waiting: dict[str, str] = {}
_running: set[str] = set()
_lasting: set[str] = set()
_helpers: dict[threading.Thread, "subprocess.Popen[str] | None"] = {}


def offer(
    sources: Mapping[str, str], order: Callable[[str], int], helpers: int, lasting: bool = False
) -> None:
    """Add work, by name, for whoever comes first; have so many helpers attend to it.

    Helpers do `lasting` work to its end even if this process ends before.
    """
    with _changed:
        _lasting.update(sources if lasting else ())
        _waiting.update({name: source for name, source in sources.items() if name not in _running})
        heaviest = sorted(_waiting.items(), key=lambda item: order(item[1]), reverse=True)
        _waiting.clear()
        _waiting.update(heaviest)
        while len(_helpers) < helpers:
            thread = threading.Thread(target=_attend, name="tosajit compiling", daemon=True)
            _helpers[thread] = None
            thread.start()
        _changed.notify_all()


def take(names: Collection[str]) -> str | None:
    """Take the first of the named that nobody has begun."""
    with _changed:
        found = next((name for name in _waiting if name in names), None)
        if found:
            del _waiting[found]
        return found


def unfinished(names: Collection[str]) -> int:
    """Count the named that wait or are being compiled by helpers."""
    with _changed:
        return sum(name in _waiting or name in _running for name in names)


def finish(names: Collection[str]) -> None:
    """Wait until no helper works on any of the named."""
    with _changed:
        _changed.wait_for(lambda: not any(name in _running for name in names))


def wait(names: Collection[str], stopped: Callable[[], bool]) -> None:
    """Wait until helpers have done the named, or there are none, or this is to stop (`wake` says so)."""
    with _changed:
        _changed.wait_for(lambda: stopped() or not _helpers or not unfinished(names))
        if not stopped():
            withdraw(names)


def wake() -> None:
    """Have those who wait look again."""
    with _changed:
        _changed.notify_all()


def withdraw(names: Collection[str]) -> None:
    """Take back what nobody has begun."""
    with _changed:
        for name in names:
            _waiting.pop(name, None)


def _attend() -> None:
    """Keep a helper process busy as long as there is work."""
    from sim.processes import HOME, python
    from tosajit.kernels.cache import cache_folder

    me, name = threading.current_thread(), ""
    command = python(f"from {HELPER} import serve; serve()")
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=nowhere, cwd=HOME, text=True
        ) as process:
            assert process.stdin
            assert process.stdout
            with _changed:
                _helpers[me] = process
                _changed.notify_all()
            while process.stdout.readline():
                name, source = _next(name)
                folder = cache_folder()
                if not name or folder is None:
                    break
                process.stdin.write(_request(name, source, folder))
                process.stdin.flush()
    except OSError:
        pass
    finally:
        with _changed:
            _running.discard(name)
            _helpers.pop(me, None)
            _changed.notify_all()


def _next(done: str) -> tuple[str, str]:
    """Report one kernel as done and wait for another; nothing comes for long, or at the end."""
    with _changed:
        _running.discard(done)
        _lasting.discard(done)
        _changed.notify_all()
        if not _changed.wait_for(lambda: _waiting, PATIENCE_SECONDS):
            return "", ""
        name = next(iter(_waiting))
        _running.add(name)
        return name, _waiting.pop(name)


def _request(name: str, source: str, folder: Path) -> str:
    """What a helper is told of a kernel."""
    from tosajit.kernels.sets.registry import VARIABLE

    return json.dumps([name, source, str(folder), os.environ.get(VARIABLE, "")]) + "\n"


@atexit.register
def _stop() -> None:
    """End the helpers; those with lasting work are told all of it, and end when it is done."""
    lasts = any(name in _lasting for name in (*_waiting, *_running))
    if lasts:
        with _changed:  # a helper may be about to start: what nobody else will do is left to it
            _changed.wait_for(lambda: all(_helpers.values()), START_SECONDS)
    for thread, process in tuple(_helpers.items()):
        if process and not (lasts and _left_to(process)):
            process.kill()
            thread.join(1)


def _left_to(process: "subprocess.Popen[str]") -> bool:
    """Leave what is waiting to a helper, as far as its pipe takes it at once."""
    from tosajit.kernels.cache import cache_folder

    folder, pipe = cache_folder(), process.stdin
    if folder is None or pipe is None or os.name == "nt":
        return False
    try:
        place = pipe.fileno()
    except ValueError:  # its thread has closed it: the helper has ended
        return False
    with _changed:
        left = {name: source for name, source in _waiting.items() if name in _lasting}
        _waiting.clear()
    with contextlib.suppress(OSError):
        os.set_blocking(place, False)
        for name, source in left.items():
            os.write(place, _request(name, source, folder).encode())
    return True


def _forget() -> None:
    """Start anew in a forked process, which has no helpers."""
    global _changed
    _changed = threading.Condition()
    for state in (_waiting, _running, _lasting, _helpers):
        state.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
