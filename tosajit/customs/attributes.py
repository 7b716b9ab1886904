"""Attributes of CUSTOM operators of our domain: numbers by name, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

_LONGEST = 4096
_MOST = 1 << 20
"""How many results may be asked for."""


def written(**values: float | bool) -> bytes:
    """Attributes as the operators of our domain take them."""
    return json.dumps(values, sort_keys=True).encode()


def numbers(attributes: bytes) -> Mapping[str, float]:
    """The attributes of an operator; raises `ValueError` for what is none."""
    if len(attributes) > _LONGEST:
        raise ValueError(f"attributes of {len(attributes)} bytes, where {_LONGEST} are enough")
    try:
        found = json.loads(attributes)
    except RecursionError:
        raise ValueError("attributes that are nested without end") from None
    if not isinstance(found, dict) or not all(isinstance(one, int | float) for one in found.values()):
        raise ValueError("attributes that are not numbers by name")
    return found


def count(options: Mapping[str, float], name: str) -> int:
    """An attribute that says how many results there may be."""
    number = int(options[name])
    if not 0 <= number <= _MOST:
        raise ValueError(f"{name} is {number}, but must be from 0 to {_MOST}")
    return number
