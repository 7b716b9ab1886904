"""`tosajit operators`."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from tosajit.cli.output import print_json
from tosajit.operators import table


def run(options: Namespace) -> int:
    """Print the table of operators."""
    wanted = set(options.profile or ())
    names = {row.operator for row in table.rows() if not wanted or wanted & {*row.profiles, *row.extensions}}
    if options.json:
        print_json([asdict(row) for row in table.rows() if row.operator in names])
        return 0
    lines = (table.markdown() if options.markdown else table.text()).splitlines()
    head, body = (lines[:2], lines[2:]) if options.markdown else ([], lines)
    kept = [line for line, row in zip(body, table.rows(), strict=True) if row.operator in names]
    print(*head, *kept, sep="\n")
    return 0
