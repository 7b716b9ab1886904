"""Convolutions and matrix products for the array kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

import numpy as np

from tiling.expr import BYTES, read
from tiling.nest import Access, Affine, Axis, Nest, Write, along, fixed
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.host import reasons
from tosajit.host.reasons import Reason
from tosajit.host.unit import (
    Finish,
    Prepared,
    Request,
    array_unit,
    columns_apart,
    finish_of,
    grain_of,
    matrix_of,
    out_strides,
    own_constants,
    raised,
)
from tosajit.kernels.contract.blocking import Blocking, RowBlocking, in_segments
from tosajit.kernels.contract.pack import (
    pack_bytes,
    pack_pairs,
    pack_weights,
    packed_bytes,
    start_values,
    sum_bound,
)
from tosajit.kernels.contract.slots import PackSlot, RowSlot, Slot
from tosajit.kernels.contract.source import gather_source, pack_source, tile_source
from tosajit.kernels.contract.spec import ContractSpec
from tosajit.kernels.layout import Layout
from tosajit.kernels.link import Unit, Word

KNOWN = 256
"""Shapes that are remembered: in networks of unrolled steps most are alike."""


def convolution(request: Request, made: Prepared) -> list[Nest] | Reason:
    """The nests that do a contraction with the array kernel, or why it cannot."""
    weights = request.weights
    if weights is not None and not request.match.batch and request.match.geometry.floating:
        return _of_floats(request, made, weights)
    if weights is None or request.match.batch:
        return _with_run_time_weights(request, made)
    if request.right.type == "i16":
        return reasons.types(request.left.type, request.right.type)
    if request.left.type == "i16" and request.zero_points[1]:
        # Sums of int16 have room for weights of eight bits, not for what a zero point makes of them.
        return reasons.weight_zero_point(request.left.type)
    matrix, columns = matrix_of(request, weights), request.match.geometry.out_channels
    isa, narrow = request.isa, request.left.type == "i8"
    none = np.zeros(columns, np.int32)
    bound = sum_bound(matrix, none, *request.zero_points) if narrow else None
    finish = finish_of(request, bound, _slots(request).EPILOGUE)
    if finish is None:
        return reasons.EPILOGUE
    scaled = finish.scaled
    if narrow:
        bias = scaled.bias if scaled else none
        packed = pack_bytes(isa, in_segments(matrix, _blocking(request)))
        start = start_values(isa, matrix, bias, *request.zero_points, rescale=raised(scaled))
    else:
        packed = pack_weights(isa.lanes, matrix.astype(np.int16), 2)
        start = np.zeros(isa.padded(columns), np.int64)
    arrays = {"packed": packed, "start": start}
    arrays |= {"scale": scaled.packed(isa.lanes)} if scaled else {}
    return [_finished(request, made, own_constants(request, made, arrays), finish)]


def _of_floats(request: Request, made: Prepared, weights: Array) -> list[Nest] | Reason:
    """The contraction of float32 with constant weights of any floating-point type, or all of 16 bits."""
    finish = finish_of(request, None, Slot.EPILOGUE, ends=True)
    if finish is None:
        return reasons.EPILOGUE
    pairs, narrow = request.left.type == "bf16", request.left.type != "f32"
    numbers = weights.view(np.int16) if narrow else weights.astype(np.float32)
    matrix = matrix_of(request, numbers)
    if pairs:
        packed = pack_pairs(request.isa, matrix)
    else:
        packed = pack_weights(request.isa.lanes, matrix, 1).ravel().view(np.int32)
    return [_finished(request, made, own_constants(request, made, {"packed": packed}), finish)]


def _with_run_time_weights(request: Request, made: Prepared) -> list[Nest] | Reason:
    """A nest that packs the weights, and the contraction; before it, perhaps one that turns the weights."""
    group, found, kind = request.group, request.match, request.right.type
    if found.column is None:
        return reasons.COLUMNS
    if kind != request.left.type and not found.geometry.floating:
        return reasons.run_time_types(request.left.type, kind)
    dense = len(found.depth) == 1 and request.right.steps(len(group.axes))[found.column] == 1
    if dense and kind == "f32" and found.geometry.positions == 1:
        return reasons.ROW
    bound = _bound(request) if kind == "i8" else None
    finish = finish_of(request, bound, _slots(request).EPILOGUE, ends=True)
    if finish is None:
        return reasons.EPILOGUE
    if finish.scaled is not None and finish.scaled.bias.any():
        return reasons.BIAS
    finish = replace(finish, scaled=finish.scaled and finish.scaled.in_one_way())
    if found.batch and not dense:
        return reasons.DENSE
    turned = [] if dense else [_turning(request, made)]
    axes, matrices = _matrices(request) if dense else _turned(turned[0])
    places = _packed_places(request, [axis.extent for axis in axes])
    pack = _pack_nest(request, axes, matrices, places)
    made.units[pack] = _packing(request, pack, finish)
    count = len(group.axes)
    batch = along(found.batch[0], count) if found.batch else fixed(0, count)
    own = [replace(place, index=(batch, fixed(0, count))) for place in places]
    if kind == "i16":
        columns = found.geometry.out_channels
        own += own_constants(request, made, {"start": np.zeros(request.isa.padded(columns, 4), np.int64)})
    if finish.scaled is not None:
        own += own_constants(request, made, {"scale": finish.scaled.packed(request.isa.lanes)})
    return [*turned, pack, _finished(request, made, tuple(own), finish)]


def _turning(request: Request, made: Prepared) -> Nest:
    """The nest that makes a matrix with dense rows of weights that have their columns elsewhere."""
    group, found, kind = request.group, request.match, request.right.type
    assert found.column is not None
    axes = (*found.depth, found.column)
    extents = [group.axes[axis].extent for axis in axes]
    coefficients = tuple(prod(extents[place + 1 :]) for place in range(len(axes)))
    target = Access(f"{request.name}.turned", kind, (prod(extents),), (Affine(coefficients, 0),))
    made.temporaries[target.operand] = target
    source = _over(request.right, axes)
    kept = tuple(replace(group.axes[axis], reduced=False) for axis in axes)
    return Nest(
        "move", kept, (source,), (Write(target, read(0, kind)),), members=(f"{group.members[0]}.turn",)
    )


def _turned(nest: Nest) -> tuple[tuple[Axis, ...], Access]:
    """Its result as a matrix."""
    *depth, columns = nest.extents
    shape = prod(depth), columns
    index = along(0, 2), along(1, 2)
    return (Axis("k", shape[0]), Axis("c", columns)), replace(nest.writes[0].access, shape=shape, index=index)


def _matrices(request: Request) -> tuple[tuple[Axis, ...], Access]:
    """The weights as a matrix with dense rows, or one for each batch."""
    found = request.match
    assert found.column is not None
    axes = (*found.batch, found.depth[0], found.column)
    kept = tuple(replace(request.group.axes[axis], reduced=False) for axis in axes)
    return kept, _over(request.right, axes)


def _over(access: Access, axes: Sequence[int]) -> Access:
    """A read over some of the axes of its group."""
    affine = [item for item in access.index if isinstance(item, Affine)]
    index = tuple(Affine(tuple(item.coefficients[axis] for axis in axes), item.offset) for item in affine)
    return replace(access, index=index, fill=None)


def _packed_places(request: Request, extents: Sequence[int]) -> list[Access]:
    """What packing writes for each batch: the matrix, and for int8 the values that sums start with."""
    *batch, depth, columns = extents
    kind, axes = request.right.type, len(extents)
    width = max(request.match.geometry.element_bytes, request.isa.byte_width)
    whole = request.isa.whole_depth(depth, kind)
    size = packed_bytes(request.isa.lanes, whole, columns, width, halves=kind == "i16", least=kind == "bf16")
    index = (along(0, axes) if batch else fixed(0, axes), fixed(0, axes))
    matrix = Access(f"{request.name}.packed", "i8", (prod(batch), size), index)
    start = Access(f"{request.name}.start", "i32", (prod(batch), request.isa.padded(columns, 4)), index)
    return [matrix, start] if kind == "i8" else [matrix]


def _pack_nest(request: Request, axes: Sequence[Axis], matrices: Access, places: Sequence[Access]) -> Nest:
    """The nest that packs, over perhaps an axis of batches, depth and columns."""
    return Nest(
        "move",
        tuple(axes),
        (matrices,),
        tuple(Write(place, read(0, matrices.type)) for place in places),
        members=(f"{request.group.members[0]}.pack",),
        grain=(*(0 for _ in axes[:-2]), *(axis.extent for axis in axes[-2:])),
    )


def _bound(request: Request) -> Array:
    """The greatest sum of each column, for any int8 values."""
    reaches = [max(127 - zero, 128 + zero) for zero in request.zero_points]
    geometry = request.match.geometry
    return np.full(geometry.out_channels, geometry.depth * prod(reaches), np.int64)


def _packing(request: Request, pack: Nest, finish: Finish) -> Unit:
    """The words of the packing kernel; what scales sums has them start at 2**31."""
    axes = len(pack.axes)
    layout = Layout(axes, 1 + len(pack.writes))
    zero, weight_zero = request.zero_points
    depth, columns = pack.extents[-2:]
    addend = zero * weight_zero * depth + (bool(np.any(raised(finish.scaled))) << 31)
    words = {
        PackSlot.ROW: pack.reads[0].steps(axes)[-2] * BYTES[request.right.type],
        PackSlot.DEPTH: depth,
        PackSlot.COLUMNS: columns,
        PackSlot.FACTOR: -(request.isa.bias + zero),
        PackSlot.ADDEND: addend,
    }
    derived = []
    slots = (PackSlot.SOURCE, PackSlot.OUT, PackSlot.INITIAL)
    for number, (slot, access) in enumerate(zip(slots, pack.accesses, strict=False)):
        step = access.steps(axes)[0] * BYTES[access.type] if axes == 3 else 0
        terms = [(layout.base + number, 1), *([(layout.first, step)] if step else [])]
        derived.append(Word(slot, 0, tuple(terms)))
    spec = ContractSpec(request.isa, "convolution", request.left.type, request.right.type)
    numbers = tuple(words.get(slot, 0) for slot in PackSlot)
    return Unit("packing", pack_source(spec), {}, numbers, tuple(derived), 0)


def _finished(request: Request, made: Prepared, prepared: tuple[Access, ...], finish: Finish) -> Nest:
    """The group with its prepared operands, and its unit."""
    found, group = request.match, request.group
    done = replace(group, prepared=prepared, grain=grain_of(group, found, columns_apart(request, 2)))
    if _slots(request) is RowSlot:
        made.units[done] = _row(request, done, finish)
        return done
    kinds = request.left.type, "f32" if request.left.type == "f32" else request.right.type
    spec = ContractSpec(request.isa, "convolution", *kinds)
    known, scratch = _numbers(_blocking(request))
    words = {**known, Slot.INPUT_ZP: request.zero_points[0], Slot.WEIGHT_ZP: request.zero_points[1]}
    helpers = {int(Slot.GATHER): gather_source(request.isa), int(Slot.TILE): tile_source(spec)}
    made.units[done] = array_unit(request, done, finish, spec, Slot, words, helpers, scratch)
    return done


def _slots(request: Request) -> type[Slot | RowSlot]:
    """The arguments of the kernel: there is one for a single row of int8 that lies in the input."""
    geometry = replace(request.match.geometry, in_strides=request.match.strides)
    narrow = request.left.type == request.right.type == "i8" and request.zero_points[1] == 0
    is_row = narrow and geometry.is_row and request.isa.matrices is None and request.match.column is not None
    return RowSlot if is_row else Slot


def _row(request: Request, group: Nest, finish: Finish) -> Unit:
    """The unit of a single row."""
    blocking = RowBlocking(request.match.geometry, request.isa)
    spec, words = ContractSpec(request.isa, "row"), blocking.slots()
    return array_unit(request, group, finish, spec, RowSlot, words, {}, blocking.scratch_bytes)


@lru_cache(maxsize=KNOWN)
def _numbers(blocking: Blocking) -> tuple[Mapping[Slot, int], int]:
    """The numbers that a kernel is called with for a shape, by slot, and the scratch memory that it needs."""
    return blocking.slots(), blocking.scratch_bytes


def _blocking(request: Request) -> Blocking:
    """How the instruction set works on the shape."""
    found, constant = request.match, request.weights is not None and not request.match.batch
    geometry = replace(
        found.geometry, out_strides=out_strides(request.group, found), in_strides=found.strides
    )
    rounded = constant and request.left.type == request.right.type == "i8" and request.zero_points[1] == 0
    return Blocking(geometry, request.isa, rounded)
