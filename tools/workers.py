"""Runs jobs in worker processes: a job that kills its worker or takes too long fails alone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass
class Worker(Generic[Job]):
    """A process, the pipe to it, the job that it works on, and since when for how long at most."""

    process: SpawnProcess
    pipe: Connection
    job: Job | None = None
    since: float = 0.0
    seconds: float = 0.0

    def give(self, job: Job, seconds: float) -> None:
        """Send the worker its next job, and what it may take."""
        self.job, self.since, self.seconds = job, time.monotonic(), seconds
        self.pipe.send(job)

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_jobs(
    function: Callable[[Job], Result],
    jobs: Iterable[Job],
    lost: Callable[[Job, str], Result],
    workers: int,
    limit: Callable[[Job], float],
) -> Iterator[Result]:
    """Yield each job's result as it comes; `lost` makes one of a job whose worker died or was too slow.

    `limit` tells how many seconds a job may take, when it is given out.
    """
    waiting = iter(jobs)
    busy: list[Worker[Job]] = []
    try:
        for first in islice(waiting, workers):
            busy.append(start(function))
            busy[-1].give(first, limit(first))
        while busy:
            connection.wait([worker.pipe for worker in busy], timeout=1)
            for place, worker in reversed(list(enumerate(busy))):
                result = collected(worker, lost)
                if result is None:
                    continue
                yield result[0]
                following = next(waiting, None)
                if following is None:
                    worker.stop()
                    del busy[place]
                    continue
                if not worker.process.is_alive():
                    busy[place] = worker = start(function)
                worker.give(following, limit(following))
    finally:
        for worker in busy:
            worker.stop()


def collected(worker: Worker[Job], lost: Callable[[Job, str], Result]) -> tuple[Result] | None:
    """Take a worker's result, or what is made of a job that it will not finish; None while it works."""
    job = worker.job
    assert job is not None
    try:
        if worker.pipe.poll():
            return (worker.pipe.recv(),)
    except EOFError:
        worker.process.join()
        return (lost(job, f"the process died with code {worker.process.exitcode}"),)
    if time.monotonic() - worker.since <= worker.seconds:
        return None
    worker.stop()
    return (lost(job, f"took more than {worker.seconds:.0f} s"),)


def start(function: Callable[[Job], Result]) -> Worker[Job]:
    """Start a process that applies the function to what comes through the pipe."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(function, theirs), daemon=True)
    with safe_path():
        process.start()
    theirs.close()
    return Worker(process, ours)


@contextmanager
def safe_path() -> Iterator[None]:
    """Have new Pythons leave out the current folder where they look for modules."""
    name, before = "PYTHONSAFEPATH", os.environ.get("PYTHONSAFEPATH")
    os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ.pop(name)
        os.environ |= {} if before is None else {name: before}


def serve(function: Callable[[Job], Result], pipe: Connection) -> None:
    """Answer jobs until the pipe is closed; an interrupt, which all processes get, ends it without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(function(job))
