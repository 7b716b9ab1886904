"""`tosajit operators`."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from tosajit.cli.output import print_json
from tosajit.display.columns import aligned
from tosajit.errors import InputError
from tosajit.frontends.support import HEAD, markdown, rows
from tosajit.operators import table


def run(options: Namespace) -> int:
    """Print the table of operators."""
    return _of_tosa(options) if options.source is None else _of(options.source, options)


def _of(source: str, options: Namespace) -> int:
    """The operators of another format."""
    if options.profile:
        raise InputError(
            "--profile selects TOSA operators and cannot be combined with --from; leave one of them out"
        )
    found = tuple(rows(source))
    if options.json:
        print_json([dict(zip(HEAD, row, strict=True)) for row in found])
    elif options.markdown:
        print(markdown(source))
    else:
        print(*aligned(found), sep="\n")
    return 0


def _of_tosa(options: Namespace) -> int:
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
