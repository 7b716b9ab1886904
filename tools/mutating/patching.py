"""Faults in functions that are in memory already, and which functions a piece of work calls."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType, FunctionType

Place = tuple[str, int, str]
"""A function: its file, its first line and its name."""


@dataclass(frozen=True, slots=True)
class Patch:
    """The function that a fault is in, and its code with the fault."""

    place: Place
    innermost: Place
    """The function in that function that differs by itself."""
    file: str
    code: CodeType

    @staticmethod
    def of(text: str, changed: str, root: Path, path: str) -> Patch | None:
        """The function that differs; none if what differs is run when the module is imported."""
        file = str(root / path)
        old, new = (compile(one, file, "exec", dont_inherit=True) for one in (text, changed))
        codes = list(_differing(old, new))
        functions = [pair for pair in codes if pair[0].co_flags & CO_OPTIMIZED]
        if not functions:
            return None
        one, other = functions[0]
        return Patch(place_of(one, root), place_of(codes[-1][0], root), file, other)

    def functions(self) -> list[FunctionType]:
        """Every function that was made of the old code."""
        every = [thing for thing in _everything() if isinstance(thing, FunctionType)]
        return [one for one in every if self._meant(one.__code__)]

    def _meant(self, code: CodeType) -> bool:
        return code.co_filename == self.file and (code.co_firstlineno, code.co_qualname) == self.place[1:]

    def apply(self) -> None:
        """Put the code into those functions; what is not yet imported will have it anyway."""
        for function in self.functions():
            function.__code__ = self.code

    @property
    def needs_import(self) -> bool:
        """Whether the module has been imported, and has no such function in memory to put the code into."""
        loaded = any(getattr(module, "__file__", None) == self.file for module in list(sys.modules.values()))
        return loaded and not self.functions()


def place_of(code: CodeType, root: Path) -> Place:
    """Where a function stands."""
    return code.co_filename.removeprefix(f"{root}/"), code.co_firstlineno, code.co_qualname


def _differing(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The codes from the module to the one that differs by itself."""
    yield old, new
    inner = zip(_inner(old), _inner(new), strict=True)
    differing = [(one, other) for one, other in inner if one != other]
    if len(differing) == 1 and _own(old) == _own(new):
        yield from _differing(*differing[0])


def _inner(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _own(code: CodeType) -> tuple[object, ...]:
    """What a code does itself, its inner functions left out."""
    constants = [repr(one) for one in code.co_consts if not isinstance(one, CodeType)]
    return code.co_code, code.co_names, code.co_varnames, constants, code.co_exceptiontable


class Calls:
    """Listens to which functions below some folders are called."""

    def __init__(self, root: Path, folders: tuple[str, ...]) -> None:
        self._root, self._folders = root, tuple(f"{root}/{folder}/" for folder in folders)
        self._codes: set[CodeType] = set()

    def start(self) -> None:
        """Begin to listen."""
        self._codes.clear()
        sys.settrace(self._called)

    def stop(self) -> frozenset[Place]:
        """What has been called."""
        sys.settrace(None)
        ours = [code for code in self._codes if code.co_filename.startswith(self._folders)]
        return frozenset(place_of(code, self._root) for code in ours)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        self._codes.add(frame.f_code)


def forget() -> None:
    """Empty what functions remember, as it may have been found out without a fault."""
    for thing in _everything():
        if isinstance(thing, functools._lru_cache_wrapper):
            thing.cache_clear()


def _everything() -> list[object]:
    """All objects that are looked through for garbage; those that were frozen stay so, but are among them."""
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    found = gc.get_objects()
    if frozen:
        gc.freeze()
    return found
