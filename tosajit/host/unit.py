"""From a matched contraction to the words, constants and nests that its array kernel needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tiling.expr import BYTES, Expr, walk
from tiling.nest import Access, Nest
from tosajit.host.epilogue import Text, epilogue, output_steps, substituted
from tosajit.host.match import Match, match
from tosajit.host.rescale import Rescale, rescale_of
from tosajit.kernels.contract.pack import pack_weights, start_values, sum_bound
from tosajit.kernels.contract.source import contract_source, gather_source, tile_source
from tosajit.kernels.contract.spec import ContractSpec, Epilogue, Slot
from tosajit.kernels.layout import SCRATCH, Layout
from tosajit.link import Unit, Word

Array = np.ndarray[Any, Any]


@dataclass
class Prepared:
    """What preparing groups for the array kernels has made."""

    groups: list[Nest] = field(default_factory=list)
    units: dict[Nest, Unit] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)


def prepare(groups: Sequence[Nest], constants: Mapping[str, Array], library: str | None) -> Prepared:
    """Give the contractions that the array kernels can do to them; the others stay as they are."""
    made = Prepared()
    for group in groups:
        found = match(group) if library else None
        done = _convolution(group, found, constants, made, library or "") if found is not None else None
        made.groups.append(done or group)
    return made


def supports(group: Nest) -> bool:
    """Whether an array kernel can do all of a group, work on its results included."""
    found = match(group)
    return found is None or epilogue(group, found, Slot.EPILOGUE) is not None


def _convolution(
    group: Nest, found: Match, constants: Mapping[str, Array], made: Prepared, library: str
) -> Nest | None:
    left, right = group.reads[found.left.read], group.reads[found.right.read]
    numbers = _zero_points(group, found, constants)
    weights = constants.get(right.operand)
    if found.depthwise or len(found.batch) > 1 or left.type != "i8" or right.type != "i8":
        return None
    if weights is None or numbers is None:
        return None
    matrix = weight_matrix(weights, right, group, found)
    bias = np.zeros(matrix.shape[0], np.int32)
    scaled = rescale_of(group, found, constants, sum_bound(matrix, bias, *numbers))
    text = _text(group, found, scaled)
    if text is None:
        return None
    name = group.writes[0].access.operand
    names = [f"{name}.packed", f"{name}.start", *([f"{name}.scale"] if scaled else [])]
    start = start_values(matrix, bias if scaled is None else scaled.bias, *numbers, rescale=scaled is not None)
    arrays = [pack_weights(matrix), start, *([scaled.table.data] if scaled else [])]
    made.constants |= {key: array.reshape(-1) for key, array in zip(names, arrays, strict=True)}
    types = ["i8", "i32", "i32"]
    prepared = tuple(Access(key, kind, (), ()) for key, kind in zip(names, types, strict=False))
    done = replace(group, prepared=prepared, grain=_grain(group, found))
    made.units[done] = _unit(done, found, numbers, scaled, text, library)
    return done


def _text(group: Nest, found: Match, scaled: Rescale | None) -> Text | None:
    if scaled is None:
        return epilogue(group, found, Slot.EPILOGUE)
    if scaled.complete:
        return Text("", "", "", (), ())
    return epilogue(substituted(group, scaled.expr), found, Slot.EPILOGUE)


def _zero_points(group: Nest, found: Match, constants: Mapping[str, Array]) -> tuple[int, int] | None:
    """Both zero points if they are constants."""
    points = []
    for factor in (found.left, found.right):
        array = np.zeros(1, np.int8)
        if factor.zero_point is not None:
            known = constants.get(group.reads[factor.zero_point].operand)
            if known is None:
                return None
            array = known
        points.append(int(array.reshape(-1)[0]))
    return points[0], points[1]


def weight_matrix(weights: Array, access: Access, group: Nest, found: Match) -> Array:
    """The constant weights as [columns][depth]."""
    steps = access.steps(len(group.axes))
    axes = [*([found.column] if found.column is not None else []), *found.depth]
    shape = [group.axes[axis].extent for axis in axes]
    size = weights.itemsize
    flat = np.ascontiguousarray(weights).reshape(-1)[access.start() :]
    view = np.lib.stride_tricks.as_strided(flat, shape, [steps[axis] * size for axis in axes])
    columns = shape[0] if found.column is not None else 1
    return np.ascontiguousarray(view).reshape(columns, -1)


def _grain(group: Nest, found: Match) -> tuple[int, ...]:
    """Only the outermost position and blocks of columns can be shared; batches go one by one."""
    grain = []
    for number, axis in enumerate(group.axes[: group.outer]):
        if number in found.batch:
            grain.append(0)
        elif number == found.column:
            grain.append(32)
        else:
            grain.append(1 if found.rows and number == found.rows[0] else axis.extent)
    return tuple(grain)


def _unit(
    group: Nest, found: Match, points: tuple[int, int], scaled: Rescale | None, text: Text, library: str
) -> Unit:
    spec = ContractSpec("convolution", "i8", "i8", library)
    geometry = replace(found.geometry, out_strides=_out_strides(group, found))
    words = [0] * (Slot.EPILOGUE + len(text.accesses) + len(text.numbers))
    for slot, number in geometry.slots().items():
        words[slot] = number
    size = geometry.element_bytes
    strides = dict(zip((Slot.IN_N, Slot.IN_Z, Slot.IN_Y, Slot.IN_X), found.strides, strict=True))
    for slot, elements in strides.items():
        words[slot] = elements * size
    direct = _row_bytes_in_place(found)
    words[Slot.DIRECT], words[Slot.ROW_BYTES] = int(direct > 0), direct or geometry.row_bytes
    words[Slot.INPUT_ZP], words[Slot.WEIGHT_ZP] = points
    if scaled is not None:
        words[Slot.SIGN], words[Slot.LOW], words[Slot.HIGH] = scaled.table.sign, scaled.low, scaled.high
    words[len(words) - len(text.numbers) :] = text.numbers
    part = Epilogue(text.body, text.setup, text.functions, scaled is not None)
    helpers = {int(Slot.GATHER): gather_source(library), int(Slot.TILE): tile_source(spec)}
    derived = tuple(_derived(group, found, text, scaled))
    return Unit(contract_source(spec, part), helpers, tuple(words), derived, geometry.scratch_bytes)


def _row_bytes_in_place(found: Match) -> int:
    """Bytes from row to row if the rows lie in the input as the kernel wants them, else 0."""
    shape = found.geometry
    if shape.kernel != (1, 1, 1) or any(shape.pad) or shape.row_bytes != shape.depth * shape.element_bytes:
        return 0
    steps = [
        (extent, elements * stride)
        for extent, elements, stride in zip(shape.output, found.strides, (1, *shape.stride), strict=True)
        if extent > 1
    ]
    for (_, outer), (extent, inner) in zip(steps, steps[1:], strict=False):
        if outer != inner * extent:
            return 0
    return (steps[-1][1] if steps else shape.depth) * shape.element_bytes


def _out_strides(group: Nest, found: Match) -> tuple[int, int, int, int]:
    steps = [output_steps(group)[axis] for axis in found.rows]
    names = [extent > 1 for extent in found.geometry.output]
    rows = iter(steps)
    return tuple(next(rows) if used else 0 for used in names)  # type: ignore[return-value]


def _derived(group: Nest, found: Match, text: Text, scaled: Rescale | None) -> list[Word]:
    """The words that depend on where operands are and on the tile."""
    axes = len(group.axes)
    accesses = (*group.reads, *(write.access for write in group.writes), *group.prepared)
    layout = Layout(axes, len(accesses))
    first_prepared = len(accesses) - len(group.prepared)

    def base(slot: int, number: int, batched: bool = True) -> Word:
        terms = [(layout.base + number, 1)]
        steps = accesses[number].steps(axes) if batched else (0,) * axes
        terms += [(layout.first + b, steps[b] * BYTES[accesses[number].type]) for b in found.batch if steps[b]]
        return Word(slot, 0, tuple(terms))

    source = base(Slot.SOURCE, found.left.read)
    left = accesses[found.left.read]
    # The geometry has the offsets of the input as paddings, so its base must be the operand's first element.
    words = [replace(source, constant=-left.start() * BYTES[left.type]), base(Slot.OUTPUT, len(group.reads))]
    words += [base(Slot.WEIGHT, first_prepared, False), base(Slot.INITIAL, first_prepared + 1, False)]
    words += [base(Slot.PARAMETERS, first_prepared + 2, False)] if scaled else []
    words += [base(Slot.EPILOGUE + place, number) for place, number in enumerate(text.accesses)]
    words.append(Word(Slot.SCRATCH, 0, ((SCRATCH, 1),)))
    if found.rows:
        inner = int(np.prod([group.axes[axis].extent for axis in found.rows[1:]], dtype=object))
        row = found.rows[0]
        words += [Word(Slot.M_LO, 0, ((layout.first + row, inner),)), Word(Slot.M_HI, 0, ((layout.end + row, inner),))]
    if found.column is not None:
        words.append(Word(Slot.N_LO, 0, ((layout.first + found.column, 1),)))
        words.append(Word(Slot.N_HI, 0, ((layout.end + found.column, 1),)))
    return words


def constant_scalar(expr: Expr, group: Nest, constants: Mapping[str, Array]) -> int | None:
    """The number that a read of one constant element is, or a literal."""
    if expr.op == "const":
        return int(expr.args[0])  # type: ignore[arg-type]
    if expr.op != "read":
        return None
    array = constants.get(group.reads[int(expr.args[0])].operand)  # type: ignore[arg-type]
    return int(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


def has_acc(expr: Expr) -> bool:
    """Whether an expression depends on the sum."""
    return any(node.op == "acc" for node in walk(expr))
