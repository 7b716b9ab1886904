"""Kernels that came with the package, compiled when that was built: for users whose cache is empty.

A folder for each CPU, by LLVM's name, has objects as the cache has them, and a file that says what compiled
them. An object is named by all that it depends on, so that one of another version is never found. It is run
as native code, so it is used only if nobody can have written it who could not have written this module.
"""

from __future__ import annotations

import functools
from contextlib import suppress
from pathlib import Path

from tiling.records import dataclass
from tosajit.kernels.sets.cpus import Cpu, cpu_with, known
from tosajit.kernels.sets.machine import NATIVE
from tosajit.kernels.shipped import FOLDER, trusted

__all__ = ["FOLDER", "Shelf", "shelves"]

COMPILER = "compiler"
"""The file that identifies what compiled the objects of a folder, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The kernels for a CPU."""

    folder: Path
    cpu: Cpu
    compiler: bytes
    names: frozenset[str]

    def read(self, name: str) -> bytes:
        """Return the object of this name; none if there is none that can be trusted."""
        return trusted(self.folder / f"{name}.o") if name in self.names else b""


@functools.cache
def shelves(cpu: Cpu, folder: Path) -> tuple[Shelf, ...]:
    """Return the kernels that were made on this machine, and those for the CPU that is most like this one.

    Kernels for lesser CPUs would run, too, but would be in the way of faster ones for ever.
    """
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError:
        return ()
    able = [name for name in known() if name in names and known()[name] <= cpu.features]
    best = sorted(set(able) - {NATIVE}, key=lambda name: (name != cpu.name, -len(known()[name]), name))
    found = [
        _shelf(folder / name, cpu_with(name, known()[name])) for name in (NATIVE, *best[:1]) if name in able
    ]
    return tuple(shelf for shelf in found if shelf.compiler)


def _shelf(folder: Path, cpu: Cpu) -> Shelf:
    compiler = b""
    with suppress(ValueError):
        compiler = bytes.fromhex(trusted(folder / COMPILER).decode("ascii"))
    return Shelf(folder, cpu, compiler, frozenset(path.stem for path in folder.glob("*.o")))
