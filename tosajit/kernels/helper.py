"""A helper process: compiles kernels into the cache as its standard input asks for them."""

import contextlib
import json
import os
import sys
from pathlib import Path

from tosajit.kernels import native  # noqa: F401  (being ready means having Numba)
from tosajit.kernels.objects import compile_into_cache, digest
from tosajit.kernels.sets.registry import VARIABLE


def serve() -> None:
    """Compile what standard input asks for, `[name, source, folder, cpu]` a line; print a line when ready."""
    _tell()
    for line in sys.stdin:
        with contextlib.suppress(Exception):  # the process that asked will see the same, and say it
            name, source, folder, os.environ[VARIABLE] = json.loads(line)
            if digest(source) == name:  # else the choice of a CPU has changed since it was named
                compile_into_cache(name, source, Path(folder))
        _tell()


def _tell() -> None:
    """Be ready for more, if the process is still there that asks."""
    with contextlib.suppress(OSError):
        print(flush=True)
