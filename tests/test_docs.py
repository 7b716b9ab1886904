"""What docs/ says is there, is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if ".venv" not in str(path)]
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_files_and_folders_exist_under_the_names_that_pages_give(page: Path) -> None:
    named = set(re.findall(r"[\w./]*\w(?:\.py|/)(?![\w<*])", page.read_text(encoding="utf-8")))
    found = {name for name in named if any(f"/{file}".find(f"/{name}") >= 0 for file in FILES)}
    assert named - found - {"docs/"} == set()
