"""Which tiles are looked at, and that the best of them is taken: against all rows of a menu."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from tests.planning.estimates import each
from tests.planning.test_menu import NESTS, product_of, transposed, window
from tiling.choose import (
    BEYOND,
    Setting,
    cheapest,
    choose,
    least_room,
    offers_of,
    setting,
    weights_of,
)
from tiling.making import aligned
from tiling.menu import menu_of
from tiling.nest import Nest
from tiling.plan import fits
from tiling.program import Operand, OperandKind, Section
from tiling.residence import Residence
from tiling.target import Target

LARGE: dict[str, Nest] = {
    **NESTS,
    "large product": product_of(196, 96, 300),
    "large window": window(112, 24, 2, 5),
    "large transposition": transposed(200, 75),
}
TARGETS = {
    "plain": Target("plain", 6 << 10, 16),
    "one copy": Target("one copy", 6 << 10, 16, double_buffering=False),
    "direct": Target("direct", 6 << 10, 16, direct=True, strided=True),
}


def operands_of(nest: Nest, inside: str = "", constant: str = "b") -> dict[str, Operand]:
    """Operands of a nest, one of them in the scratchpad, one a constant that is stored in less."""
    found = {}
    for access in nest.accesses:
        kind: OperandKind = "constant" if access.operand == constant else "input"
        operand = Operand(access.operand, access.type, int(np.prod(access.shape)), kind)
        operand = replace(operand, stored_bytes=operand.bytes // 2) if kind == "constant" else operand
        found[access.operand] = replace(operand, place="scratchpad") if access.operand == inside else operand
    return found


@pytest.mark.parametrize(
    "name", ["product", "large table", "large product", "large window", "large transposition"]
)
def test_candidates_are_those_that_were_looked_at(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"candidates_{name.replace(' ', '_')}", "\n".join(candidates(LARGE[name])))


def candidates(nest: Nest) -> Iterator[str]:
    """For some targets and rooms: the tiles looked at, loops in order, boxes, copies and room."""
    for title, target in TARGETS.items():
        for room, nests in ((6 << 10, 1), (3 << 10, 1000), (700, 1)):
            at = setting(nest, operands_of(nest), target, nests)
            yield f"{title} {room}, of {nests} nests"
            for row, boxed, copies, need in _offered(at, target, room):
                tile = "×".join(str(int(size)) for size in at.menu.tiles[row])
                order = "".join(map(str, at.menu.orders[at.menu.order[row]]))
                boxes = "".join(str(int(box)) for box in boxed)
                yield f"  {tile} in {order}: boxes {boxes} × {copies}, {need:g} bytes"


def _offered(at: Setting, target: Target, room: int) -> list[tuple[int, tuple[bool, ...], int, float]]:
    offers = offers_of(at, target, room)
    boxed = [tuple(map(bool, one)) for one in offers.boxed]
    return list(zip(offers.rows, boxed, offers.copies, offers.needs, strict=True))


@pytest.mark.parametrize("title", TARGETS)
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("nests", [1, 1000])
def test_what_a_room_offers_a_larger_one_offers_too(name: str, title: str, nests: int) -> None:
    target = TARGETS[title]
    at = setting(LARGE[name], operands_of(LARGE[name]), target, nests)
    before: set[tuple[int, tuple[bool, ...], int, float]] = set()
    for room in (0, 300, 700, 1111, 3 << 10, 6 << 10, 1 << 16, 1 << 30):
        found = set(_offered(at, target, room))
        assert before <= found
        assert all(need <= room for *_, need in found)
        before = found
    assert before


@pytest.mark.parametrize("title", TARGETS)
@pytest.mark.parametrize("name", LARGE)
def test_offers_move_and_need_what_they_say(name: str, title: str) -> None:
    target = TARGETS[title]
    at = setting(LARGE[name], operands_of(LARGE[name]), target)
    offers = offers_of(at, target, 6 << 10)
    assert [room_of(section, target) for section in offers] == offers.needs
    for section, early in zip(offers, offers.early, strict=True):
        boxes = zip(section.images, at.constant, at.scale, strict=False)
        size = sum(scale * i.pitch for i, fixed, scale in boxes if i is not None and fixed)
        assert size == pytest.approx(early)


@pytest.mark.parametrize("title", TARGETS)
@pytest.mark.parametrize("name", NESTS)
@pytest.mark.parametrize("inside", ["", "a"])
def test_without_an_estimate_the_least_bytes_are_moved(name: str, title: str, inside: str) -> None:
    nest, target = NESTS[name], TARGETS[title]
    operands = operands_of(nest, inside)
    at = setting(nest, operands, target)
    for room in (100, 777, 4096):
        found = choose(at, operands, target, room, room, None).best
        cost, need = cheapest(at, target, room)
        if not found:
            assert cost == inf
            continue
        (choice,) = found
        assert choice.price.cost == pytest.approx(cost)
        assert room_of(choice.section, target) == choice.need == need <= room
        assert [image is not None for image in choice.section.images] <= [a != inside for a in names(nest)]


def names(nest: Nest) -> list[str]:
    return [access.operand for access in nest.accesses]


@pytest.mark.parametrize("name", NESTS)
def test_a_nest_fits_from_the_least_room_on(name: str) -> None:
    nest = NESTS[name]
    roomy = Target("some", 1 << 20, 16)
    for capacity in range(16, 2000, 16):
        target = replace(roomy, scratch_bytes=capacity)
        at, operands = setting(nest, operands_of(nest), target), operands_of(nest)
        found = choose(at, operands, target, capacity, capacity, None).best
        assert bool(found) == (at.menu.least <= capacity)
        assert at.menu.least <= least_room(nest, target) or not fits(nest, target)
        if at.menu.least == least_room(nest, target):
            assert fits(nest, target) == bool(found)


def test_of_equal_times_less_room_wins_and_room_beyond_what_is_free_must_pay() -> None:
    nest, target = NESTS["product"], TARGETS["plain"]
    operands = operands_of(nest)
    at = setting(nest, operands, target)

    def even(section: Section, _: object) -> float:
        return 1.0

    rooms = offers_of(at, target, 6 << 10).needs
    found = choose(at, operands, target, 6 << 10, 6 << 10, each(even)).best
    assert room_of(found[0].section, target) == min(rooms)
    smallest, largest = min(rooms), max(rooms)
    free = int(smallest)

    for gain, wins in ((1 + BEYOND / 2, False), (1 + 2 * BEYOND, True)):

        def better(section: Section, _: object, gain: float = gain) -> float:
            return 1.0 if room_of(section, target) == largest else gain

        chosen = choose(at, operands, target, 6 << 10, free, each(better)).best
        assert (room_of(chosen[0].section, target) == largest) == wins


def room_of(section: Section, target: Target) -> int:
    """Bytes of the scratchpad that a section takes."""
    images = (*section.images, section.accumulator)
    return sum(aligned(image.end, target) for image in images if image is not None)


def test_factors_that_are_constants_are_weights() -> None:
    nest = replace(NESTS["product"], verb="contract")
    constant = operands_of(nest)
    reduction = nest.reduction
    assert reduction is not None
    assert weights_of(nest, constant) == frozenset()  # the sum reads `a` alone
    assert weights_of(nest, operands_of(nest, constant="a")) == {0}
    assert weights_of(replace(nest, verb="reduce"), operands_of(nest, constant="a")) == frozenset()
    one = replace(nest.reads[0], shape=(1, 1))
    small = replace(nest, reads=(one, *nest.reads[1:]))
    assert weights_of(small, operands_of(nest, constant="a")) == frozenset()
    assert menu_of(nest, TARGETS["plain"]).least > 0


def test_the_merit_of_a_tensor_is_what_it_spares_for_its_room_and_time() -> None:
    nests = [replace(NESTS["product"], members=(str(n),)) for n in range(4)]
    operands = operands_of(nests[0])
    operands["a"] = replace(operands["a"], kind="temporary")
    found = Residence(nests, operands, replace(TARGETS["plain"], values="scratchpad", constants="scratchpad"))
    assert found._merit("a") == 1  # used in each of the four steps
    assert operands["b"].stored_bytes == operands["b"].bytes // 2
    assert found._merit("b") == 1 / 2
    two = Residence(nests[:1], operands, replace(TARGETS["plain"], constants="scratchpad"))
    assert two._merit("b") == 1 / 2
    assert found.spare == found.capacity
    found._enter("a")
    found._enter("b")
    assert found.spare == found.capacity - sum(found.stays[name].life.bytes for name in "ab")
    found._leave("b")
    assert found.left.tolist() == [found.capacity - found.stays["a"].life.bytes] * 4
