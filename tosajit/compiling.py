"""Compiling whatever a model is given as: the door to `runtime`, above the front ends that read files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiling.target import Target
from tosajit.compiler.options import Custom
from tosajit.frontends import load
from tosajit.graph import Graph
from tosajit.graph.given import as_graph
from tosajit.runtime.executable import Executable, executable_of

if TYPE_CHECKING:
    from sim import Machine


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
    progress: Callable[[int, int], None] | None = None,
    interpret: bool | str = False,
) -> Executable:
    """Check a graph in full and compile it for this computer, a `target` or a modelled `machine`.

    * `graph` may be the path of a `.tosa` or `.tflite` file.
    * `threads` share the tiles of each group.
    * `target` has the capacities to plan for; without one, operands are used where they are.
    * `machine`, a name, a file or a value, brings its own target: the program that `simulate` times runs on
      the bytes of a scratchpad.
    * `checked` watches every REQUIRE of the specification while running, at the price of speed.
    * `custom` gives CUSTOM operators their meaning, by domain and name, before what is registered.
    * `profiles`, `extensions` and `level` are what the graph is held to, as `validate` has them.
    * `progress(done, total)` is called as kernels are compiled.
    * `interpret` compiles none, but runs the loop nests in plain Python and NumPy, slowly: those of the stage
      `lower`, or as the stage `precompute`, `fuse` or `simplify` leaves them. Bits that differ from one to
      the next, or from kernels, say where they went wrong.

    Raises `GraphError` with all violations of the graph, `FileError` for a file that holds none, `PlanError`
    if it does not fit, `CompileError` if the arguments contradict each other or a CUSTOM operator has no
    meaning, `MachineError` for a machine that cannot be.
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
    )
