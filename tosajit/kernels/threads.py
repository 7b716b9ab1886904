"""Worker threads that run kernels beside the caller, and start within microseconds.

Between runs a worker spins for some 100 us, then sleeps on a Python lock; while it works it does not hold
the interpreter's lock. Each has a mailbox of four int64: state, address, arguments, spare. The states: idle
(awake), posted, running, asleep. `run` takes the workers it needs for itself alone, so that runs may overlap.
"""

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Sequence

from tosajit.kernels.objects import compile_kernel

SOURCE = '''"""Posting, doing and awaiting the work of threads."""

from tosajit.kernels.intrinsics import (
    call,
    compare_exchange,
    exchange,
    load_acquire,
    pause,
    reload_i64,
    store_i64,
    store_release,
    yield_core,
)

IDLE, POSTED, RUNNING, ASLEEP = 0, 1, 2, 3
SPINS = 2000
LINGER = 2400


def post(team):
    """Give each mailbox its work; note which owners have to be woken."""
    for member in range(reload_i64(team, 0)):
        entry = team + 24 * (member + 1)
        mailbox = reload_i64(entry, 0)
        store_i64(mailbox, 1, reload_i64(team, 1))
        store_i64(mailbox, 2, reload_i64(entry, 1))
        store_i64(entry, 2, exchange(mailbox, 0, POSTED))


def join(team):
    """Take back what nobody has begun, and wait for the rest."""
    for member in range(reload_i64(team, 0)):
        mailbox = reload_i64(team + 24 * (member + 1), 0)
        if compare_exchange(mailbox, 0, POSTED, IDLE) != POSTED:
            spins = 0
            while load_acquire(mailbox, 0) == RUNNING:
                spins += 1
                if spins < SPINS:
                    pause()
                else:
                    yield_core()


def serve(mailbox):
    """Do what is posted, linger for more, and fall asleep."""
    spins = 0
    while True:
        if load_acquire(mailbox, 0) == POSTED:
            if compare_exchange(mailbox, 0, POSTED, RUNNING) == POSTED:
                call(reload_i64(mailbox, 1), reload_i64(mailbox, 2))
                store_release(mailbox, 0, IDLE)
                spins = 0
        spins += 1
        if spins < SPINS:
            pause()
        elif spins < LINGER:
            yield_core()
        elif compare_exchange(mailbox, 0, IDLE, ASLEEP) == IDLE:
            return


def kernel(args):
    step = reload_i64(args, 0)
    if step == 0:
        serve(reload_i64(args, 1))
    elif step == 1:
        post(args + 8)
    else:
        call(reload_i64(args, 2), reload_i64(args, 3))
        join(args + 8)
'''
SERVE, POST, FINISH = 0, 1, 2
ASLEEP = 3
HEAD = 4
"""Words before the members: the step, then the team: members, address, arguments of the caller."""
MEMBER = 3
"""Words of a member: mailbox, arguments, state before posting."""


def run(address: int, arguments: Sequence[int]) -> None:
    """Call the kernel at `address` with each of the arguments at the same time; the caller has the first.

    A worker that has not begun when the caller is done does not run at all, so that a busy machine delays
    nobody: share the work such that those who come finish it.
    """
    first, *others = arguments
    step = _step()
    workers = _reserve(len(others))
    words = [POST, len(others), address, first]
    for worker, argument in zip(workers, others, strict=True):
        words += [worker.mailbox_address, argument, 0]
    team = (ctypes.c_int64 * len(words))(*words)
    try:
        step(ctypes.addressof(team))
        for number, worker in enumerate(workers):
            if team[HEAD + MEMBER * number + 2] == ASLEEP:
                worker.awake.release()
    finally:
        team[0] = FINISH
        step(ctypes.addressof(team))
        _idle.extend(workers)


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
        orders = (ctypes.c_int64 * 2)(SERVE, self.mailbox_address)
        while True:
            self.awake.acquire()
            step(ctypes.addressof(orders))


_idle: list[_Worker] = []


def _reserve(count: int) -> list[_Worker]:
    """Take idle workers, and start more if they do not suffice."""
    workers = []
    for _ in range(count):
        try:
            workers.append(_idle.pop())
        except IndexError:
            workers.append(_Worker())
            workers[-1].start()
    return workers


@functools.cache
def _step() -> Callable[[int], None]:
    return ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(SOURCE).address)


if hasattr(os, "register_at_fork"):
    # A child process has none of its parent's threads.
    os.register_at_fork(after_in_child=_idle.clear)
