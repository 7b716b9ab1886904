"""What stages make as files: `TOSAJIT_DUMP` names the stages, `TOSAJIT_DUMP_DIR` the folder.

Each compilation of a process has a folder of its own, 001, 002, …, with a file for each stage. No link is
followed, neither the folder nor anything in it: what lies there already may be a stranger's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field
from difflib import get_close_matches
from itertools import count
from pathlib import Path

from tiling.records import dataclass
from tosajit.errors import CompileError

FOLDER = "tosajit-dump"
FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""No link is followed; where systems end lines in their own way, only Python does so."""
_numbers = count(1)
"""Compilations of this process that are written down."""


@dataclass(frozen=True, slots=True)
class Dump:
    """Where the stages of one compilation are written."""

    folder: Path
    stages: dict[str, int]
    """The number of each stage that is wanted, by name."""
    begun: set[str] = field(default_factory=set)

    def write(self, stage: str, text: str) -> None:
        """Begin the file of a stage, or continue it."""
        path = self.folder / f"{self.stages[stage]}-{stage}.txt"
        try:
            for folder in (self.folder.parent, self.folder):
                _make(folder)
            if stage not in self.begun:
                path.unlink(missing_ok=True)
            how = os.O_APPEND if stage in self.begun else os.O_CREAT | os.O_EXCL
            handle = os.open(path, os.O_WRONLY | how | FLAGS, 0o666)
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"\n{text}\n" if stage in self.begun else f"{text}\n")
        except OSError as error:
            raise CompileError(f"TOSAJIT_DUMP: {path} cannot be written: {error.strerror or error}") from None
        self.begun.add(stage)


def dump_of(names: Sequence[str]) -> Dump | None:
    """The dump that the environment asks for, of stages with these names."""
    wanted = [name.strip() for name in os.environ.get("TOSAJIT_DUMP", "").split(",") if name.strip()]
    if not wanted:
        return None
    for name in wanted:
        if name not in (*names, "all"):
            near = get_close_matches(name, [*names, "all"], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise CompileError(f"TOSAJIT_DUMP: there is no stage {name}; use {', '.join(names)} or all{hint}")
    chosen = {name: number for number, name in enumerate(names, 1) if name in wanted or "all" in wanted}
    folder = Path(os.environ.get("TOSAJIT_DUMP_DIR") or FOLDER)
    return Dump(folder / f"{next(_numbers):03}", chosen)


def _make(folder: Path) -> None:
    """Make a folder if it is not there; a link in its place is refused."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink():
        raise OSError(f"{folder} is a link, which is not followed")
