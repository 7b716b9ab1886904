"""Whole files in and out: devices are not read, and a file is replaced only by one that is complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tosajit.errors import FileError


def read_file(path: str | Path) -> bytes:
    """The bytes of a regular file."""
    with file_errors(path):
        refuse_special(path)
        return Path(path).read_bytes()


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file; if that fails, what was there before is still there."""
    from sim.files import write_whole

    with file_errors(path):
        write_whole(path, data)


def refuse_special(path: str | Path) -> None:
    """Refuse devices and pipes, which may never end, and folders."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise FileError(f"expected a file, found {'a folder' if stat.S_ISDIR(mode) else 'a device or pipe'}")


@contextmanager
def file_errors(path: str | Path) -> Iterator[None]:
    """Name the file in every error, also in those of the system."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error
    except (FileError, ValueError) as error:  # ValueError: a path with a zero byte
        raise FileError(f"{path}: {error}") from None
    except MemoryError:
        raise FileError(f"{path}: there is not enough memory for it") from None
