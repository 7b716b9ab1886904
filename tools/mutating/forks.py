"""Work in a fork of this process: bounded in time and memory, and what it starts ends with it."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MEMORY = 8 << 30
"""Bytes of address space: what takes more has failed."""
WAITING = 4
"""What may compute for so long may take so many times longer, as it may wait too."""
STOPS = signal.SIGPROF, signal.SIGALRM, signal.SIGKILL

Work = Callable[["Notes"], None]


@dataclass(frozen=True, slots=True)
class Notes:
    """A file of lines that a process leaves for another one, which may be read whatever becomes of it."""

    path: Path

    def leave(self, *row: object) -> None:
        """Leave a line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def read(self) -> list[Any]:
        """All lines."""
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]


def forked(work: Work, seconds: float) -> tuple[list[Any], bool]:
    """What a fork leaves in its notes, and whether it had to be stopped."""
    with TemporaryDirectory(prefix="notes-") as folder:
        notes = Notes(Path(folder) / "notes")
        notes.path.touch()
        process = os.fork()
        if process == 0:
            _child(work, notes)
        end = time.monotonic() + WAITING * seconds
        done, status = 0, 0
        while not done and time.monotonic() < end:
            time.sleep(0.01)
            done, status = os.waitpid(process, os.WNOHANG)
        try:
            os.killpg(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if not done:
            _, status = os.waitpid(process, 0)
        return notes.read(), os.WIFSIGNALED(status) and os.WTERMSIG(status) in STOPS


def _child(work: Work, notes: Notes) -> None:
    try:
        os.setsid()
        with open(os.devnull, "r+b") as nothing:
            for stream in range(3):
                os.dup2(nothing.fileno(), stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for alarm in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(alarm, signal.SIG_DFL)
        work(notes)
    except BaseException:
        notes.leave("unsound", traceback.format_exc(), 0)
        raise
    finally:
        os._exit(0)


def clock(seconds: float) -> None:
    """Let the system end this process if it computes for longer from now on, or waits for much longer."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(int(seconds * WAITING) + 1)
