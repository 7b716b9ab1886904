"""Compile what a graph needs for a CPU of another machine, into a cache that can be taken there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tiling.target import HOST
from tosajit.compiler.options import Options
from tosajit.compiler.stages import BACK, through
from tosajit.graph import Graph
from tosajit.kernels.link import sources_of
from tosajit.kernels.objects import compile_into_cache, digest
from tosajit.kernels.sets.cpus import Cpu
from tosajit.kernels.sets.registry import compiling_for
from tosajit.kernels.workspace import driver_text
from tosajit.runtime.body import Compute
from tosajit.runtime.build import build


def kernel_texts(graph: Graph, cpu: Cpu) -> Iterator[str]:
    """The texts of the kernels of the main block; results of constants are computed on this machine."""
    yield driver_text()
    options = Options(HOST, run=False)
    for step in build(graph, options).steps:
        if isinstance(step, Compute):
            with compiling_for(cpu):
                written = through(BACK[:-1], step.groups, options)
            for code in written.codes:
                yield from sources_of(code)


def compile_for(graph: Graph, cpu: Cpu, folder: Path) -> int:
    """Compile the kernels that a folder lacks; return how many there were to do."""
    done = 0
    for text in dict.fromkeys(kernel_texts(graph, cpu)):
        with compiling_for(cpu):
            name = digest(text)
            if not (folder / f"{name}.o").exists():
                compile_into_cache(name, text, folder)
                done += 1
    return done
