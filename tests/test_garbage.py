"""No cyclic garbage is searched for while models are read, compiled and planned, and it is afterwards."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import tosajit as tj
from tiling.plan import plan
from tosajit import garbage
from tosajit.checks import validation
from tosajit.garbage import MANY, keeps_garbage


@pytest.fixture(autouse=True)
def _on() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


@pytest.fixture
def thawed() -> Iterator[None]:
    """Nothing is frozen, as in most programs."""
    frozen, known = gc.get_freeze_count(), garbage._frozen
    gc.unfreeze()
    garbage._frozen = -1
    yield
    if frozen:
        gc.freeze()
    garbage._frozen = known if frozen else -1


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


@keeps_garbage
def making(count: int) -> list[Any]:
    """Lists in a ring, so that only a search finds them."""
    made: list[Any] = [[] for _ in range(count)]
    made.append(made)
    return made


def is_old(thing: object) -> bool:
    return any(found is thing for found in gc.get_objects(generation=2))


@pytest.mark.usefixtures("thawed")
def test_what_such_a_call_has_made_is_old_at_once() -> None:
    assert is_old(making(2 * MANY))


@pytest.mark.usefixtures("thawed")
def test_few_objects_are_left_where_they_are() -> None:
    gc.collect(0)
    assert not is_old(making(10))


@pytest.mark.usefixtures("thawed")
def test_what_a_program_has_frozen_stays_frozen() -> None:
    frozen = making(MANY)
    gc.freeze()
    assert len(making(2 * MANY)) > len(frozen)
    assert gc.get_freeze_count() > len(frozen)
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_what_is_frozen_is_counted_once_until_all_objects_are_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts: list[int] = []
    count = gc.get_freeze_count

    def counted() -> int:
        counts.append(count())
        return counts[-1]

    monkeypatch.setattr(gc, "get_freeze_count", counted)
    gc.freeze()
    made = [making(2 * MANY) for _ in range(3)]
    assert len(counts) == 1
    gc.collect()
    made.append(making(2 * MANY))
    assert len(counts) == 2
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_garbage_of_many_calls_is_found_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ring(list[Any]):
        pass

    @keeps_garbage
    def leaving() -> weakref.ref[Ring]:
        ring = Ring(making(MANY))
        ring.append(ring)
        return weakref.ref(ring)

    monkeypatch.setattr(garbage, "MOST", 3 * MANY)
    left = [leaving() for _ in range(4)]
    assert left[0]() is None


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
