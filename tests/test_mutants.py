"""Mutation testing: what can be changed in a text, and which tests look at a file."""

from __future__ import annotations

import ast
from pathlib import Path

import mutants as tool
import pytest
from mutating.mutations import mutants
from mutating.suites import SUITES, suite_of

ROOT = Path(__file__).parents[1]


def changes(text: str) -> list[tuple[str, str]]:
    return [(mutant.before, mutant.after) for mutant in mutants("a.py", text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a < b", [("<", "<=")]),
        ("x = a not  in b", [("not  in", "in")]),
        ("x = 1", [("1", "2")]),
        ("x = a and b or c", [("and", "or"), ("or", "and")]),
        ("x = a + b", [("+", "-")]),
        ("x = (a)  # ä < b\nif not(a): pass", [("not", "")]),
        ("x = min(a, b)", [("min", "max")]),
        ("x = True", [("True", "False")]),
    ],
)
def test_one_change_a_place(text: str, expected: list[tuple[str, str]]) -> None:
    assert changes(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "'''1 < 2'''",
        "assert a < 1",
        "def f(x: 'Literal[1]' = a) -> T[1]: pass",
        "x = zip(a, b, strict=True)",
        "__all__ = [1]",
        "raise ValueError(1)",
        "x = f'{1}'",
    ],
)
def test_what_tests_cannot_see_is_left_alone(text: str) -> None:
    assert changes(text) == []


def test_a_mutant_changes_its_place_alone() -> None:
    text = "ä = 1\nb = a <= 2  # ü\n"
    made = [mutant.applied(text) for mutant in mutants("a.py", text)]
    assert made == ["ä = 2\nb = a <= 2  # ü\n", "ä = 1\nb = a < 2  # ü\n", "ä = 1\nb = a <= 3  # ü\n"]


def test_mutants_of_our_sources_are_python() -> None:
    for mutant in tool.drawn(seed=5, count=300):
        assert ast.dump(ast.parse(mutant.applied((ROOT / mutant.path).read_text())))


def test_the_same_seed_draws_the_same_mutants() -> None:
    assert tool.drawn(3, 20) == tool.drawn(3, 20) != tool.drawn(4, 20)


def test_every_folder_with_sources_has_tests() -> None:
    files = [
        str(path.relative_to(ROOT)) for package in tool.PACKAGES for path in (ROOT / package).rglob("*.py")
    ]
    folders = {path.rsplit("/", 1)[0] + "/" for path in files}
    assert not {folder for folder in folders if folder != "tosajit/" and not suite_of(folder)}
    assert not {test for tests in SUITES.values() for test in tests if not (ROOT / test).exists()}


def test_explained_mutants_are_still_there() -> None:
    known = {
        (m.path, m.context, m.before, m.after)
        for path in {row[0] for row in tool.equivalents()}
        for m in mutants(path, (ROOT / path).read_text())
    }
    assert tool.equivalents().keys() <= known


def test_a_suite_runs_in_its_order_and_each_file_once(tmp_path: Path) -> None:
    for name in ("a/test_1.py", "a/test_2.py", "a/helper.py", "test_3.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = tool.files_of(("a/test_2.py", "gone.py", "a", "test_3.py", "a/test_1.py"), tmp_path)
    assert found == ["a/test_2.py", "a/test_1.py", "test_3.py"]
