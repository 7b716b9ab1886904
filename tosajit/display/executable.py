"""Executables in print: what goes in and out, and a line for each group."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from tiling.program import Section
from tiling.text import members_text, program_html
from tiling.words import isolated
from tosajit.display.columns import aligned

if TYPE_CHECKING:
    from tosajit.runtime.executable import Executable

HEAD = ("group", "verb", "points", "tiles", "nodes")


def executable_text(executable: Executable) -> str:
    """The executable as a table of its groups."""
    lines = [repr(executable).strip("<>")]
    lines += [f"  input  {value}" for value in executable.graph.inputs]
    lines += [f"  output {value}" for value in executable.graph.outputs]
    rows = [HEAD, *_rows(executable)]
    return "\n".join([*lines, "", *aligned(rows, right=(0, 2, 3))])


def executable_html(executable: Executable) -> str:
    """The same for notebooks; the programs fold out."""
    takes = ", ".join(isolated(str(value)) for value in executable.graph.inputs)
    gives = ", ".join(isolated(str(value)) for value in executable.graph.outputs)
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in _rows(executable)
    )
    programs = "".join(program_html(program) for program in executable.programs)
    table = f"<details><summary>groups</summary><table><tr>{head}</tr>{body}</table></details>"
    return f"<b>{escape(repr(executable).strip('<>'))}</b><br>({takes}) → ({gives}){table}{programs}"


def _rows(executable: Executable) -> Iterator[tuple[str, ...]]:
    sections = [section for program in executable.programs for section in program.sections]
    for number, section in enumerate(sections):
        yield (
            str(number),
            section.nest.verb,
            _points(section),
            str(section.tiles),
            members_text(section.nest.members),
        )


def _points(section: Section) -> str:
    return "×".join(str(axis.extent) for axis in section.nest.axes) or "1"
