"""Register tiles of int8 that are rescaled to int8 without leaving the registers, for AVX-512."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tosajit.kernels.contract.code import I8, Builder, Value, address, define, load, loop, number, procedure
from tosajit.kernels.contract.requant import PANEL_BYTES, Rescaling, load_panel, narrow, put, scale
from tosajit.kernels.contract.rows import lanes_below
from tosajit.kernels.contract.tile import INT8, PANELS, Body

HEIGHTS = (1, 2, 4, 8, 10, 12)
OPERANDS = 14


@dataclass(frozen=True, slots=True)
class _Fused:
    """All tiles of one size down a column; the last may begin early: some rows are then stored twice."""

    height: int
    panels: int

    def __call__(self, b: Builder, *arguments: Value) -> None:
        a, a_row, *inner, init, rows, columns, parameters, low, high, places = arguments
        limits = Rescaling(False, b.trunc(low, I8), b.trunc(high, I8))
        masks = [self._mask(b, columns, panel) for panel in range(self.panels)]
        out, offsets = (load(b, address(b, places, 8 * i), a.type) for i in range(2))
        height, body = number(self.height), Body(INT8, self.height, self.panels)
        last = b.sub(rows, height)

        def tile(index: Value, _: Any) -> list[Value]:
            start = b.mul(index, height)
            start = b.select(b.icmp_signed("<", start, last), start, last)
            operands = (b.add(a, b.mul(start, a_row)), a_row, *inner)
            totals = body.sums(b, operands, init)
            for panel, mask in enumerate(masks):
                loaded = load_panel(b, address(b, parameters, panel * PANEL_BYTES))
                mine = totals[panel :: self.panels]
                self._store(b, mine, loaded, limits, mask, (address(b, out, 16 * panel), offsets, start))
            return []

        loop(b, b.udiv(b.add(rows, number(self.height - 1)), height), [], tile)

    def _mask(self, b: Builder, columns: Value, panel: int) -> Value:
        left = b.sub(columns, number(16 * panel))
        return lanes_below(b, b.select(b.icmp_signed("<", left, number(16)), left, number(16)), 16)

    def _store(
        self,
        b: Builder,
        totals: Sequence[Value],
        loaded: Sequence[Value],
        limits: Rescaling,
        mask: Value,
        places: tuple[Value, Value, Value],
    ) -> None:
        out, offsets, start = places
        first = address(b, offsets, start, 8)
        for row, total in enumerate(totals):
            offset = load(b, address(b, first, 8 * row), out.type)
            value = narrow(b, scale(b, total, loaded, limits.signed), limits)
            put(b, value, b.add(out, offset), mask)


def _tile_rescale_i8(b: Builder, *arguments: Value) -> None:
    *operands, height = arguments
    columns = operands[9]
    wide = b.select(b.icmp_signed(">", columns, number(16)), number(16 * 2), number(16))
    default, after = b.append_basic_block("default"), b.append_basic_block("after")
    cases = b.switch(b.add(wide, height), default)
    for panels in range(1, PANELS + 1):
        for rows in HEIGHTS:
            block = b.append_basic_block("case")
            cases.add_case(number(16 * panels + rows), block)
            b.position_at_end(block)
            name = f"contract_tile_rescale_i8_{rows}x{panels}"
            b.call(define(b.module, name, OPERANDS, _Fused(rows, panels)), operands)
            b.branch(after)
    b.position_at_end(default)
    b.unreachable()
    b.position_at_end(after)


tile_rescale_i8 = procedure("tile_rescale_i8", OPERANDS + 1, _tile_rescale_i8)
"""`tile_rescale_i8(a, a_row, segments, segment, steps, b, b_panel, init, rows, columns, parameters, low,
high, places, height)`: rows of A times up to 32 columns, rescaled where no sum's sign matters, to int8 at
out + offsets[row]; `places` is the address of the two addresses `out` and `offsets`. `height` is one of
HEIGHTS and at most `rows`."""
