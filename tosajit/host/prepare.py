"""Which groups the array kernels do, and preparing them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tiling.expr import reads_of, walk
from tiling.nest import Nest
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.host import reasons
from tosajit.host.apart import apart, rows_apart
from tosajit.host.convolution import convolution
from tosajit.host.depthwise import depthwise
from tosajit.host.epilogue import epilogue
from tosajit.host.fourier import alone, fourier, is_transform
from tosajit.host.lookup import lookup
from tosajit.host.match import Match, match
from tosajit.host.moves import moves
from tosajit.host.reasons import Reason
from tosajit.host.repeat import repeated
from tosajit.host.spread import spread
from tosajit.host.squares import squares
from tosajit.host.transpose import transpose
from tosajit.host.unit import Prepared, Request
from tosajit.host.widen import NARROW, widened
from tosajit.host.windows import windows
from tosajit.host.winograd import winograd
from tosajit.kernels.contract.blocking import set_for
from tosajit.kernels.link import Unit
from tosajit.kernels.sets.description import LARGEST, InstructionSet

TYPES = {("i8", "i8"), ("i16", "i8"), ("i16", "i16"), ("f32", "f32"), ("f16", "f16"), ("bf16", "bf16")}
TYPES |= {("f32", type) for type in NARROW}
"""Of activations and weights."""
FIRST = 64
"""A slot behind all of the kernels' own, for trying whether an epilogue can be written."""

LATE = frozenset({"move", "lines", "greatest", "mean"})
"""Units whose groups are done otherwise until their kernels are compiled: larger ones, or rare."""

Lacks = Callable[[Unit], bool]
"""Whether a unit's kernels would have to be compiled."""


def prepare(
    groups: Sequence[Nest],
    constants: Mapping[str, Array],
    isa: InstructionSet | None,
    lacks: Lacks = lambda unit: False,
    instead: Lacks = lambda unit: False,
    waits: Callable[[Nest], bool] = lambda nest: False,
) -> Prepared:
    """Give the contractions that the array kernels can do to them; the others stay as they are.

    A group whose unit `lacks` kernels is also done apart, if the unit of its sums is not one that `instead`
    has to do without. So is a reduction that `waits` for a kernel of its own, if its sums alone do not.
    """
    made = Prepared()
    for number, fused in enumerate(fourier(groups, made, constants, isa) if isa else groups):
        if fused in made.units:
            made.groups.append(fused)
            continue
        group = _of_our_form(fused, made, constants, isa, number) if isa else fused
        found = _contraction(group, made, constants, isa, number)
        if isinstance(found, Reason):
            made.groups.append(group)
            made.refused[group] = found
            continue
        made.groups += found
        if lacks(made.units[found[-1]]):
            parts = _apart(group, made, constants, isa, number, instead)
            made.apart += [(found, parts)] if parts else []
    if isa:
        _move(made, constants, isa, lacks)
    rows_apart(made, waits)
    return made


def _of_our_form(
    group: Nest, made: Prepared, constants: Mapping[str, Array], isa: InstructionSet, number: int
) -> Nest:
    """The group in the form of others that have array kernels, where it can be brought there."""
    wide = widened(repeated(group, made, constants), made, constants, isa)
    return spread(wide, made, constants, number)


def _contraction(
    group: Nest, made: Prepared, constants: Mapping[str, Array], isa: InstructionSet | None, number: int
) -> list[Nest] | Reason:
    """The nests that do a contraction with an array kernel, or why there are none."""
    request = _request(group, constants, isa, number)
    if isinstance(request, Reason):
        return request
    if request.match.depthwise:
        return depthwise(request, made)
    return winograd(request, made) or squares(request, made) or convolution(request, made)


def _apart(
    group: Nest,
    made: Prepared,
    constants: Mapping[str, Array],
    isa: InstructionSet | None,
    number: int,
    lacks: Lacks,
) -> list[Nest]:
    """The nests that do a contraction with an array kernel of sums alone; none if there is no such kernel."""
    parts = apart(group, number)
    if parts is None:
        return []
    sums, results = parts
    found = _contraction(sums, made, constants, isa, number)
    if isinstance(found, Reason) or lacks(made.units[found[-1]]):
        return []
    access = sums.writes[0].access
    made.temporaries[access.operand] = access
    return [*found, results]


def _move(made: Prepared, constants: Mapping[str, Array], isa: InstructionSet, lacks: Lacks) -> None:
    """Find the units of groups that look up bytes, turn matrices, copy rows or find what is made of windows.

    Some are done without their unit while it `lacks` its kernel.
    """
    for group in [group for group in made.groups if group not in made.units]:
        table = lookup(group, constants, isa) if isa.byte_tables else None
        unit = table or transpose(group, isa) or moves(group, isa) or windows(group, constants, isa)
        if unit is None:
            continue
        made.units[group] = unit
        if unit.name in LATE and lacks(unit):
            made.late.add(group)


def supports(group: Nest) -> bool:
    """Whether an array kernel does all of a group well: beside sums, one scaling of them and a clamp.

    More work on the results is faster on its own, over rows longer than those of register tiles.
    """
    if is_transform(group):
        return alone(group)
    found = match(group)
    if found is None:
        return True
    exprs = [write.value for write in group.writes]
    scalings = {node for expr in exprs for node in walk(expr) if node.scalar.family == "rescale"}
    beside = [group.reads[number] for expr in exprs for number in reads_of(expr)]
    steps = [access.steps(len(group.axes)) for access in beside]
    moving = any(access.indirect for access in beside) or any(s[axis] for s in steps for axis in found.rows)
    return len(scalings) <= 1 and not moving and epilogue(group, found, FIRST) is not None


def _request(
    group: Nest, constants: Mapping[str, Array], isa: InstructionSet | None, number: int
) -> Request | Reason:
    if isa is None:
        return reasons.NO_SET
    found = match(group)
    if found is None:
        return reasons.FORM if group.verb == "contract" else reasons.VERB
    types = group.reads[found.left.read].type, group.reads[found.right.read].type
    if types not in TYPES:
        return reasons.types(*types)
    points = _zero_points(group, found, constants)
    if points is None:
        return reasons.ZERO_POINT
    if len(found.batch) > 1 or (found.batch and found.geometry.kernel != (1, 1, 1)):
        return reasons.BATCH
    weights = constants.get(group.reads[found.right.read].operand)
    constant = weights is not None and types == ("i8", "i8") and (found.depthwise or not found.batch)
    asked = (isa.symmetric or isa.small) and not (found.depthwise and points[1])
    largest = _largest(weights) if weights is not None and constant and asked else LARGEST
    shape = replace(found.geometry, in_strides=found.strides)
    chosen = set_for(isa, shape, found.depthwise, largest)
    return Request(group, found, constants, points, chosen, number)


def _largest(weights: Array) -> int:
    """The size of the largest of some int8."""
    return max(int(weights.max()), -int(weights.min()))


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
