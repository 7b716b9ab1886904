"""Running drawn graphs with variables in every way that there is, next to what NumPy finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import tosajit as tj
from tests.states import Drawn, carried_out
from tosajit.arrays import Array
from tosajit.graph import Graph
from tosajit.runtime.bound import Bound

Run = Callable[[Sequence[Array], tj.Context], list[Array]]
STEPS = 8


def ways(graph: Graph, folder: Path) -> Iterator[tuple[str, Run]]:
    """What runs a graph, and how."""
    made = tj.compile(graph)
    yield "called", called(made)
    yield "into", into(made)
    yield "bound", bound(made)
    one, other = bound(made), bound(made)
    yield "mixed", turns(one, one, one, called(made), one, one, into(made), other)
    made.save(folder / "made")
    loaded = tj.load_executable(folder / "made")
    yield "loaded", turns(called(loaded), bound(loaded))
    parallel = tj.compile(graph, threads=2)
    yield "two threads", turns(bound(parallel), into(parallel), called(parallel))
    interpreted = tj.compile(graph, interpret=True)
    yield "interpreted", called(interpreted)
    yield "a context of several", turns(bound(made), bound(parallel), called(interpreted), into(loaded))
    yield "tiny", called(tj.compile(graph, target=tj.TINY))
    yield "checked", called(tj.compile(graph, checked=True))


def check(drawn: Drawn, what: str, run: Run) -> None:
    """Run it alternately in two contexts, whose variables must be those that NumPy finds."""
    contexts = [tj.Context(), tj.Context()]
    states: list[dict[str, Array]] = [{}, {}]
    for step in range(2 * STEPS):
        inputs, place = drawn.inputs(step), step % 2
        expected = carried_out(drawn, states[place], inputs)
        given = [one.copy() for one in inputs]
        found = run(given, contexts[place])
        held = {name: contexts[place][name] for name in states[place]}
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert one.tobytes() == other.tobytes(), f"{what}, step {step}, output {number}: {drawn}"
        for name, array in states[place].items():
            assert held[name].tobytes() == array.tobytes(), f"{what}, step {step}, {name}: {drawn}"
        for one, other in zip(given, inputs, strict=True):
            assert one.tobytes() == other.tobytes(), f"{what}, step {step}: an input has changed: {drawn}"
        for one in (*found, *given):
            one[...] = 1  # what a caller does with his arrays is no business of variables


def called(made: tj.Executable) -> Run:
    """Results are new arrays."""
    return lambda inputs, context: _listed(made(*inputs, context=context))


def into(made: tj.Executable) -> Run:
    """Results go to the same arrays each time."""
    shapes = [(value.shape or (), value.dtype.storage) for value in made.interface.outputs]
    results = [np.empty(shape, storage) for shape, storage in shapes]

    def run(inputs: Sequence[Array], context: tj.Context) -> list[Array]:
        made(*inputs, context=context, out=results if len(results) > 1 else results[0])
        return results

    return run


def bound(made: tj.Executable) -> Run:
    """Each context has its bound arrays; between bound calls there are others."""
    known: dict[int, Bound] = {}

    def run(inputs: Sequence[Array], context: tj.Context) -> list[Array]:
        if id(context) not in known:
            known[id(context)] = made.bind(*[one.copy() for one in inputs], context=context)
        call = known[id(context)]
        for place, array in zip(call.inputs, inputs, strict=True):
            place[...] = array
        return _listed(call())

    return run


def turns(*runs: Run) -> Run:
    """One after the other of these, each for both contexts."""
    calls = [0]

    def run(inputs: Sequence[Array], context: tj.Context) -> list[Array]:
        calls[0] += 1
        return runs[(calls[0] - 1) // 2 % len(runs)](inputs, context)

    return run


def _listed(given: Array | tuple[Array, ...]) -> list[Array]:
    return list(given) if isinstance(given, tuple) else [given]
