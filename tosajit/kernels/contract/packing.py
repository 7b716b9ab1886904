"""Packing a matrix B that is only known at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tosajit.kernels.contract.interleave import pairs_of_bytes, quads_of_bytes
from tosajit.kernels.contract.products import INT8
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors


def _steps(
    v: Vectors,
    rows: tuple[Value, Value, Value],
    group: int,
    width: Value,
    steps: Value,
    body: Callable[[Value, list[Register]], None],
) -> None:
    """Run `body(step, registers)` over groups of rows (source, row bytes, depth); `width` bytes of each.

    Those behind the depth are zeros.
    """
    source, row_bytes, depth = rows
    mask = v.below(width)

    def step(index: Value) -> None:
        numbers = [index * group + tap for tap in range(group)]
        exist = [v.choose(row < depth, mask, 0) for row in numbers]
        pairs = zip(numbers, exist, strict=True)
        body(index, [v.load_part(source + row * row_bytes, some, "i8") for row, some in pairs])

    v.each(steps, step)


def pack_i8(
    v: Vectors, source: Value, row_bytes: Value, depth: Value, columns: Value, out: Value, sums: Value
) -> None:
    """Pack rows of B to panels of columns, and sum each column.

    `out` and `sums` hold whole panels, `sums` a multiple of four of them.
    """
    step, lanes, product = v.isa.register_bytes, v.isa.lanes, INT8.on(v.isa)
    group = v.isa.eights_of("i8") or 4 // v.isa.byte_width
    whole = v.isa.matrices.row_bytes if v.isa.matrices else group
    steps = (depth + (whole - 1)) // whole * (whole // group)
    panel_bytes = steps * (group * v.isa.byte_width // 4 * step)
    ones = v.constant(1, product.kind)

    def block(index: Value) -> None:
        start = index * step
        width = v.least(columns - start, step)
        target, totals = out + index * 4 * panel_bytes, sums + index * (4 * step)
        panels = (width + (lanes - 1)) // lanes
        for panel in range(4):
            v.store(v.constant(0, "i32"), totals + panel * step)

        def put(panel: int, parts: Sequence[Register], position: Value) -> None:
            place, there = (
                target + panel_bytes * panel + position * (len(parts) * step),
                totals + panel * step,
            )
            registers = v.zipped(*(v.view(part, "i32") for part in parts)) if len(parts) > 1 else parts
            for part, register in enumerate(registers):
                v.store(register, place + part * step)
            total = v.load(there, "i32")
            for register in parts:
                total = product.multiplied(v, total, ones, v.view(register, product.kind))
            v.store(total, there)

        def laid_out(position: Value, loaded: list[Register]) -> None:
            lay = pairs_of_bytes if group == 2 else quads_of_bytes
            laid = [lay(v, loaded[first : first + 4]) for first in range(0, group, 4)]
            for panel, parts in enumerate(zip(*laid, strict=True)):
                v.when(panels > panel, partial(put, panel, parts, position))

        _steps(v, (source + start, row_bytes, depth), group, width, steps, laid_out)

    v.each((columns + (step - 1)) // step, block)


def pack_halves(
    v: Vectors, source: Value, row_bytes: Value, depth: Value, columns: Value, out: Value
) -> None:
    """Pack rows of int16 as `pack.pack_halves` does."""
    step, lanes = v.isa.register_bytes, v.isa.lanes
    panel_bytes = (depth + 1) // 2 * step

    def block(index: Value) -> None:
        start = index * (2 * lanes)
        width = v.least(columns - start, 2 * lanes)
        target, panels = out + index * 4 * panel_bytes, (width + (lanes - 1)) // lanes

        def put(panel: int, pair: Sequence[Register], position: Value) -> None:
            for part, register in enumerate(pair):
                v.store(register, target + panel_bytes * (2 * panel + part) + position * step)

        def rows(position: Value, loaded: list[Register]) -> None:
            words = [v.view(row, "i16") for row in loaded]
            upper, lower = v.zipped(*(word >> 8 for word in words)), v.zipped(*(word & 255 for word in words))
            for panel, pair in enumerate(zip(upper, lower, strict=True)):
                v.when(panels > panel, partial(put, panel, pair, position))

        _steps(v, (source + start * 2, row_bytes, depth), 2, width * 2, (depth + 1) // 2, rows)

    v.each((columns + (2 * lanes - 1)) // (2 * lanes), block)
