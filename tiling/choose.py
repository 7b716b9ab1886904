"""Choosing: of the ways to run a nest, the one that an estimate likes best, within the room there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tiling.expr import BYTES
from tiling.menu import Menu, menu_of
from tiling.nest import Access, Affine, Nest
from tiling.program import Image, Loop, Operand, Section, box_bytes, box_shape, box_steps, dense_box
from tiling.target import Target

Estimate = Callable[[Section, Mapping[str, Operand]], float]
"""How long a section takes; its addresses are not yet known."""

LEAST_TILES = (1, 2, 4, 8, 16, 32)
"""Candidates with at least so many tiles are looked for: more tiles let transfers hide behind work."""
TILE_BYTES = (0, 256, 4096)
"""Candidates are looked for that move least if every tile costs as much as so many bytes."""
LEVELS = 3
"""Candidates are looked for in half of the room, in a quarter, …, so that more room offers what less has."""
MOST = 40
"""Candidates that are estimated."""


@dataclass(frozen=True)
class Setting:
    """Where a nest finds its operands: which accesses are used in place, and what the others cost."""

    nest: Nest
    menu: Menu
    inside: tuple[bool, ...]
    """Accesses whose operand is in the scratchpad, so that it is used in place."""
    weights: tuple[bool, ...]
    """Accesses that read constant factors of a contraction."""
    scale: tuple[float, ...]
    """Bytes on the way for a byte in the scratchpad: less than one where constants are compressed."""


def setting(nest: Nest, operands: Mapping[str, Operand], target: Target) -> Setting:
    """What a choice for a nest depends on."""
    found = [operands[access.operand] for access in nest.accesses]
    factors = weights_of(nest, operands)
    return Setting(
        nest,
        menu_of(nest, target),
        tuple(operand.place == "scratchpad" for operand in found),
        tuple(number in factors for number in range(len(found))),
        tuple(1.0 if o.stored_bytes is None else o.stored_bytes / max(o.bytes, 1) for o in found),
    )


def weights_of(nest: Nest, operands: Mapping[str, Operand]) -> frozenset[int]:
    """The accesses of a contraction that read constant factors, zero points left out."""
    if nest.verb != "contract" or nest.reduction is None:
        return frozenset()
    leaves = {leaf.number for leaf in nest.reduction.value.leaves if leaf.op == "read"}
    return frozenset(
        number
        for number in leaves
        if operands[nest.reads[number].operand].kind == "constant" and prod(nest.reads[number].shape) > 1
    )


def cheapest(at: Setting, target: Target, room: int) -> tuple[float, int]:
    """The least bytes moved by a choice that fits, and what room it takes; infinite if none fits."""
    best = (float("inf"), 0)
    for boxed in _ways(at, target):
        need, cost = _needs(at, boxed, 1)
        fitting = need <= room
        if fitting.any():
            cost = np.where(fitting, cost, np.inf)
            row = int(cost.argmin())
            best = min(best, (float(cost[row]), int(need[row])))
    return best


def choose(
    at: Setting, operands: Mapping[str, Operand], target: Target, room: int, estimate: Estimate | None
) -> Section | None:
    """The best section that fits the room, its images at address 0; None if there is none."""
    best, least = None, float("inf")
    for row, boxed, copies in _candidates(at, target, room, estimate is not None):
        section = _section(at, target, row, boxed, copies)
        if estimate is None:
            return section
        time = estimate(section, operands)
        if time < least:
            best, least = section, time
    return best


def _ways(at: Setting, target: Target) -> Iterator[np.ndarray]:
    """Which accesses have boxes: all that are not inside, or only weights, or none if units reach out."""
    outside = ~np.array(at.inside, bool)
    yield outside
    if target.direct:
        weights = np.array(at.weights, bool) & outside
        if weights.any() and (weights != outside).any():
            yield weights
        if outside.any():
            yield outside & False


def _needs(at: Setting, boxed: np.ndarray, copies: int) -> tuple[np.ndarray, np.ndarray]:
    """For each row of the menu the room it needs and the bytes it moves."""
    menu = at.menu
    twice = menu.moves[:, boxed] * (copies - 1) + 1
    need = (menu.rooms[:, boxed] * twice).sum(1) + menu.accumulators
    scale = np.array(at.scale)
    outside = ~np.array(at.inside, bool)
    in_place = outside[None] & (~boxed[None] | (menu.rooms == 0))
    moved = np.where(in_place, menu.touched, menu.loaded) * (scale * outside)
    return need, moved.sum(1)


def _candidates(
    at: Setting, target: Target, room: int, estimated: bool
) -> Iterator[tuple[int, np.ndarray, int]]:
    """Rows of the menu with the accesses that have boxes and their copies: a few that differ in kind."""
    seen: set[tuple[int, bytes, int]] = set()
    if not estimated:
        found = [
            (cost[row], row, boxed)
            for boxed in _ways(at, target)
            for need, cost in [_needs(at, boxed, 1)]
            if (need <= room).any()
            for row in [_least(cost, need <= room, at.menu, 0)]
        ]
        yield from ((row, boxed, 1) for _, row, boxed in sorted(found, key=lambda f: (f[0], int(f[2].sum()))))
        return
    for boxed in _ways(at, target):
        for copies in (1, 2):
            need, cost = _needs(at, boxed, copies)
            for row in _rows(at.menu, need, cost, room):
                key = row, boxed.tobytes(), copies if at.menu.moves[row, boxed].any() else 1
                if key not in seen and len(seen) < MOST:
                    seen.add(key)
                    yield row, boxed, key[2]


def _rows(menu: Menu, need: np.ndarray, cost: np.ndarray, room: int) -> Iterator[int]:
    for level in range(LEVELS):
        bound = room if level == 0 else 1 << max(room.bit_length() - level, 0)
        fitting = need <= bound
        if not fitting.any():
            return
        for price in TILE_BYTES:
            yield _least(cost, fitting, menu, price)
        if level == 0:
            for least in LEAST_TILES:
                enough = fitting & (menu.counts >= least)
                if enough.any():
                    yield _least(cost, enough, menu, 0)


def _least(cost: np.ndarray, fitting: np.ndarray, menu: Menu, price: int) -> int:
    """The row that moves least, and of several the one with the fewest tiles."""
    priced = np.where(fitting, cost + price * menu.counts, np.inf)
    (equal,) = np.nonzero(priced <= priced.min())
    return int(equal[menu.counts[equal].argmin()])


def _section(at: Setting, target: Target, row: int, boxed: np.ndarray, copies: int) -> Section:
    """A row of the menu as loops and images."""
    nest, menu = at.nest, at.menu
    tile = tuple(map(int, menu.tiles[row]))
    loops = tuple(
        Loop(axis, tile[axis], -(-nest.axes[axis].extent // tile[axis]))
        for axis in menu.orders[menu.order[row]]
        if tile[axis] < nest.axes[axis].extent
    )
    images = tuple(
        _image(nest, access, tile, loops, target, copies)
        if boxed[number] and menu.rooms[row, number]
        else None
        for number, access in enumerate(nest.accesses)
    )
    accumulator = None
    if nest.reduction is not None and menu.accumulators[row]:
        size = prod(tile[: nest.outer]) * BYTES[nest.reduction.type]
        accumulator = Image(0, tile[: nest.outer], size, len(loops), 1, aligned(size, target))
    several = any(not nest.axes[loop.axis].reduced for loop in loops)
    return Section(nest, loops, images, accumulator, target.cores > 1 and several and not nest.scatters)


def _image(
    nest: Nest, access: Access, tile: tuple[int, ...], loops: Sequence[Loop], target: Target, copies: int
) -> Image:
    steps = box_steps(access, nest.extents) if target.strided else ()
    steps = () if all(step == 1 for step in steps) else steps
    size = box_bytes(access, tile, steps)
    level = _level(access, loops)
    shape = box_shape(access, tile, steps)
    return Image(0, shape, size, level, copies if level else 1, aligned(size, target), steps)


def _level(access: Access, loops: Sequence[Loop]) -> int:
    """How many of the outer loops must stand still for the box to stay."""
    moving = [
        depth + 1
        for depth, loop in enumerate(loops)
        if any(isinstance(i, Affine) and i.coefficients[loop.axis] for i in access.index)
    ]
    return max(moving, default=0)


def aligned(size: int, target: Target) -> int:
    """A size with the gap behind it."""
    return -(-size // target.alignment) * target.alignment


def least_room(nest: Nest, target: Target) -> int:
    """Bytes with which some tile fits, wherever its operands are: with its reduction whole, or in parts."""
    if target.direct:
        return 0
    whole = tuple(axis.extent if axis.reduced else 1 for axis in nest.axes)
    kind = nest.reduction.type if nest.reduction is not None else None
    least = _room(nest, target, whole)
    if kind is None:
        return least
    return min(least, _room(nest, target, (1,) * len(nest.axes)) + aligned(BYTES[kind], target))


def _room(nest: Nest, target: Target, tile: tuple[int, ...]) -> int:
    """Bytes of the boxes of a tile."""
    total = 0
    for number, access in enumerate(nest.accesses):
        steps = box_steps(access, nest.extents) if target.strided else ()
        size = box_bytes(access, tile, steps)
        small = not access.indirect or 2 * _table_bytes(access) <= (target.scratch_bytes or 0)
        if small if number < len(nest.reads) else dense_box(access, tile, steps):
            total += aligned(size, target)
    return total


def _table_bytes(access: Access) -> int:
    """Bytes of all that data may choose from, at one point."""
    chosen = (e for e, i in zip(access.shape, access.index, strict=True) if not isinstance(i, Affine))
    return prod(chosen) * BYTES[access.type]


def placed(section: Section, addresses: Mapping[int, int]) -> Section:
    """The section with its images (by access; -1: the accumulator) at addresses."""
    images = tuple(
        image if image is None else replace(image, address=addresses[number])
        for number, image in enumerate(section.images)
    )
    own = section.accumulator
    return replace(
        section, images=images, accumulator=None if own is None else replace(own, address=addresses[-1])
    )
