"""Small programs such as a newcomer writes: each runs as it is, and uses nothing but the public API."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

import pytest

import tosajit as tj
from tosajit import nn, ops

PROGRAMS = sorted((Path(__file__).parent / "newcomer").glob("*.py"))
PUBLIC = {"tj": set(tj.__all__), "nn": set(nn.__all__), "q": set(nn.quantized.__all__), "ops": set(vars(ops))}
"""What may stand behind the dot of each name."""
each_program = pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)


def test_there_are_twelve() -> None:
    assert len(PROGRAMS) >= 12


@each_program
def test_a_program_runs_and_says_something(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@each_program
def test_a_program_holds_its_result_against_something(path: Path) -> None:
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@each_program
def test_a_program_uses_the_public_api_alone(path: Path) -> None:
    tree = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imported = {one.name for node in tree if isinstance(node, ast.Import) for one in node.names}
    imported |= {str(node.module) for node in tree if isinstance(node, ast.ImportFrom)}
    assert imported - sys.stdlib_module_names <= {"numpy", "tosajit"}
    used = [
        (node.value.id, node.attr)
        for node in tree
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in PUBLIC
    ]
    assert [f"{name}.{attribute}" for name, attribute in used if attribute not in PUBLIC[name]] == []
    assert [node.attr for node in tree if isinstance(node, ast.Attribute) and node.attr.startswith("_")] == []
