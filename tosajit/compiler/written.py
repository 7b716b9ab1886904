"""CUSTOM operators that a text defines: they are compiled like built-in ones.

A domain may have a language in which its operators are written. The text is in the attributes of the node, or
was registered for domain and name. What reads it lies above the compiler, and is loaded when first met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from tiling.nest import Nest
from tosajit.arrays import Array
from tosajit.graph.binding import Use
from tosajit.operators import CUSTOM
from tosajit.operators.lowering import Lowering

LANGUAGES: Mapping[str, str] = {"nnef": "tosajit.frontends.nnef.nests.custom"}
"""The module that reads the texts of a domain: its `written(use, text)` gives a `Written`."""


class Written(Protocol):
    """A use of an operator that a text defines."""

    @property
    def is_tiled(self) -> bool:
        """Whether nests compute it; if not, the executor calls it between programs."""

    def nests(self, at: Lowering) -> list[Nest]:
        """The nests that compute it."""

    def call(self) -> Callable[..., Sequence[Array]]:
        """What computes it, where nests cannot."""

    def estimates(self) -> Sequence[Nest]:
        """Nests that take about as long, where nests cannot compute it."""


def written(use: Use, texts: Mapping[tuple[str, str], str]) -> Written | None:
    """What the text of a CUSTOM operator says; None if it has none."""
    operator = use.operator
    if not isinstance(operator, CUSTOM):
        return None
    text = texts.get((operator.domain_name, operator.operator_name))
    language = "nnef" if text is not None else operator.domain_name
    if language not in LANGUAGES:
        return None
    read: Callable[[Use, str | None], Any] = import_module(LANGUAGES[language]).written
    found: Written = read(use, text)
    return found
