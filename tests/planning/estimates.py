"""Estimates that look at sections one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tiling.choose import Estimate, Price
from tiling.program import Operand, Section


def each(cost: Callable[[Section, Any], float]) -> Estimate:
    """The estimate that gives each section a cost, whatever comes early."""

    def prices(sections: Sequence[Section], operands: Mapping[str, Operand]) -> list[Price]:
        return [Price(cost(section, operands)) for section in sections]

    return prices
