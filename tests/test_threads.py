"""Worker threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tosajit.kernels import threads
from tosajit.kernels.objects import compile_kernel

SHARE = """
from tosajit.kernels.intrinsics import *

def kernel(args):
    counter = load_i64(args, 0)
    result = load_i64(args, 1)
    count = load_i64(args, 2)
    tile = fetch_add(counter, 0, 1)
    while tile < count:
        fetch_add(result, tile, tile + 1)
        tile = fetch_add(counter, 0, 1)
"""
MEET = """
from tosajit.kernels.intrinsics import *

def kernel(args):
    counter = load_i64(args, 0)
    fetch_add(counter, 0, 1)
    while load_acquire(counter, 0) < load_i64(args, 1):
        rest()
"""


def share(team: int, count: int = 500) -> bool:
    address = compile_kernel(SHARE).address
    counter, result = np.zeros(1, np.int64), np.zeros(count, np.int64)
    blocks = [np.array([counter.ctypes.data, result.ctypes.data, count], np.int64) for _ in range(team)]
    threads.run(address, [block.ctypes.data for block in blocks])
    return result.tolist() == list(range(1, count + 1))


@pytest.mark.parametrize("team", [1, 2, 3, 5])
def test_tiles_are_done_once(team: int) -> None:
    assert all(share(team) for _ in range(50))


def test_all_members_run_at_the_same_time() -> None:
    address = compile_kernel(MEET).address
    for _ in range(20):
        counter = np.zeros(1, np.int64)
        blocks = [np.array([counter.ctypes.data, 3], np.int64) for _ in range(3)]
        threads.run(address, [block.ctypes.data for block in blocks])
        assert counter[0] == 3


def test_sleeping_workers_are_woken() -> None:
    for _ in range(5):
        time.sleep(0.01)
        assert share(2)


def test_workers_are_kept() -> None:
    share(2)
    before = threading.active_count()
    assert all(share(2) for _ in range(100))
    assert threading.active_count() == before


def test_runs_may_overlap() -> None:
    good = []
    callers = [
        threading.Thread(target=lambda: good.append(all(share(2) for _ in range(50)))) for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert good == [True] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_process_starts_workers_of_its_own() -> None:
    code = f"""
import os, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from tests.test_threads import share
assert share(2)
child = os.fork()
if child == 0:
    os._exit(0 if share(2) and share(3) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
