"""Recognising Fourier transforms by the sums that they are, and preparing them for their kernels.

Real and imaginary results are two groups, `sum of x[k] * cos(2 * pi * f * k / L)` and the like, which one
unit computes. Numbers of rows are neighbours; columns have neighbours in other columns. Rows of L real
numbers are transformed as L / 2 complex ones, z[j] = x[2j] + i * x[2j + 1]. Of the spectrum Z of these

    X[k] = E[k] + O[k],  X[L / 2 - k] = conj(E[k] - O[k]),  E[k] = (Z[k] + conj(Z[L / 2 - k])) / 2,
    O[k] = exp(-2i * pi * k / L) / 2i * (Z[k] - conj(Z[L / 2 - k]))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tiling.expr import const, read
from tiling.nest import Access, Affine, Indirect, Nest, Write, along, dense_strides, fixed, with_axes
from tiling.normal import normalise
from tiling.records import dataclass, replace
from tosajit.arrays import Array
from tosajit.host.unit import Prepared
from tosajit.kernels.contract.agreed import FACTORS, LANES, RADIX
from tosajit.kernels.contract.fourier import BLOCK, Around, Fourier, Loop
from tosajit.kernels.contract.source import fourier_source
from tosajit.kernels.layout import SCRATCH, Layout
from tosajit.kernels.lines import LINE
from tosajit.kernels.link import Unit, Word
from tosajit.kernels.sets.description import InstructionSet
from tosajit.operators.fourier import roots, tables

NAME = "fourier"
"""What the names of units begin with."""
FLOAT = 4
"""Bytes of a float32."""


@dataclass(frozen=True, slots=True)
class Part:
    """The real or the imaginary results of a transform."""

    nest: Nest
    frequency: int
    """The axis of frequencies; the last one is that of the numbers."""
    cosine: tuple[Access, ...]
    """Numbers that are multiplied with cosines: those of the same part, if there are any."""
    sine: tuple[Access, ...]
    sign: int
    """Of the sines."""

    @property
    def length(self) -> int:
        """How many numbers are transformed together."""
        return self.nest.axes[-1].extent


@dataclass(frozen=True, slots=True)
class Transform:
    """Both parts, as one nest."""

    part: Part
    numbers: tuple[Access, ...]
    """Real numbers, and imaginary ones if there are any."""
    results: tuple[Access, Access]
    inverse: bool
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Axes:
    """What the axes of a transform are, and steps along them in elements."""

    kind: str
    around: tuple[int, ...]
    column: int | None
    source: tuple[int, ...]
    target: tuple[int, ...]


def fourier(
    groups: Sequence[Nest], made: Prepared, constants: Mapping[str, Array], isa: InstructionSet
) -> list[Nest]:
    """The groups, but parts of transforms together, after what brings them their numbers."""
    done: list[Nest] = []
    waiting = list(reversed(groups))
    while waiting:
        group = waiting.pop()
        part = _part(group, constants)
        other = _part(waiting[-1], constants) if part and waiting else None
        transform = _transform(part, other) if part and other else None
        nests = _prepared(transform, made, isa, len(done)) if transform else []
        if nests:
            waiting.pop()
        done += nests or [group]
    return done


def is_transform(nest: Nest) -> bool:
    """Whether a group sums numbers times parts of a turn, as a Fourier transform does."""
    return nest.verb == "contract" and any(_axes_of_turns(nest, access) for access in nest.reads)


def alone(nest: Nest) -> bool:
    """Whether a group that is a transform does nothing else, and has its results in the order of its axes."""
    order = dense_strides(nest.extents[: nest.outer])
    kept = [axis for axis in range(nest.outer) if nest.axes[axis].extent > 1]
    steps = [write.access.steps(len(nest.axes)) for write in nest.writes]
    plain = all(write.value.op == "acc" for write in nest.writes)
    return plain and all(one[axis] == order[axis] for one in steps for axis in kept)


def _axes_of_turns(nest: Nest, table: Access) -> list[int]:
    """The two axes whose product says which part of a turn is read; none if that is not how it is read."""
    if not nest.axes:
        return []
    index, length = table.index[-1] if table.index else None, nest.axes[-1].extent
    if not isinstance(index, Indirect) or table.shape != (length,) or index.value.op != "and_i64":
        return []
    turns, mask = index.value.operands
    axes = sorted(leaf.number for leaf in turns.operands if leaf.op == "axis")
    last = len(nest.axes) - 1
    whole = turns.op == "mul_i64" and mask == const(length - 1, "i64") and length & (length - 1) == 0
    return axes if whole and len(axes) == 2 and axes[0] < axes[1] == last == nest.outer else []


def _part(nest: Nest, constants: Mapping[str, Array]) -> Part | None:
    """What a nest is of a transform, if it is that and nothing else."""
    reduction = nest.reduction
    if reduction is None or not is_transform(nest) or len(nest.writes) != 1 or not alone(nest):
        return None
    known = tables(nest.axes[-1].extent)
    products = reduction.value.operands if reduction.value.scalar.base == "add" else (reduction.value,)
    numbers: dict[str, list[Access]] = {"cosine": [], "sine": [], "back": []}
    for product in products:
        factors = [nest.reads[leaf.number] for leaf in product.operands if leaf.op == "read"]
        turns = [access for access in factors if _axes_of_turns(nest, access)]
        values = constants.get(turns[0].operand) if len(turns) == 1 else None
        names = [
            name for name, table in known.items() if values is not None and np.array_equal(values, table)
        ]
        if product.scalar.base != "mul" or len(factors) != 2 or not names:
            return None
        numbers[names[0]] += [access for access in factors if access is not turns[0]]
        (frequency, _) = _axes_of_turns(nest, turns[0])
    if reduction.op != "add" or reduction.initial != 0:
        return None
    sine = (*numbers["sine"], *numbers["back"])
    return Part(nest, frequency, tuple(numbers["cosine"]), sine, 1 if numbers["sine"] else -1)


def _transform(real: Part, imag: Part) -> Transform | None:
    """A transform of its two parts."""
    same = real.nest.axes == imag.nest.axes and real.frequency == imag.frequency
    if not same or real.cosine != imag.sine or real.sine != imag.cosine or len(real.cosine) != 1:
        return None
    writes = real.nest.writes[0].access, imag.nest.writes[0].access
    members = tuple(dict.fromkeys((*real.nest.members, *imag.nest.members)))
    return Transform(real, (*real.cosine, *real.sine), writes, imag.sign > 0, members)


def _axes(transform: Transform) -> Axes | None:
    """How a kernel walks over a transform; None if there is none that does."""
    nest, frequency, count = transform.part.nest, transform.part.frequency, len(transform.part.nest.axes)
    reads, writes = transform.numbers, transform.results
    if any(
        access.fill is not None or access.indirect or access.type != "f32" for access in (*reads, *writes)
    ):
        return None
    (source, *others), (target, *more) = ({a.steps(count): 0 for a in some} for some in (reads, writes))
    if others or more:
        return None
    around = [axis for axis in range(nest.outer) if axis != frequency]
    length, found = transform.part.length, nest.axes[frequency].extent
    if source[-1] == target[frequency] == 1 and len(around) <= len(Around):
        complex_, least = len(reads) > 1, RADIX if len(reads) > 1 else 2 * RADIX
        wanted = length if complex_ else length // 2 + 1
        fits = length >= least and found == wanted and not (transform.inverse and not complex_)
        return Axes("rows", tuple(around), None, source, target) if fits else None
    beside = [axis for axis in around if source[axis] == target[axis] == 1]
    if not beside or len(around) > len(Around) or found != length or (transform.inverse and len(reads) == 1):
        return None
    column = beside[-1]
    return Axes("columns", tuple(axis for axis in around if axis != column), column, source, target)


def _prepared(transform: Transform, made: Prepared, isa: InstructionSet, number: int) -> list[Nest]:
    """The nests that do a transform, with a unit; none if there is no kernel for it."""
    moves: list[Nest] = []
    axes = _axes(transform)
    if axes is None:
        brought = [_brought(transform.part, access, number) for access in transform.numbers]
        moves, numbers = [move for move, _ in brought], tuple(access for _, access in brought)
        transform = replace(transform, numbers=numbers)
        axes = _axes(transform)
        if axes is None:
            return []
        made.temporaries |= {access.operand: access for access in numbers}
    nest, part = transform.part.nest, transform.part
    complex_, rows = len(transform.numbers) > 1, axes.kind == "rows"
    length = part.length if complex_ or not rows else part.length // 2
    lanes = max(n for n in LANES if n <= isa.lanes and (RADIX * n <= length or not rows))
    arrays = {"factors": row_factors(length, lanes) if rows else column_factors(length)}
    if rows and not complex_:
        arrays["pairs"] = pair_factors(length)
    name = f"{transform.results[0].operand}.{number}"
    prepared = tuple(
        Access(made.keep(f"{name}.{key}", array), "f32", (), ()) for key, array in arrays.items()
    )
    grain = [1] * nest.outer
    grain[part.frequency] = nest.axes[part.frequency].extent
    if axes.column is not None:
        grain[axes.column] = BLOCK
    # What it does alone its kernel knows; it says what is read and written, and for each result one point.
    size = nest.outer
    old = [*(along(axis, size) for axis in range(size)), along(part.frequency, size)]
    reads, writes = (
        [_over(access, old) for access in some] for some in (transform.numbers, transform.results)
    )
    results = tuple(Write(access, read(0, "f32")) for access in writes)
    done = Nest(
        "map", nest.axes[:size], tuple(reads), results, None, transform.members, prepared, tuple(grain)
    )
    made.units[done] = _unit(transform, done, axes, length, lanes, isa)
    return [*moves, done]


def _over(access: Access, old: Sequence[Affine]) -> Access:
    """The access over other axes; `old` are the former ones in terms of these."""
    index = tuple(i.compose(old, len(old) - 1) if isinstance(i, Affine) else i for i in access.index)
    return replace(access, index=index)


def _brought(part: Part, access: Access, number: int) -> tuple[Nest, Access]:
    """A nest that brings numbers together, and where they are then."""
    nest = part.nest
    kept = [axis for axis in range(len(nest.axes)) if axis != part.frequency]
    size = len(kept)
    old = [
        along(kept.index(axis), size) if axis in kept else fixed(0, size) for axis in range(len(nest.axes))
    ]
    shape = tuple(nest.axes[axis].extent for axis in kept)
    name = f"{access.operand}.{number}.brought"
    index = tuple(along(axis, len(nest.axes)) for axis in kept)
    write = Write(Access(name, "f32", shape, index), read(nest.reads.index(access), "f32"))
    axes = tuple(replace(nest.axes[axis], reduced=False) for axis in kept)
    plain = replace(nest, verb="move", writes=(write,), reduction=None)
    return normalise(with_axes(plain, axes, old)), Access(name, "f32", shape, index)


def _unit(transform: Transform, nest: Nest, axes: Axes, length: int, lanes: int, isa: InstructionSet) -> Unit:
    """The unit of a nest, whose accesses are numbers, results and factors."""
    layout, count = Layout(len(nest.axes), len(nest.accesses)), len(transform.numbers)
    height = 1 if axes.column is None else length
    together = length if axes.column is None else length * BLOCK
    plane = -(-(together + 1) * FLOAT // LINE) * LINE
    words = [0] * (Around.INNER + len(Loop))
    words[Fourier.PLANE], words[Fourier.LENGTH], words[Fourier.HEIGHT] = plane, together, height
    words[Fourier.SOURCE_PITCH] = FLOAT * axes.source[-1]
    words[Fourier.TARGET_PITCH] = FLOAT * axes.target[transform.part.frequency]
    parts = (Fourier.REAL, Fourier.IMAG), (Fourier.OUT_REAL, Fourier.OUT_IMAG)
    # With parts exchanged before and after, a transform is its inverse.
    sources, targets = (pair[::-1] if transform.inverse else pair for pair in parts)
    slots = [*sources[:count], *targets, Fourier.FACTORS, Fourier.PAIRS][: len(nest.accesses)]
    derived = [Word(slot, 0, ((layout.base + place, 1),)) for place, slot in enumerate(slots)]
    derived.append(Word(Fourier.SCRATCH, 0, ((SCRATCH, 1),)))
    for slot in Around:
        words[slot + Loop.HIGH] = 1
    loops = dict(zip(Around, axes.around, strict=False))
    if axes.column is not None:
        loops[Around.INNER] = axes.column
    for slot, axis in loops.items():
        words[slot + Loop.SOURCE_STEP] = FLOAT * axes.source[axis]
        words[slot + Loop.TARGET_STEP] = FLOAT * axes.target[axis]
        derived.append(Word(slot + Loop.LOW, 0, ((layout.first + axis, 1),)))
        derived.append(Word(slot + Loop.HIGH, 0, ((layout.end + axis, 1),)))
    source = fourier_source(isa, axes.kind, lanes)
    return Unit(f"{NAME} {axes.kind}", source, {}, tuple(words), tuple(derived), 4 * plane)


def row_factors(length: int, lanes: int) -> Array:
    """The factors of all steps of rows; by registers where neighbours have different ones."""
    return _joined(
        _by_registers(step, stride, lanes) if stride == 1 or stride == RADIX < lanes else step
        for stride, step in _steps(length)
    )


def _by_registers(step: Array, stride: int, lanes: int) -> Array:
    """The factors of a step, those of the numbers of a register side by side."""
    return np.repeat(step, stride, axis=0).reshape(-1, lanes, FACTORS).transpose(0, 2, 1)


def column_factors(length: int) -> Array:
    """The factors of all steps of columns."""
    return _joined(step for _, step in _steps(length))


def _joined(steps: Iterable[Array]) -> Array:
    """Factors one after another; none where there are no steps of radix 4."""
    return np.concatenate([np.zeros(0, np.float32), *(step.ravel() for step in steps)])


def _steps(length: int) -> Iterator[tuple[int, Array]]:
    """Strides of steps of radix 4, and their factors: of an element that of each quarter but the first."""
    stride = 1
    while RADIX * stride <= length:
        turns = np.arange(length // stride // RADIX)[:, None] * np.arange(1, RADIX) * stride / length
        yield stride, np.stack(_floats(roots(-turns)), axis=-1).reshape(-1, FACTORS)
        stride *= RADIX


def pair_factors(length: int) -> Array:
    """Of O[k], for k up to the middle: real parts, then imaginary ones."""
    return np.concatenate(_floats(roots(-np.arange(length // 2 + 1) / (2 * length)) / 2j))


def _floats(numbers: Array) -> tuple[Array, Array]:
    return numbers.real.astype(np.float32), numbers.imag.astype(np.float32)
