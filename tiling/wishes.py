"""Wishes: what a schedule says of one group, held against its nest, and the sections that it allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

import numpy as np

from tiling.choose import Candidate, Estimate, Price, Setting, candidate_of, setting, ways
from tiling.making import Flags, Maker
from tiling.menu import Numbers, menu_of
from tiling.nest import Nest
from tiling.program import Operand, Section
from tiling.records import replace
from tiling.schedule import IN_PLACE, Box, Choice, axis_names
from tiling.target import Target
from tiling.words import listed, plain

MOST_COPIES = 64
MOST = 40
"""Sections that are estimated of each choice of boxes."""


@dataclass(frozen=True, slots=True)
class PlanFault:
    """What is wrong with a schedule: of which group, in which field, and what would be right."""

    group: str
    field: str
    text: str

    def __str__(self) -> str:
        return ": ".join([*(plain(part) for part in (self.group, self.field) if part), self.text])


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a section: sizes by axis, the order of loops, boxes by access; None is free."""

    sizes: tuple[int | None, ...]
    order: tuple[int, ...] | None
    boxes: tuple[Box, ...]
    copies: int | None = None
    """Of boxes that are free otherwise."""
    accumulator: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it leaves nothing to choose but addresses."""
        free = None in self.sizes or self.order is None
        return not free and all(box.copies is not None for box in self.boxes)


def wish_of(choice: Choice, nest: Nest) -> Wish:
    """A choice whose names are known to be right, by position."""
    names = axis_names(nest)
    order = None
    if choice.order is not None:
        given = [names.index(name) for name in choice.order]
        kept = [axis for axis in given if axis < nest.outer]
        rest = [axis for axis in range(len(names)) if axis not in given]
        order = (
            *kept, *(axis for axis in rest if axis < nest.outer),
            *(axis for axis in given if axis >= nest.outer), *(axis for axis in rest if axis >= nest.outer),
        )  # fmt: skip
    left = {name: iter(boxes) for name, boxes in (choice.boxes or {}).items()}
    other = Box(None if choice.boxes is None else IN_PLACE)
    boxes = [next(left.get(access.operand, iter(())), other) for access in nest.accesses]
    return Wish(
        tuple(choice.tile.get(name) for name in names), order, tuple(boxes), choice.copies, choice.accumulator
    )


# Faults of a choice.


def faults_of(name: str, choice: Choice, nest: Nest, target: Target) -> Iterator[PlanFault]:
    """What a choice says that its nest or the target does not allow, wherever operands are."""
    for field, text in (
        *_made_for(choice, nest), *_tile_faults(choice.tile, nest), *_order_faults(choice, nest),
        *_box_faults(choice, nest, target),
    ):  # fmt: skip
        yield PlanFault(name, field, text)


def _made_for(choice: Choice, nest: Nest) -> Iterator[tuple[str, str]]:
    members = tuple(dict.fromkeys(nest.members))
    if choice.operators and choice.operators != members:
        yield (
            "operators",
            f"{listed(choice.operators)} in the plan, {listed(members)} in the graph; plan it again",
        )
    extents = dict(zip(axis_names(nest), nest.extents, strict=True))
    if choice.extents and dict(choice.extents) != extents:
        yield (
            "extents",
            f"{_sizes(choice.extents)} in the plan, {_sizes(extents)} in the graph; plan it again",
        )


def _sizes(extents: Mapping[str, int]) -> str:
    return " ".join(f"{plain(name)}:{size}" for name, size in extents.items()) or "none"


def _tile_faults(tile: Mapping[str, int], nest: Nest) -> Iterator[tuple[str, str]]:
    names = axis_names(nest)
    yield from _unknown("tile", tile, names, "axis", "axes")
    for name, axis in zip(names, nest.axes, strict=True):
        if not 1 <= tile.get(name, 1) <= axis.extent:
            yield (
                f"tile.{name}",
                f"{tile[name]} points, but there are {axis.extent}; 1 to {axis.extent} are possible",
            )


def _order_faults(choice: Choice, nest: Nest) -> Iterator[tuple[str, str]]:
    order, names = choice.order or (), axis_names(nest)
    yield from _unknown("order", order, names, "axis", "axes")
    if len(set(order)) < len(order):
        yield "order", f"{listed(order)} names an axis twice; name each once"
    reduced = [names.index(name) for name in order if name in names]
    flags = [nest.axes[axis].reduced for axis in reduced]
    if flags != sorted(flags):
        yield "order", f"{listed(order)}: axes that are reduced ({listed(names[nest.outer :])}) come last"


def _box_faults(choice: Choice, nest: Nest, target: Target) -> Iterator[tuple[str, str]]:
    counts: dict[str, int] = {}
    for access in nest.accesses:
        counts[access.operand] = counts.get(access.operand, 0) + 1
    yield from _unknown("boxes", choice.boxes or (), list(counts), "tensor", "tensors")
    most = MOST_COPIES if target.double_buffering else 1
    if choice.copies is not None and not 1 <= choice.copies <= most:
        yield "copies", _copies_text(choice.copies, most)
    for name, boxes in (choice.boxes or {}).items():
        if len(boxes) != counts.get(name, len(boxes)):
            yield (
                f"boxes.{name}",
                f"{len(boxes)} boxes, but it is used {counts[name]} times; give one for each use",
            )
        for box in boxes:
            if box.copies is not None and not IN_PLACE <= box.copies <= most:
                yield f"boxes.{name}", _copies_text(box.copies, most)


def _copies_text(copies: int, most: int) -> str:
    why = "" if most > 1 else ", as the machine has no double buffering"
    return f"{copies} copies, but 1 to {most} are possible{why}"


def _unknown(
    field: str, given: Iterable[str], names: list[str], what: str, several: str
) -> Iterator[tuple[str, str]]:
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = (
                f"did you mean {plain(near[0])}?" if near else f"there are {listed(names) or f'no {several}'}"
            )
            yield f"{field}.{name}", f"no {what} of this group; {hint}"


def misplaced(wish: Wish, section: Section, inside: tuple[bool, ...]) -> Iterator[tuple[str, str]]:
    """What cannot be as wished where the operands are, with a field for each."""
    nest = section.nest
    for number, (access, image) in enumerate(zip(nest.accesses, section.images, strict=True)):
        field, wanted = f"boxes.{access.operand}", wish.boxes[number].copies
        if inside[number]:
            if wanted:
                yield field, "it lives in the scratchpad, where units use it; leave the box out"
        elif wanted and image is None:
            yield (
                field,
                "it has no box, as the tile leaves gaps in it or data say what is used; leave the box out",
            )


# Sections that a wish allows.


def wished_setting(nest: Nest, operands: Mapping[str, Operand], target: Target, wish: Wish) -> Setting:
    """What the choice for a nest depends on, if its tile and its order are as wished."""
    menu = menu_of(nest, target, sizes=wish.sizes, order=wish.order)
    return replace(setting(nest, operands, target), menu=menu)


def choose_wished(
    at: Setting,
    wish: Wish,
    operands: Mapping[str, Operand],
    target: Target,
    room: int,
    estimate: Estimate | None,
) -> Candidate | None:
    """The best section with the boxes that are wished, its images at address 0."""
    sections, costs = [], []
    for section, cost in _sections(at, wish, target, room):
        sections.append(section)
        costs.append(Price(cost))
    prices = costs if estimate is None else estimate(sections, operands)
    found = [candidate_of(at, *pair, target) for pair in zip(sections, prices, strict=True)]
    return min(found, key=lambda choice: choice.price.cost, default=None)


def least_wished(at: Setting, wish: Wish, target: Target) -> int:
    """The least bytes that a section with the wished boxes takes."""
    needs = [need.min() for _, _, need, _ in _boxed(at, wish, target)]
    return int(min(needs))


def _sections(at: Setting, wish: Wish, target: Target, room: int) -> Iterator[tuple[Section, float]]:
    maker = Maker(at.nest, at.menu, target)
    for boxed, copies, need, cost in _boxed(at, wish, target):
        rows = [row for row in np.argsort(cost, kind="stable").tolist() if need[row] <= room]
        for row in islice(rows, MOST):
            section = maker.section(row, boxed, 1)
            images = tuple(
                image if image is None or not image.level else replace(image, copies=int(copies[number]))
                for number, image in enumerate(section.images)
            )
            yield replace(section, images=images), float(cost[row])


def _boxed(at: Setting, wish: Wish, target: Target) -> Iterator[tuple[Flags, Numbers, Numbers, Numbers]]:
    """Which accesses have boxes, of how many copies, and the bytes that the menu's rows need and move."""
    menu, inside = at.menu, np.array(at.inside, bool)
    given = [box.copies for box in wish.boxes]
    says = np.array([one is not None for one in given], bool)
    wanted = np.array([one or 0 for one in given], float)
    seen: set[bytes] = set()
    for way in ways(at, target):
        boxed = np.where(says, wanted > 0, way) & ~inside
        for usual in _usual(wish, target):
            copies = np.where(says, np.maximum(wanted, 1), usual) * boxed
            if (key := copies.tobytes()) in seen:
                continue
            seen.add(key)
            own, direct = boxed.astype(float), np.array(at.scale) * ~(boxed | inside)
            need = menu.rooms @ own + menu.accumulators + menu.seconds @ np.maximum(copies - 1, 0)
            yield boxed, copies, need, menu.moved @ (np.array(at.scale) * own) + menu.touched @ direct


def _usual(wish: Wish, target: Target) -> tuple[int, ...]:
    """Copies to look at for boxes of which nothing is said."""
    if wish.copies is not None:
        return (wish.copies,)
    return (1, 2) if target.double_buffering else (1,)
