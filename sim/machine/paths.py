"""Fields of a machine by path, and what changes when some of them are given anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

FREE = {"name", "description", "sources"}
"""Fields that say nothing about hardware."""
BY_KIND = {"array"}
"""Parts that have other fields where they are of another kind."""


def paths(part: BaseModel, prefix: str = "") -> Iterator[str]:
    """The paths of all fields: of parts, of their fields, and of entries of tables."""
    for name in type(part).model_fields:
        if not prefix and name in FREE:
            continue
        value, path = getattr(part, name), f"{prefix}{name}"
        yield path
        if isinstance(value, BaseModel):
            yield from paths(value, f"{path}.")
        elif isinstance(value, dict):
            yield from (f"{path}.{key}" for key in value)


def leaves(part: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Path, value and default of everything that is not made of fields; the default is `...` without one."""
    for name, field in type(part).model_fields.items():
        if not prefix and name in FREE:
            continue
        value, path = getattr(part, name), f"{prefix}{name}"
        if isinstance(value, BaseModel):
            yield from leaves(value, f"{path}.")
        else:
            yield path, value, ... if field.is_required() else field.default


def named(changes: Mapping[str, Any]) -> dict[str, Any]:
    """A tree of what is given by path."""
    tree: dict[str, Any] = {}
    for path, value in changes.items():
        *parts, last = path.split(".")
        branch = tree
        for part in parts:
            branch = branch.setdefault(part, {})
        value = value.to_dict() if hasattr(value, "to_dict") else value
        branch[last] = dict(value) if isinstance(value, Mapping) else value
    return tree


def merged(base: Mapping[str, Any], changes: Mapping[str, Any], source: str = "") -> dict[str, Any]:
    """The tree of a machine with changes; sources of what is changed go, or are `source`."""
    result = _merged(base, changes)
    places = {path for path in touched(changes) if path.partition(".")[0] not in FREE}
    kept = {
        path: text
        for path, text in base.get("sources", {}).items()
        if not any(path == one or path.startswith(f"{one}.") for one in places)
    }
    fresh = {path: source for path in places} if source else {}
    own = changes.get("sources", {})
    result["sources"] = {**kept, **fresh, **own} if isinstance(own, Mapping) else own
    return result


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for name, value in changes.items():
        old = result.get(name)
        both = isinstance(value, Mapping) and isinstance(old, Mapping)
        result[name] = _merged(old or {}, value) if both and _alike(name, old or {}, value) else value
    return result


def _alike(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether both have the same fields: of another kind of array nothing is kept."""
    return name not in BY_KIND or bool(new.get("kind", old.get("kind")) == old.get("kind"))


def touched(changes: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The paths of what a tree of changes gives anew."""
    for name, value in changes.items():
        if isinstance(value, Mapping) and value and not (name in BY_KIND and "kind" in value):
            yield from touched(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
