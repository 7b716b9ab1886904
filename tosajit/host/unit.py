"""What preparing groups for the array kernels has in common: own constants, epilogues, and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from math import prod
from typing import TypeVar
from zlib import crc32

import numpy as np

from tiling.expr import BYTES
from tiling.nest import Access, Nest
from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.host.ending import Ending, ending_of
from tosajit.host.epilogue import Text, epilogue, output_steps, substituted
from tosajit.host.match import Match
from tosajit.host.reasons import Reason
from tosajit.host.rescale import Rescale, rescale_of
from tosajit.kernels.contract.source import contract_source
from tosajit.kernels.contract.spec import LINE, ContractSpec, Epilogue
from tosajit.kernels.layout import SCRATCH, Layout
from tosajit.kernels.lines import aligned
from tosajit.kernels.link import Unit, Word
from tosajit.kernels.sets.description import InstructionSet

S = TypeVar("S", bound=IntEnum)


@dataclass
class Prepared:
    """What preparing groups for the array kernels has made."""

    groups: list[Nest] = field(default_factory=list)
    units: dict[Nest, Unit] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    temporaries: dict[str, Access] = field(default_factory=dict)
    """Results that only these groups know."""
    refused: dict[Nest, Reason] = field(default_factory=dict)
    """Why groups are done by no array kernel."""
    apart: list[tuple[list[Nest], list[Nest]]] = field(default_factory=list)
    """Nests that do a group, and those that do it without kernels of its own."""
    late: set[Nest] = field(default_factory=set)
    """Groups with a unit that they can do without until its kernel is compiled."""
    _known: dict[object, list[str]] = field(default_factory=dict)

    @property
    def without_own(self) -> list[Nest]:
        """All groups, those apart that would need kernels of their own."""
        gone = {id(nest) for nests, _ in self.apart for nest in nests}
        parts = {id(nests[-1]): parts for nests, parts in self.apart}
        kept = ([] if id(nest) in gone else [nest] for nest in self.groups)
        pairs = zip(self.groups, kept, strict=True)
        return [one for nest, same in pairs for one in parts.get(id(nest), same)]

    @property
    def at_once(self) -> dict[Nest, Unit]:
        """The units of groups that do not wait for theirs."""
        return {group: unit for group, unit in self.units.items() if group not in self.late}

    def keep(self, name: str, array: Array) -> str:
        """Hold a constant under a name, unless an equal one is held already; what it is called.

        It begins at a cache line: registers of packed weights then never cross one.
        """
        bits = array.ravel().view(np.uint8)
        known = self._known.setdefault((array.dtype, array.size, crc32(bits.data)), [])
        for other in known:
            if np.array_equal(self.constants[other].view(np.uint8), bits):
                return other
        room = aligned(bits.size)
        room[:] = bits
        self.constants[name] = room.view(array.dtype)
        known.append(name)
        return name


@dataclass(frozen=True, slots=True)
class Request:
    """A contraction to prepare, and what is known about it."""

    group: Nest
    match: Match
    constants: Mapping[str, Array]
    zero_points: tuple[int, int]
    isa: InstructionSet
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


@dataclass(frozen=True, slots=True)
class Finish:
    """What happens to the sums: vector code that rescales them, if that is it, and text for the rest."""

    text: Text
    scaled: Rescale | None
    ending: Ending | None = None
    """What vector code does with sums of float32; the text is for columns that it does not store."""

    @property
    def epilogue(self) -> Epilogue:
        """The same for the kernel's source."""
        text, scaled = self.text, self.scaled is not None
        return Epilogue(text.body, text.setup, text.functions, scaled, self.ending is not None)


NO_TEXT = Text("", "", "", (), ())


def finish_of(request: Request, bound: Array | None, first_slot: int, ends: bool = False) -> Finish | None:
    """What the group does with its sums; None if that is not for the array kernels.

    `ends` is whether its kernel can do what follows sums of float32 in registers.
    """
    group, found, isa = request.group, request.match, request.isa
    together = isa.float_rescale * isa.panels * isa.lanes
    scaled = None if bound is None else rescale_of(group, found, request.constants, bound, together)
    if scaled is not None and scaled.complete:
        return Finish(NO_TEXT, scaled)
    ending = None
    if ends and request.left.type == "f32":
        ending = ending_of(group, found, request.constants)
    if ending is not None and request.isa.masked:
        return Finish(NO_TEXT, None, ending)
    text = epilogue(group if scaled is None else substituted(group, scaled.expr), found, first_slot)
    return None if text is None else Finish(text, scaled, ending)


def raised(scaled: Rescale | None) -> Array | bool:
    """Whether sums start at 2**31."""
    return scaled is not None and scaled.raised()


def own_constants(request: Request, made: Prepared, arrays: Mapping[str, Array]) -> tuple[Access, ...]:
    """Constants in the kernels' form, as operands of the group."""
    names = {key: made.keep(f"{request.name}.{key}", array) for key, array in arrays.items()}
    return tuple(Access(names[key], f"i{8 * array.itemsize}", (), ()) for key, array in arrays.items())


def arranged(weights: Array, access: Access, group: Nest, axes: Sequence[int]) -> Array:
    """A constant operand with one dimension for each of the axes, in their order."""
    steps = access.steps(len(group.axes))
    flat = np.ascontiguousarray(weights).ravel()[access.start() :]
    shape = [group.axes[axis].extent for axis in axes]
    return np.lib.stride_tricks.as_strided(flat, shape, [steps[axis] * weights.itemsize for axis in axes])


def matrix_of(request: Request, weights: Array) -> Array:
    """Constant weights of a group as [columns][depth]."""
    found = request.match
    axes = [*([found.column] if found.column is not None else []), *found.depth]
    matrix = np.ascontiguousarray(arranged(weights, request.right, request.group, axes))
    return matrix.reshape(found.geometry.out_channels, -1)


def out_strides(group: Nest, found: Match) -> tuple[int, int, int, int]:
    """Elements between neighbours along N, D, H, W of the output."""
    steps = output_steps(group)
    n, d, h, w = (steps[axis] if axis is not None else 0 for axis in found.places)
    return n, d, h, w


def grain_of(group: Nest, found: Match, columns: int, rows: int = 1) -> tuple[int, ...]:
    """How tiles may be cut: the first axis of positions by `rows`, columns in blocks, batches one by one."""
    grain = []
    for number, axis in enumerate(group.axes[: group.outer]):
        if number in found.batch:
            grain.append(0)
        elif number == found.column:
            grain.append(columns)
        else:
            grain.append(rows if number in found.positions[:1] else axis.extent)
    return tuple(grain)


def columns_apart(request: Request, panels: int) -> int:
    """By how many columns tiles are cut: those of float32 by cache lines, others by panels done at once."""
    return LINE // BYTES["f32"] if request.left.type == "f32" else panels * request.isa.lanes


def array_unit(
    request: Request,
    group: Nest,
    finish: Finish,
    spec: ContractSpec,
    slots: type[S],
    words: Mapping[S, int],
    helpers: Mapping[int, str],
    scratch_bytes: int,
) -> Unit:
    """The unit of a group: `words` by slot, and those of its epilogue, its operands and its tiles."""
    text, scaled = finish.text, finish.scaled
    numbers = [0] * (slots["EPILOGUE"] + len(text.accesses))
    for slot, number in words.items():
        numbers[slot] = number
    if scaled is not None:
        numbers[slots["SIGN"]], numbers[slots["LOW"]] = scaled.table.sign, scaled.low
        numbers[slots["HIGH"]] = scaled.high
    ending = finish.ending
    if ending is not None:
        numbers[slots["SIGN"]] = ending.kind
        for name, number in ending.numbers.items():
            numbers[slots[name]] = number
    first = len(group.reads) + len(group.writes)
    bases: dict[int, int] = {slots["SOURCE"]: request.match.left.read, slots["OUTPUT"]: len(group.reads)}
    own = [slots[name] for name in ("WEIGHT", "INITIAL", "PARAMETERS")]
    bases |= {slot: first + place for place, slot in enumerate(own[: len(group.prepared)])}
    if ending is not None:
        reads = {"PARAMETERS": ending.bias, "OTHER": ending.other}
        bases |= {slots[name]: read for name, read in reads.items() if read is not None}
    derived = derived_words(group, request.match, bases, slots, text)
    source = contract_source(spec, finish.epilogue)
    name, every = f"{spec.kind} {spec.left} × {spec.right}", (*numbers, *text.numbers)
    return Unit(name, source, helpers, every, tuple(derived), scratch_bytes)


def derived_words(
    group: Nest, found: Match, bases: Mapping[int, int], slots: type[IntEnum], text: Text
) -> list[Word]:
    """The words that depend on where operands are and on the tile; `bases` gives the access of each slot.

    Slots of prepared operands and epilogues count as the others do.
    """
    axes = len(group.axes)
    accesses = group.accesses
    layout = Layout(axes, len(accesses))
    ahead = -sum(pad * step for pad, step in zip(found.geometry.pad, found.strides[1:], strict=True))

    def base(slot: int, number: int) -> Word:
        access = accesses[number]
        size = BYTES[access.type]
        steps = access.steps(axes) if access.index else (0,) * axes
        terms = [(layout.base + number, 1)]
        terms += [(layout.first + b, steps[b] * size) for b in found.batch if steps[b]]
        # The geometry has the offsets of the input as paddings, so its base is the first element that there
        # is; a single row or pixel has no need of them.
        own = ahead * size if slot == slots["SOURCE"] and "PAD_LEFT" in slots.__members__ else 0
        return Word(slot, -own, tuple(terms))

    words = [base(slot, number) for slot, number in bases.items()]
    words += [base(slots["EPILOGUE"] + place, number) for place, number in enumerate(text.accesses)]
    words.append(Word(slots["SCRATCH"], 0, ((SCRATCH, 1),)))
    if found.positions:
        cut, *inner = found.positions
        factor = prod(group.axes[axis].extent for axis in inner)
        words.append(Word(slots["M_LO"], 0, ((layout.first + cut, factor),)))
        words.append(Word(slots["M_HI"], 0, ((layout.end + cut, factor),)))
    if found.column is not None:
        words.append(Word(slots["N_LO"], 0, ((layout.first + found.column, 1),)))
        words.append(Word(slots["N_HI"], 0, ((layout.end + found.column, 1),)))
    return words
