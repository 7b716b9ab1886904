"""What CONTRIBUTING.md and the glossary speak of is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:tosajit|tiling|sim|tests|tools|docs)/[\w./]*)`", TEXT)))
TARGETS = sorted(set(re.findall(r"make ([a-z-]+)", TEXT)))


def test_paths_and_targets_are_found_in_the_text() -> None:
    assert len(PATHS) > 15
    assert {"test", "lint", "mutants"} <= set(TARGETS)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_no_word_of_the_glossary_is_explained_twice() -> None:
    rows = re.findall(
        r"^\| ([a-z][^|]*?) \|", (ROOT / "docs/glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    words = [word.strip() for row in rows if row != "word" for word in row.split(",")]
    assert len(words) > 40
    assert len(words) == len(set(words))
