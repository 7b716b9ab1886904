"""The standard operators of NNEF 2.0 (chapter 4), in SkriptND.

The modules beside this file are written from the specification; where its text has slips, a comment or a test
says what was mended. An operator is read when it is first asked for: a model uses few of them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tosajit.frontends.nnef.model import Definition
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.parser import parse
from tosajit.frontends.nnef.syntax.source import Source

MODULES = ("layout", "math", "linalg", "nn", "image", "quant", "algo")
EXTENSIONS = ("tosa",)
"""Modules of our own, beside those of the standard: what graphs of TOSA are written with."""

_FOLDER = Path(__file__).parent
_OPERATOR = re.compile(r"^operator (\w+) \{\n.*?^\}", re.MULTILINE | re.DOTALL)
"""Our modules begin and end each operator at the beginning of a line."""


class Standard:
    """Standard modules: ours, or those of a folder that a user has."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._read: dict[str, tree.Module] = {}

    def has(self, module: str) -> bool:
        """Whether a module is in the library."""
        return (
            module in (*MODULES, *EXTENSIONS)
            if self.folder is None
            else (self.folder / f"{module}.sknd").is_file()
        )

    def names(self, module: str) -> tuple[str, ...]:
        """The operators of a module."""
        if self.folder is None:
            return tuple(_places(module))
        return tuple(one.name for one in self._module(module).operators)

    def imports(self, module: str) -> tuple[str, ...]:
        """The modules whose operators one may call."""
        found = _imports(module) if self.folder is None else self._module(module).imports
        return tuple(one.module for one in found)

    def find(self, module: str, name: str) -> Definition | None:
        """An operator of a module, if it is there; `ScriptError` where a user's module is wrong."""
        if self.folder is None:
            return _standard(module, name)
        found = [one for one in self._module(module).operators if one.name == name]
        return Definition(module, found[0], self._source(module)) if found else None

    def _module(self, module: str) -> tree.Module:
        if module not in self._read:
            self._read[module] = parse(self._source(module))
        return self._read[module]

    def _source(self, module: str) -> Source:
        assert self.folder is not None
        return Source(module, (self.folder / f"{module}.sknd").read_text("utf-8"))


@cache
def text_of(module: str) -> str:
    """The text of one of our modules."""
    return (_FOLDER / f"{module}.sknd").read_text("utf-8")


@cache
def _places(module: str) -> dict[str, tuple[int, int]]:
    """Where each operator of one of our modules begins and ends."""
    if module not in (*MODULES, *EXTENSIONS):
        return {}
    return {found[1]: found.span() for found in _OPERATOR.finditer(text_of(module))}


@cache
def _imports(module: str) -> tuple[tree.Import, ...]:
    """What one of our modules imports, which it says before its first operator."""
    first = min((start for start, _ in _places(module).values()), default=0)
    return parse(Source(module, text_of(module)[:first])).imports


@cache
def _standard(module: str, name: str) -> Definition | None:
    """One of our operators; lines in front of it are empty, so that places in it are those of the module."""
    place = _places(module).get(name)
    if place is None:
        return None
    text = text_of(module)
    source = Source(module, "\n" * text.count("\n", 0, place[0]) + text[slice(*place)])
    (operator,) = parse(source).operators
    return Definition(module, operator, source, standard=True)
