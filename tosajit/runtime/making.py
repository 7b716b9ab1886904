"""From a graph and what was asked for to an executable."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, get_args

from tiling.records import replace
from tiling.target import HOST, Target
from tosajit.compiler.options import INTERPRETED, Custom, Generic, Options
from tosajit.errors import CompileError
from tosajit.garbage import keeps_garbage
from tosajit.graph import Graph
from tosajit.plans.checks import check_parts
from tosajit.runtime import kept
from tosajit.runtime.executable import Executable

if TYPE_CHECKING:
    from sim import Machine
    from tosajit.plans.plan import Plan

VARIABLE = "TOSAJIT_GENERIC"
DEFAULT: Generic = "meanwhile"
"""When the generic kernel runs if nobody says."""
MOST_THREADS = 1024
"""More than any machine has cores; each is a thread of the system."""


@keeps_garbage
def executable_of(
    graph: Graph,
    *,
    threads: int = 1,
    target: Target | None = None,
    machine: Machine | str | Path | None = None,
    checked: bool = False,
    custom: Mapping[tuple[str, str], Custom] | None = None,
    limits: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    interpret: bool | str = False,
    generic: Generic | None = None,
    plan: Plan | None = None,
) -> Executable:
    """What `tj.compile` gives for a graph; `limits` are what it is held to, as `validate` takes them."""
    if not isinstance(threads, int) or threads < 1:
        raise CompileError(f"threads is {threads!r}, but must be an integer of at least 1")
    if threads > MOST_THREADS:
        raise CompileError(f"threads is {threads}, but must be at most {MOST_THREADS}")
    _check_custom(custom)
    interpreted, modelled = _interpreted(interpret), _machine(machine, target, threads)
    chosen = modelled.target if modelled else replace(HOST if target is None else target, cores=threads)
    when = _generic(generic)
    asked = Options(
        chosen, checked, custom or {}, progress, modelled, limits or {}, interpreted, when, plan=plan
    )
    if plan is not None and modelled is None:
        raise CompileError("plan: a plan is for a modelled machine; machine= names it")
    executable = made(graph, asked)
    if plan is not None:
        check_parts(plan, executable.stages["plan"].values)
    return executable


def made(graph: Graph, options: Options) -> Executable:
    """The executable of a graph: the one that the cache has, or what the stages make."""
    name, began = kept.name_of(graph, options), perf_counter()
    if name and (found := kept.find(name)):
        return Executable(*found, graph, lambda: _built(graph, options).stages)
    executable = _built(graph, options)
    meanwhile = executable.meanwhile
    if name and meanwhile and (meanwhile.waits or perf_counter() - began > kept.WORTH_SECONDS):
        meanwhile.then(lambda: kept.keep(name, executable.interface, executable.body))
    return executable


def _built(graph: Graph, options: Options) -> Executable:
    """What the stages make of a graph; nothing of them is imported before."""
    from tosajit.runtime.building import built

    return built(graph, options)


def _generic(asked: Generic | None) -> Generic:
    """When the generic kernel is to run: as asked, or as the environment says."""
    given = asked or os.environ.get(VARIABLE) or DEFAULT
    if given not in get_args(Generic):
        where = f"generic is {asked!r}" if asked else f"{VARIABLE} is {given!r}"
        raise CompileError(f"{where}, but must be one of {', '.join(get_args(Generic))}")
    return given  # type: ignore[return-value]


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


def _check_custom(given: object) -> None:
    wanted = "(domain, name) to tj.Custom"
    if given is not None and not isinstance(given, Mapping):
        raise CompileError(f"custom is {given!r}, but must be a mapping of {wanted}")
    for key, value in (given or {}).items():
        if not (isinstance(key, tuple) and len(key) == 2 and isinstance(value, Custom)):
            raise CompileError(f"custom has {key!r}: {value!r}, but must map {wanted}")


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
