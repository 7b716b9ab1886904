"""The operation of a call: a text, what the call says, and the types and shapes of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tosajit.frontends.nnef.compose import Library, invoke
from tosajit.frontends.nnef.compose.checker import check
from tosajit.frontends.nnef.library import Standard
from tosajit.frontends.nnef.model import Argument, Definition, Extent, Open, Operation, Tensor
from tosajit.frontends.nnef.nests.text import Written, grouped

Form = tuple[str, tuple[int, ...]]
"""The type and shape of an operand."""
Modules = tuple[tuple[str, str], ...]
"""Texts by the names that imports have for them."""


@lru_cache(maxsize=256)
def _library(text: str, modules: Modules) -> Library:
    """The modules of a text without faults."""
    library = Library({**dict(modules), "main": text}, Standard())
    check(library, graph=False)
    return library


def definition_of(text: str, operator: str, modules: Modules = ()) -> Definition:
    """An operator of a text; `ValueError` if it has none of that name."""
    known = _library(text, modules).main.definitions
    if operator not in known:
        raise ValueError(f"the text has no operator {operator!r}; it has {', '.join(known) or 'none'}")
    return known[operator]


def operator_names(text: str, modules: Modules = ()) -> list[str]:
    """The operators of a text."""
    return list(_library(text, modules).main.definitions)


@lru_cache(maxsize=256)
def _bound(call: Written, forms: tuple[Form, ...]) -> Operation:
    """The operation of a call on operands of such types and shapes."""
    definition = definition_of(call.text, call.operator, call.modules)
    names = [one.name for one in definition.operator.inputs]
    operands = _operands(call, forms)
    counts = call.inputs or tuple(
        (name, -1 if place < len(operands) else None) for place, name in enumerate(names)
    )
    inputs: dict[str, Argument] = grouped(counts, operands)
    return invoke(
        definition, _library(call.text, call.modules), types=call.types, attributes=dict(call.attributes),
        inputs=inputs,
    )  # fmt: skip


def _operands(call: Written, forms: tuple[Form, ...]) -> list[Tensor]:
    """Tensors for operands; extents of those whose shape data decide stand behind all of them."""
    opened = call.opened if call.opened is not None else ((),) * len(forms)
    wanted = [
        ("int", (len(forms[place][1]),)) for place, one in enumerate(opened) if one and place < len(forms)
    ]
    if list(forms[len(opened) :]) != wanted or len(forms) < len(opened):
        raise ValueError(f"`opened` asks for {len(opened)} operands and the extents of {len(wanted)}")
    made: list[Tensor] = []
    for place, ((kind, shape), dimensions) in enumerate(zip(forms, opened, strict=False)):
        name, found = f"input{place}", list[Extent](shape)
        if any(one >= len(shape) for one in dimensions):
            raise ValueError(f"`opened` has a dimension of operand {place} beyond its {len(shape)}")
        for one in dimensions:
            found[one] = Open(shape[one])
        extents = Tensor(f"{name}.extents", "int", (len(shape),)) if dimensions else None
        made.append(Tensor(name, kind, tuple(found), "input", extents=extents))
    return made


def operation_of(call: Written, forms: Sequence[Form]) -> Operation:
    """The operation of a call on operands of such types and shapes."""
    return _bound(call, tuple(forms))
