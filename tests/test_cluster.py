"""A real scheduler and two worker processes on this machine, over TCP; some are killed in the middle."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import tosajit as tj
from sim.explore.cluster import Cluster
from sim.explore.progress import Progress

distributed = pytest.importorskip(
    "distributed", reason="needs dask.distributed: pip install 'tosajit[cluster]'"
)

ROOT = Path(__file__).parents[1]
MODEL = tj.samples.path("ds_cnn")
SPACE = tj.Space("systolic-16", {"array.rows": [8, 16, 32], "scratchpad.bytes": tj.Range(1 << 14, 1 << 20)})
QUICK = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s",  # how long results are looked for where a worker was
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "sim" / "explore")]),
}
# What dask's own threads leave to the collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


class Grid:
    """Processes of a small cluster."""

    def __init__(self, stack: ExitStack) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self._stack = stack
        self._run("dask_scheduler", "--host", self.address, "--no-dashboard", "--no-show")
        self.workers = [self.worker(), self.worker()]

    def worker(self) -> subprocess.Popen[bytes]:
        """One more worker, without anybody who would start it again."""
        return self._run("dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard")

    def _run(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.{module}", *arguments]
        environment = {**os.environ, **QUICK}
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture(scope="module")
def grid() -> Iterator[Grid]:
    with ExitStack() as stack:
        yield Grid(stack)


@pytest.fixture(scope="module")
def client(grid: Grid) -> Iterator[Any]:
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "20s"}),
        distributed.Client(grid.address) as made,
    ):
        made.wait_for_workers(2, timeout=60)
        yield made


def same(one: tj.Exploration, other: tj.Exploration) -> bool:
    """Whether two explorations have the same points, to the last bit."""
    return (
        one.candidates == other.candidates
        and one.outcomes.reasons == other.outcomes.reasons
        and all(
            np.array_equal(column, other.outcomes.columns[name], equal_nan=True)
            for name, column in one.outcomes.columns.items()
        )
    )


@pytest.mark.parametrize(("threads", "ahead"), [({}, 3), ({"a": 1}, 3), ({"a": 2, "b": 4}, 18)])
def test_some_chunks_are_under_way_for_each_thread(threads: dict[str, int], ahead: int) -> None:
    client = cast(Any, SimpleNamespace(nthreads=lambda: threads))
    assert Cluster(client).ahead == ahead


def test_errors_come_back_and_the_cluster_goes_on(client: Any) -> None:
    from sim.explore.cluster import Cluster
    from sim.explore.explore import explore
    from sim.explore.workers import Here
    from tests.sim.explore.works import Failing, Wrong, question

    with pytest.raises(Wrong, match="too many"):
        explore(question(Failing()), Cluster(client))
    whole = explore(question(), Here())
    assert same(whole, explore(question(), Cluster(client)))


def test_a_cluster_finds_what_is_found_here_though_a_worker_is_killed(grid: Grid, client: Any) -> None:
    import sim.explore.progress as shown

    def watch(progress: Progress) -> None:
        if progress.done >= 500 and grid.workers[0].poll() is None:
            grid.workers[0].kill()
            grid.workers[0].wait()

    every, shown.EVERY = shown.EVERY, 0.0
    try:
        found = tj.explore(MODEL, SPACE, points=3000, client=client, progress=watch)
    finally:
        shown.EVERY = every
    assert grid.workers[0].poll() is not None
    assert found.finished
    assert same(found, tj.explore(MODEL, SPACE, points=3000, workers=0))


@pytest.mark.slow
def test_what_all_workers_took_with_them_is_sent_again(grid: Grid, client: Any) -> None:
    import sim.explore.progress as shown

    grid.workers[0] = grid.worker()
    client.wait_for_workers(2, timeout=60)

    def watch(progress: Progress) -> None:
        if progress.done >= 300 and grid.workers[0].poll() is None:
            for worker in grid.workers:
                worker.kill()
                worker.wait()
            grid.workers[1:] = [grid.worker()]

    every, shown.EVERY = shown.EVERY, 0.0
    try:
        found = tj.explore(MODEL, SPACE, points=2000, client=client, progress=watch)
    finally:
        shown.EVERY = every
    assert grid.workers[0].poll() is not None
    assert same(found, tj.explore(MODEL, SPACE, points=2000, workers=0))
