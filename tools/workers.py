"""Runs jobs in worker processes: a job that kills its worker or takes too long fails alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
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
    """A process, the pipe to it, and the job that it works on since a time."""

    process: SpawnProcess
    pipe: Connection
    job: Job | None = None
    since: float = 0.0

    def give(self, job: Job) -> None:
        """Send the worker its next job."""
        self.job, self.since = job, time.monotonic()
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
    seconds: float,
) -> Iterator[Result]:
    """Yield each job's result as it comes; `lost` makes one of a job whose worker died or was too slow."""
    waiting = iter(jobs)
    busy: list[Worker[Job]] = []
    for first in islice(waiting, workers):
        busy.append(start(function))
        busy[-1].give(first)
    while busy:
        connection.wait([worker.pipe for worker in busy], timeout=1)
        for place, worker in reversed(list(enumerate(busy))):
            job = worker.job
            assert job is not None
            try:
                if worker.pipe.poll():
                    yield worker.pipe.recv()
                elif time.monotonic() - worker.since > seconds:
                    worker.stop()
                    yield lost(job, f"took more than {seconds:.0f} s")
                else:
                    continue
            except EOFError:
                worker.process.join()
                yield lost(job, f"the process died with code {worker.process.exitcode}")
            following = next(waiting, None)
            if following is None:
                worker.stop()
                del busy[place]
                continue
            if not worker.process.is_alive():
                busy[place] = worker = start(function)
            worker.give(following)


def start(function: Callable[[Job], Result]) -> Worker[Job]:
    """Start a process that applies the function to what comes through the pipe."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(function, theirs), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, ours)


def serve(function: Callable[[Job], Result], pipe: Connection) -> None:
    """Answer jobs until the pipe is closed."""
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(function(job))
