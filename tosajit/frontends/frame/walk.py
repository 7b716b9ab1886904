"""What the walks of front ends share, whose models have graphs or functions inside of each other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from tosajit.frontends.frame.proportion import Proportion
from tosajit.frontends.frame.refusal import Refusals

Model = TypeVar("Model")
T = TypeVar("T")


class Lowering(Generic[Model]):
    """What the graphs and functions of a model share on their way."""

    def __init__(self, model: Model, proportion: Proportion) -> None:
        self.model, self.proportion = model, proportion
        self.refusals = Refusals()

    def tried(self, lower: Callable[[], T]) -> T | None:
        """What a lowering gives, or nothing if it is refused, which nobody is told then."""
        told, self.refusals = self.refusals, Refusals()
        try:
            with suppress(Unlowered), self.refusals.collecting("", ""):
                return lower()
            return None
        finally:
            self.refusals = told


class Unlowered(Exception):
    """Raised where a graph has nodes that are refused: these are noted already."""
