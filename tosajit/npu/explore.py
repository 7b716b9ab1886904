"""Models as workloads of explorations."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sim.explore.figures import Figures
from sim.explore.work import Impossible, Mode
from tosajit.errors import InputError, PlanError
from tosajit.kernels.cores import cores
from tosajit.npu.steps import Choice, Repeat, Steps, mapped
from tosajit.version import VERSION

if TYPE_CHECKING:
    from distributed import Client

    from sim.analytic.search import Estimates
    from sim.analytic.workload import Workload
    from sim.explore.exploration import Exploration
    from sim.explore.explore import Goal
    from sim.explore.progress import Watch
    from sim.explore.space import Space
    from sim.explore.workers import Pool
    from sim.machine.machine import Machine
    from sim.report.report import Report
    from tosajit.compiler.segment import Groups
    from tosajit.graph import Graph
    from tosajit.graph.extents import Shapes
    from tosajit.npu.simulate import Copy, Network
    from tosajit.profiles import LevelName
    from tosajit.runtime.executable import Executable

    Model = Graph | Executable | str | Path

Numbers = NDArray[np.float64]
UNKNOWN = "the closed form knows no {}; mode='events' does"
SMALL = 1000
"""So few points are sooner done here than workers are ready."""


class GraphWork:
    """A model that is timed on many machines; it goes to workers as bytes of a file and tables."""

    def __init__(
        self, name: str, data: bytes, weight: float = 1.0, level: LevelName = "8K", loop_trips: int = 1
    ) -> None:
        self.name, self.weight = name, weight
        self.digest = sha256(b"%b %d " % (level.encode(), loop_trips) + data).hexdigest()
        self._data, self._level, self._trips = data, level, loop_trips
        self._steps: dict[str, Steps[Workload]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "network"}

    @cached_property
    def network(self) -> Network:
        """The graph, checked and fused, once in each process that plans it."""
        from tosajit.files import from_bytes
        from tosajit.npu.simulate import Network

        return Network(from_bytes(self._data), self._level)

    def prepare(self, machines: Iterable[Machine]) -> None:
        """Make the tables for such machines, so that workers need not."""
        for machine in machines:
            self._steps_for(machine)

    def events(self, machine: Machine) -> Report:
        """What the event simulator says."""
        try:
            return self.network.simulate(machine, "events", self._trips, self.name)
        except PlanError as error:
            raise Impossible(str(error)) from None

    def analytic(self, machines: Sequence[Machine]) -> Figures:
        """What the closed form says, of all machines at once."""
        found = self._closed(machines)
        reasons = [_unknown(machine) for machine in machines]
        if not any(reasons):
            return found
        unknown = np.array([bool(reason) for reason in reasons])
        columns = (found.cycles, found.seconds, found.joules, found.offchip_bytes)
        cycles, seconds, joules, offchip = (np.where(unknown, np.nan, column) for column in columns)
        reasons = [one or reason for one, reason in zip(reasons, found.reasons, strict=True)]
        return Figures(cycles, seconds, joules, offchip, tuple(reasons))

    def _closed(self, machines: Sequence[Machine]) -> Figures:
        kinds: dict[int, list[int]] = {}
        steps = [self._steps_for(machine) for machine in machines]
        for number, one in enumerate(steps):
            kinds.setdefault(id(one), []).append(number)
        if len(kinds) == 1:
            return self._sums(steps[0], machines).figures(machines)
        columns, reasons = np.empty((4, len(machines))), [""] * len(machines)
        for numbers in kinds.values():
            some = [machines[number] for number in numbers]
            found = self._sums(steps[numbers[0]], some).figures(some)
            columns[:, numbers] = found.cycles, found.seconds, found.joules, found.offchip_bytes
            for number, reason in zip(numbers, found.reasons, strict=True):
                reasons[number] = reason
        cycles, seconds, joules, offchip = columns
        return Figures(cycles, seconds, joules, offchip, tuple(reasons))

    def _steps_for(self, machine: Machine) -> Steps[Workload]:
        from sim.cost.weights import coding

        kind = coding(machine)
        if kind not in self._steps:
            self._steps[kind] = mapped(self.network.steps, partial(_table, machine=machine))
        return self._steps[kind]

    def _sums(self, steps: Steps[Workload], machines: Sequence[Machine]) -> _Sums:
        from sim.analytic.search import evaluate

        total = _Sums.none(len(machines))
        for step in steps:
            match step:
                case Choice(one, other):
                    total += self._sums(one, machines).slower(self._sums(other, machines), machines)
                case Repeat(condition, body):
                    asked = self._sums(condition, machines)
                    total += asked
                    if trips := step.among(self._trips):
                        total += (self._sums(body, machines) + asked).times(trips)
                case _:
                    total += _Sums.of(evaluate(step, machines))
        return total


def _unknown(machine: Machine) -> str:
    """Why the closed form says nothing of a machine; empty where it does."""
    if machine.topology is not None:
        return UNKNOWN.format("cores with a topology")
    return UNKNOWN.format("level 2") if machine.level2 is not None else ""


def _table(part: Groups | Copy, machine: Machine) -> Workload:
    """The table of a part; of weights as such machines store them."""
    from sim.analytic.workload import Workload
    from tosajit.compiler.planning import stored_operands
    from tosajit.npu.simulate import Copy

    if isinstance(part, Copy):
        return Workload.of([part.nest], part.operands)
    return Workload.of(part.nests, stored_operands(part, machine))


@dataclass(frozen=True)
class _Sums:
    """Figures of programs that run one after another, each as if it were launched."""

    cycles: Numbers
    joules: Numbers
    offchip_bytes: Numbers
    programs: Numbers
    reasons: tuple[str, ...]

    @staticmethod
    def none(count: int) -> _Sums:
        none = np.zeros(count)
        return _Sums(none, none, none, none, ("",) * count)

    @staticmethod
    def of(estimates: Estimates) -> _Sums:
        return _Sums(
            estimates.cycles,
            estimates.joules,
            estimates.offchip_bytes,
            np.ones(len(estimates)),
            estimates.reasons,
        )

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(
            self.cycles + other.cycles,
            self.joules + other.joules,
            self.offchip_bytes + other.offchip_bytes,
            self.programs + other.programs,
            tuple(one or two for one, two in zip(self.reasons, other.reasons, strict=True)),
        )

    def times(self, count: int) -> _Sums:
        """The same, again and again."""
        return _Sums(
            self.cycles * count,
            self.joules * count,
            self.offchip_bytes * count,
            self.programs * count,
            self.reasons,
        )

    def slower(self, other: _Sums, machines: Sequence[Machine]) -> _Sums:
        """Of each machine the one that takes longer; what cannot be takes for ever."""
        launch = _column(machines, "launch_overhead_cycles")
        mine = self.cycles - self.programs * launch >= other.cycles - other.programs * launch
        pairs = zip(mine, self.reasons, other.reasons, strict=True)
        return _Sums(
            np.where(mine, self.cycles, other.cycles),
            np.where(mine, self.joules, other.joules),
            np.where(mine, self.offchip_bytes, other.offchip_bytes),
            np.where(mine, self.programs, other.programs),
            tuple(one if first else two for first, one, two in pairs),
        )

    def figures(self, machines: Sequence[Machine]) -> Figures:
        """The sums, with one launch in place of one for each program."""
        clock = _column(machines, "clock_hz")
        spared = np.maximum(self.programs - 1, 0) * _column(machines, "launch_overhead_cycles")
        leakage = np.array([one.energy.leakage_watts for one in machines])
        lost = np.where([bool(reason) for reason in self.reasons], np.nan, 0.0)
        cycles = self.cycles - spared + lost
        joules = self.joules - spared / clock * leakage + lost
        return Figures(cycles, cycles / clock, joules, self.offchip_bytes + lost, self.reasons)


def _column(machines: Sequence[Machine], name: str) -> Numbers:
    return np.array([getattr(machine, name) for machine in machines], np.float64)


def explore(
    models: Any,
    space: Space,
    objectives: Sequence[Goal] = ("latency", "energy"),
    strategy: str = "sobol",
    points: int | None = None,
    seed: int = 0,
    *,
    weights: Mapping[str, float] | Sequence[float] | None = None,
    workers: int | None = None,
    client: Client | None = None,
    store: str | Path | None = None,
    confirm: int = 0,
    mode: Mode = "analytic",
    progress: Watch | bool | None = None,
    loop_trips: int = 1,
    level: LevelName = "8K",
    signature: str | None = None,
    shapes: Shapes | None = None,
    example_inputs: Sequence[Any] | None = None,
) -> Exploration:
    """Search a space for the best machines for one or several models.

    Models are a graph, a path, an executable or a jitted function, or several: a list, a mapping of names to
    models, or one of models to their weights. Points are evaluated in processes on this computer (`workers`,
    by default one per core; 0 for none) or by a `dask.distributed` client, and kept in a `store`, from which
    the same call continues. The best `confirm` points are also run through the event simulator. Ctrl-C
    returns the points evaluated so far. `signature` and `shapes` are those of `load`, for paths, and
    `example_inputs` are arguments of jitted functions; without them, these are the graphs of their calls.
    """
    from sim.explore.explore import Question
    from sim.explore.explore import explore as ask
    from sim.explore.objectives import objectives as goals

    if mode not in ("analytic", "events"):
        raise InputError(f"mode is {mode!r}, but must be 'analytic' or 'events'")
    _check_space(space)
    pool = pool_of(workers, client, mode, points, confirm)
    try:
        works, places = works_of(models, weights, level, loop_trips, signature, shapes, example_inputs)
        reading = {
            "signature": signature,
            "shapes": shapes and {name: [*one] for name, one in shapes.items()},
        }
        for work in works:
            work.prepare(space.bases)
        question = Question(
            space,
            works,
            goals(objectives, space.area),
            strategy,
            points,
            seed,
            mode,
            confirm,
            f"tosajit {VERSION}",
            {"files": places, "loop_trips": loop_trips, "level": level}
            | {name: one for name, one in reading.items() if one},
        )
    except BaseException:
        pool.close(at_once=True)
        raise
    return ask(question, pool, store, progress)


def _check_space(given: object) -> None:
    from sim.explore.space import Space

    if not isinstance(given, Space):
        raise InputError(
            f"space: expected a tj.Space, got {type(given).__name__}: "
            "tj.Space(base, fields) has what varies, and tj.Space.load reads a file"
        )


def pool_of(workers: int | None, client: Client | None, mode: Mode, points: int | None, confirm: int) -> Pool:
    """What evaluates: a cluster, processes, or this one where that is sooner done."""
    if client is not None:
        from sim.explore.cluster import Cluster

        return Cluster(client)
    from sim.explore.workers import Here, Local

    if workers is not None and workers < 0:
        raise InputError(f"workers is {workers}, but must be at least 0")
    short = mode == "analytic" and not confirm and points is not None and points <= SMALL
    count = (0 if short else cores()) if workers is None else workers
    pool: Pool = Local(count) if count else Here()
    return pool


def works_of(
    models: Any,
    weights: Mapping[str, float] | Sequence[float] | None = None,
    level: LevelName = "8K",
    loop_trips: int = 1,
    signature: str | None = None,
    shapes: Shapes | None = None,
    example_inputs: Sequence[Any] | None = None,
) -> tuple[tuple[GraphWork, ...], dict[str, str]]:
    """Models as workloads, and the files of those that have one."""
    from tosajit.files import to_bytes
    from tosajit.npu.simulate import named_graph

    works: dict[str, GraphWork] = {}
    places: dict[str, str] = {}
    for given, model, weight in _listed(models, weights):
        name, graph = named_graph(model, signature, shapes, example_inputs)
        name = _free(given or name, works)
        works[name] = GraphWork(name, to_bytes(graph), weight, level, loop_trips)
        if isinstance(model, str | Path):
            places[name] = str(Path(model).resolve())
    if not works:
        raise InputError("there are no models; give at least one")
    return tuple(works.values()), places


Listed = tuple[str, Any, float]
"""A name, or nothing, a model and its weight."""


def _listed(models: Any, weights: Mapping[str, float] | Sequence[float] | None) -> list[Listed]:
    if isinstance(models, Mapping):
        weighed = all(isinstance(one, int | float) for one in models.values())
        listed = [("", m, float(w)) if weighed else (str(m), w, 1.0) for m, w in models.items()]
    elif isinstance(models, Sequence) and not isinstance(models, str):
        listed = [("", model, 1.0) for model in models]
    else:
        listed = [("", models, 1.0)]
    if weights is not None:
        listed = _weighed(listed, weights)
    for _, model, weight in listed:
        if not 0 <= weight < float("inf"):
            raise InputError(f"the weight of {model} is {weight}, but must be a number of at least 0")
    return listed


def _weighed(listed: list[Listed], weights: Mapping[str, float] | Sequence[float]) -> list[Listed]:
    """With weights by name, or in order."""
    from tosajit.npu.simulate import name_of

    if not isinstance(weights, Mapping):
        if len(weights) != len(listed):
            raise InputError(f"there are {len(listed)} models, but {len(weights)} weights")
        return [(name, model, float(w)) for (name, model, _), w in zip(listed, weights, strict=True)]
    names = [name or name_of(model) for name, model, _ in listed]
    unknown = [name for name in weights if name not in names]
    if unknown:
        raise InputError(f"there is a weight for {unknown[0]}, but the models are {', '.join(names)}")
    return [(name, one[1], float(weights.get(name, one[2]))) for name, one in zip(names, listed, strict=True)]


def _free(name: str, taken: Container[str]) -> str:
    """A name that no other model has."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
