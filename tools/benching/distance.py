"""How far apart two cores are: how long a cache line takes to another one and back.

A virtual machine's cores may be moved: on some hosts the way becomes five times as long within minutes, and
whatever two threads share takes longer, so that ratios of two runs say little where this differs.
"""

from __future__ import annotations

import ctypes
import os
import threading
from time import perf_counter

ROUNDS, BATCHES = 200, 20
SOURCE = '''"""Answers a number in a cache line with the next one, or asks for that."""

from tosajit.kernels.intrinsics import load_acquire, pause, reload_i64, store_release


def kernel(args):
    line, asks = reload_i64(args, 0), reload_i64(args, 1)
    for number in range(reload_i64(args, 2), reload_i64(args, 3)):
        if asks:
            store_release(line, 0, 2 * number + 1)
        while load_acquire(line, 0) != 2 * number + 1 + asks:
            pause()
        if not asks:
            store_release(line, 0, 2 * number + 2)
'''


def round_trip() -> float | None:
    """Seconds to another core and back, the least of some; None where there is one, or none can be chosen."""
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        return None
    from tosajit.kernels.objects import compile_kernel

    call = ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(SOURCE).address)
    line, before = (ctypes.c_int64 * 32)(), os.sched_getaffinity(0)
    place = -(-ctypes.addressof(line) // 128) * 128
    here, there = sorted(before)[:2]

    def meet(core: int, asks: bool, first: int, end: int) -> float:
        os.sched_setaffinity(0, {core})
        words = (ctypes.c_int64 * 4)(place, int(asks), first, end)
        start = perf_counter()
        call(ctypes.c_int64(ctypes.addressof(words)))
        return (perf_counter() - start) / (end - first)

    other = threading.Thread(target=meet, args=(there, False, 0, ROUNDS * BATCHES), daemon=True)
    other.start()
    try:
        return min(meet(here, True, n * ROUNDS, (n + 1) * ROUNDS) for n in range(BATCHES))
    finally:
        os.sched_setaffinity(0, before)


def distance_text(before: float | None, after: float | None) -> str:
    """Both measurements, for people."""
    if before is None or after is None:
        return "one core"
    return f"{1e9 * before:.0f} ns before the run, {1e9 * after:.0f} ns after it"
