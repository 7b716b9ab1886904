"""The page of environment variables has those that the sources read, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "environment.md"
FOLDERS = ("tosajit", "sim", "tiling", "tools", "tests", "notebooks")
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
OURS = re.compile(r"\bTOSAJIT_[A-Z_]*[A-Z]\b")
SYSTEM = {"PATH", "PYTHONPATH", "PYTHONSAFEPATH", "TERM"}
"""What any program reads."""


def listed() -> set[str]:
    """The variables of the page."""
    return set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def read_by(path: Path) -> Iterator[str]:
    """The variables that a module asks for by name, or by a constant with its name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="environ")), args=[name, *_]):
                yield from names_in(name, tree)
            case ast.Call(func=ast.Attribute(attr="getenv"), args=[name, *_]):
                yield from names_in(name, tree)
            case ast.Subscript(value=ast.Attribute(attr="environ"), slice=name, ctx=ast.Load()):
                yield from names_in(name, tree)


def names_in(name: ast.expr, tree: ast.Module) -> Iterator[str]:
    """The text of a literal, or of a constant of the module."""
    if isinstance(name, ast.Constant):
        yield str(name.value)
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(name, ast.Name):
            pairs = zip(ast.walk(node.targets[0]), ast.walk(node.value), strict=False)
            for key, value in pairs:
                if isinstance(key, ast.Name) and key.id == name.id and isinstance(value, ast.Constant):
                    yield str(value.value)


def test_what_the_packages_read_is_listed() -> None:
    packages = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in ("tosajit", "sim", "tiling")]
    found = {name for path in packages for name in read_by(path)} - SYSTEM
    assert {"TOSAJIT_CACHE", "TOSAJIT_CPU", "TOSAJIT_STORE_SECONDS", "XDG_CACHE_HOME"} <= found
    assert found <= listed()


@pytest.mark.parametrize("name", sorted(listed()))
def test_what_is_listed_is_read(name: str) -> None:
    others = [path for path in SOURCES if path != Path(__file__)]
    assert any(name in path.read_text(encoding="utf-8") for path in (*others, ROOT / "mkdocs.yml"))


def test_every_variable_of_ours_is_listed() -> None:
    texts = [
        *SOURCES,
        ROOT / "Makefile",
        ROOT / "conftest.py",
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "README.md",
    ]
    found = {name for path in texts for name in OURS.findall(path.read_text(encoding="utf-8"))}
    assert found - listed() == set()
