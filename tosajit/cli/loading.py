"""Reading models as the options say."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tosajit.errors import InputError
from tosajit.frontends import load
from tosajit.graph import Graph
from tosajit.graph.extents import Shapes


def loaded(path: Path, options: Namespace) -> Graph:
    """Read a model."""
    attributes = dict(options.attribute)
    if clash := attributes.keys() & {
        "signature",
        "shapes",
        "narrow",
        "graph",
        "weights",
        "stdlib",
        "quantized",
    }:
        raise InputError(f"--attribute {clash.pop()}: this name is no attribute's; rename it in the text")
    return load(
        path,
        signature=options.signature,
        shapes=shapes(options),
        narrow=options.narrow,
        weights=0.0 if options.zeros else None,
        stdlib=options.stdlib,
        quantized=options.quantized,
        **attributes,
    )


def shapes(options: Namespace) -> Shapes | None:
    """The shapes of inputs that are given."""
    return dict(options.shapes) or None
