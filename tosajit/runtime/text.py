"""Executables in print: what goes in and out, and a line for each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tiling.program import Program, Section
from tiling.text import members_text, program_html
from tiling.words import isolated
from tosajit.display.columns import aligned
from tosajit.runtime.interface import Interface

HEAD = ("group", "verb", "points", "tiles", "nodes")


def executable_text(title: str, interface: Interface, programs: Sequence[Program]) -> str:
    """The executable as a table of its groups."""
    lines = [title]
    lines += [f"  input  {value}" for value in interface.inputs]
    lines += [f"  output {value}" for value in interface.outputs]
    rows = [HEAD, *_rows(programs)]
    return "\n".join([*lines, "", *aligned(rows, right=(0, 2, 3))] if programs else lines)


def executable_html(title: str, interface: Interface, programs: Sequence[Program]) -> str:
    """The same for notebooks; the programs fold out."""
    takes = ", ".join(isolated(str(value)) for value in interface.inputs)
    gives = ", ".join(isolated(str(value)) for value in interface.outputs)
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in _rows(programs)
    )
    listed = "".join(program_html(program) for program in programs)
    table = f"<details><summary>groups</summary><table><tr>{head}</tr>{body}</table></details>"
    return f"<b>{escape(title)}</b><br>({takes}) → ({gives}){table}{listed}"


def _rows(programs: Sequence[Program]) -> Iterator[tuple[str, ...]]:
    sections = [section for program in programs for section in program.sections]
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
