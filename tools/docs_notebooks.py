"""The notebooks as pages of the site, with what they show, as they are committed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "notebooks"
_MARK = "<!-- shown {name} {number} -->"
_SHOWN = re.compile(r"<!-- shown (\w+) (\d+) -->")


def names() -> list[str]:
    """The notebooks in their order."""
    return [path.stem for path in sorted(FOLDER.glob("*.ipynb"))]


def markdown(name: str) -> str:
    """A notebook as text of a page; marks stand for what cells show."""
    parts = []
    for number, cell in enumerate(_cells(name)):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(_linked(text))
            continue
        parts.append(f"```python\n{text}\n```")
        if cell["outputs"]:
            parts.append(_MARK.format(name=name, number=number))
    parts.append(f"*`notebooks/{name}.ipynb`, as it was run last.*")
    return "\n\n".join(parts)


def filled(html: str) -> str:
    """A page with what its cells show in place of the marks."""
    return _SHOWN.sub(lambda found: "".join(_shown(found[1], int(found[2]))), html)


def _cells(name: str) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return cells


def _linked(text: str) -> str:
    """Links of a notebook as the site has them: other notebooks are pages, and docs/ is its root."""
    return text.replace("](../docs/", "](../").replace(".ipynb)", ".md)")


def _shown(name: str, number: int) -> Iterator[str]:
    """What a cell shows: the best form of each output."""
    for output in _cells(name)[number]["outputs"]:
        data = {"text/plain": output["text"]} if "text" in output else output["data"]
        if "image/png" in data:
            picture = "".join(data["image/png"]).replace("\n", "")
            yield f'<p><img alt="what the cell shows" src="data:image/png;base64,{picture}"></p>'
        elif "text/html" in data:
            yield f'<div class="shown">{"".join(data["text/html"])}</div>'
        else:
            yield f'<pre class="shown"><code>{escape("".join(data["text/plain"]))}</code></pre>'
