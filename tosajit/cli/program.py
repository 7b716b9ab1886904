"""`tosajit program`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from tiling.program import Opcode, Program
from tiling.words import plain
from tosajit.cli.building import built
from tosajit.cli.output import print_json
from tosajit.display.columns import aligned


def run(options: Namespace) -> int:
    """Print the programs of a model's main region."""
    programs = built(options.model, options).programs
    if options.json:
        print_json({"model": str(options.model), "programs": [_dict(program) for program in programs]})
        return 0
    for program in programs:
        print(*(_commands(program) if options.commands else [program]), sep="\n")
    return 0


HEAD = ("opcode", "group", "level", "operand", "address", "bytes")


def _commands(program: Program) -> list[str]:
    """The command stream as a table."""
    rows = [["" if cell is None else plain(str(cell)) for cell in row] for row in _rows(program)]
    return aligned([HEAD, *rows], right=(1, 2, 4, 5))


def _rows(program: Program) -> Iterator[tuple[str | int | None, ...]]:
    names = list(program.operands)
    for row in program.commands:
        command = (Opcode(row["opcode"]).name, int(row["section"]), int(row["level"]))
        if row["operand"] >= 0:
            yield *command, names[row["operand"]], int(row["address"]), int(row["bytes"])
        else:
            yield *command, None, None, None


def _dict(program: Program) -> dict[str, Any]:
    """A program as JSON: operands, commands, and the loops as text."""
    operands = [
        {"name": one.name, "type": one.type, "elements": one.elements, "kind": one.kind, "place": one.place}
        for one in program.operands.values()
    ]
    commands = [dict(zip(HEAD, row, strict=True)) for row in _rows(program)]
    return {"operands": operands, "commands": commands, "text": str(program)}
