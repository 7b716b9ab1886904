"""Random edits of plans, as a person or a script might make them: legal ones, and ones that cannot be."""

from __future__ import annotations

from random import Random

import tosajit as tj


def edited(plan: tj.Plan, random: Random) -> tj.Plan:
    """The plan with one edit."""
    edits = (_tile, _tile, _order, _boxes, _resident, _cascade, _open)
    return random.choice(edits)(plan, random)


def _group(plan: tj.Plan, random: Random) -> str | None:
    names = [name for name, _ in plan]
    return random.choice(names) if names else None


def _tile(plan: tj.Plan, random: Random) -> tj.Plan:
    name = _group(plan, random)
    if name is None:
        return plan
    sizes = {
        axis: random.randint(1, extent)
        for axis, extent in plan[name].extents.items()
        if random.random() < 0.5
    }
    return plan.changed(name, tile=sizes)


def _order(plan: tj.Plan, random: Random) -> tj.Plan:
    name = _group(plan, random)
    if name is None:
        return plan
    axes = list(plan[name].extents)
    return plan.changed(name, order=random.sample(axes, random.randint(0, len(axes))))


def _boxes(plan: tj.Plan, random: Random) -> tj.Plan:
    name = _group(plan, random)
    boxes = plan[name].boxes if name is not None else None
    if name is None or not boxes:
        return plan
    return plan.changed(name, boxes={random.choice(list(boxes)): random.randint(0, 3)})


def _resident(plan: tj.Plan, random: Random) -> tj.Plan:
    part = random.choice(list(plan.parts))
    inside = list(plan.parts[part].scratchpad or ())
    others = [t for choice in plan.parts[part].groups.values() for t in choice.boxes or () if t not in inside]
    if random.random() < 0.5 and inside:
        return plan.resident(remove=[random.choice(inside)], part=part)
    return plan.resident(add=random.sample(others, min(1, len(others))), part=part)


def _cascade(plan: tj.Plan, random: Random) -> tj.Plan:
    part = random.choice(list(plan.parts))
    names = [name for name in plan.parts[part].groups if " stripe " not in name and " move " not in name]
    if len(names) < 2:
        return plan
    first = random.randrange(len(names) - 1)
    last = random.randint(first + 1, min(first + 3, len(names) - 1))
    return plan.cascaded(names[first], names[last], random.randint(1, 5), part)


def _open(plan: tj.Plan, random: Random) -> tj.Plan:
    name = _group(plan, random)
    return plan if name is None else plan.open(name)
