"""`tosajit convert`."""

from __future__ import annotations

from argparse import Namespace

from tiling.words import plain
from tosajit.checks.validation import check
from tosajit.cli.loading import loaded
from tosajit.cli.output import print_json
from tosajit.errors import InputError
from tosajit.files import save


def run(options: Namespace) -> int:
    """Write a model as a `.tosa` file."""
    if options.output.suffix != ".tosa":
        raise InputError(f"{options.output}: only .tosa files can be written; name the output MODEL.tosa")
    graph = check(loaded(options.model, options))
    save(graph, options.output)
    nodes, size = sum(1 for _ in graph.nodes), options.output.stat().st_size
    if options.json:
        print_json(
            {
                "model": str(options.model),
                "output": str(options.output),
                "nodes": nodes,
                "bytes": size,
            }
        )
    else:
        print(f"{plain(str(options.output), None)}: {nodes:,} nodes, {size:,} bytes")
    return 0
