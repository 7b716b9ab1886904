"""Spaces from and to files: .json, and .yaml where PyYAML is installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from sim.explore.area import AREA, Area
from sim.explore.errors import SpaceError
from sim.explore.values import Choices
from sim.explore.varied import Varied
from sim.files import write_whole
from sim.machine.errors import Fault, MachineError, shown
from sim.machine.finding import machine
from sim.machine.formats import SUFFIXES, parsed, yaml_text
from sim.machine.machine import Machine

Some = TypeVar("Some", bound=Varied)
WORDS = {"base": str | list | dict, "fields": dict, "constraints": list | str, "area": dict}
"""What a file may say."""
EXAMPLE = "base, fields, constraints, area"


def load(make: Callable[..., Some], path: Path) -> Some:
    """The space of a file, made from its parts; a base that is a file is looked for beside it."""
    try:
        tree = parsed(path, "space", EXAMPLE)
        return space_of(make, tree, path.parent)
    except MachineError as error:
        where = str(path)
        raise SpaceError(error.faults, error.where if error.where.startswith(where) else where) from None


def save(space: Varied, path: Path) -> None:
    """Write a file, all of it or nothing."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SpaceError(f"the file of a space must end with {', '.join(SUFFIXES)}", str(path))
    tree = tree_of(space)
    text = json.dumps(tree, indent=2, ensure_ascii=False) + "\n" if suffix == ".json" else yaml_text(tree)
    try:
        write_whole(path, text.encode("utf-8"))
    except OSError as error:
        raise SpaceError(f"cannot be written: {error.strerror}", str(path)) from None


def space_of(make: Callable[..., Some], tree: Mapping[str, Any], folder: Path = Path()) -> Some:
    """The space that a dictionary says, made from base, fields, constraints and area."""
    faults = [Fault(name, text) for name in ("base", "fields") if name not in tree for text in ("missing",)]
    for name, value in tree.items():
        if name not in WORDS:
            faults.append(Fault(shown(name), f"is not a key of a space; keys are {EXAMPLE}"))
        elif not isinstance(value, WORDS[name]):
            faults.append(Fault(name, f"{shown(value)} is not {_expected(name)}"))
    if faults:
        raise SpaceError(faults)
    base = tree["base"]
    bases = [_base(one, folder) for one in base] if isinstance(base, list) else _base(base, folder)
    return make(bases, tree["fields"], tree.get("constraints", ()), _area(tree.get("area", {})))


def tree_of(space: Varied) -> dict[str, Any]:
    """The space as a dictionary; what is as usual is left out."""
    fields: dict[str, Any] = {}
    for name, axis, given in zip(space.names, space.axes, space.ranges, strict=True):
        if given is not None:
            fields[name] = given.to_dict()
        elif isinstance(axis, Choices) and name != "base":
            fields[name] = list(axis.options)
    bases = [_spelled(one) for one in space.bases]
    tree = {"base": bases if "base" in space.names else bases[0], "fields": fields}
    if space.constraints:
        tree["constraints"] = [one.text for one in space.constraints]
    if space.area != AREA:
        tree["area"] = space.area.model_dump(mode="json")
    return tree


def _expected(name: str) -> str:
    return {
        "base": "the name of a machine, a list of them, or a table of a machine's fields",
        "fields": "a table of lists or ranges by path, e.g. array.rows: [8, 16]",
        "constraints": "a list of expressions, e.g. area <= 5",
        "area": "a table of coefficients, e.g. per_scratchpad_kib: 5000",
    }[name]


def _base(given: object, folder: Path) -> Machine:
    try:
        if isinstance(given, dict):
            return Machine(**given)
        if isinstance(given, str):
            return machine(folder / given if given.lower().endswith(SUFFIXES) else given)
    except MachineError as error:
        raise SpaceError([fault.under("base") for fault in error.faults]) from None
    raise SpaceError([Fault("base", f"{shown(given)} is not {_expected('base')}")])


def _area(given: dict[str, Any]) -> Area:
    try:
        return Area(**given)
    except MachineError as error:
        raise SpaceError([fault.under("area") for fault in error.faults]) from None


def _spelled(one: Machine) -> str | dict[str, Any]:
    """The name of a machine, if that says it all."""
    try:
        known = machine(one.name)
    except MachineError:
        return one.to_dict()
    return one.name if known == one else one.to_dict()
