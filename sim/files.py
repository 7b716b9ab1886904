"""Whole files in and out: only regular ones are read, and nothing is written through links of others.

Errors are those of the system, with a reason in words.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn

AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""How files are opened for reading: pipes and devices are not waited for."""
PART = ".writing-"
"""How the name of a file begins that is not complete yet."""
MOST_LINKS = 40
ROOT = 0


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; a pipe, a device or a folder is refused at once."""
    handle = os.open(path, os.O_RDONLY | AT_ONCE)
    try:
        _refuse_special(os.fstat(handle), path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_whole(path: str | Path, most: int | None = None) -> bytes:
    """The bytes of a regular file, but no more than it has when it is opened, nor than `most`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        return file.read(size if most is None else min(size, most))


def write_whole(path: str | Path, data: bytes | Iterable[bytes | memoryview]) -> None:
    """Write a file, as a whole or in parts; if that fails, what was there before is still there."""
    parts = [data] if isinstance(data, bytes) else data
    if _is_stream(path):
        with open(path, "wb") as stream:
            stream.writelines(parts)
        return
    with replacing(destination(path)) as file:
        file.writelines(parts)


def destination(path: str | Path) -> Path:
    """The file that is meant where a link may be: the user's own links lead to files of the user's own."""
    place, linked = Path(path), False
    for _ in range(MOST_LINKS):
        try:
            about = os.lstat(place)
        except FileNotFoundError:
            return place
        if not stat.S_ISLNK(about.st_mode):
            _refuse_special(about, place)
            if linked and not is_own(about):
                _refuse(errno.EPERM, f"a link to {place}, the file of another user; remove the link", path)
            return place
        if not (is_own(about) or about.st_uid == ROOT):
            _refuse(errno.EPERM, "a link that another user has made; remove it, or name another file", path)
        place, linked = place.parent / os.readlink(place), True
    _refuse(errno.ELOOP, os.strerror(errno.ELOOP), path)


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when it is complete; until then nobody sees it.

    Without a mode, one that is replaced hands on who may read and write it.
    """
    part = path.with_name(f"{PART}{os.urandom(8).hex()}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode or 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is None:
                _keep_mode(path, handle)
            yield file
        os.replace(part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(part)):
            error.filename, error.filename2 = str(path), None  # what a disk says that is full names no file
        raise


def is_own(about: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process; systems without users have only own ones."""
    return not hasattr(os, "geteuid") or about.st_uid == os.geteuid()


def _keep_mode(path: Path, handle: int) -> None:
    try:
        before = os.lstat(path)
    except OSError:
        return
    if is_own(before) and hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(before.st_mode) & 0o777)


def _is_stream(path: str | Path) -> bool:
    """Whether what is there takes bytes one after another, such as /dev/stdout, and belongs to who asks."""
    try:
        about = os.stat(path)
    except OSError:
        return False
    if stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode):
        return False
    if not (is_own(about) or about.st_uid == ROOT):
        _refuse(errno.EPERM, "a pipe or a device of another user; name another file", path)
    return True


def _refuse_special(about: os.stat_result, path: str | Path) -> None:
    if not stat.S_ISREG(about.st_mode):
        what = "a folder" if stat.S_ISDIR(about.st_mode) else "a device or pipe"
        _refuse(errno.EINVAL, f"expected a file, found {what}", path)


def _refuse(number: int, reason: str, path: str | Path) -> NoReturn:
    raise OSError(number, reason, str(path))
