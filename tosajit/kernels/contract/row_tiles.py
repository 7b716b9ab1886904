"""Tiles of a single row of A, from the first column to the last: weights are read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tosajit.kernels.contract.operands import Operands
from tosajit.kernels.contract.products import FLIPPED_INT8
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.requant import PANEL_REGISTERS, Panel, Rescaling, put_panels, switched
from tosajit.kernels.contract.slots import RowSlot
from tosajit.kernels.contract.tile import loops
from tosajit.kernels.sets.description import EIGHT
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

Ended = Callable[[Sequence[Register], Value, Value], None]
"""What is done with the sums of some columns, of (sums, the first of these columns, columns left)."""


def row_sums_i8(v: Vectors, address: Value, a: Value, words: Value) -> None:
    """Store the sums of a row of A times B (`RowSlot`), a word each; may write up to whole registers."""

    def store(sums: Sequence[Register], column: Value, left: Value) -> None:
        for panel, total in enumerate(sums):
            v.store(total, words + column * 4 + panel * v.isa.register_bytes)

    _each_tile(v, Record(v, address), a, store)


def row_rescale_i8(v: Vectors, address: Value, a: Value, out: Value) -> None:
    """Store the same as int8."""
    job, first = Record(v, address), Record(v, address)[RowSlot.N_LO]
    limits, sign = (job[RowSlot.LOW], job[RowSlot.HIGH]), job[RowSlot.SIGN]
    parameters = job[RowSlot.PARAMETERS] + first * (4 * PANEL_REGISTERS)

    def rescale(sums: Sequence[Register], column: Value, left: Value) -> None:
        own, where = parameters + column * (4 * PANEL_REGISTERS), out + column

        def finish(rescaling: Rescaling) -> None:
            panels = [Panel.at(v, own, number, rescaling) for number in range(len(sums))]
            put_panels(v, sums, panels, rescaling, where, left)

        switched(v, sign, limits, own, finish)

    _each_tile(v, job, a, rescale)


def _each_tile(v: Vectors, job: Record, a: Value, ended: Ended) -> None:
    """Have the sums of as many columns as a tile takes, again and again; in the end perhaps of one panel."""
    product, lanes, step = FLIPPED_INT8.on(v.isa), v.isa.lanes, v.isa.register_bytes
    block = EIGHT if product.kind in v.isa.row_pairs else 4 // v.isa.byte_width
    steps = (job[RowSlot.K] + (block - 1)) // block * (block * v.isa.byte_width // 4)
    first, end = job[RowSlot.N_LO], job[RowSlot.N_HI]
    b_panel = steps * step
    weights, initial = job[RowSlot.WEIGHT] + first // lanes * b_panel, job[RowSlot.INITIAL] + first * 4
    one, none = v.number(1), v.number(0)

    def tile(panels: int, column: Value) -> None:
        b = weights + column // lanes * b_panel
        operands = Operands(a, none, one, none, steps, b, b_panel)
        sums = loops(v, product, 1, panels).sums(v, operands, initial + column * 4)
        ended(sums, column, end - first - column)

    panels, columns = v.isa.panels, end - first
    wide = panels * lanes
    last = lanes if panels > 1 else 0
    whole = (columns + (wide - last - 1)) // wide
    v.each(whole, lambda index: tile(panels, index * wide))
    if last:
        v.when(whole * wide < columns, lambda: tile(1, whole * wide))
