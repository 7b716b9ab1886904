"""DRAM with pages and refresh: what a transfer takes of its time, by the lengths and places of its runs.

A bank gives data of the page that it has open; to open another one takes it so long. Pages that follow one
another are in banks that take turns, so that one opens while others give data: the memory takes as long as
its pins or its banks, whatever is slower. A transfer is taken to find
none of its pages open, and to begin anywhere in a page. While the memory is refreshed it gives nothing.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from sim.cost.ticks import TICKS
from sim.machine.machine import Machine
from sim.machine.parts import Pages


def opened(pages: Pages, rows: int, run: int, span: int | None = None) -> int:
    """Pages that so many runs of bytes lie in at most; `span` is from the first to the last of them."""
    if not rows or not run:
        return 0
    apart = rows * _touched(pages.bytes, run)
    return apart if span is None else min(apart, _touched(pages.bytes, span))


def _touched(page: int, size: int) -> int:
    """Pages that contiguous bytes lie in, wherever they begin."""
    return 1 + (size + page - 2) // page


def port_ticks(pages: Pages, data: Fraction, count: int) -> int:
    """The memory's time for data that take so long by themselves, in so many pages."""
    in_banks = (count * pages.miss_cycles + data) / pages.banks
    return ceil(TICKS * max(data, in_banks) / available(pages))


def available(pages: Pages) -> Fraction:
    """The part of the time in which the memory is not refreshed."""
    interval = pages.refresh_interval_cycles
    return Fraction(1) if interval is None else 1 - Fraction(pages.refresh_cycles, interval)


def streamed_rate(machine: Machine) -> float | None:
    """Bytes a cycle of a long stream of data; None for unlimited."""
    rate, pages = machine.offchip_bytes_per_cycle, machine.offchip.pages
    if pages is None:
        return rate
    data = pages.bytes / rate if rate else 0.0
    page = max(data, (pages.miss_cycles + data) / pages.banks)
    return float(available(pages)) * pages.bytes / page if page else None
