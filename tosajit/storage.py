"""Whole files in and out, with errors that name the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tosajit.errors import FileError


def read_file(path: str | Path) -> bytes:
    """The bytes of a regular file."""
    from sim.files import read_whole

    with file_errors(path):
        return read_whole(path)


def write_file(path: str | Path, data: bytes | Iterable[bytes | memoryview]) -> None:
    """Write a file, as a whole or in parts; if that fails, what was there before is still there."""
    from sim.files import write_whole

    with file_errors(path):
        write_whole(path, data)


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
