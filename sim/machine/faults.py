"""From what pydantic finds to faults that people understand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from sim.machine.errors import Fault, MachineError, shown
from sim.machine.figures import Figure

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails


def faults_of(part: type[BaseModel], error: ValidationError) -> list[Fault]:
    """Everything that is wrong with a part."""
    return [fault for one in error.errors(include_url=False) for fault in _faults(part, one)]


def nameless(tree: Mapping[Any, Any], path: str = "", depth: int = 0) -> Iterator[Fault]:
    """Keys of nested tables that are no names."""
    for key, value in tree.items():
        if not isinstance(key, str):
            yield Fault(path, f"{shown(key)} is not the name of a field")
        elif isinstance(value, dict) and depth < 4:
            yield from nameless(value, f"{path}.{key}".lstrip("."), depth + 1)


def _faults(part: type[BaseModel], error: ErrorDetails) -> Iterator[Fault]:
    where = [str(step) for step in error["loc"] if step != "[key]"]
    path = ".".join(step if len(step) <= 60 else shown(step) for step in where)
    inner = error.get("ctx", {}).get("error")
    if isinstance(inner, MachineError):
        yield from (fault.under(path) for fault in inner.faults)
    else:
        yield Fault(path, _text(part, where, error, inner))


def _text(part: type[BaseModel], where: list[str], error: ErrorDetails, inner: object) -> str:
    fields = part.model_fields
    name = where[0] if where else ""
    given = shown(error.get("input"))
    ctx: dict[str, Any] = error.get("ctx", {})
    match error["type"]:
        case "value_error":
            return str(inner)
        case "missing":
            return f"missing; {_sensible(name, fields.get(name))}"
        case "extra_forbidden":
            near = get_close_matches(name, fields, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(fields)}"
            return f"no such field; {hint}"
        case "literal_error":
            return f"{given} is not one of {_choices(ctx['expected'])}"
        case "bool_type" | "bool_parsing":
            return f"{given} is not true or false"
        case "model_type" | "model_attributes_type" | "dict_type":
            inside = _inside(fields.get(name))
            return f"{given} is not a table of fields{f'; there are {inside}' if inside else ''}"
        case "string_type":
            return f"{given} is not text"
        case _:
            return f"{given}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _sensible(name: str, field: FieldInfo | None) -> str:
    """What should stand in a field."""
    figures = [one for one in (field.metadata if field else ()) if isinstance(one, Figure)]
    if figures:
        return figures[0].sensible
    inside = _inside(field)
    return f"it has {inside}" if inside else f"a {name or 'value'} is needed"


def _inside(field: FieldInfo | None) -> str:
    """The fields of a field that is a part."""
    kind = field.annotation if field else None
    return ", ".join(getattr(kind, "model_fields", ()))


def _choices(expected: str) -> str:
    return expected.replace("'", "").replace(" or ", ", ")
