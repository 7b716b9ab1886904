"""`tj.compile`: a graph, or the path of a model of any format, becomes an executable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiling.target import Target
from tosajit.compiler.options import Custom, Generic
from tosajit.frontends import load
from tosajit.graph import Graph
from tosajit.graph.given import as_graph
from tosajit.plans.given import plan_of
from tosajit.runtime.executable import Executable
from tosajit.runtime.making import executable_of

if TYPE_CHECKING:
    from sim import Machine
    from tosajit.plans.plan import Plan


def compile(
    graph: Graph | str | Path,
    *,
    threads: int = 1,
    target: Target | None = None,
    machine: Machine | str | Path | None = None,
    checked: bool = False,
    custom: Mapping[tuple[str, str], Custom] | None = None,
    profiles: Iterable[str] | None = None,
    extensions: Iterable[str] | None = None,
    level: str = "8K",
    progress: Callable[[int, int], None] | bool | None = None,
    interpret: bool | str = False,
    generic: Generic | None = None,
    plan: Plan | str | Path | None = None,
) -> Executable:
    """Check a graph in full and compile it for this computer, a `target` or a modelled `machine`.

    * `graph` can be the path of a `.tosa`, `.tflite` or `.pb` file.
    * `threads` share the tiles of each group.
    * `target` has the capacities to plan for; without one, operands are used in place.
    * `machine`, a name, a file or a value, has its own target: the program that `simulate` times then runs in
      the bytes of a scratchpad.
    * `checked` tests every REQUIRE of the specification at run time, which costs speed.
    * `custom` implements CUSTOM operators, by domain and name; it has priority over registered ones.
    * `profiles`, `extensions` and `level` are what the graph is checked against, as in `validate`.
    * `progress(done, total)` is called as kernels are compiled. Without it, terminals and notebooks show how
      many are done and left, unless it is False.
    * `interpret` compiles nothing, but runs the loop nests in plain Python and NumPy, slowly: those of the
      stage `lower`, or those that the stage `precompute`, `fuse` or `simplify` makes. The first stage whose
      bits differ is the one at fault.
    * `generic` is when the generic kernel runs groups, slower but at once: `meanwhile`, until kernels of
      their own that are missing have been compiled in the background (`executable.wait()` waits for them), or
      `never` or `always`. Without it, `TOSAJIT_GENERIC` says so.
    * `plan`, a value that `tj.plan` has made or its file, says how groups run on the `machine`.

    Raises `GraphError` with all violations of the graph, `FileError` for a file that cannot be read,
    `PlanError` if the program does not fit or the plan is not one for it, `CompileError` if arguments
    contradict each other or a CUSTOM operator is not implemented, `MachineError` for an invalid machine.
    """
    limits: dict[str, Any] = {"level": level}
    if profiles is not None:
        limits["profiles"] = tuple(profiles)
    if extensions is not None:
        limits["extensions"] = tuple(extensions)
    return executable_of(
        load(graph) if isinstance(graph, str | Path) else as_graph(graph, "a graph or the path of a model"),
        threads=threads,
        target=target,
        machine=machine,
        checked=checked,
        custom=custom,
        limits=limits,
        progress=progress,
        interpret=interpret,
        generic=generic,
        plan=plan_of(plan),
    )
