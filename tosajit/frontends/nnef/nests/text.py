"""What the attributes of a CUSTOM operator of domain `nnef` keep: a text that stands on its own, as JSON.

Nothing in it is trusted: it is bounded, decoded and parsed like the text of any model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from tosajit.frontends.nnef.model import Argument, Definition, Open, Operation, Tensor, tensors_of
from tosajit.frontends.nnef.values.value import Item, Value

DOMAIN = "nnef"
LONGEST = 1 << 20
"""Bytes of attributes."""
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Written:
    """An operator that is called: its text, and what the call says besides operands."""

    text: str
    operator: str
    types: tuple[str, ...] = ()
    attributes: tuple[tuple[str, Value], ...] = ()
    inputs: tuple[tuple[str, int | None], ...] | None = None
    """How many operands each input takes: -1 for a single tensor, the length of a pack, None for null.

    None if each operand is an input of its own, in their order.
    """
    opened: tuple[tuple[int, ...], ...] | None = None
    """The dimensions of each operand whose extents data decide; None where nobody asks for extents.

    Those that have such dimensions are followed, behind all operands, by their extents, an int32 for each
    dimension; so are the results.
    """
    modules: tuple[tuple[str, str], ...] = ()
    """The texts of modules that are imported besides the standard ones, by name."""


def encoded(written: Written) -> bytes:
    """The attributes that keep a call; equal calls have equal ones."""
    given: dict[str, Any] = {"text": written.text, "operator": written.operator}
    if written.types:
        given["types"] = written.types
    if written.attributes:
        given["attributes"] = dict(written.attributes)
    if written.inputs is not None:
        given["inputs"] = written.inputs
    if written.opened is not None:
        given["opened"] = written.opened
    if written.modules:
        given["modules"] = dict(written.modules)
    found = json.dumps(given, sort_keys=True, ensure_ascii=False).encode()
    if len(found) > LONGEST:
        raise ValueError(f"the text takes {len(found)} bytes, but an operator may take {LONGEST}")
    return found


def decoded(attributes: bytes) -> Written:
    """A call again; `ValueError` for what is none."""
    if len(attributes) > LONGEST:
        raise ValueError(f"they take {len(attributes)} bytes, but may take {LONGEST}")
    try:
        given = json.loads(attributes)
    except (RecursionError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"they are not JSON ({error})") from None
    if not isinstance(given, dict) or not all(
        isinstance(given.get(name), str) for name in ("text", "operator")
    ):
        raise ValueError("they have no `text` or no `operator`")
    types = given.get("types", [])
    values = given.get("attributes", {})
    inputs = given.get("inputs")
    if not isinstance(types, list) or not all(isinstance(one, str) for one in types):
        raise ValueError("`types` are no names")
    if not isinstance(values, dict):
        raise ValueError("`attributes` are not by name")
    found = tuple((name, _value(one)) for name, one in values.items())
    opened, modules = given.get("opened"), given.get("modules", {})
    if not isinstance(modules, dict) or not all(
        _MODULE.fullmatch(name) and isinstance(one, str) for name, one in modules.items()
    ):
        raise ValueError("`modules` are no texts by name")
    return Written(
        given["text"],
        given["operator"],
        tuple(types),
        found,
        None if inputs is None else _counts(inputs),
        None if opened is None else _dimensions(opened),
        tuple(modules.items()),
    )


def _dimensions(given: object) -> tuple[tuple[int, ...], ...]:
    """The dimensions of each operand that data decide."""
    rows = given if isinstance(given, list) else [given]
    if not all(isinstance(row, list) and all(type(one) is int and one >= 0 for one in row) for row in rows):
        raise ValueError("`opened` are no dimensions of operands")
    return tuple(map(tuple, rows))


def _counts(given: object) -> tuple[tuple[str, int | None], ...]:
    """How many operands each input takes."""
    found: list[tuple[str, int | None]] = []
    for pair in given if isinstance(given, list) else [given]:
        match pair:
            case [str() as name, int() | None as count] if not isinstance(count, bool):
                found.append((name, count))
            case _:
                raise ValueError("`inputs` are not names with numbers")
    return tuple(found)


def _value(given: object) -> Value:
    """A value of an attribute."""
    match given:
        case bool() | float() | str() | None:
            return given
        case int() if -(2**63) <= given < 2**63:
            return given
        case list():
            items = [_value(one) for one in given]
            if any(one is None or isinstance(one, tuple) for one in items) or len(set(map(type, items))) > 1:
                raise ValueError("the items of an attribute are not of one type")
            return tuple(cast("list[Item]", items))
    raise ValueError(f"an attribute is {type(given).__name__}")


def written_of(operation: Operation) -> Written:
    """How an operation of a model is kept."""
    definition = operation.definition
    types = tuple(operation.types[one.name] for one in definition.operator.dtypes)
    attributes = tuple(
        (name, value)
        for name, value in operation.attributes.items()
        if value is not None and name not in operation.opened
    )
    inputs = tuple((name, _count(argument)) for name, argument in operation.inputs.items())
    opened = None
    if operation.is_open:
        tensors = [one for argument in operation.inputs.values() for one in tensors_of(argument)]
        opened = tuple(_open_dimensions(one) for one in tensors)
    return Written(_own_text(definition), definition.operator.name, types, attributes, inputs, opened)


def _open_dimensions(tensor: Tensor) -> tuple[int, ...]:
    return tuple(place for place, extent in enumerate(tensor.shape) if isinstance(extent, Open))


def _own_text(definition: Definition) -> str:
    """The text that the operator needs: its own, or that of the module if it calls others."""
    operator, text = definition.operator, definition.source.text
    if operator.components is not None:
        return text
    return text[operator.span.start : operator.span.stop]


def _count(argument: Argument) -> int | None:
    if argument is None:
        return None
    return len(argument) if isinstance(argument, tuple) else -1


def custom_of(operation: Operation) -> tuple[str, str, bytes]:
    """The name, the domain and the attributes of the CUSTOM operator that an operation is."""
    return operation.definition.operator.name, DOMAIN, encoded(written_of(operation))


def grouped(counts: Sequence[tuple[str, int | None]], operands: Sequence[Any]) -> dict[str, Any]:
    """Operands by the inputs that take them; `ValueError` if there are not as many."""
    found: dict[str, Any] = {}
    place = 0
    for name, count in counts:
        if count is None:
            found[name] = None
        elif count < 0:
            found[name] = operands[place] if place < len(operands) else None
            place += 1
        else:
            found[name] = tuple(operands[place : place + count])
            place += count
    if place != len(operands):
        raise ValueError(f"its inputs take {place} operands, but there are {len(operands)}")
    return found
