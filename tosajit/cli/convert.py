"""`tosajit convert`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tiling.words import plain
from tosajit.checks.validation import check
from tosajit.cli.loading import loaded
from tosajit.cli.output import print_json
from tosajit.errors import InputError
from tosajit.files import save
from tosajit.graph import Graph


def run(options: Namespace) -> int:
    """Write a model as a `.tosa` file, or as a folder of NNEF."""
    if options.output.suffix not in (".tosa", ".nnef2"):
        raise InputError(
            f"{options.output}: only .tosa files and .nnef2 folders can be written; name it MODEL.tosa"
        )
    graph = check(loaded(options.model, options))
    size = _written(graph, options.output)
    nodes = sum(1 for _ in graph.nodes)
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


def _written(graph: Graph, output: Path) -> int:
    """Write a graph in the format that the name of the output says; how many bytes it takes."""
    if output.suffix == ".tosa":
        save(graph, output)
        return output.stat().st_size
    from tosajit.frontends.nnef.writing import save_model

    return save_model(graph, output)
