"""Plans as trees and as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tiling.schedule import Box, Choice, Schedule, Sharing

DEPTH = 6
"""Tables inside so many others are on one line."""


def part_tree(part: Schedule) -> dict[str, Any]:
    """A part as dictionaries and lists; what is open is left out."""
    tree: dict[str, Any] = {}
    if part.sharing is not None:
        tree["cores"] = _sharing_tree(part.sharing)
    if part.scratchpad is not None:
        tree["scratchpad"] = dict(part.scratchpad)
    if part.cascades is not None:
        tree["cascades"] = [
            {"first": one.first, "last": one.last, "stripes": one.stripes} for one in part.cascades
        ]
    return {**tree, "groups": {name: choice_tree(choice) for name, choice in part.groups.items()}}


def _sharing_tree(sharing: Sharing) -> dict[str, Any]:
    """How cores share groups, as a dictionary; what is usual is left out."""
    tree: dict[str, Any] = {"ways": dict(sharing.ways)}
    if sharing.common is not None:
        tree["common"] = list(sharing.common)
    if sharing.idle:
        tree["idle"] = sharing.idle
    if sharing.channels is not None:
        tree["channels"] = sharing.channels
    return tree if sharing.level2 else {**tree, "level2": False}


def choice_tree(choice: Choice) -> dict[str, Any]:
    """How a group runs, as a dictionary."""
    tree: dict[str, Any] = {}
    if choice.operators:
        tree["operators"] = list(choice.operators)
    if choice.extents:
        tree["extents"] = dict(choice.extents)
    if choice.tile:
        tree["tile"] = dict(choice.tile)
    if choice.order is not None:
        tree["order"] = list(choice.order)
    if choice.boxes is not None:
        boxes = {name: [_box_tree(box) for box in found] for name, found in choice.boxes.items()}
        tree["boxes"] = {name: found[0] if len(found) == 1 else found for name, found in boxes.items()}
    if choice.copies is not None:
        tree["copies"] = choice.copies
    if choice.accumulator is not None:
        tree["accumulator"] = choice.accumulator
    return tree


def _box_tree(box: Box) -> dict[str, Any]:
    fields = {"copies": box.copies, "address": box.address}
    tree: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    return {**tree, "ahead": [list(one) for one in box.ahead]} if box.ahead else tree


def text_of(tree: Mapping[str, Any]) -> str:
    """A tree as JSON, with a line for each field of a group."""
    return _text(tree, 0) + "\n"


def _text(tree: object, depth: int) -> str:
    indent = "  " * (depth + 1)
    if isinstance(tree, dict) and tree and depth < DEPTH - 1:
        lines = [f"{indent}{json.dumps(name)}: {_text(value, depth + 1)}" for name, value in tree.items()]
    elif isinstance(tree, list) and tree and all(isinstance(one, dict) for one in tree):
        lines = [f"{indent}{json.dumps(one)}" for one in tree]
    else:
        return json.dumps(tree)
    start, end = "{}" if isinstance(tree, dict) else "[]"
    return "\n".join([start, ",\n".join(lines), f"{indent[2:]}{end}"])
