"""Run the notebooks and keep what they show; `--check` says which are no longer current.

What may differ is stated in `FREE`: times and rates of this computer, and names of folders. Pictures need
only be there.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).parents[1]
NOTEBOOKS = tuple(sorted((ROOT / "notebooks").glob("*.ipynb")))
FREE = re.compile(
    r"\d[\d.,]*(?= ?(?:ns|µs|ms|s|seconds|[KMG]B/s|GMAC/s|GFLOP/s|inferences/s|a second)\b)"
    r"|(?<=constants, )\d[\d,]*(?= bytes)"  # of a program for this CPU
    r"|(?<=at )0x[0-9a-f]+"
    r"|/tmp/\S+"
)
"""What may differ between two runs."""
_PROGRESS = "kernels"
_TIME_LIMIT = 300


def main() -> int:
    """Write the notebooks, or compare them; 1 if one is no longer current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("notebooks", nargs="*", type=Path, default=NOTEBOOKS)
    options = parser.parse_args()
    stale = 0
    for path in options.notebooks:
        kept, found = read(path), executed(path)
        differences = list(compared(kept, found))
        stale += bool(differences)
        print(f"{path.name}: {'current' if not differences else differences[0]}", flush=True)
        if not options.check:
            nbformat.write(found, path)
    return int(options.check and stale > 0)


def read(path: Path) -> Any:
    """A notebook as it is committed."""
    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)


def executed(path: Path) -> Any:
    """A notebook with what its cells show now, run in an empty folder."""
    notebook = read(path)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before]))
    try:
        with tempfile.TemporaryDirectory() as folder:
            client = nbclient.NotebookClient(
                notebook, timeout=_TIME_LIMIT, resources={"metadata": {"path": folder}}
            )
            client.execute()
            assert not os.listdir(folder), f"{path.name} leaves files behind"
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if not _is_passing(output)]
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def compared(kept: Any, found: Any) -> Iterator[str]:
    """Where two runs of a notebook differ in what is not free."""
    for number, (before, after) in enumerate(zip(kept.cells, found.cells, strict=True)):
        first, second = shown(before), shown(after)
        if first != second:
            place = next(
                (pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]), (first, second)
            )
            yield f"cell {number} shows {str(place[1])[:300]!r}, but had {str(place[0])[:300]!r}"


def shown(cell: Any) -> list[tuple[str, str]]:
    """What a cell shows, by kind: text without what is free, and that there are pictures and tables."""
    found = []
    for output in cell.get("outputs", ()):
        data = {"text/plain": output.text} if output.output_type == "stream" else output.get("data", {})
        for kind in sorted(data):
            text = FREE.sub("…", "".join(data[kind])) if kind == "text/plain" else kind
            found += [(kind, line.rstrip()) for line in text.splitlines() if line.strip()]
    return found


def _is_passing(output: Any) -> bool:
    """Whether an output is about compiling, not about the notebook."""
    if output.output_type == "stream":
        return bool(output.name == "stderr")
    return _PROGRESS in "".join(output.get("data", {}).get("text/plain", ""))


if __name__ == "__main__":
    sys.exit(main())
