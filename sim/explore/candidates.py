"""Candidates: a value for each name of a space."""

from __future__ import annotations

from sim.explore.values import Value

Candidate = tuple[Value, ...]
"""A value for each name of a space, as JSON has them."""
PATIENCE = 16
"""So many batches of candidates in a row may have nothing new."""


def key_of(candidate: Candidate) -> object:
    """What tells candidates apart: themselves, or their text where a part is a dictionary."""
    try:
        hash(candidate)
    except TypeError:
        return repr(candidate)
    return candidate
