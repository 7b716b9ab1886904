"""Kernels that were compiled when the package was built (`make ready`), for users whose cache is empty.

A folder for each CPU, by LLVM's name, with objects as the cache has them. They are named by all that they
depend on, as those of the cache, so that one of another version is never found. The folder is part of the
package.
"""

from __future__ import annotations

import functools
from pathlib import Path

from tosajit.kernels.sets.cpus import Cpu, cpu_with, known

FOLDER = Path(__file__).with_name("compiled")


@functools.cache
def cpus(cpu: Cpu) -> tuple[Cpu, ...]:
    """The CPUs that there are kernels for and whose code this one runs, those first that are most like it."""
    try:
        names = {path.name for path in FOLDER.iterdir()}
    except OSError:
        return ()
    able = [name for name in known() if name in names and known()[name] <= cpu.features]
    able.sort(key=lambda name: (name != cpu.name, -len(known()[name]), name))
    return tuple(cpu_with(name, known()[name]) for name in able)


def read(cpu: Cpu, name: str) -> bytes:
    """The object of this name for a CPU; none if there is none."""
    try:
        return (FOLDER / cpu.name / f"{name}.o").read_bytes()
    except OSError:
        return b""
