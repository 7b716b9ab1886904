"""`tosajit program`."""

from __future__ import annotations

from argparse import Namespace

from tiling.program import Opcode, Program
from tosajit.cli.building import built
from tosajit.display.columns import aligned


def run(options: Namespace) -> int:
    """Print the programs of a model's main region."""
    for program in built(options.model, options).programs:
        print(*(_commands(program) if options.commands else [program]), sep="\n")
    return 0


def _commands(program: Program) -> list[str]:
    """The command stream as a table."""
    names = list(program.operands)
    rows = [("opcode", "group", "level", "operand", "address", "bytes")]
    for row in program.commands:
        operand = names[row["operand"]] if row["operand"] >= 0 else ""
        numbers = (str(row["address"]), str(row["bytes"])) if operand else ("", "")
        rows.append((Opcode(row["opcode"]).name, str(row["section"]), str(row["level"]), operand, *numbers))
    return aligned(rows, right=(1, 2, 4, 5))
