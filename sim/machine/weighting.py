"""What plans make least: time, energy, traffic, or a weighting of these, such as `time + 0.2 traffic`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any

from sim.machine.errors import shown

MEASURES = ("time", "energy", "traffic")
EXAMPLE = "time + 0.2 traffic"
MOST = 1e6


def weighting(given: Any) -> str:
    """A weighting in its only form, from a text or from weights by name; raises `ValueError`."""
    weights = weights_of(given)
    terms = [(name, weights[name]) for name in MEASURES if weights.get(name)]
    if not terms:
        raise ValueError(f"nothing has a weight; write one of {', '.join(MEASURES)}, or {EXAMPLE}")
    return " + ".join(name if weight == 1 else f"{_number(weight)} {name}" for name, weight in terms)


def weights_of(given: Any) -> dict[str, float]:
    """The weights by name."""
    found: dict[str, float] = {}
    for name, weight in _terms(given):
        if name not in MEASURES:
            near = get_close_matches(name[:40], MEASURES, 1)
            remedy = f"did you mean {near[0]}?" if near else f"write one, or a weighting such as {EXAMPLE}"
            raise ValueError(f"{shown(name)} is not one of {', '.join(MEASURES)}; {remedy}")
        if name in found:
            raise ValueError(f"{name} is weighed twice; give it one weight")
        if not (isfinite(weight) and 0 <= weight <= MOST):
            raise ValueError(f"{name} has the weight {weight:g}, but weights are 0 to {MOST:g}, e.g. 0.2")
        found[name] = weight
    return found


def _terms(given: Any) -> Iterator[tuple[str, float]]:
    if isinstance(given, Mapping):
        for name, weight in given.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float):
                raise ValueError(f"{shown(weight)} is not a weight of {shown(name)}; e.g. 0.2")
            yield str(name), float(weight)
    elif isinstance(given, str):
        for term in given.split("+"):
            yield _term(term)
    else:
        raise ValueError(
            f"{shown(given)} is not one of {', '.join(MEASURES)}, nor a weighting such as {EXAMPLE}"
        )


def _term(text: str) -> tuple[str, float]:
    *before, name = text.replace("*", " ").split() or [""]
    if not before:
        return name, 1.0
    try:
        (weight,) = map(float, before)
    except ValueError:
        raise ValueError(f"{shown(text.strip())} is not a weight and a name; write {EXAMPLE}") from None
    return name, weight


def _number(weight: float) -> str:
    return str(int(weight)) if weight == int(weight) else repr(weight)
