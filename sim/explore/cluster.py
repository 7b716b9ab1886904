"""Points that are evaluated by a cluster of `dask.distributed`.

What is evaluated goes to each worker once; a chunk is a task. The scheduler gives chunks of a worker that is
gone to others, and what all workers that had it took with them is sent again.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from sim.explore.candidates import Candidate
from sim.explore.errors import WorkerError
from sim.explore.work import Evaluator, Mode, Outcomes
from sim.explore.workers import died_text, packed

if TYPE_CHECKING:
    from distributed import Client

AHEAD = 3
"""Chunks under way for each thread of the cluster: the scheduler is further away than a pipe."""
PATIENT = 5
"""How often a chunk is given to the cluster again that has lost what belongs to it."""
PATIENCE = 300.0
"""Seconds for which a cluster may be without workers."""

_evaluators: dict[str, Evaluator] = {}
"""What this worker evaluates, by its digest."""


class Cluster:
    """The workers of a client's scheduler."""

    def __init__(self, client: Client) -> None:
        self._client = cast(Any, client)  # most of its methods have no types
        self.ahead = AHEAD * max(1, sum(self._client.nthreads().values()))
        self._lock, self._times_sent = Lock(), 0
        self._under_way: set[Any] = set()
        self._closed = False

    def begin(self, evaluator: Evaluator) -> None:
        """Send what is evaluated to all workers."""
        self._names, self._data = evaluator.names, packed(evaluator)
        self._digest = sha256(self._data).hexdigest()
        self._scatter(0)

    def submit(self, candidates: Sequence[Candidate], mode: Mode) -> Future[Outcomes]:
        """Give a chunk to the scheduler."""
        chunk = _Chunk(tuple(candidates), mode, Future())
        self._give(chunk)
        return chunk.future

    def close(self, at_once: bool = False) -> None:
        """Let go of what the cluster has of this exploration; the client and its workers stay."""
        self._closed = True
        self._client.cancel(list(self._under_way), force=True)
        self._under_way.clear()
        self._sent = None

    def _scatter(self, times: int) -> None:
        """Send it again, unless another chunk has seen to that."""
        with self._lock:
            if times == self._times_sent:
                self._client.wait_for_workers(1, timeout=PATIENCE)
                self._sent = self._client.scatter(self._data, broadcast=True, hash=False)
                self._times_sent += 1

    def _give(self, chunk: _Chunk) -> None:
        times = self._times_sent
        task = self._client.submit(
            evaluate, self._sent, self._digest, chunk.candidates, chunk.mode, pure=False
        )
        self._under_way.add(task)
        task.add_done_callback(lambda done: self._done(done, chunk, times))

    def _done(self, task: Any, chunk: _Chunk, times: int) -> None:
        """Hand on an outcome; what the cluster has lost is given to it again."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        if self._closed:
            return
        self._under_way.discard(task)
        try:
            chunk.future.set_result(task.result())
        except KilledWorker:
            chunk.future.set_result(
                Outcomes.failed(self._names, [died_text("killed")] * len(chunk.candidates))
            )
        except (FutureCancelledError, CommClosedError) as error:
            self._again(chunk, times, error)
        except Exception as error:
            chunk.future.set_exception(error)

    def _again(self, chunk: _Chunk, times: int, lost: Exception) -> None:
        chunk.lost += 1
        try:
            if chunk.lost > PATIENT:
                raise WorkerError(f"the cluster has lost a chunk {chunk.lost} times: {lost}") from lost
            self._scatter(times)
            self._give(chunk)
        except Exception as error:
            chunk.future.set_exception(error)


@dataclass
class _Chunk:
    candidates: tuple[Candidate, ...]
    mode: Mode
    future: Future[Outcomes]
    lost: int = 0


def evaluate(data: bytes, digest: str, candidates: Sequence[Candidate], mode: Mode) -> Outcomes:
    """Evaluate a chunk, on a worker."""
    evaluator = _evaluators.get(digest)
    if evaluator is None:
        evaluator = pickle.loads(data)
        _evaluators.clear()
        _evaluators[digest] = evaluator
    return evaluator(candidates, mode)
