"""Mutation testing: what can be changed in a text, and which tests look at a file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from pathlib import Path
from queue import SimpleQueue

import mutants as tool
import pytest
from mutating.mutations import mutants
from mutating.patching import Patch
from mutating.suites import SUITES, suite_of
from mutating.trying import PACKAGES, Known, Limits, Suite, Verdict

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
    files = [str(path.relative_to(ROOT)) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
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


SOURCE = """
from functools import cache

LIMIT = 3

@cache
def double(value):
    return 2 * value

def small(value):
    return value < LIMIT and all(one < 9 for one in [value])

class Counter:
    def count(self, number):
        while number > 0:
            number = number - 1
        return number

def unused():
    return 1
"""
TESTS = """
from tiling.a import LIMIT, Counter, double, small

def test_double():
    assert double(4) == 8

def test_small():
    assert small(2)

def test_count():
    assert Counter().count(2) == 0

def test_limit():
    assert LIMIT == 3

def test_fails():
    assert small(4)
"""


def judged(folder: Path, source: str, tests: str, lines: Collection[str] = ()) -> list[Verdict]:
    """What becomes of the mutants of some lines of a source in a project of its own, or of all."""
    for name, text in (("tiling/a.py", source), ("tiling/__init__.py", ""), ("test_a.py", tests)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    found = [one for one in mutants("tiling/a.py", source) if not lines or one.context in lines]
    told: SimpleQueue[Verdict] = SimpleQueue()
    tool.in_session(["test_a.py"], found, Limits(test=1, mutant=5, suite=5), folder, told)
    assert (folder / "tiling/a.py").read_text() == source
    return [told.get() for _ in found]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Verdict]:
    """What becomes of every mutant of a small source, by its line and its change."""
    found = judged(tmp_path_factory.mktemp("project"), SOURCE, TESTS)
    return {(one.mutant.context, f"{one.mutant.before} {one.mutant.after}"): one for one in found}


@pytest.mark.parametrize(
    ("line", "change", "fate", "test"),
    [
        ("return 2 * value", "2 3", "killed", "test_double"),
        ("LIMIT = 3", "3 4", "killed", "test_limit"),
        ("return value < LIMIT and all(one < 9 for one in [value])", "< <=", "survived", ""),
        ("return value < LIMIT and all(one < 9 for one in [value])", "and or", "survived", ""),
        ("while number > 0:", "> >=", "killed", "test_count"),
        ("number = number - 1", "- +", "hangs", "test_count"),
        ("return 1", "1 2", "survived", ""),
    ],
)
def test_the_fate_of_a_mutant(
    verdicts: dict[tuple[str, str], Verdict], line: str, change: str, fate: str, test: str
) -> None:
    verdict = verdicts[line, change]
    assert (verdict.fate, verdict.test.rpartition("::")[2]) == (fate, test)


def test_tests_that_meet_a_function_come_first_and_those_that_fail_anyway_never(tmp_path: Path) -> None:
    suite = Suite([], Limits(1, 1, 1), print)
    one, other = ("tiling/a.py", 3, "one"), ("tiling/a.py", 9, "other")
    suite.known = [
        Known("a.py::slow", True, 2.0, frozenset({one})),
        Known("a.py::quick", True, 1.0, frozenset({one, other})),
        Known("a.py::without", True, 0.1, frozenset()),
        Known("a.py::broken", False, 0.0, frozenset({one})),
        Known("b.py::far", True, 0.1, frozenset({("tiling/b.py", 3, "one")})),
    ]
    assert suite.chosen("tiling/a.py", one) == ["a.py::quick", "a.py::slow", "a.py::without"]
    assert suite.chosen("tiling/a.py", None) == ["a.py::without", "a.py::quick", "a.py::slow", "b.py::far"]
    assert suite.chosen("tiling/b.py", None)[0] == "b.py::far"
    assert len(suite.chosen("tiling/c.py", None)) == 4


def test_a_fault_in_a_function_changes_that_function_alone(tmp_path: Path) -> None:
    text = "def f(n):\n    return [n + 1 for _ in 'ab']\ndef g(n=1):\n    return n\n"
    scope: dict[str, Callable[..., object]] = {}
    exec(compile(text, str(tmp_path / "a.py"), "exec"), scope)
    inside = Patch.of(text, text.replace("+ 1", "+ 2"), tmp_path, "a.py")
    assert inside is not None
    assert (inside.place[::2], inside.innermost[::2]) == (("a.py", "f"), ("a.py", "f.<locals>.<listcomp>"))
    inside.apply()
    assert (scope["f"](1), scope["g"]()) == ([3, 3], 1)
    assert Patch.of(text, text.replace("n=1", "n=2"), tmp_path, "a.py") is None


READER = """
from functools import cache
from pathlib import Path

@cache
def text():
    return Path(__file__).read_text()

def unused():
    return 1
"""


def test_what_was_remembered_while_tests_were_collected_is_forgotten_though_it_is_frozen(
    tmp_path: Path,
) -> None:
    tests = "from tiling.a import text\n\nTEXT = text()\n\ndef test_text():\n    assert text() == TEXT\n"
    freezing = "import gc\n\ndef pytest_collection_finish():\n    gc.freeze()\n"
    (tmp_path / "conftest.py").write_text(freezing)
    (verdict,) = judged(tmp_path, READER, tests, {"return 1"})
    assert verdict.fate == "killed"


def test_tests_run_with_the_marks_and_warnings_that_they_have(tmp_path: Path) -> None:
    source = "import warnings\n\ndef f():\n    warnings.warn('careful')\n    return 1\n"
    mark = "@pytest.mark.filterwarnings('ignore:careful')"
    tests = f"import pytest\nfrom tiling.a import f\n\n{mark}\ndef test_f():\n    assert f() == 1\n"
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (verdict,) = judged(tmp_path, source, tests, {"return 1"})
    assert verdict.fate == "killed"


def test_for_few_mutants_a_test_that_fails_is_tried_without_them(tmp_path: Path) -> None:
    found = judged(tmp_path, SOURCE, TESTS, {"number = number - 1", "LIMIT = 3"})
    fates = {verdict.mutant.context: (verdict.fate, verdict.test) for verdict in found[:2]}
    assert fates["LIMIT = 3"] == ("killed", "test_a.py::test_limit")
    (unsound,) = judged(tmp_path, "def f():\n    return 1\n", "def test_f():\n    assert False\n")
    assert unsound.fate == "unsound"
