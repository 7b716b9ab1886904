"""`tosajit check`."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from tiling.words import plain
from tosajit.checks.validation import validate
from tosajit.cli.building import limits
from tosajit.cli.loading import loaded
from tosajit.cli.output import print_json


def run(options: Namespace) -> int:
    """Print every violation; 1 if there are any."""
    violations = validate(loaded(options.model, options), **limits(options))
    if options.json:
        found = [{**asdict(one), "text": str(one)} for one in violations]
        print_json({"model": str(options.model), "legal": not violations, "violations": found})
    else:
        print(*violations, sep="\n", end="\n" if violations else "")
        count = len(violations)
        print(f"{plain(str(options.model), None)}: {count or 'no'} violation{'' if count == 1 else 's'}")
    return int(bool(violations))
