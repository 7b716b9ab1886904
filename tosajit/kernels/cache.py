"""The folder of compiled kernels, of which only that is used which is the user's and nobody else can write.

What lies there is run as native code. Checksums tell of damage, not of intent: who owns a folder or a file,
and who may write it, is asked of what is open already, so that it cannot be another one when it is read.
"""

from __future__ import annotations

import functools
import mmap
import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sim.files import AT_ONCE, PART, is_own, replacing
from tiling.records import dataclass

OURS = rf"[0-9a-f]{{32}}\.(o|py|tjx|tjg|cpu)|{re.escape(PART)}.*"
"""The names of files of a cache."""
EXECUTABLE, GRAPH, MACHINE = ".tjx", ".tjg", ".cpu"
LOCKS = "locks"
"""The file with a byte for each kernel, which is locked while one is compiled; it has no contents."""
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
OTHERS = stat.S_IWGRP | stat.S_IWOTH
WITHIN = os.open in os.supports_dir_fd
"""Whether files can be opened in a folder that is open."""
STALE_SECONDS = 3600.0
"""A file that has been written for so long belongs to a process that was killed."""
VARIABLE = "TOSAJIT_CACHE"


class CacheWarning(UserWarning):
    """A folder or a file of the cache is not used, as others could have written it."""


@dataclass(frozen=True, slots=True)
class CachedObject:
    """An object in the cache."""

    digest: str
    bytes: int


def cache_folder() -> Path | None:
    """Return the folder of compiled kernels: $TOSAJIT_CACHE, or the user's cache; none without a home."""
    with suppress(RuntimeError, OSError):  # there is no home, or a relative path in a folder that is gone
        if named := os.environ.get(VARIABLE):
            return Path(named).absolute()
        folder = _user_cache()
        return folder if folder.is_absolute() else None
    return None


def _user_cache() -> Path:
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "tosajit" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tosajit"
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))  # counts only if it is absolute, its standard says
    return (given if given.is_absolute() else Path.home() / ".cache") / "tosajit"


def cache_fault() -> str:
    """Return why kernels are not kept, in words; empty if they are."""
    folder = cache_folder()
    if folder is None:
        return f"there is no home folder; set {VARIABLE} to another folder"
    try:
        _make(folder)
        with _opened(folder):
            return "" if os.access(folder, os.W_OK) else f"{folder} cannot be written"
    except OSError as error:
        return f"{error.filename or folder}: {error.strerror}"


def read(name: str, folder: Path | None = None) -> bytes:
    """Return the bytes of a file of the cache; none if there is none that can be trusted."""
    with suppress(OSError), _opened_file(name, folder or cache_folder()) as file:
        return file.read() if file else b""
    return b""


def remove(name: str) -> None:
    """Delete a file of the cache that is of no use."""
    folder = cache_folder()
    with suppress(OSError):
        if folder is not None:
            with _opened(folder):
                (folder / name).unlink(missing_ok=True)


def mapped(name: str) -> mmap.mmap | None:
    """Return a file of the cache as memory, and note that it is used; None as `read` has no bytes."""
    with suppress(OSError, ValueError), _opened_file(name, cache_folder()) as file:
        if file:
            if os.utime in os.supports_fd:
                os.utime(file.fileno())
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return None


@contextmanager
def _opened_file(name: str, folder: Path | None) -> Iterator[BinaryIO | None]:
    """A file of the cache that can be trusted."""
    if folder is None:
        yield None
        return
    with _opened(folder) as within:
        path = folder / name if within is None else name
        with os.fdopen(os.open(path, os.O_RDONLY | AT_ONCE | NO_LINKS, dir_fd=within), "rb") as file:
            about = os.fstat(file.fileno())
            is_file = stat.S_ISREG(about.st_mode)
            yield file if is_file and _is_trusted(about, folder / name, "it is compiled again") else None


def write(name: str, data: bytes | Iterable[bytes | memoryview], folder: Path | None = None) -> None:
    """Keep a file, so that no reader ever sees a part of it; a cache that cannot be written is no error."""
    folder = folder or cache_folder()
    if folder is None:
        return
    with suppress(OSError):
        _make(folder)
        _remove_stale(folder)  # first: what a full disk has room for may be what others have left
        with _opened(folder), replacing(folder / name, 0o600) as file:
            file.writelines([data] if isinstance(data, bytes) else data)


def claim(name: str, folder: Path | None = None) -> bool:
    """Whether this process may make what is called so: no other one that lives is at it. `release` ends it.

    Without a cache that works, or on a file system without locks, everyone may.
    """
    handle = _locks(folder or cache_folder())
    if handle is None:
        return True
    try:
        _lock(handle, _place(name), True)
    except (BlockingIOError, PermissionError):  # systems say either
        return False
    except OSError:  # the file system has no locks
        return True
    return True


def release(name: str, folder: Path | None = None) -> None:
    """End what `claim` began; the end of a process does so, too."""
    handle = _locks(folder or cache_folder())
    if handle is not None:
        with suppress(OSError):
            _lock(handle, _place(name), False)


def _place(name: str) -> int:
    """The byte of the file of locks that stands for a name; Windows counts them with 31 bits."""
    return int(name[:7], 16)


def _lock(handle: int, place: int, on: bool) -> None:
    """Lock a byte of a file, or no longer; raises OSError if another process has it locked."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, place, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK if on else msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB if on else fcntl.LOCK_UN, 1, place)


@functools.cache
def _locks(folder: Path | None) -> int | None:
    """The file of locks, which stays open: to close it would end all that this process has."""
    if folder is None:
        return None
    with suppress(OSError):
        _make(folder)
        with _opened(folder) as within:
            path = folder / LOCKS if within is None else LOCKS
            handle = os.open(path, os.O_RDWR | os.O_CREAT | AT_ONCE | NO_LINKS, 0o600, dir_fd=within)
            about = os.fstat(handle)
            if stat.S_ISREG(about.st_mode) and _is_trusted(about, folder / LOCKS, "nobody waits for others"):
                return handle
            os.close(handle)
    return None


def has(name: str) -> bool:
    """Whether the cache has a file of this name, whatever is in it."""
    folder = cache_folder()
    return folder is not None and (folder / name).exists()


def cached_objects() -> tuple[CachedObject, ...]:
    """Return what the cache holds, by name."""
    return tuple(CachedObject(path.stem, _size(path)) for path in sorted(_files()) if path.suffix == ".o")


def cached_executables() -> int:
    """Return how many whole executables the cache holds."""
    return sum(path.suffix == EXECUTABLE for path in _files())


def cached_graphs() -> int:
    """Return how many graphs of models the cache holds."""
    return sum(path.suffix == GRAPH for path in _files())


def trim(most: int) -> None:
    """Delete what is kept whole and has not been used for longest, until the rest has so many bytes.

    What others have begun to write and left goes, too.
    """
    if (folder := cache_folder()) is not None:
        _sweep(folder)
    found = []
    for path in _files():
        with suppress(OSError):
            if path.suffix in (EXECUTABLE, GRAPH):
                found.append((path.stat().st_mtime, path.stat().st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= most:
            break
        if _removed(path):
            total -= size


def cache_bytes() -> int:
    """Return the size of the cache, texts included."""
    return sum(map(_size, _files()))


def clear_cache() -> int:
    """Delete all objects and texts from the cache; return how many files. Loaded kernels stay."""
    return sum([_removed(path) for path in tuple(_files())])


def _removed(path: Path) -> bool:
    """Delete a file; false if it has to stay, as Windows keeps what a process has as memory, or is none."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _size(path: Path) -> int:
    """Return the bytes of a file; none if another process has deleted it by now."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _files() -> Iterator[Path]:
    """The files of a cache that can be trusted."""
    folder = cache_folder()
    with suppress(OSError):
        if folder is not None:
            with _opened(folder):
                names = os.listdir(folder)
            yield from (folder / name for name in names if re.fullmatch(OURS, name))


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@functools.cache
def _remove_stale(folder: Path) -> None:
    """Delete what processes that were killed had begun to write; a process looks once, and when it trims."""
    _sweep(folder)


def _sweep(folder: Path) -> None:
    """Delete what has been written for too long; a writer that comes back finds it gone, and keeps nothing.

    Neither what a link leads to nor, where systems can tell, what lies in a folder that has taken this one's
    place is looked at.
    """
    long_ago = time.time() - STALE_SECONDS
    with suppress(OSError), _opened(folder) as within:
        for name in os.listdir(folder if within is None else within):
            path = folder / name if within is None else name
            with suppress(OSError):
                if name.startswith(PART) and os.lstat(path, dir_fd=within).st_mtime < long_ago:
                    os.unlink(path, dir_fd=within)


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """A folder that can be trusted, as a handle where the system has those; raises OSError otherwise."""
    _trust(os.stat(folder), folder)
    if not WITHIN:
        yield None
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _trust(os.fstat(handle), folder)
        yield handle
    finally:
        os.close(handle)


def _trust(about: os.stat_result, folder: Path) -> None:
    if not _is_trusted(about, folder, "kernels are compiled in memory"):
        raise PermissionError(0, f"it {_distrust(about)}", str(folder))


def _is_trusted(about: os.stat_result, path: Path, consequence: str) -> bool:
    """Whether only this user can have written a file or a folder; if not, that is told once."""
    reason = _distrust(about)
    text = f"{path} {reason}, so it is not used: {consequence}"
    if reason and text not in _told:
        _told.add(text)
        warnings.warn(text, CacheWarning, stacklevel=3)
    return not reason


_told: set[str] = set()


def _distrust(about: os.stat_result) -> str:
    if not is_own(about):
        return f"belongs to another user (set {VARIABLE} to a folder of your own)"
    if hasattr(os, "geteuid") and about.st_mode & OTHERS:
        return "is writable by other users (`chmod go-w` changes that)"
    return ""
