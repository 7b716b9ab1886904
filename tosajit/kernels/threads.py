"""Worker threads that run kernels beside the caller, and start within microseconds.

Between runs a worker spins for some 150 us, then sleeps on a Python lock; while it works it does not hold
the interpreter's lock. Each has a mailbox of four int64: state, address, arguments, spare. The states: idle
(awake), posted, running, asleep. `run` takes the workers it needs for itself alone, so that runs may overlap.
"""

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from tosajit.kernels.objects import compile_kernel

SOURCE = '''"""Posting, doing and awaiting the work of threads."""

from tosajit.kernels.intrinsics import (
    call,
    compare_exchange,
    exchange,
    fill_bytes,
    load_acquire,
    pause,
    reload_i64,
    rest,
    store_i64,
    store_release,
)

IDLE, POSTED, RUNNING, ASLEEP = 0, 1, 2, 3
SERVE, FINISH, PACE = -1, -3, -4
HEAD, MEMBER = 7, 3


def post(team):
    """Give each mailbox its work; note which owners have to be woken, and how many."""
    asleep = 0
    fill_bytes(reload_i64(team, 4), 0, reload_i64(team, 5))
    for member in range(reload_i64(team, 1)):
        entry = team + 8 * (HEAD + MEMBER * member)
        mailbox = reload_i64(entry, 0)
        store_i64(mailbox, 1, reload_i64(team, 2))
        store_i64(mailbox, 2, reload_i64(entry, 1))
        state = exchange(mailbox, 0, POSTED)
        store_i64(entry, 2, state)
        asleep += 1 if state == ASLEEP else 0
    store_i64(team, 0, asleep)
    return asleep


def join(team):
    """Take back what nobody has begun, and wait for the rest."""
    patience = reload_i64(team, 6)
    for member in range(reload_i64(team, 1)):
        mailbox = reload_i64(team + 8 * (HEAD + MEMBER * member), 0)
        if compare_exchange(mailbox, 0, POSTED, IDLE) != POSTED:
            spins = 0
            while load_acquire(mailbox, 0) == RUNNING:
                spins += 1
                if spins < patience:
                    pause()
                else:
                    rest()


def serve(mailbox, patience):
    """Do what is posted, linger for more, and fall asleep."""
    spins = 0
    while True:
        if load_acquire(mailbox, 0) == POSTED:
            if compare_exchange(mailbox, 0, POSTED, RUNNING) == POSTED:
                call(reload_i64(mailbox, 1), reload_i64(mailbox, 2))
                store_release(mailbox, 0, IDLE)
                spins = 0
        spins += 1
        if spins < patience:
            pause()
        elif compare_exchange(mailbox, 0, IDLE, ASLEEP) == IDLE:
            return


def kernel(args):
    step = reload_i64(args, 0)
    if step == SERVE:
        serve(reload_i64(args, 1), reload_i64(args, 2))
    elif step == PACE:
        for _ in range(reload_i64(args, 1)):
            pause()
    elif step == FINISH or post(args) == 0:
        call(reload_i64(args, 2), reload_i64(args, 3))
        join(args)
'''
SERVE, START, FINISH, PACE = -1, -2, -3, -4
ASLEEP = 3
HEAD = 7
"""Words of a team before its members: the step, which starting replaces by the number of workers to be woken;
number of members, address of the kernel, arguments of the caller, address and bytes of memory to clear, and
how many pauses to wait before resting."""
MEMBER = 3
"""Words of a member: mailbox, arguments, state before posting."""
PATIENCE, LINGER = 50e-6, 150e-6
"""For how many seconds a thread spins that waits for a tile, and one that waits for the next run. Mostly the
tile is done by then; a thread that the system has put off may be away for milliseconds, and spinning would
use up what the system owes us."""
PACES = 1000


def run(address: int, arguments: Sequence[int]) -> None:
    """Call the kernel at `address` with each of the arguments at the same time; the caller has the first.

    A worker that has not begun when the caller is done does not run at all, so that a busy machine delays
    nobody: share the work such that those who come finish it.
    """
    Team(address, arguments).run()


def ready() -> None:
    """Have what starts threads compiled and loaded, so that no run waits for it."""
    pauses(PATIENCE)


def pauses(seconds: float) -> int:
    """How many pauses of a spinning thread fit into a time."""
    return round(seconds / _pause_seconds())


@functools.cache
def _pause_seconds() -> float:
    """How long a pause takes: 1 to 140 cycles, which only trying tells."""
    step, orders = _step(), (ctypes.c_int64 * 2)(PACE, PACES)

    def seconds() -> float:
        start = perf_counter()
        step(ctypes.c_int64(ctypes.addressof(orders)))
        return perf_counter() - start

    return min(seconds() for _ in range(3)) / PACES


class Team:
    """The caller and workers that run a kernel together, time and again; `cleared` is zeroed before."""

    def __init__(self, address: int, arguments: Sequence[int], cleared: Any = None) -> None:
        first, *others = arguments
        self._cleared = cleared
        where = (0, 0) if cleared is None else (cleared.ctypes.data, cleared.nbytes)
        words = [START, len(others), address, first, *where, pauses(PATIENCE)]
        for argument in others:
            words += [0, argument, 0]
        self._words = (ctypes.c_int64 * len(words))(*words)
        self._address = ctypes.c_int64(ctypes.addressof(self._words))
        self._mailboxes = tuple(range(HEAD, len(words), MEMBER))

    def run(self) -> None:
        """Run the kernel once; not by two threads at a time."""
        step, words = _step(), self._words
        workers = [_worker() for _ in self._mailboxes]
        for place, worker in zip(self._mailboxes, workers, strict=True):
            words[place] = worker.mailbox_address
        words[0] = START
        try:
            step(self._address)
            if words[0]:
                self._wake(workers)
        finally:
            if words[0]:
                words[0] = FINISH
                step(self._address)
            _idle.extend(workers)

    def _wake(self, workers: "Sequence[_Worker]") -> None:
        for place, worker in zip(self._mailboxes, workers, strict=True):
            if self._words[place + 2] == ASLEEP:
                worker.awake.release()


class _Worker(threading.Thread):
    """A thread and its mailbox."""

    def __init__(self) -> None:
        super().__init__(name="tosajit", daemon=True)
        self._memory = (ctypes.c_int64 * 32)()
        self.mailbox_address = -(-ctypes.addressof(self._memory) // 128) * 128
        ctypes.c_int64.from_address(self.mailbox_address).value = ASLEEP
        self.awake = threading.Lock()
        self.awake.acquire()

    def run(self) -> None:
        """Sleep until woken, and work until there is nothing to do."""
        step = _step()
        orders = (ctypes.c_int64 * 3)(SERVE, self.mailbox_address, pauses(LINGER))
        while True:
            self.awake.acquire()
            step(ctypes.c_int64(ctypes.addressof(orders)))


_idle: list[_Worker] = []


def _worker() -> _Worker:
    """Take an idle worker, or start one."""
    try:
        return _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
        return worker


@functools.cache
def _step() -> Callable[[ctypes.c_int64], None]:
    return ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(SOURCE).address)


if hasattr(os, "register_at_fork"):
    # A child process has none of its parent's threads.
    os.register_at_fork(after_in_child=_idle.clear)
