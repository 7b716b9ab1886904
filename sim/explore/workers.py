"""Where points are evaluated: in this process, or in others on this machine.

A worker is a new Python that is told what to do through pipes. Nothing of this process is copied by `fork`
(which is not safe with threads, as notebooks have them), and the script that started it is not imported again
(as `multiprocessing` does, so that scripts need a guard). It ends when its pipe does, so that none is left
behind, however this process ends.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from sim.explore.candidates import Candidate
from sim.explore.errors import WorkerError
from sim.explore.work import Evaluator, Mode, Outcomes
from sim.machine.arrays import ARRAYS
from sim.processes import python

BOOT = "from sim.explore.worker import serve; serve()"
TRIES = 2
"""How often a chunk is given to a worker before it is taken to be what kills workers."""
MOMENT = 0.5
"""Seconds for a process whose pipe broke to end by itself: then its code says why."""
GRACE = 5.0
"""Seconds for threads to see that their workers were ended."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Workers are as many as cores; none of them needs threads of its own."""


class Pool(Protocol):
    """What evaluates chunks of points."""

    ahead: int
    """So many chunks under way keep it busy."""

    def begin(self, evaluator: Evaluator) -> None:
        """Say what is evaluated; comes first, and once."""

    def submit(self, candidates: Sequence[Candidate], mode: Mode) -> Future[Outcomes]:
        """Evaluate a chunk."""

    def close(self, at_once: bool = False) -> None:
        """Let go of workers; `at_once` whatever they are doing."""


class Here:
    """The process that asks."""

    ahead = 1

    def begin(self, evaluator: Evaluator) -> None:
        """Keep it."""
        self._evaluator = evaluator

    def submit(self, candidates: Sequence[Candidate], mode: Mode) -> Future[Outcomes]:
        """Evaluate a chunk, now."""
        future: Future[Outcomes] = Future()
        try:
            future.set_result(self._evaluator(candidates, mode))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self, at_once: bool = False) -> None:
        """Nothing is left."""


@dataclass
class Task:
    """A chunk that waits for a worker."""

    candidates: Sequence[Candidate]
    mode: Mode
    future: Future[Outcomes] = field(default_factory=Future)


class Local:
    """Processes on this machine, each with a thread here that talks to it.

    They start at once, so that they import what they need while the caller gets ready.
    """

    def __init__(self, count: int) -> None:
        self.ahead = 2 * count
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._stopped = False
        self._workers = [_Worker() for _ in range(count)]
        self._threads: list[threading.Thread] = []

    def begin(self, evaluator: Evaluator) -> None:
        """Send what is evaluated to all workers."""
        self._names = evaluator.names
        data = packed(evaluator)
        for worker in self._workers:
            thread = threading.Thread(target=self._serve, args=(worker, data), daemon=True)
            thread.start()
            self._threads.append(thread)

    def submit(self, candidates: Sequence[Candidate], mode: Mode) -> Future[Outcomes]:
        """Evaluate a chunk, as soon as a worker is free."""
        task = Task(candidates, mode)
        self._tasks.put(task)
        return task.future

    def close(self, at_once: bool = False) -> None:
        """End the workers: when their chunks are done, or at once."""
        self._stopped = at_once
        for worker in self._workers if at_once else ():
            worker.kill()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join(GRACE if at_once else None)
        if not self._threads:
            for worker in self._workers:
                worker.end()

    @property
    def processes(self) -> list[int]:
        """The numbers of the processes."""
        return [worker.number for worker in self._workers]

    def _serve(self, worker: _Worker, data: bytes) -> None:
        """Give tasks to a worker until there are no more."""
        while (task := self._tasks.get()) is not None:
            try:
                task.future.set_result(self._done(worker, data, task))
            except Exception as error:
                task.future.set_exception(error)
        worker.end()

    def _done(self, worker: _Worker, data: bytes, task: Task) -> Outcomes:
        death = ""
        for _ in range(TRIES):
            if self._stopped:
                break
            try:
                worker.prepare(data)
                return worker.ask(task)
            except _Died:
                death = worker.end(MOMENT)
        return Outcomes.failed(self._names, [died_text(death)] * len(task.candidates))


class _Died(Exception):
    """A worker is gone."""


class _Worker:
    """A process that evaluates; a new one takes the place of one that is gone."""

    def __init__(self) -> None:
        self._ready = False
        self._process = _started()

    @property
    def number(self) -> int:
        return self._process.pid

    def prepare(self, data: bytes) -> None:
        """Have a process that knows what to evaluate."""
        death = ""
        for _ in range(TRIES):
            if self._ready:
                return
            if self._process.poll() is not None:
                death = self.end()
                self._process = _started()
            try:
                self._ask(data)
                self._ready = True
            except _Died:
                death = self.end(MOMENT)
        if not self._ready:
            raise WorkerError(
                f"workers end while they start ({death}); what they print says why, and `workers=0` "
                f"does without them"
            )

    def ask(self, task: Task) -> Outcomes:
        """Evaluate a chunk."""
        found: Outcomes = self._ask((tuple(task.candidates), task.mode))
        return found

    def _ask(self, question: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(question, self._process.stdin)
            self._process.stdin.flush()
            done, answer = pickle.load(self._process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError, ValueError) as error:
            raise _Died from error
        if not done:
            raise answer
        return answer

    def kill(self) -> None:
        """End the process at once; the thread that talks to it finds out."""
        with suppress(OSError):
            self._process.kill()

    def end(self, seconds: float | None = None) -> str:
        """Let the process end, or after some seconds make it; says how it ended."""
        process, self._ready = self._process, False
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            code = process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def _started() -> subprocess.Popen[bytes]:
    environment = {**dict.fromkeys(ONE_THREAD, "1"), **os.environ}
    return subprocess.Popen(
        python(BOOT, beside=True),  # objectives may be functions of modules beside the user
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the process that asks, not for those that answer
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
    )


def died_text(death: str) -> str:
    """The reason of points that workers do not survive."""
    return f"evaluating it, or a point beside it, ends workers ({death}); is there memory enough?"


def packed(evaluator: Evaluator) -> bytes:
    """An evaluator as bytes for workers; functions of scripts and notebooks go with cloudpickle."""
    _check_kinds(evaluator)
    dumps: Callable[[object], bytes] = pickle.dumps
    with suppress(ImportError):
        import cloudpickle

        dumps = cloudpickle.dumps
    try:
        data = dumps(evaluator)
        if dumps is pickle.dumps and b"__main__" in data:
            raise pickle.PicklingError("it is a function of a script or a notebook")
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise WorkerError(
            f"an objective, or something else, cannot be sent to workers: {error}; install "
            f"cloudpickle, put the function into a module, or take workers=0"
        ) from None
    return data


def _check_kinds(evaluator: Evaluator) -> None:
    """Kinds of array go to workers as modules."""
    space = json.dumps(evaluator.space.to_dict())
    for kind, part in ARRAYS.items():
        if part.__module__ == "__main__" and json.dumps(kind) in space:
            raise WorkerError(
                f"the kind of array {kind!r} is defined in a script or a notebook, which workers do not "
                f"know; put it into a module, or take workers=0"
            )
