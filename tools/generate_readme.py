"""Write the generated sections of README.md; `--check` says whether they are up to date."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tosajit.operators import table

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FIGURES = ROOT / "docs" / "benchmarks.md"
NO_FIGURES = "Nothing has been measured for this version yet."


def main() -> int:
    """Write the page, or compare it."""
    old = README.read_text(encoding="utf-8")
    new = written(old)
    if "--check" in sys.argv[1:]:
        return int(old != new)
    README.write_text(new, encoding="utf-8")
    return 0


def written(page: str) -> str:
    """The page with its generated sections as they have to be."""
    return section(section(page, "operators", table.markdown()), "figures", figures())


def section(page: str, name: str, text: str) -> str:
    """The page with the text between two marks replaced."""
    start, end = f"<!-- {name}: written by tools/generate_readme.py -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    found, count = pattern.subn(lambda _: f"{start}\n{text}\n{end}", page)
    if count != 1:
        raise SystemExit(f"README.md has {count} sections of {name}, but must have 1")
    return found


def figures() -> str:
    """The first table of the page of figures."""
    if not FIGURES.is_file():
        return NO_FIGURES
    lines = FIGURES.read_text(encoding="utf-8").splitlines()
    first = next((number for number, line in enumerate(lines) if line.startswith("|")), len(lines))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append(line)
    return "\n".join(rows) or NO_FIGURES


if __name__ == "__main__":
    sys.exit(main())
