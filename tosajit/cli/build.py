"""`tosajit build`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tiling.words import plain
from tosajit.cli.building import built
from tosajit.cli.output import print_json


def run(options: Namespace) -> int:
    """Compile a model and write the executable."""
    output: Path = options.output or Path(f"{options.model.resolve().stem}.tjx")
    built(options.model, options).save(output)
    size = output.stat().st_size
    if options.json:
        print_json({"model": str(options.model), "output": str(output), "bytes": size})
    else:
        print(f"{plain(str(output), None)}: {size:,} bytes")
    return 0
