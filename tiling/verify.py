"""What a well-formed nest is, and nests that run in order: every fault, in words.

Passes trust each other; these functions trust nobody. They are for tests, and for those who write a pass or
look for a fault of one: what they find is a mistake of the compiler, never of a graph.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from math import prod

import numpy as np
from numpy.typing import NDArray

from tiling.expr import BYTES, Expr, reads_of
from tiling.nest import Access, Affine, Indirect, Nest, access_exprs
from tiling.program import Operand

LARGEST = 1 << 22
"""Points up to which accesses are followed one by one."""
KINDS = {"input": "an input", "constant": "a constant"}


@dataclass
class _Written:
    """What nests have written of an operand so far."""

    marks: NDArray[np.bool_] | None
    """The elements, but for those of a first nest that wrote all."""
    whole: bool
    """Whether a first nest wrote all, or may have: a ground that others may write over, as SCATTER does."""
    read: bool = False


def verify_nest(nest: Nest, opaque: bool = False) -> list[str]:
    """The faults of one nest: its axes, its accesses, the types and the axes that its expressions use.

    Of an `opaque` nest the writes only name operands, which a unit fills as it likes.
    """
    return list(_nest_faults(nest, opaque))


@lru_cache(maxsize=4096)  # most nests leave a stage as they entered it
def _nest_faults(nest: Nest, opaque: bool) -> tuple[str, ...]:
    where = name_of(nest)
    found = list(_shape_faults(nest))
    if not found:  # what follows takes ranks and numbers of leaves for granted
        found = list(_bound_faults(nest))
        found += [] if opaque else [*_step_faults(nest), *_result_faults(nest), *_write_faults(nest)]
    return tuple(f"{where}: {fault}" for fault in found)


def verify_nests(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    opaque: Collection[Nest] = (),
    buffers: Collection[str] = (),
) -> list[str]:
    """The faults of nests that run in order, and of what they do to their operands.

    `buffers` are operands that hold a part of a tensor after another: they are written again and again, and
    accesses see as much of them as is in use.
    """
    found = [fault for nest in nests for fault in verify_nest(nest, nest in opaque)]
    if found:
        return found
    written: dict[str, _Written] = {}
    for nest in nests:
        faults = _order_faults(nest, operands, written, nest in opaque, buffers)
        found += [f"{name_of(nest)}: {fault}" for fault in faults]
    lacking = [o.name for o in operands.values() if o.kind == "output" and o.name not in written]
    return found + [f"{name}: is an output, but nothing writes it" for name in lacking if nests]


def name_of(nest: Nest) -> str:
    """What messages call a nest: its members, or what it writes."""
    return ", ".join(nest.members) or ", ".join(write.access.operand for write in nest.writes) or "a nest"


# A nest alone: numbers, ranks and types.


def _shape_faults(nest: Nest) -> Iterator[str]:
    reduced = [axis.reduced for axis in nest.axes]
    if reduced != sorted(reduced):
        yield "reduced axes are not the last ones"
    yield from (f"axis {axis.name} has {axis.extent} steps" for axis in nest.axes if axis.extent < 1)
    if any(reduced) and nest.reduction is None:
        yield "axes are reduced, but there is no reduction"
    if (nest.reduction is not None) != (nest.verb in ("reduce", "contract")):
        yield f"a {nest.verb} with{'out' if nest.reduction is None else ''} a reduction"
    if not nest.writes:
        yield "nothing is written"
    if nest.grain and (len(nest.grain) != nest.outer or min(nest.grain) < 0):
        yield f"the grain {nest.grain} is not a number for each of {nest.outer} kept axes"
    for access in nest.accesses:
        yield from _access_faults(nest, access)
    for expr in _roots(nest):
        yield from _leaf_faults(nest, expr)


def _access_faults(nest: Nest, access: Access) -> Iterator[str]:
    if access.type not in BYTES:
        yield f"{access.operand} has the type {access.type}"
    if len(access.index) != len(access.shape):
        yield f"{access.operand} has {len(access.shape)} dimensions, but {len(access.index)} indices"
    if any(extent < 1 for extent in access.shape):
        yield f"{access.operand} is seen as {list(access.shape)}"
    for index in access.index:
        if isinstance(index, Affine) and len(index.coefficients) != len(nest.axes):
            yield f"an index of {access.operand} is over {len(index.coefficients)} of {len(nest.axes)} axes"
        if isinstance(index, Indirect) and index.value.type[0] not in "iu":
            yield f"an index of {access.operand} is of {index.value.type}"
    if access.fill is not None and access.fill.type != access.type:
        yield f"{access.operand} of {access.type} is filled with {access.fill.type}"


def _leaf_faults(nest: Nest, expr: Expr) -> Iterator[str]:
    for leaf in expr.leaves:
        match leaf.op:
            case "read" if not 0 <= leaf.number < len(nest.reads):
                yield f"read {leaf.number} of {len(nest.reads)}"
            case "read" if nest.reads[leaf.number].type != leaf.type:
                access = nest.reads[leaf.number]
                yield f"{access.operand} of {access.type} is read as {leaf.type}"
            case "axis" if not 0 <= leaf.number < len(nest.axes):
                yield f"axis {leaf.number} of {len(nest.axes)}"
            case "acc" if nest.reduction is None:
                yield "a sum is used, but there is no reduction"
            case "acc" if nest.reduction is not None and leaf.type != nest.reduction.type:
                yield f"a sum of {nest.reduction.type} is used as {leaf.type}"


def _roots(nest: Nest) -> Iterator[Expr]:
    """The expressions of a nest, those of accesses too."""
    if nest.reduction is not None:
        yield nest.reduction.value
    yield from (write.value for write in nest.writes)
    for access in nest.accesses:
        yield from access_exprs(access)


# Which axes and values an expression may use, and where accesses are.


def _step_faults(nest: Nest) -> Iterator[str]:
    """Reads do not need themselves, and steps of a reduction not its result."""
    needs = {
        number: {n for expr in access_exprs(access) for n in reads_of(expr)}
        for number, access in enumerate(nest.reads)
    }
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        yield f"{nest.reads[error.args[1][0]].operand} is read at a place that depends on itself"
    if nest.reduction is not None:
        _, leaves = _reached(nest, nest.reduction.value)
        if any(leaf.op == "acc" for leaf in leaves):
            yield "a step of the reduction uses its result"


def _result_faults(nest: Nest) -> Iterator[str]:
    """Results do not use the axes that are reduced, and have the type of their operands."""
    for write in nest.writes:
        name = write.access.operand
        used = _axes(write.access)
        for expr in (write.value, *access_exprs(write.access)):
            reads, leaves = _reached(nest, expr)
            used |= {leaf.number for leaf in leaves if leaf.op == "axis"}
            used |= {axis for number in reads for axis in _axes(nest.reads[number])}
        reduced = [nest.axes[axis].name for axis in sorted(used) if nest.axes[axis].reduced]
        yield from (f"{name} depends on {axis}, which is reduced" for axis in reduced)
        if write.value.type != write.access.type:
            yield f"{name} of {write.access.type} is given {write.value.type}"


def _reached(nest: Nest, expr: Expr) -> tuple[set[int], set[Expr]]:
    """The reads that an expression needs, through indices and fills too, and all leaves on the way."""
    reads: set[int] = set()
    leaves: set[Expr] = set()
    stack = [expr]
    while stack:
        item = stack.pop()
        leaves.update(item.leaves)
        for number in reads_of(item) - reads:
            reads.add(number)
            stack += access_exprs(nest.reads[number])
    return reads, leaves


def _axes(access: Access) -> set[int]:
    """The axes that an access moves along."""
    indices = [index.coefficients for index in access.index if isinstance(index, Affine)]
    return {axis for coefficients in indices for axis, step in enumerate(coefficients) if step}


def _bound_faults(nest: Nest) -> Iterator[str]:
    """Reads outside of their operands must be filled, writes must be inside."""
    low = [0] * len(nest.axes)
    for access in (*nest.reads, *(write.access for write in nest.writes)):
        for dimension, (index, extent) in enumerate(zip(access.index, access.shape, strict=True)):
            if isinstance(index, Affine) and access.fill is None:
                first, last = index.span(low, nest.extents)
                if first < 0 or last >= extent:
                    place = f"dimension {dimension} of {access.operand}"
                    yield f"{place} has {extent} elements, but is used from {first} to {last}"


def _write_faults(nest: Nest) -> Iterator[str]:
    """No element of a result is written by two points, unless data say where."""
    for write in nest.writes:
        if write.access.fill is not None:
            yield f"{write.access.operand} is written, but filled"
        if not write.access.indirect and not _once(nest, write.access):
            yield f"elements of {write.access.operand} are written more than once"


def _once(nest: Nest, access: Access) -> bool:
    """Whether points along the kept axes are at places of their own."""
    pairs = zip(access.steps(len(nest.axes)), nest.axes, strict=True)
    steps = sorted((abs(s), axis.extent) for s, axis in pairs if not axis.reduced and axis.extent > 1)
    reach = 0
    for step, extent in steps:
        if step <= reach:
            places = _places(nest, access)
            return step > 0 and (places is None or len(np.unique(places)) == places.size)
        reach += step * (extent - 1)
    return True


def _places(nest: Nest, access: Access) -> NDArray[np.int64] | None:
    """The elements that an access meets inside its operand, kept axes or all; None if they are too many."""
    if _points(nest, access) > LARGEST:
        return None
    steps = access.steps(len(nest.axes))
    moving = [(step, axis.extent) for step, axis in zip(steps, nest.axes, strict=True) if step]
    places = np.array([access.start()], np.int64)
    for step, extent in moving:
        places = (places[:, None] + step * np.arange(extent)).ravel()
    return places


def _points(nest: Nest, access: Access) -> int:
    """Points along the axes that an access follows."""
    steps = access.steps(len(nest.axes))
    return prod(axis.extent for step, axis in zip(steps, nest.axes, strict=True) if step)


# Nests in order.


def _order_faults(
    nest: Nest,
    operands: Mapping[str, Operand],
    written: dict[str, _Written],
    opaque: bool,
    buffers: Collection[str],
) -> Iterator[str]:
    """What a nest reads is there, what it writes is not."""
    if not nest.members:
        yield "has no members"
    for number, access in enumerate(nest.accesses):
        prepared = number >= len(nest.reads) + len(nest.writes)
        yield from _operand_faults(access, operands.get(access.operand), prepared, buffers)
    known = {name: operands[name] for name in nest.operands if name in operands}
    for access in (*nest.reads, *nest.prepared):
        if access.operand in known and known[access.operand].kind in ("temporary", "output"):
            yield from _read_faults(nest, access, written)
    for write in nest.writes:
        operand = known.get(write.access.operand)
        if operand is not None and operand.kind in ("input", "constant"):
            yield f"{operand.name} is written, but is {KINDS[operand.kind]}"
        elif opaque or write.access.operand in buffers:
            written[write.access.operand] = _Written(None, True)
        elif operand is not None and _write_again(nest, write.access, operand, written):
            yield f"{operand.name} is written again"


def _operand_faults(
    access: Access, operand: Operand | None, prepared: bool, buffers: Collection[str]
) -> Iterator[str]:
    """An access sees all of its operand, in its type; what is prepared is only named."""
    if operand is None:
        yield f"{access.operand} is not an operand"
        return
    elements = operand.elements if prepared else prod(access.shape)
    fits = elements <= operand.elements if operand.name in buffers else elements == operand.elements
    if operand.type != access.type or not fits:
        seen = f"{elements} elements of {access.type}"
        yield f"{access.operand} is seen as {seen}, but has {operand.elements} of {operand.type}"


def _read_faults(nest: Nest, access: Access, written: dict[str, _Written]) -> Iterator[str]:
    if access.operand not in written:
        yield f"{access.operand} is read, but nothing has written it"
        return
    state = written[access.operand]
    state.read = True
    if not state.whole and state.marks is not None and access.fill is None and not access.indirect:
        places = _places(nest, access)
        if places is not None and not state.marks[places].all():
            yield f"elements of {access.operand} are read that nothing has written"


def _write_again(nest: Nest, access: Access, operand: Operand, written: dict[str, _Written]) -> bool:
    """Note what a nest writes; whether it must not: any of it was written before, and not as a ground."""
    whole = not access.indirect and _points(nest, access) == operand.elements
    state = written.get(operand.name)
    if state is None:
        state = written[operand.name] = _Written(None, whole or access.indirect)
        if state.whole:
            return False
    if state.read or whole:
        return True
    if access.indirect:
        return False
    if state.marks is None:
        state.marks = np.zeros(operand.elements, np.bool_)
    places = _places(nest, access)
    if places is None:
        state.whole = True
        return False
    again = bool(state.marks[places].any())
    state.marks[places] = True
    return again
