"""`tosajit convert`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tiling.words import plain
from tosajit.checks.validation import check
from tosajit.cli.loading import loaded
from tosajit.cli.output import print_json
from tosajit.errors import InputError
from tosajit.frontends import save
from tosajit.graph import Graph


def run(options: Namespace) -> int:
    """Write a model as a `.tosa` file, as a text of MLIR, or as a folder of NNEF."""
    if options.output.suffix not in (".tosa", ".mlir", ".nnef2"):
        known = "only .tosa and .mlir files and .nnef2 folders can be written"
        raise InputError(f"{options.output}: {known}; name it MODEL.tosa")
    if options.form is not None and options.output.suffix != ".mlir":
        raise InputError(f"--form {options.form}: only texts of MLIR have several forms; name it MODEL.mlir")
    graph = check(loaded(options.model, options))
    size = _written(graph, options.output, options.form)
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


def _written(graph: Graph, output: Path, form: str | None) -> int:
    """Write a graph in the format that the name of the output says; how many bytes it takes."""
    if output.suffix != ".nnef2":
        save(graph, output, form=form)
        return output.stat().st_size
    from tosajit.frontends.nnef.writing import save_model

    return save_model(graph, output)
