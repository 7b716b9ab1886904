"""The attributes of operators as classes, whose fields are called as the source calls them."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import lru_cache
from typing import Any, get_type_hints


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of an operator."""


@lru_cache(maxsize=512)
def declared(kind: type[Attributes]) -> tuple[tuple[str, Any, bool], ...]:
    """For each attribute of a class its name, its type, and whether it has to be there."""
    hints = get_type_hints(kind)
    return tuple((one.name, hints[one.name], one.default is MISSING) for one in fields(kind))
