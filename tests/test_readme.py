"""The README: its examples run, its commands exist, its generated sections are up to date."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tosajit as tj
from tosajit.cli.arguments import parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_examples_run_and_print_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    said = []
    for code in blocks("python"):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(code, "README.md", "exec"), names)
        said.append(output.getvalue())
    assert said[0].startswith("(1, 4, 4, 8) int8\nmain(%image: INT8[1, 8, 8, 1]) -> (INT8[1, 4, 4, 8]) {\n")
    assert "program for host" in said[0]
    assert said[1] in blocks("")


@pytest.mark.parametrize("line", re.findall(r"^tosajit (.*?)\s*(?:#.*)?$", README, re.MULTILINE))
def test_the_commands_are_understood(line: str) -> None:
    assert parser().parse_args(shlex.split(line)).module


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make ([a-z-]+)", README))))
def test_the_targets_of_make_are_there(target: str) -> None:
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("path", re.findall(r"^(\w+/\S*) ", README, re.MULTILINE))
def test_the_folders_are_there(path: str) -> None:
    assert (ROOT / path).is_dir()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\btj\.(\w+)", README))))
def test_the_names_are_public(name: str) -> None:
    assert name in tj.__all__


def test_the_generated_sections_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_readme.py"), "--check"]
    done = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_demo_shows_a_program_and_the_golden_bits() -> None:
    command = [sys.executable, str(ROOT / "tools" / "demo.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("equals the golden bits") == 2
    for text in ("group 0: contract", "load  [", "runs in", "MACs"):
        assert text in done.stdout
