"""Rules: how operators are written in integers.

A rule is a function of a node, its attributes and the form of the result. Those that `keep` numbers also have
results of the form of their operands, where these share one and nothing says another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tosajit.frontends.nnef.node import Attributes

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Rule:
    """How an operator is written."""

    write: Callable[..., Any]
    attributes: type[Attributes] | None
    keeps: bool
    plain: bool
    """Whether results are no real numbers: the function takes no form then."""


RULES: dict[str, Rule] = {}
"""By the names of operators."""


def rule(
    names: str,
    attributes: type[Attributes] | None = None,
    *,
    keeps: bool = False,
    plain: bool = False,
) -> Callable[[Function], Function]:
    """Declare operators that share a rule; `names` are separated by spaces."""

    def declare(function: Function) -> Function:
        RULES.update(dict.fromkeys(names.split(), Rule(function, attributes, keeps, plain)))
        return function

    return declare
