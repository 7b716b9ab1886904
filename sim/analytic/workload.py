"""A graph as a table: what each of its layers asks for, whatever the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.cost.forms import Form, Step, form_of
from sim.cost.geometry import geometry, skipped_macs
from sim.cost.vector import along_lanes, move_runs
from tiling.cascade import HELD_BYTES
from tiling.choose import LARGE, weights_of
from tiling.expr import BYTES
from tiling.nest import Nest
from tiling.program import Operand, box_bytes

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

PRODUCT, MAP, REDUCE, MOVE = range(4)
"""What a layer is."""
SMALL = 256
"""Bytes up to which a constant is loaded whole, at once."""


@dataclass(frozen=True)
class Edges:
    """Which tensors each layer reads, or writes: those of a layer lie between two ends."""

    tensors: Places
    ends: Places
    """Layers + 1."""

    @staticmethod
    def of(rows: Sequence[Sequence[int]]) -> Edges:
        """Those of numbers by layer."""
        ends = np.cumsum([0, *(len(row) for row in rows)])
        return Edges(np.array([number for row in rows for number in row], np.int64), ends)

    def sums(self, values: Numbers) -> Numbers:
        """Sums over the edges of each layer of a value for each edge, the last dimension."""
        total = np.concatenate((np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)), axis=-1)
        found: Numbers = total[..., self.ends[1:]] - total[..., self.ends[:-1]]
        return found


@dataclass(frozen=True)
class Tensors:
    """Activations: their bytes, how long they live, and who writes and reads them."""

    names: tuple[str, ...]
    bytes: Numbers
    first: Places
    """The layers in which they begin and end."""
    last: Places
    kept: Flags
    """Whether it may stay in the scratchpad: inputs and outputs of the graph come from outside and leave."""
    read: Edges
    written: Edges
    after: Numbers
    """For each reading, whether the layer in front writes it."""

    def passed(self, sizes: Numbers) -> tuple[Numbers, Numbers]:
        """Sums of what each layer reads, and writes, of sizes by tensor in the last dimension."""
        read, written = self.read, self.written
        return read.sums(sizes[..., read.tensors]), written.sums(sizes[..., written.tensors])

    def alive(self, sizes: Numbers) -> Numbers:
        """Bytes in each layer, of sizes by tensor in the last dimension."""
        layers = len(self.read.ends)
        change = np.zeros((*sizes.shape[:-1], layers))
        for number, (first, last) in enumerate(zip(self.first.tolist(), self.last.tolist(), strict=True)):
            change[..., first] += sizes[..., number]
            change[..., last + 1] -= sizes[..., number]
        return np.cumsum(change, axis=-1)[..., :-1]


@dataclass(frozen=True)
class Workload:
    """Layers of a graph, a row of numbers each; made once, evaluated on any number of machines."""

    nests: tuple[Nest, ...]
    operands: Mapping[str, Operand]
    kind: NDArray[np.int64]
    product: Numbers
    """Layers × (groups, rows, window, columns)."""
    macs: Numbers
    skipped: Numbers
    """Those that arrays can skip, as two of each four weights are zeros."""
    zeros: Numbers
    """Those that arrays can skip which skip all zeros."""
    operations: Numbers
    pairs: tuple[tuple[str, str], ...]
    """Types of factors that occur."""
    pair: NDArray[np.int64]
    """Which of them a layer has."""
    steps: tuple[tuple[str, str, str], ...]
    """Type, name and kind of scalar operations that occur."""
    step_points: Numbers
    """Layers × steps: how often an operation is done."""
    longest: Numbers
    """The same of the one that is done most often among those that are alike."""
    product_points: Numbers
    """`step_points` for the steps of products that a vector unit does itself."""
    product_longest: Numbers
    types: tuple[str, ...]
    """Types of elements that occur."""
    stream_points: Numbers
    """Layers × types: elements of the longest stream."""
    lookups: Numbers
    reduction: Numbers
    """Layers × (results, length, whether a tree combines neighbours, steps, values, each once)."""
    reduced: NDArray[np.int64]
    """Which type a reduction combines, or a product adds up."""
    moves: Numbers
    """Layers × (runs, bytes of a run, whether data say where)."""
    weights: Numbers
    """Bytes of constant factors as they are used."""
    stored: Numbers
    """The same as they are stored."""
    fixed: Flags
    """Whether one of the factors is a constant."""
    constants: Numbers
    """Bytes of other constants."""
    held: Numbers
    """Bytes of them that are worth a box where units reach out for what they need."""
    tables: Numbers
    """Layers × (rows, bytes of a row) of the largest constant that data choose from."""
    loads: Numbers
    """How many constants there are, factors among them."""
    small: Numbers
    """How many of them are too small to be kept for later stripes."""
    large: Numbers
    """How many of them are worth a box where units reach out for what they need."""
    streamed: Numbers
    """Layers × bytes between unit and memory, where no array says: of inputs, constants, results, and of the
    longest stream."""
    values: Numbers
    """Layers × (bytes of computed inputs, weights and outputs an element)."""
    overlap: Numbers
    """Bytes of computed inputs that two tiles share where positions are cut."""
    tensors: Tensors
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Rows of numbers by the part of a machine that they depend on."""

    def __len__(self) -> int:
        return len(self.nests)

    @staticmethod
    def of(nests: Sequence[Nest], operands: Mapping[str, Operand]) -> Workload:
        """The table of nests that run one after another."""
        return _table(tuple(nests), operands)


def _table(nests: tuple[Nest, ...], operands: Mapping[str, Operand]) -> Workload:
    forms = [form_of(nest) for nest in nests]
    pairs = _distinct(form.types for form in forms if form.product_axes is not None)
    steps = _distinct((step.type, step.name, step.kind) for form in forms for step in form.all_steps)
    types = _distinct([s.type for form in forms for s in form.streams] + [t for f in forms for t in _sums(f)])
    rows = [_constants(*pair, operands) for pair in zip(forms, nests, strict=True)]
    return Workload(
        nests=nests,
        operands=operands,
        kind=np.array([_kind(form) for form in forms], np.int64),
        product=_numbers([_product(form) for form in forms], 4),
        macs=_numbers([prod(n.extents) if n.verb == "contract" else 0 for n in nests]),
        skipped=_numbers([_skipped(nest) for nest in nests]),
        zeros=_numbers([_zeros(nest) for nest in nests]),
        operations=_numbers([_operations(form) for form in forms]),
        pairs=tuple(pairs),
        pair=np.array([pairs.get(f.types, 0) if f.product_axes is not None else 0 for f in forms], np.int64),
        steps=tuple(steps),
        step_points=_points([form.steps for form in forms], forms, steps),
        longest=_points([form.steps for form in forms], forms, steps, Step.each, max),
        product_points=_points([form.all_steps for form in forms], forms, steps),
        product_longest=_points([form.all_steps for form in forms], forms, steps, Step.each, max),
        types=tuple(types),
        stream_points=_streams(forms, types),
        lookups=_numbers([_lookups(form) for form in forms]),
        reduction=_numbers([_reduction(form) for form in forms], 5),
        reduced=np.array([types[_sums(form)[0]] if _sums(form) else 0 for form in forms], np.int64),
        moves=_numbers([_move(form) for form in forms], 3),
        weights=_numbers([row[0] for row in rows]),
        stored=_numbers([row[1] for row in rows]),
        fixed=np.array([bool(weights_of(nest, operands)) for nest in nests], bool),
        constants=_numbers([row[2] for row in rows]),
        held=_numbers([row[6] for row in rows]),
        tables=_numbers([_table_of(nest, operands) for nest in nests], 2),
        loads=_numbers([row[3] for row in rows]),
        small=_numbers([row[4] for row in rows]),
        large=_numbers([row[5] for row in rows]),
        streamed=_numbers([_traffic(*pair, operands) for pair in zip(forms, nests, strict=True)], 4),
        values=_numbers([_elements(form) for form in forms], 3),
        overlap=_numbers([_overlap(nest, operands) for nest in nests]),
        tensors=_tensors(nests, operands),
    )


def _numbers(rows: Sequence[Any], width: int = 0) -> Numbers:
    found = np.array(rows, np.float64)
    return found.reshape(len(rows), width) if width else found


def _distinct(values: Any) -> dict[Any, int]:
    return {value: number for number, value in enumerate(dict.fromkeys(values))}


def _kind(form: Form) -> int:
    if form.nest.verb == "contract":
        return PRODUCT
    return MOVE if form.pure_move else REDUCE if form.nest.verb == "reduce" else MAP


def _product(form: Form) -> tuple[int, ...]:
    extents = form.nest.extents
    if form.product_axes is None:
        return (0, 0, 0, 0)
    return tuple(prod(extents[axis] for axis in axes) for axes in form.product_axes)


def _skipped(nest: Nest) -> int:
    pruned = nest.verb == "contract" and any(access.pruned for access in nest.reads)
    shape = geometry(nest, nest.extents) if pruned else None
    return 0 if shape is None else skipped_macs(shape)


def _zeros(nest: Nest) -> int:
    kept = next((one.kept for one in nest.reads if one.kept is not None), None)
    return 0 if kept is None else prod(nest.extents) * kept.zeros // kept.weights


def _operations(form: Form) -> int:
    extents = form.nest.extents
    combined = prod(extents) if form.nest.verb == "reduce" else 0
    return combined + sum(step.points(extents) for step in form.steps)


def _points(
    steps: Sequence[Any],
    forms: Sequence[Form],
    numbers: Mapping[Any, int],
    points: Callable[[Step, Sequence[int]], int] = Step.points,
    together: Callable[[float, float], float] = add,
) -> Numbers:
    found = np.zeros((len(forms), len(numbers)))
    for row, (form, used) in enumerate(zip(forms, steps, strict=True)):
        for step in used:
            place = row, numbers[step.type, step.name, step.kind]
            found[place] = together(found[place], points(step, form.nest.extents))
    return found


def _sums(form: Form) -> list[str]:
    return [] if form.nest.reduction is None else [form.reduced_type]


def _streams(forms: Sequence[Form], types: Mapping[str, int]) -> Numbers:
    found = np.zeros((len(forms), len(types)))
    for row, form in enumerate(forms):
        for number, stream in enumerate(form.streams):
            if number >= len(form.nest.reads) or number in form.used:
                place = types[stream.type]
                points = prod(form.nest.extents[axis] for axis in stream.axes)
                found[row, place] = max(found[row, place], points)
    return found


def _lookups(form: Form) -> int:
    looked = [stream.lookup for n, stream in enumerate(form.streams) if stream.lookup is not None]
    return sum(prod(form.nest.extents[axis] for axis in axes) for axes in looked)


def _reduction(form: Form) -> tuple[float, ...]:
    nest = form.nest
    if nest.verb != "reduce":
        return (0, 0, 0, 0, 0)
    results, length = prod(nest.extents[: nest.outer]), prod(nest.extents[nest.outer :])
    return results, length, along_lanes(form), 2 if form.finds_place else 1, form.values(nest.extents)


def _move(form: Form) -> tuple[float, ...]:
    if not form.pure_move:
        return (0, 0, 0)
    indirect = any(stream.lookup is not None for stream in form.streams)
    return (*move_runs(form, form.nest.extents), indirect)


def _constants(form: Form, nest: Nest, operands: Mapping[str, Operand]) -> tuple[int, ...]:
    """Bytes of weights, as used and stored, and of other constants; how many: all, small and large ones.

    The last number is bytes of others that are large. What is read in two ways counts twice, as it has two
    boxes. Of a table that data choose from no more counts than they choose, and no box if that is not all.
    """
    weights = stored = others = boxes = small = large = held = 0
    factors = {nest.accesses[number].operand for number in weights_of(nest, operands)}
    read = list(zip(nest.reads, form.traffic(nest.extents), strict=False))
    constants = [(access, size) for access, size in read if operands[access.operand].kind == "constant"]
    for access, size in constants:
        name, operand = access.operand, operands[access.operand]
        if access.indirect and size < operand.bytes:
            others += size
            continue
        boxes += 1
        large += name in factors or operand.bytes >= LARGE
        if (nest.verb == "contract" and operand.bytes > SMALL) or operand.stored_bytes is not None:
            weights += operand.bytes
            stored += operand.stored(operand.bytes)
        else:
            others += operand.bytes
            held += operand.bytes if name in factors or operand.bytes >= LARGE else 0
            small += operand.bytes < HELD_BYTES
    return weights, stored, others, boxes, small, large, held


def _table_of(nest: Nest, operands: Mapping[str, Operand]) -> tuple[int, int]:
    """Rows and bytes of a row of the largest constant that data choose from."""
    tables = [a for a in nest.reads if a.indirect and operands[a.operand].kind == "constant" and a.shape]
    largest = max(tables, key=lambda access: access.bytes, default=None)
    return (
        (0, 0) if largest is None else (prod(largest.shape[:-1]), largest.bytes // prod(largest.shape[:-1]))
    )


def _traffic(form: Form, nest: Nest, operands: Mapping[str, Operand]) -> tuple[int, int, int, int]:
    found = form.traffic(nest.extents)  # nests that are alike share a form, and have names of their own
    return (*by_side(nest, operands, found), max(found))


def by_side(nest: Nest, operands: Mapping[str, Operand], sizes: Sequence[int]) -> tuple[int, int, int]:
    """Sums of what accesses move: of inputs, of constants, of results."""
    sums = [0, 0, 0]
    for number, (access, size) in enumerate(zip(nest.accesses, sizes, strict=False)):
        write = number >= len(nest.reads)
        sums[2 if write else int(operands[access.operand].kind == "constant")] += size
    return sums[0], sums[1], sums[2]


def _overlap(nest: Nest, operands: Mapping[str, Operand]) -> int:
    """What boxes of one step of the first axis have beyond what each further step adds."""
    if nest.verb != "contract" or nest.extents[0] < 2:
        return 0
    one, two = ((steps, *nest.extents[1:]) for steps in (1, 2))
    values = [a for a in nest.reads if operands[a.operand].kind != "constant" and not a.indirect]
    boxes = [(box_bytes(access, one), box_bytes(access, two)) for access in values]
    return sum(max(2 * less - more, 0) for less, more in boxes if more > less)


def _elements(form: Form) -> tuple[int, ...]:
    if form.product_axes is None:
        return (0, 0, 0)
    return (*(BYTES[kind] for kind in form.types), BYTES[form.nest.writes[0].access.type])


def _tensors(nests: Sequence[Nest], operands: Mapping[str, Operand]) -> Tensors:
    used = dict.fromkeys(name for nest in nests for name in nest.operands)
    names = tuple(name for name in used if operands[name].kind != "constant")
    place = {name: number for number, name in enumerate(names)}
    read = [[place[n] for n in dict.fromkeys(a.operand for a in nest.reads) if n in place] for nest in nests]
    written = [[place[n] for n in dict.fromkeys(w.access.operand for w in nest.writes)] for nest in nests]
    first, last = np.full(len(names), len(nests)), np.full(len(names), -1)
    for layer, (coming, going) in enumerate(zip(read, written, strict=True)):
        for number in (*coming, *going):
            first[number], last[number] = min(first[number], layer), layer
    kinds = [operands[name].kind for name in names]
    first[[kind == "input" for kind in kinds]] = 0
    last[[kind == "output" for kind in kinds]] = max(len(nests) - 1, 0)
    after = [n in (written[layer - 1] if layer else ()) for layer, row in enumerate(read) for n in row]
    kept = np.array([kind == "temporary" for kind in kinds], bool)
    sizes = _numbers([operands[name].bytes for name in names])
    return Tensors(
        names, sizes, first, last, kept, Edges.of(read), Edges.of(written), np.array(after, np.float64)
    )
