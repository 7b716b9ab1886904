"""No cyclic garbage is searched for while models are read, compiled and planned, and it is afterwards."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tosajit as tj
from tiling.plan import plan
from tosajit.checks import validation
from tosajit.garbage import keeps_garbage


@pytest.fixture(autouse=True)
def _on() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


@keeps_garbage
def searched(inner: bool = False) -> bool:
    return searched() if inner else gc.isenabled()


@keeps_garbage
def fails() -> None:
    raise ArithmeticError


def test_garbage_waits_for_the_outermost_call() -> None:
    assert not searched(inner=True)
    assert gc.isenabled()


def test_a_call_that_fails_lets_the_search_go_on() -> None:
    with pytest.raises(ArithmeticError):
        fails()
    assert gc.isenabled()


def test_a_search_that_was_off_stays_off() -> None:
    gc.disable()
    searched()
    assert not gc.isenabled()


def test_garbage_waits_for_the_calls_of_all_threads() -> None:
    begun, done = threading.Event(), threading.Event()

    @keeps_garbage
    def waiting() -> None:
        begun.set()
        done.wait()

    thread = threading.Thread(target=waiting)
    thread.start()
    begun.wait()
    searched()
    assert not gc.isenabled()
    done.set()
    thread.join()
    assert gc.isenabled()


def test_compiling_makes_garbage_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    check = validation.check

    def watched(graph: tj.Graph, **limits: Any) -> tj.Graph:
        seen.append(gc.isenabled())
        return check(graph, **limits)

    monkeypatch.setattr("tosajit.compiler.stages.check", watched)
    tj.compile(tj.load(tj.samples.path("autoencoder", "model.tosa")), checked=True, target=tj.TINY)
    assert seen
    assert not any(seen)
    assert gc.isenabled()


def test_planning_makes_garbage_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(*arguments: Any) -> Any:
        seen.append(gc.isenabled())
        return plan(*arguments)

    monkeypatch.setattr("tosajit.compiler.planning.plan", watched)
    tj.simulate(tj.load(tj.samples.path("autoencoder", "model.tosa")), "ethos-u55-32")
    assert seen
    assert not any(seen)
    assert gc.isenabled()
