"""Pages with code: their blocks, and what the blocks say when they are run.

A page is read from top to bottom in a folder of its own:

* `python` blocks share one namespace; `sh` blocks are run by a shell that stops at the first failure;
* `yaml` and `json` blocks are machines or spaces; a `title="name"` makes a file of any block;
* a `text` block is what the last of these blocks has printed, where `…` stands for anything;
* a `tree` block has a file or folder of the repository at the start of each line;
* a `sh` block of installations is not run: each of its lines is looked up instead.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sim
from tosajit.cli import main

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = (README, ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md")))
NOT_RUN = ("make", "pip", "python -m pip", "python -m venv", "python tools/", "git clone", "cd", ". ")
"""What the lines of a `sh` block that installs or builds begin with."""

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One block of a page."""

    language: str
    title: str
    code: str
    where: str

    @property
    def installs(self) -> bool:
        """Whether its lines are looked up in place of being run."""
        return self.language == "sh" and self.code.startswith(NOT_RUN)


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    assert text.count("```") == 2 * len(found), f"{page}: a block is indented, or has no end"
    for match in found:
        language, _, options = match["info"].partition(" ")
        title = re.search(r'title="([^"]+)"', options)
        line = text.count("\n", 0, match.start()) + 1
        where = f"{page.relative_to(ROOT)}:{line}"
        yield Block(language, title[1] if title else "", match["code"], where)


@dataclass
class Reading:
    """A page that is being read, in a folder."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    said: str = ""

    def run(self, block: Block) -> None:
        """Do what a block says, or hold it against what was said."""
        if block.title:
            (self.folder / block.title).write_text(block.code, encoding="utf-8")
        match block.language:
            case "python":
                self.said = self._python(block)
            case "sh" if block.installs:
                _look_up(block)
            case "sh":
                self.said = self._shell(block)
            case "yaml" | "json":
                _load(self.folder / (block.title or f"block.{block.language}"), block)
            case "text":
                assert_says(self.said, block)
            case "tree":
                missing = [line for line in block.code.splitlines() if not (ROOT / line.split()[0]).exists()]
                assert missing == [], block.where
            case other:
                raise AssertionError(f"{block.where}: {other!r} is not a language that is run")

    def _python(self, block: Block) -> str:
        code = compile(
            "\n" * int(block.where.rpartition(":")[2]) + block.code, block.where, "exec", dont_inherit=True
        )
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, self.names)
        return output.getvalue()

    def _shell(self, block: Block) -> str:
        """What a shell prints; commands of our own, with nothing around them, need none."""
        lines = re.sub(r"\s+#.*", "", block.code).splitlines()
        if all(re.fullmatch(r"tosajit [^|&;<>$`\\]*", line) for line in lines):
            return "".join(_command(line, block) for line in lines)
        command = f'tosajit() {{ "{sys.executable}" -W error -m tosajit "$@"; }}\n{block.code}'
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        done = subprocess.run(
            ["sh", "-eu", "-c", command], cwd=self.folder, env=environment, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, f"{block.where}: exit code {done.returncode}\n{done.stdout}"
        return done.stdout


def _command(line: str, block: Block) -> str:
    _, *words = shlex.split(line)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = main(words)
    assert code == 0, f"{block.where}: {line}: exit code {code}"
    return output.getvalue()


def assert_says(said: str, block: Block) -> None:
    """What was printed is what the block has, with anything in place of each `…`."""
    lines = [line.rstrip() for line in block.code.strip("\n").splitlines()]
    pattern = re.escape("\n".join(lines)).replace("…", ".*?")
    printed = "\n".join(line.rstrip() for line in said.strip("\n").splitlines())
    if not re.fullmatch(pattern, printed, re.DOTALL):
        assert printed == "\n".join(lines), block.where


def _load(path: Path, block: Block) -> None:
    """A space, which has fields, or a machine that can be made."""
    path.write_text(block.code, encoding="utf-8")
    if re.search(r'^ *"?fields"?:', block.code, re.MULTILINE):
        sim.Space.load(path)
    else:
        sim.load_machine(path)


def _look_up(block: Block) -> None:
    """Targets of make, extras and scripts are there."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for line in filter(None, block.code.splitlines()):
        assert line.startswith(NOT_RUN), f"{block.where}: {line!r} is beside lines that are not run"
        words = shlex.split(line, comments=True)
        for target in words[1:2] if words[0] == "make" else ():
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{block.where}: make {target}"
        assert words[0] != "python" or words[1] == "-m" or (ROOT / words[1]).is_file(), (
            f"{block.where}: {words[1]}"
        )
        for extra in re.findall(r"\[([\w,]+)\]", " ".join(words)):
            assert set(extra.split(",")) <= set(extras["optional-dependencies"]), f"{block.where}: {extra}"


__all__ = ["PAGES", "README", "ROOT", "Block", "Reading", "assert_says", "blocks", "json"]
