"""Networks for tests: the samples of the package, and larger ones that are only in the repository."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tosajit import samples
from tosajit.frontends import load
from tosajit.graph import Graph

OWN = Path(__file__).parent / "data"
NAMES = (*samples.names(), "mobilenet_v2")
"""The networks of integers."""


def folder(name: str) -> Path:
    """Where a network is, with the arrays of its cases."""
    return OWN / name if (OWN / name).is_dir() else samples.path(name).parent


@cache
def graph(name: str) -> Graph:
    """A network, which several tests use."""
    return load(folder(name) / "model.tosa")


@cache
def cases(name: str) -> tuple[samples.Case, ...]:
    """Its inputs with the outputs that belong to them."""
    return samples.read_cases(folder(name))
