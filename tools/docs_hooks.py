"""What mkdocs asks for while it builds docs/: the tables that are made of declarations and of help texts."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import docs_notebooks

from tosajit import ops
from tosajit.cli.arguments import parser
from tosajit.frontends.support import markdown
from tosajit.operators import table

SECURITY = Path(__file__).parents[1] / "SECURITY.md"
WIDTH = "100"
"""Columns of a help text."""


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """The files of the site: the notebooks are pages, too."""
    from mkdocs.structure.files import File

    for name in docs_notebooks.names():
        files.append(File.generated(config, f"notebooks/{name}.md", content=docs_notebooks.markdown(name)))
    return files


def on_page_context(context: Any, *, page: Any, **_: Any) -> Any:
    """What a page is made of: those of notebooks are edited elsewhere."""
    if page.file.src_uri.startswith("notebooks/"):
        page.edit_url = None
    return context


def on_page_content(html: str, **_: Any) -> str:
    """A page with what the cells of notebooks show."""
    return docs_notebooks.filled(html)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page with its marks replaced by what they stand for."""
    for name, made in SECTIONS.items():
        mark = f"<!-- {name} -->"
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    return markdown


def on_post_page(output: str, **_: Any) -> str:
    """A page as it is; one that would load something from the network is refused."""
    found = re.search(r'<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)="(https?:[^"]*)"', output)
    if found:
        raise ValueError(f"a page loads {found[1]}, but must need no network")
    return output


def operators() -> str:
    """A row for each operator, a column for each profile and extension that has a mode of one."""
    rows = table.rows()
    columns = list(dict.fromkeys(name for row in rows for name in (*row.profiles, *row.extensions)))
    columns.sort(key=lambda name: (not name.startswith("PRO"), name))
    heads = [name.replace("PRO-", "").replace("EXT-", "") for name in columns]
    lines = [f"| operator | section | {' | '.join(heads)} | modes |", f"|---|---|{':-:|' * len(columns)}--:|"]
    for row in rows:
        has = {*row.profiles, *row.extensions}
        marks = ["✓" if name in has else "" for name in columns]
        lines.append(f"| {_linked(row)} | {row.section} | {' | '.join(marks)} | {row.modes} |")
    return "\n".join(lines)


def _linked(row: table.Row) -> str:
    name = row.operator.lower()
    return f"[{row.operator}][tosajit.ops.{name}]" if hasattr(ops, name) else row.operator


def commands() -> str:
    """The help text of each command."""
    os.environ["COLUMNS"] = WIDTH
    return "\n\n".join(f"## {name}\n\n```text\n{text}\n```" for name, text in _helps(parser()))


def _helps(top: ArgumentParser) -> Iterator[tuple[str, str]]:
    yield top.prog, top.format_help().rstrip()
    for action in top._actions:
        if isinstance(action, _SubParsersAction):
            for one in action.choices.values():
                yield from _helps(one)


def security() -> str:
    """What SECURITY.md says, below its title."""
    return SECURITY.read_text(encoding="utf-8").partition("\n")[2].strip()


SECTIONS: dict[str, Callable[[], str]] = {
    "operators": operators,
    "commands": commands,
    "security": security,
    "tflite": partial(markdown, "tflite"),
    "tensorflow": partial(markdown, "tensorflow"),
    "nnef": partial(markdown, "nnef"),
    "onnx": partial(markdown, "onnx"),
    "torch": partial(markdown, "torch"),
    "jax": partial(markdown, "jax"),
}
