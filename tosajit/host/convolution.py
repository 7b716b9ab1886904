"""Convolutions and matrix products for the array kernels."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tiling.expr import read
from tiling.nest import Access, Affine, Nest, Write
from tosajit.host.epilogue import Text, output_steps
from tosajit.host.match import Match
from tosajit.host.rescale import Rescale
from tosajit.host.unit import Prepared, Request, arranged, derived_words, epilogue_of, grain_of
from tosajit.kernels.contract.pack import pack_weights, start_values, sum_bound
from tosajit.kernels.contract.source import contract_source, gather_source, pack_source, tile_source
from tosajit.kernels.contract.spec import ContractSpec, Epilogue, PackSlot, Slot, packed_bytes
from tosajit.kernels.layout import Layout
from tosajit.link import Unit, Word

Array = np.ndarray[Any, Any]


def convolution(request: Request, made: Prepared) -> list[Nest]:
    """The nests that do a contraction with the array kernel, or the group as it is."""
    weights = request.weights
    if weights is None or request.match.batch:
        return _with_run_time_weights(request, made)
    if request.right.type == "i16" or (request.left.type == "i16" and request.zero_points[1]):
        # Sums of int16 have room for weights of eight bits, not for what a zero point makes of them.
        return [request.group]
    found = request.match
    axes = [*([found.column] if found.column is not None else []), *found.depth]
    columns = found.geometry.out_channels
    matrix = np.ascontiguousarray(arranged(weights, request.right, request.group, axes)).reshape(columns, -1)
    narrow = request.left.type == "i8"
    none = np.zeros(columns, np.int32)
    bound = sum_bound(matrix, none, *request.zero_points) if narrow else None
    finish = epilogue_of(request, bound, Slot.EPILOGUE)
    if finish is None:
        return [request.group]
    text, scaled = finish
    if narrow:
        packed = pack_weights(matrix)
        start = start_values(matrix, scaled.bias if scaled else none, *request.zero_points, rescale=scaled is not None)
    else:
        packed, start = pack_weights(matrix.astype(np.int16), 2), np.zeros(-(-columns // 16) * 16, np.int64)
    prepared = _constants(request, made, packed, start, scaled)
    return [_finished(request, made, prepared, text, scaled)]


def _constants(request: Request, made: Prepared, packed: Array, start: Array, scaled: Rescale | None) -> tuple[Access, ...]:
    arrays = {"packed": packed, "start": start} | ({"scale": scaled.table.data} if scaled else {})
    accesses = []
    for key, array in arrays.items():
        made.constants[f"{request.name}.{key}"] = array.reshape(-1)
        accesses.append(Access(f"{request.name}.{key}", f"i{8 * array.itemsize}", (), ()))
    return tuple(accesses)


def _with_run_time_weights(request: Request, made: Prepared) -> list[Nest]:
    """A nest that packs the weights, and the contraction; for matrices whose rows are dense."""
    group, found = request.group, request.match
    steps = request.right.steps(len(group.axes))
    kind = request.right.type
    if found.column is None or len(found.depth) != 1 or steps[found.column] != 1 or kind != request.left.type:
        return [group]
    finish = epilogue_of(request, _bound(request) if kind == "i8" else None, Slot.EPILOGUE)
    if finish is None or (finish[1] is not None and finish[1].bias.any()):
        return [group]
    text, scaled = finish
    axes = (*found.batch, found.depth[0], found.column)
    extents = [group.axes[axis].extent for axis in axes]
    batches, depth, columns = (1, *extents) if len(extents) == 2 else extents
    size = packed_bytes(depth, columns, found.geometry.element_bytes, halves=kind == "i16")
    count = -(-columns // 64) * 64
    batch = len(found.batch)
    index = (Affine((int(batch > 0),) + (0,) * (len(axes) - 1)), Affine((0,) * len(axes)))
    places = [Access(f"{request.name}.packed", "i8", (batches, size), index)]
    if kind == "i8":
        places.append(Access(f"{request.name}.start", "i32", (batches, count), index))
    else:
        made.constants[f"{request.name}.start"] = np.zeros(count, np.int64)
    source = Access(
        request.right.operand,
        kind,
        request.right.shape,
        tuple(Affine(tuple(i.coefficients[axis] for axis in axes), i.offset) for i in request.right.index),  # type: ignore[union-attr]
    )
    pack = Nest(
        "move",
        tuple(replace(group.axes[axis], reduced=False) for axis in axes),
        (source,),
        tuple(Write(place, read(0, kind)) for place in places),
        members=(f"{group.members[0]}.pack",),
        grain=(0,) * batch + tuple(extents[batch:]),
    )
    made.units[pack] = _packing(request, pack, depth, columns, scaled)
    count_axes = len(group.axes)
    own = [
        replace(place, index=tuple(Affine(tuple(int(a in found.batch and d == 0) for a in range(count_axes))) for d in (0, 1)))
        for place in places
    ]
    own += [] if kind == "i8" else [Access(f"{request.name}.start", "i64", (), ())]
    if scaled is not None:
        made.constants[f"{request.name}.scale"] = scaled.table.data
        own.append(Access(f"{request.name}.scale", f"i{8 * scaled.table.data.itemsize}", (), ()))
    return [pack, _finished(request, made, tuple(own), text, scaled)]


def _bound(request: Request) -> Array:
    """The greatest sum of each column, for any int8 values."""
    reaches = [max(127 - zero, 128 + zero) for zero in request.zero_points]
    geometry = request.match.geometry
    return np.full(geometry.out_channels, geometry.depth * prod(reaches), np.int64)


def _packing(request: Request, pack: Nest, depth: int, columns: int, scaled: Rescale | None) -> Unit:
    """The words of the packing kernel; what scales sums has them start at 2**31."""
    layout = Layout(len(pack.axes), 1 + len(pack.writes))
    zero, weight_zero = request.zero_points
    words = [0] * len(PackSlot)
    row = pack.reads[0].steps(len(pack.axes))[-2] * request.match.geometry.element_bytes
    words[PackSlot.PACK_ROW], words[PackSlot.PACK_DEPTH], words[PackSlot.PACK_COLUMNS] = row, depth, columns
    words[PackSlot.PACK_FACTOR], words[PackSlot.PACK_ADDEND] = -(128 + zero), zero * weight_zero * depth
    words[PackSlot.PACK_ADDEND] += (scaled is not None) << 31
    sizes = [request.match.geometry.element_bytes, 1, 4]
    accesses = [pack.reads[0], *(write.access for write in pack.writes)]
    derived = []
    for slot, number in ((PackSlot.PACK_SOURCE, 0), (PackSlot.PACK_OUT, 1), (PackSlot.PACK_INITIAL, 2)):
        if number < len(accesses):
            step = accesses[number].steps(len(pack.axes))[0] if len(pack.axes) == 3 else 0
            terms = [(layout.base + number, 1)] + ([(layout.first, step * sizes[number])] if step else [])
            derived.append(Word(slot, 0, tuple(terms)))
    spec = ContractSpec("convolution", request.left.type, request.right.type, request.library)
    return Unit(pack_source(spec), {}, tuple(words), tuple(derived), 0)


def _finished(
    request: Request, made: Prepared, prepared: tuple[Access, ...], text: Text, scaled: Rescale | None
) -> Nest:
    """The group with its prepared operands, and its unit."""
    found = request.match
    shared = found.rows[0] if found.rows else None
    done = replace(request.group, prepared=prepared, grain=grain_of(request.group, found, shared, 32))
    spec = ContractSpec("convolution", request.left.type, request.right.type, request.library)
    geometry = replace(found.geometry, out_strides=_out_strides(request.group, found), in_strides=found.strides)
    words = [0] * (Slot.EPILOGUE + len(text.accesses))
    for slot, number in geometry.slots().items():
        words[slot] = number
    words[Slot.INPUT_ZP], words[Slot.WEIGHT_ZP] = request.zero_points
    if scaled is not None:
        words[Slot.SIGN], words[Slot.LOW], words[Slot.HIGH] = scaled.table.sign, scaled.low, scaled.high
    words += text.numbers
    first = len(done.reads) + len(done.writes)
    bases: dict[int, int] = {Slot.SOURCE: found.left.read, Slot.OUTPUT: len(done.reads)}
    bases |= dict(zip((Slot.WEIGHT, Slot.INITIAL, Slot.PARAMETERS), range(first, first + len(prepared)), strict=False))
    helpers = {int(Slot.GATHER): gather_source(request.library), int(Slot.TILE): tile_source(spec)}
    source = contract_source(spec, Epilogue(text.body, text.setup, text.functions, scaled is not None))
    derived = derived_words(done, found, bases, Slot, text, shared)
    made.units[done] = Unit(source, helpers, tuple(words), tuple(derived), geometry.scratch_bytes)
    return done


def _out_strides(group: Nest, found: Match) -> tuple[int, int, int, int]:
    steps = output_steps(group)
    return tuple(steps[axis] if axis is not None else 0 for axis in found.places)  # type: ignore[return-value]
