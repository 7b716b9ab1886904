"""Executables as files: `executable.save(path)` and `tj.load_executable(path)`.

Such a file holds machine code. To load one is to run a program of whoever wrote it, as with a shared library,
so nothing but `tj.load_executable` does. A digest tells of damage; another version or CPU is refused.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tosajit import version
from tosajit.errors import FileError
from tosajit.kernels.lines import read_aligned
from tosajit.kernels.objects import platform
from tosajit.kernels.sets.cpus import host
from tosajit.runtime.archive import packed, unpacked
from tosajit.runtime.body import Body
from tosajit.runtime.interface import Interface
from tosajit.runtime.storing import DAMAGE, restored, stored
from tosajit.storage import file_errors, write_file

ABI = ("kernels/driver.py", "kernels/layout.py", "kernels/workspace.py", "runtime/storing.py")
"""The sources that say how code and numbers in a file are called and read."""
REMEDY = "save it again here: `tosajit build`, or executable.save(…)"


def read(path: str | Path) -> tuple[Interface, Body]:
    """What a file holds, with its kernels loaded; raises `FileError`."""
    with file_errors(path):
        try:
            header, blobs = unpacked(read_aligned(path))
            _check(header["for"])
            return restored(header, blobs)
        except DAMAGE as error:
            raise FileError(f"is no executable that can be loaded: {error}; {REMEDY}") from None


def write(interface: Interface, body: Body, path: str | Path) -> None:
    """Write an executable; the same one always gives the same bytes."""
    header, blobs = stored(interface, body)
    write_file(path, packed({**header, "for": _here()}, blobs))


def _here() -> dict[str, Any]:
    triple, name, features = platform()
    return {"version": version.VERSION, "abi": _abi(), "triple": triple, "cpu": name, "features": features}


def _check(made: dict[str, Any]) -> None:
    """Raise if a file is for something else than this process."""
    if (made["version"], made["abi"]) != (version.VERSION, _abi()):
        which = "another build" if made["version"] == version.VERSION else f"version {made['version']}"
        raise FileError(f"was written by {which} of tosajit, but this is {version.VERSION}; {REMEDY}")
    triple = host().triple
    if made["triple"] != triple:
        raise FileError(f"is for {made['triple']}, but this is {triple}; {REMEDY}")
    if lacking := sorted(set(made["features"]) - host().features):
        raise FileError(
            f"is for the CPU {made['cpu']}, but this one ({host().name}) lacks {', '.join(lacking)}; {REMEDY}"
        )


def _abi() -> str:
    folder = Path(version.__file__).parent
    texts = [(folder / name).read_bytes() for name in ABI]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]
