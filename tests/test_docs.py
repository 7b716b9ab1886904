"""README and docs/: every block of code runs and prints what the page says; every name and link is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import docs_hooks
import pytest

import sim
import tosajit as tj
from sim.machine.arrays import ARRAYS
from tests.pages import PAGES, ROOT, Block, Reading, assert_says, blocks
from tosajit import accuracy, nn, nnef, samples
from tosajit.compiler import options
from tosajit.graph.operator import OPERATORS
from tosajit.operators import table

FILES = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if ".venv" not in str(path)]
GENERATED = {"validation.md", "benchmarks.md"}
NAMES = {
    "tosajit": tj.__all__,
    "sim": sim.__all__,
    "tosajit.accuracy": accuracy.__all__,
    "tosajit.samples": samples.__all__,
    "tosajit.nnef": nnef.__all__,
    "tosajit.nn": nn.__all__,
}
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@pytest.fixture
def registries(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Forget the operators and the kinds of array that a page adds."""
    monkeypatch.setattr(options, "_registered", {})
    registered: tuple[dict[str, Any], ...] = OPERATORS, ARRAYS
    known = [set(one) for one in registered]
    yield
    for one, names in zip(registered, known, strict=True):
        for name in set(one) - names:
            del one[name]


@each_page
@pytest.mark.usefixtures("registries")
def test_the_blocks_of_a_page_run_and_print_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reading = Reading(tmp_path)
    for block in blocks(page):
        reading.run(block)


@each_page
def test_files_and_folders_exist_under_the_names_that_pages_give(page: Path) -> None:
    named = set(re.findall(r"(?<![\w.~$/{-])[\w./]*\w(?:\.py|/)(?![\w<*{])", _prose(page)))
    found = {name for name in named if any(f"/{file}".find(f"/{name}") >= 0 for file in FILES)}
    assert {name for name in named - found if not (ROOT / name).exists()} == set()


@each_page
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", _prose(page))
    local = [target.partition("#")[0] for target in targets if not re.match(r"https?:|#", target)]
    assert [name for name in local if name and not (page.parent / name).exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_every_page_is_in_the_menu(page: Path) -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    assert f": {page.relative_to(ROOT / 'docs').as_posix()}\n" in menu + "\n"


@pytest.mark.parametrize("package", NAMES)
def test_every_public_name_is_in_the_reference(package: str) -> None:
    text = (ROOT / "docs" / "reference" / f"{package.rpartition('.')[2]}.md").read_text(encoding="utf-8")
    whole = f"::: {package}\n" in text
    missing = [name for name in NAMES[package] if not re.search(rf"\b{name}\b", text)]
    assert whole or [name for name in missing if not name.endswith("Error")] == []


def test_every_error_is_documented_with_its_package() -> None:
    errors = {name for name in tj.__all__ if name.endswith("Error")}
    text = (ROOT / "docs" / "reference" / "tosajit.md").read_text(encoding="utf-8")
    own = {name for name in errors if getattr(tj, name).__module__ == "tosajit.errors"}
    assert "::: tosajit.errors" in text
    assert {name for name in errors - own if name not in text} == set()


def test_the_table_of_operators_has_all_of_them_with_links() -> None:
    text = docs_hooks.on_page_markdown("<!-- operators -->")
    assert text.count("\n") == len(table.rows()) + 1
    assert "| [CONV2D][tosajit.ops.conv2d] | 2.3.3 | ✓ | ✓ |" in text
    assert "| [CLZ][tosajit.ops.clz] | 2.6.4 |  | ✓ |" in text


def test_the_page_of_commands_has_the_help_of_each() -> None:
    text = docs_hooks.on_page_markdown("before\n<!-- commands -->\nafter")
    for command in ("tosajit", "tosajit simulate", "tosajit cache warm"):
        assert f"## {command}\n\n```text\nusage: {command} " in text


def test_a_page_that_needs_the_network_is_refused() -> None:
    own = '<script src="assets/a.js"></script><a href="https://ui.perfetto.dev">there</a>'
    assert docs_hooks.on_post_page(own) == own
    with pytest.raises(ValueError, match=r"loads https://cdn\.example/a\.js"):
        docs_hooks.on_post_page('<script async src="https://cdn.example/a.js">')


def _prose(page: Path) -> str:
    """A page without the blocks that are run, which say themselves what is missing."""
    return re.sub(
        r"^```(?!tree).*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )


# The mechanism itself: a page that is wrong fails.


def block(language: str, code: str, title: str = "") -> Block:
    return Block(language, title, code, "page.md:1")


@pytest.mark.parametrize(
    ("said", "shown", "fits"),
    [
        ("a 1\nb\n", "a 1\nb\n", True),
        ("a 1  \n\n", "a 1\n", True),
        ("took 12.5 ms\nend\n", "took … ms\nend\n", True),
        ("a\nb\nc\nd\n", "a\n…\nd\n", True),
        ("a 1\n", "a 2\n", False),
        ("a\nb\n", "a\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_what_is_shown_is_what_was_printed(said: str, shown: str, fits: bool) -> None:
    if fits:
        assert_says(said, block("text", shown))
    else:
        with pytest.raises(AssertionError):
            assert_says(said, block("text", shown))


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("sh", "tosajit info missing.tosa\n"),
        ("sh", "tosajit machines > list.txt\nfalse\ntrue\n"),
        ("sh", "make nothing\n"),
        ("sh", "make test\ntosajit machines\n"),
        ("sh", "pip install '.[nothing]'\n"),
        ("tree", "nowhere/  is not there\n"),
        ("console", "$ true\n"),
        ("", "anything\n"),
    ],
)
def test_a_block_that_does_not_run_fails(language: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        Reading(tmp_path).run(block(language, code))


def test_a_machine_that_cannot_be_fails(tmp_path: Path) -> None:
    with pytest.raises(tj.MachineError):
        Reading(tmp_path).run(block("yaml", "base: tiny\nname: x\nclock_hz: 0\n"))


def test_blocks_share_names_and_files(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    reading.run(block("yaml", "base: tiny\nname: mine\n", "mine.yaml"))
    reading.run(block("python", "from pathlib import Path\n"))
    reading.run(block("python", f"x = Path({str(tmp_path / 'mine.yaml')!r}).read_text()\n"))
    reading.run(block("python", "print(x)\n"))
    reading.run(block("text", "base: tiny\nname: mine\n"))
    reading.run(block("sh", "cat mine.yaml\n"))
    reading.run(block("text", "base: tiny\n…\n"))


def test_a_block_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("* item\n\n    ```python\n    x\n    ```\n")
    monkeypatch.setattr("tests.pages.ROOT", tmp_path)
    with pytest.raises(AssertionError, match="indented"):
        list(blocks(page))
