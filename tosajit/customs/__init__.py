"""CUSTOM operators whose meaning tosajit knows: what TOSA cannot say, but whose results have a bound.

Front ends write them, in the domain `tosajit`. They are computed on the host with NumPy, from attributes that
are JSON. A name of a file is looked up in a table of these functions, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from tosajit.errors import InputError

DOMAIN = "tosajit"
CUT = "CUT"
"""The operator whose result may be smaller than it is declared: only outputs of a graph are."""


def meaning(name: str) -> Callable[..., Any] | None:
    """The function that computes an operator of our domain; None if there is no such operator."""
    found = _functions().get(name)
    return None if found is None else _guarded(name, found)


def names() -> tuple[str, ...]:
    """All operators of our domain."""
    return tuple(_functions())


def _functions() -> Mapping[str, Callable[..., Any]]:
    from tosajit.customs.detection import detection_post_process
    from tosajit.customs.search import cut, distinct, unique, where
    from tosajit.customs.suppression import class_suppression, non_max_suppression

    return {
        "CLASS_SUPPRESSION": class_suppression,
        CUT: cut,
        "DETECTION_POST_PROCESS": detection_post_process,
        "DISTINCT": distinct,
        "NON_MAX_SUPPRESSION": non_max_suppression,
        "UNIQUE": unique,
        "WHERE": where,
    }


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that says so where operands or attributes, which a file has, are not those it takes."""

    @wraps(function)
    def guarded(*arrays: Any, attributes: bytes) -> Any:
        try:
            return function(*arrays, attributes=attributes)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            text = f"its operands or attributes make no sense ({type(error).__name__}: {error})"
            raise InputError(f"{name} (CUSTOM of domain {DOMAIN}): {text}") from None

    return guarded
