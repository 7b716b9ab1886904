"""Kernels that are compiled in the background, while the generic kernel runs in their place.

A thread waits for the processes that compile them, links the programs once more, and gives these to their
runners, each of which takes the new one at its next call.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from time import perf_counter
from weakref import WeakSet

from tiling.records import replace
from tosajit.compiler.journal import Journal
from tosajit.compiler.options import Options
from tosajit.compiler.segment import Linked, Written
from tosajit.compiler.stages import link
from tosajit.kernels import helpers  # whose end is then behind that of this module
from tosajit.kernels.link import sources_of
from tosajit.kernels.objects import compile_beside
from tosajit.kernels.runner import Runner
from tosajit.log import LOG

PATIENCE_SECONDS = 5.0
"""How long the end of a process waits for a kernel that is being compiled in it."""


class Meanwhile:
    """The programs of an executable that the generic kernel has a part in, until they are linked anew."""

    def __init__(self, options: Options, journal: Journal | None) -> None:
        self._options = replace(options, generic="never", progress=False)
        self._journal = journal
        self._waiting: list[tuple[Runner, Callable[[], Written]]] = []
        self._then: list[Callable[[], None]] = []
        self._lock, self._done = threading.Lock(), threading.Event()
        self._began, self._thread = perf_counter(), threading.Thread(target=self._run, daemon=True)
        self.succeeded = False

    def add(self, runner: Runner, linked: Linked) -> None:
        """Have a runner take the program with kernels of its own, if it has to wait for these."""
        if linked.own is not None:
            self._waiting.append((runner, linked.own))

    @property
    def waits(self) -> bool:
        """Whether there is anything that it waits for."""
        return not self._done.is_set()

    def start(self) -> None:
        """Begin, if there is anything to wait for."""
        if not self._waiting:
            self._end(True)
            return
        _pending.add(self)
        self._thread.name = "tosajit in the background"
        self._thread.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until all kernels are in their places; return whether they are."""
        self._done.wait(seconds)
        return self.succeeded

    def then(self, what: Callable[[], None]) -> None:
        """Do something once all kernels are in their places: now, if they are."""
        with self._lock:
            if not self._done.is_set():
                self._then.append(what)
                return
        if self.succeeded:
            what()

    def _run(self) -> None:
        try:
            every = [(runner, own()) for runner, own in self._waiting]
            codes = [code for _, written in every for code in written.codes]
            compile_beside([text for code in codes for text in sources_of(code)], lambda: _ending)
            if _ending:
                return
            for runner, written in every:
                self._replace(runner, written)
        except Exception as error:
            LOG.warning("kernels cannot be compiled in the background, and the generic one stays: %s", error)
            self._end(False)
        else:
            self._end(True)
        finally:
            _pending.discard(self)
            self._done.set()

    def _replace(self, runner: Runner, written: Written) -> None:
        linked = link(written, self._options)
        if self._journal is not None:
            planned = written.planned
            for stage, value in (
                ("prepare", planned.groups), ("plan", planned), ("emit", written), ("link", linked)
            ):  # fmt: skip
                self._journal.amend(stage, value)
        runner.replace(linked)
        LOG.info("%s: kernels of its own after %.2f s", linked.name, perf_counter() - self._began)

    def _end(self, succeeded: bool) -> None:
        """Tell those who wait, and do what was to be done then."""
        with self._lock:
            self.succeeded = succeeded
            self._done.set()
        for what in self._then if succeeded else ():
            what()
        self._then.clear()
        self._waiting.clear()

    def forget(self) -> None:
        """Wait for nothing more: in a forked process, where no thread of this kind is."""
        self._lock, self._done = threading.Lock(), threading.Event()
        self._done.set()

    def stop(self) -> None:
        """Let what is being compiled in this process come to its end, before that does."""
        self._thread.join(PATIENCE_SECONDS)


_pending: WeakSet[Meanwhile] = WeakSet()
_ending = False


@atexit.register
def _stop() -> None:
    global _ending
    _ending = True
    helpers.wake()
    for one in tuple(_pending):
        one.stop()


def _forget() -> None:
    for one in tuple(_pending):
        one.forget()
    _pending.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
