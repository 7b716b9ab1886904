"""Executables: what `compile` gives, called with arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tiling.program import Program
from tiling.target import HOST, Target
from tiling.words import listed
from tosajit.arrays import Array
from tosajit.compiler.explain import Explanation, explain
from tosajit.compiler.options import Custom, Options
from tosajit.compiler.stages import INTERPRETED, WHOLE, new_journal, through
from tosajit.errors import CompileError, InputError
from tosajit.graph import Graph, Value
from tosajit.kernels.objects import prepare
from tosajit.kernels.runner import Runner
from tosajit.kernels.workspace import driver_text
from tosajit.log import LOG
from tosajit.runtime.body import build
from tosajit.runtime.context import Context
from tosajit.runtime.outside import entering, leaving
from tosajit.runtime.text import executable_html, executable_text

if TYPE_CHECKING:
    from sim import Machine
    from tosajit.runtime.profile import Profile


def executable_of(
    graph: Graph,
    *,
    threads: int = 1,
    target: Target | None = None,
    machine: Machine | str | Path | None = None,
    checked: bool = False,
    custom: Mapping[tuple[str, str], Custom] | None = None,
    limits: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    interpret: bool | str = False,
) -> Executable:
    """What `tj.compile` gives for a graph; `limits` are what it is held to, as `validate` takes them."""
    if not isinstance(threads, int) or threads < 1:
        raise CompileError(f"threads is {threads!r}, but must be an integer of at least 1")
    interpreted, modelled = _interpreted(interpret), _machine(machine, target, threads)
    chosen = modelled.target if modelled else replace(HOST if target is None else target, cores=threads)
    return Executable(
        graph, Options(chosen, checked, custom or {}, progress, modelled, limits or {}, interpreted)
    )


def _interpreted(asked: bool | str) -> str:
    """The stage whose nests are interpreted; empty if kernels are compiled."""
    if isinstance(asked, bool):
        return INTERPRETED[0] if asked else ""
    if asked not in INTERPRETED:
        allowed = ", ".join(("True", "False", *INTERPRETED))
        raise CompileError(f"interpret is {asked!r}, but must be one of {allowed}")
    return asked


def _machine(machine: Machine | str | Path | None, target: Target | None, threads: int) -> Machine | None:
    """The modelled machine that was asked for, if one was."""
    _check_target(target)
    if machine is None:
        return None
    if target is not None:
        raise CompileError("target and machine exclude each other; a machine has its own target")
    if threads != 1:
        raise CompileError(f"threads is {threads}, but must be 1 for a modelled machine")
    return machine_of(machine)


def _check_target(given: object) -> None:
    if isinstance(given, Target | None):
        return
    if isinstance(given, str):
        text = f"got {given!r}: machine={given!r} compiles for that machine"
    else:
        text = f"got {type(given).__name__}: tj.TINY is one, machine= compiles for a modelled machine"
    raise CompileError(f"target: expected a tj.Target, {text}")


def machine_of(given: object) -> Machine:
    """A modelled machine, by its name, from a file, or as it is."""
    from sim import Machine, machine

    if isinstance(given, Machine):
        return given
    if isinstance(given, str | Path):
        return machine(given)
    wanted = "a tj.Machine, a name from tj.machines() or the path of a file"
    raise CompileError(f"machine: expected {wanted}, got {type(given).__name__}")


class Executable:
    """A built graph: call it with arrays in the order of the graph's inputs.

    It can be called by several Python threads at once. Variables live in a `Context`; without one, every call
    uses the executable's own.
    """

    def __init__(self, graph: Graph, options: Options) -> None:
        began = perf_counter()
        if not options.interpret:
            prepare((driver_text(),))
        self.stages = new_journal()
        """What each stage of the pipeline has made, by its name; each value prints."""
        self.graph = through(WHOLE, graph, options, self.stages)
        self.options = options
        self.body = build(graph, options, self.stages)
        self.own_context = Context()
        LOG.info("%r compiled in %.0f ms", self, 1000 * (perf_counter() - began))
        self._whole = self.body.whole
        self._inputs = tuple((v.name, v.dtype.storage, v.shape) for v in graph.inputs)
        self._outside = dict(graph.outside)
        self._leaving = tuple(map(self._outside.get, graph.main.outputs)) if self._outside else ()

    def __call__(self, *arrays: Any, context: Context | None = None) -> Any:
        """Run on the inputs in order; an array, or a tuple of arrays if the graph has several outputs.

        The results are new arrays. `context` has the variables to use. Raises `InputError` for arrays of
        other types or shapes than the inputs have, `RequireError` if data break a rule that is watched.
        """
        results = self._run(arrays, context)
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Mapping[str, Any], context: Context | None = None) -> dict[str, Array]:
        """Run on inputs by name, and return the outputs by name; otherwise like a call."""
        names = [name for name, _, _ in self._inputs]
        if unknown := sorted(set(inputs) - set(names)):
            there = listed(names) or "none"
            raise InputError(f"there is no input {listed(unknown)}; the inputs are {there}")
        if missing := [name for name in names if name not in inputs]:
            raise InputError(f"input {listed(missing)} is missing")
        results = self._run([inputs[name] for name in names], context)
        return dict(zip(self.graph.main.outputs, results, strict=True))

    @property
    def program(self) -> Program:
        """The program of a graph without control flow; the first program of other graphs."""
        if self.options.interpret:
            raise InputError("an interpreted executable has no program")
        return self.programs[0]

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs of the main block, in order."""
        return tuple(runner.program for runner in self.body.runners)

    @property
    def arena_bytes(self) -> int:
        """Memory for intermediate results."""
        return sum(program.arena_bytes for program in self.programs)

    def explain(self) -> Explanation:
        """Which kernel runs each group, from which library, and why it is not an array kernel."""
        if self.options.interpret:
            raise InputError("an interpreted executable has no kernels to explain")
        return explain(self.stages)

    def context(self) -> Context:
        """A new context, with variables of its own."""
        return Context()

    def profile(self, *arrays: Any, runs: int = 21) -> Profile:
        """How long each group takes on one thread, and what bounds it; the median of some runs.

        Raises `InputError` for graphs with control flow, variables or CUSTOM operators.
        """
        from tosajit.runtime.profile import profile_of

        if not isinstance(self._whole, Runner):
            kinds = "control flow, variables or CUSTOM operators"
            what = "an interpreted executable" if self.options.interpret else f"a graph with {kinds}"
            raise InputError(f"{what} has no profile")
        if runs < 1:
            raise InputError(f"runs is {runs}, but must be at least 1")
        times = self._whole.profile(self._checked(arrays), runs)
        return profile_of(self.graph, self.program, self.explain(), times)

    def __reduce__(self) -> NoReturn:
        text = "an executable holds addresses of this process, and cannot be pickled or copied"
        raise CompileError(f"{text}: send its graph (tj.to_bytes(executable.graph)), and compile that there")

    def __repr__(self) -> str:
        inputs = ", ".join(value.type for value in self.graph.inputs)
        outputs = ", ".join(value.type for value in self.graph.outputs)
        if self.options.interpret:
            return f"<Executable ({inputs}) -> ({outputs}): interpreted after {self.options.interpret}>"
        groups = sum(len(program.sections) for program in self.programs)
        target = self.options.target
        return (
            f"<Executable ({inputs}) -> ({outputs}): {groups} groups on {target.name}, "
            f"{target.cores} thread{'s' if target.cores > 1 else ''}, arena {self.arena_bytes} bytes>"
        )

    def __str__(self) -> str:
        return executable_text(repr(self).strip("<>"), self.graph, self.programs)

    def _repr_html_(self) -> str:
        return executable_html(repr(self).strip("<>"), self.graph, self.programs)

    def _run(self, arrays: Sequence[Any], context: Context | None) -> list[Array]:
        checked = self._checked(arrays)
        if self._whole is not None:
            results = self._whole.run(checked)
        else:
            used = self.own_context if context is None else context
            results = self.body.run(checked, used.execution())
        return leaving(results, self._leaving) if self._leaving else results

    def _checked(self, arrays: Sequence[Any]) -> Sequence[Array]:
        """The arrays as dense ones of the right types and shapes."""
        if len(arrays) != len(self._inputs):
            raise InputError(f"{len(arrays)} arrays given, but the graph has {len(self._inputs)} inputs")
        for array, (_, storage, shape) in zip(arrays, self._inputs):  # noqa: B905  (strict= costs a call its time)
            if type(array) is not np.ndarray or array.dtype is not storage or array.shape != shape:
                break
            if not array.flags.c_contiguous:
                break
        else:
            return arrays
        return [
            _dense(value, entering(value, array, self._outside.get(value.name)))
            for array, value in zip(arrays, self.graph.inputs, strict=True)
        ]


def _dense(value: Value, given: Any) -> Array:
    """The array as the graph wants it, or why it cannot be."""
    if not isinstance(given, np.ndarray | np.generic):
        kind = type(given).__name__
        raise InputError(f"{value}: expected an array, got {kind}; use np.asarray(…, {value.dtype.storage})")
    array = np.asarray(given)
    if array.dtype != value.dtype.storage:
        if array.dtype.newbyteorder("=") != value.dtype.storage:
            stored = value.dtype.storage
            raise InputError(
                f"{value}: the array has type {array.dtype}, but the input is stored as {stored}"
            )
        array = array.astype(value.dtype.storage)
    if array.shape != value.shape:
        raise InputError(f"{value}: the array has shape {list(array.shape)}")
    return np.ascontiguousarray(array).reshape(array.shape)
