"""The fields of machines as a table for documentation, from their declarations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from sim.machine.arrays import ARRAYS
from sim.machine.figures import Figure, plain
from sim.machine.machine import Machine
from sim.machine.parts import LANES, RATES
from sim.machine.weighting import EXAMPLE, MEASURES


def reference() -> str:
    """All fields in Markdown: path, default, and what is sensible."""
    lines = ["| field | default | sensible |", "|---|---|---|"]
    lines += [f"| `{path}` | {default} | {sensible} |" for path, default, sensible in _rows(Machine, "")]
    return "\n".join(lines)


def _rows(part: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in part.model_fields.items():
        path, kind = f"{prefix}{name}", field.annotation
        if name == "array":
            for one in ARRAYS.values():
                yield from _rows(one, f"{path}.")
        elif parts := [one for one in (kind, *get_args(kind)) if _is_part(one)]:
            if get_origin(kind) is tuple:
                yield path, "none", "a list of tables of fields"
                yield from _rows(parts[0], f"{path}[].")
                continue
            if field.default is None:
                yield path, "null", "a part of a machine, or null"
            yield from _rows(parts[0], f"{path}.")
        else:
            yield path, _default(field), _sensible(name, field)


def _is_part(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _default(field: FieldInfo) -> str:
    value: Any = field.default
    if field.is_required():
        return "needed"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return ", ".join(f"{key}: {plain(one)}" for key, one in value.items()) or "none"
    return plain(value) if isinstance(value, int | float) else str(value) or "empty"


def _sensible(name: str, field: FieldInfo) -> str:
    figures = [one for one in _inside(field.annotation, field.metadata) if isinstance(one, Figure)]
    keys = {"rates": RATES, "lanes": LANES}.get(name)
    if keys:
        return f"by {', '.join(keys)}; {figures[0].sensible}"
    if figures:
        return figures[0].sensible
    if get_origin(field.annotation) is Literal:
        return " or ".join(map(str, get_args(field.annotation)))
    if field.annotation is bool:
        return "true or false"
    known = {
        "sources": "text by the path of a field",
        "cycles": "cycles by kind of operation",
        "objective": f"{', '.join(MEASURES)}, or a weighting of these, e.g. {EXAMPLE}",
    }
    return known.get(name, "text")


def _inside(annotation: object, metadata: list[Any]) -> Iterator[object]:
    """Metadata of an annotation and of what it is made of."""
    yield from metadata
    yield from getattr(annotation, "__metadata__", ())
    for inner in get_args(annotation):
        yield from _inside(inner, [])
