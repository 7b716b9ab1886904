"""Preparing groups for the array kernels: constants in their form, nests that pack the rest, and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from typing import Any

import numpy as np

from tiling.expr import BYTES, reads_of, walk
from tiling.nest import Access, Nest
from tosajit.host.epilogue import Text, epilogue, substituted
from tosajit.host.lookup import LIBRARY, lookup
from tosajit.host.match import Match, match
from tosajit.host.rescale import Rescale, rescale_of
from tosajit.kernels.layout import SCRATCH, Layout
from tosajit.link import Unit, Word

Array = np.ndarray[Any, Any]
FIRST = 64
"""A slot behind all of the kernels' own, for trying whether an epilogue can be written."""


@dataclass
class Prepared:
    """What preparing groups for the array kernels has made."""

    groups: list[Nest] = field(default_factory=list)
    units: dict[Nest, Unit] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    temporaries: dict[str, Access] = field(default_factory=dict)
    """Results that only these groups know."""


@dataclass(frozen=True, slots=True)
class Request:
    """A contraction to prepare, and what is known about it."""

    group: Nest
    match: Match
    constants: Mapping[str, Array]
    zero_points: tuple[int, int]
    library: str
    number: int
    number: int
    """Of the group in its program."""

    @property
    def left(self) -> Access:
        """The read of the activations."""
        return self.group.reads[self.match.left.read]

    @property
    def right(self) -> Access:
        """The read of the weights."""
        return self.group.reads[self.match.right.read]

    @property
    def weights(self) -> Array | None:
        """The weights if they are constant."""
        return self.constants.get(self.right.operand)

    @property
    def name(self) -> str:
        """What the group's own operands are called after."""
        return f"{self.group.writes[0].access.operand}.{self.number}"


def prepare(groups: Sequence[Nest], constants: Mapping[str, Array], library: str | None) -> Prepared:
    """Give the contractions that the array kernels can do to them; the others stay as they are."""
    from tosajit.host.convolution import convolution
    from tosajit.host.depthwise import depthwise

    made = Prepared()
    for number, group in enumerate(groups):
        request = _request(group, constants, library, number)
        if request is None:
            made.groups.append(group)
            unit = lookup(group, constants) if library == LIBRARY else None
            made.units |= {group: unit} if unit is not None else {}
        elif request.match.depthwise:
            made.groups += depthwise(request, made)
        else:
            made.groups += convolution(request, made)
    return made


def supports(group: Nest) -> bool:
    """Whether an array kernel does all of a group well: beside sums, one scaling of them and a clamp.

    More work on the results is faster on its own, over rows longer than those of register tiles.
    """
    found = match(group)
    if found is None:
        return True
    exprs = [write.value for write in group.writes]
    scalings = {node for expr in exprs for node in walk(expr) if node.op.startswith("rescale_")}
    beside = [group.reads[number] for expr in exprs for number in reads_of(expr)]
    steps = [access.steps(len(group.axes)) for access in beside]
    if len(scalings) > 1 or any(access.indirect for access in beside) or any(s[axis] for s in steps for axis in found.rows):
        return False
    return epilogue(group, found, FIRST) is not None


def _request(
    group: Nest, constants: Mapping[str, Array], library: str | None, number: int
) -> Request | None:
    found = match(group) if library else None
    if found is None or library is None:
        return None
    points = _zero_points(group, found, constants)
    types = group.reads[found.left.read].type, group.reads[found.right.read].type
    if points is None or types not in (("i8", "i8"), ("i16", "i8"), ("i16", "i16")):
        return None
    if len(found.batch) > 1 or (found.batch and found.geometry.kernel != (1, 1, 1)):
        return None
    return Request(group, found, constants, points, library, number)


def _zero_points(group: Nest, found: Match, constants: Mapping[str, Array]) -> tuple[int, int] | None:
    """Both zero points if they are constants."""
    points = []
    for factor in (found.left, found.right):
        array: Array | None = np.zeros(1, np.int8)
        if factor.zero_point is not None:
            array = constants.get(group.reads[factor.zero_point].operand)
        if array is None:
            return None
        points.append(int(array.reshape(-1)[0]))
    return points[0], points[1]


def epilogue_of(request: Request, bound: Array | None, first_slot: int) -> tuple[Text, Rescale | None] | None:
    """The epilogue's text, and the rescale that the vector code does ahead of it."""
    group, found = request.group, request.match
    scaled = None if bound is None else rescale_of(group, found, request.constants, bound)
    if scaled is not None and scaled.complete:
        return Text("", "", "", (), ()), scaled
    text = epilogue(group if scaled is None else substituted(group, scaled.expr), found, first_slot)
    return None if text is None else (text, scaled)


def arranged(weights: Array, access: Access, group: Nest, axes: Sequence[int]) -> Array:
    """A constant operand with one dimension for each of the axes, in their order."""
    steps = access.steps(len(group.axes))
    flat = np.ascontiguousarray(weights).reshape(-1)[access.start() :]
    shape = [group.axes[axis].extent for axis in axes]
    return np.lib.stride_tricks.as_strided(flat, shape, [steps[axis] * weights.itemsize for axis in axes])


def grain_of(group: Nest, found: Match, shared: int | None, columns: int) -> tuple[int, ...]:
    """How tiles may be cut: one axis of positions anywhere, columns in blocks, batches one by one."""
    grain = []
    for number, axis in enumerate(group.axes[: group.outer]):
        if number in found.batch:
            grain.append(0)
        elif number == found.column:
            grain.append(columns)
        else:
            grain.append(1 if number == shared else axis.extent)
    return tuple(grain)


def derived_words(
    group: Nest, found: Match, bases: Mapping[int, int], slots: type[IntEnum], text: Text, shared: int | None
) -> list[Word]:
    """The words that depend on where operands are and on the tile; `bases` gives the access of each slot.

    Slots of prepared operands and epilogues count as the others do; `shared` is the axis that tiles may cut.
    """
    axes = len(group.axes)
    accesses = (*group.reads, *(write.access for write in group.writes), *group.prepared)
    layout = Layout(axes, len(accesses))

    def base(slot: int, number: int) -> Word:
        access = accesses[number]
        steps = access.steps(axes) if access.index else (0,) * axes
        terms = [(layout.base + number, 1)]
        terms += [(layout.first + b, steps[b] * BYTES[access.type]) for b in found.batch if steps[b]]
        # The geometry has the offsets of the input as paddings, so its base is the operand's first element.
        own = access.start() * BYTES[access.type] if number == found.left.read and slot == slots["SOURCE"] else 0
        return Word(slot, -own, tuple(terms))

    words = [base(slot, number) for slot, number in bases.items()]
    words += [base(slots["EPILOGUE"] + place, number) for place, number in enumerate(text.accesses)]
    words.append(Word(slots["SCRATCH"], 0, ((SCRATCH, 1),)))
    if shared is not None:
        kept = [axis for axis in found.rows if axis != shared and (not found.depthwise or axis != found.places[3])]
        inner = prod(group.axes[axis].extent for axis in kept)
        words += [
            Word(slots["M_LO"], 0, ((layout.first + shared, inner),)),
            Word(slots["M_HI"], 0, ((layout.end + shared, inner),)),
        ]
    if found.column is not None:
        words.append(Word(slots["N_LO"], 0, ((layout.first + found.column, 1),)))
        words.append(Word(slots["N_HI"], 0, ((layout.end + found.column, 1),)))
    return words
