"""Reading models as the options say."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tosajit.frontends import load
from tosajit.graph import Graph
from tosajit.graph.extents import Shapes


def loaded(path: Path, options: Namespace) -> Graph:
    """Read a model."""
    return load(path, signature=options.signature, shapes=shapes(options))


def shapes(options: Namespace) -> Shapes | None:
    """The shapes of inputs that are given."""
    return dict(options.shapes) or None
