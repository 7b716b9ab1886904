"""Programs and counted loops as a chain, which one call runs: the memory of a run, and calling it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from tiling.records import dataclass
from tosajit import kernels
from tosajit.arrays import Array
from tosajit.kernels.chain_layout import COPY
from tosajit.kernels.layout import COUNTERS
from tosajit.kernels.lines import address_of, aligned
from tosajit.kernels.objects import compile_kernel, loaded
from tosajit.kernels.runnable import Runnable
from tosajit.kernels.threads import PATIENCE, Team, pauses
from tosajit.kernels.workspace import Workspace, data_offset, driver, items_offset


@dataclass(frozen=True, slots=True)
class Copy:
    """Bytes of a value that go to another one; with each round, both places may move."""

    source: Hashable
    target: Hashable
    bytes: int
    source_start: int = 0
    source_step: int = 0
    target_start: int = 0
    target_step: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """A program that runs so many rounds, and what is copied before, around and after them."""

    program: Runnable
    turns: tuple[Mapping[str, Hashable], ...]
    """The values that its operands are: in all rounds, or in those of even and of odd number."""
    rounds: int = 1
    before: tuple[Copy, ...] = ()
    taken: tuple[Copy, ...] = ()
    made: tuple[tuple[Copy, ...], tuple[Copy, ...]] = (), ()
    """After rounds of even number, and as many after those of odd number."""
    after: tuple[Copy, ...] = ()

    @property
    def copies(self) -> tuple[tuple[Copy, ...], ...]:
        """All that is copied, in order."""
        return self.before, self.taken, *self.made, self.after


class Chained:
    """Memory of one run: programs', values between them, and the arguments of the compiled chain."""

    def __init__(
        self,
        links: Sequence[Link],
        brought: Sequence[Hashable],
        constants: Mapping[Hashable, Array],
        sizes: Mapping[Hashable, int],
    ) -> None:
        """`brought` are the values of a call's arrays, in order; `sizes` has bytes of all that links make."""
        own = {name: aligned(size) for name, size in sizes.items() if name not in brought}
        there = {**constants, **own}
        self.links, self._kept = links, there
        self._numbers = {name: number for number, name in enumerate((*brought, *there))}
        self._brought = len(brought)
        self._table = np.array([0] * len(brought) + [*map(address_of, there.values())], np.int64)
        self._turns = [[*_workspaces(link)] for link in links]
        self._placed = np.array(self._words(), np.int64)
        copies = [self._copy(copy) for link in links for part in link.copies for copy in part]
        self._copies = np.array(copies, np.int64)
        threads = max(link.program.threads for link in links)
        counts = [(link.program.image.sections + 1) * COUNTERS if threads > 1 else 0 for link in links]
        lines = sum(link.rounds * count for link, count in zip(links, counts, strict=True)) // COUNTERS
        self._counters = np.zeros((1 + lines, COUNTERS // 8), np.int64)
        self._links = np.array([*self._records(counts)], np.int64)
        self._arrays = np.zeros(1, np.int64)
        self._calls = [self._addresses(number) for number in range(threads)]
        self._arguments = [self._argument(number, threads) for number in range(threads)]
        self.step = self._step()

    def place(self, arrays: tuple[Array, ...]) -> None:
        """Note the arrays of a call; the tuple must live until `step` ends."""
        self._arrays[0] = id(arrays) + items_offset()

    def bind(self, arrays: tuple[Array, ...]) -> None:
        """Note and keep the arrays of all calls."""
        self.bound = arrays
        self.place(arrays)
        for turns in self._turns:
            for workspace in turns:
                workspace.last()

    def run(self) -> None:
        """Run the whole chain."""
        self.step()

    def _words(self) -> list[int]:
        """Tell programs where their values are; what tells them of those that a call brings."""
        words: list[int] = []
        for link, turns in zip(self.links, self._turns, strict=True):
            slots = {slot.name: number for number, slot in enumerate(link.program.slots)}
            for workspace, values in zip(turns, link.turns, strict=True):
                numbers = {slots[name]: self._numbers[one] for name, one in values.items() if name in slots}
                for slot, number in numbers.items():
                    workspace.table[slot] = self._table[number]
                late = {slot: number for slot, number in numbers.items() if number < self._brought}
                if not late:
                    workspace.last()
                for slot, number in late.items():
                    words += [number, address_of(workspace.table) + 8 * slot]
        return [self._brought, len(words) // 2, *words]

    def _copy(self, copy: Copy) -> list[int]:
        source, target = self._numbers[copy.source], self._numbers[copy.target]
        starts = copy.source_start, copy.source_step, copy.target_start, copy.target_step
        return [source, *starts[:2], target, *starts[2:], copy.bytes]

    def _records(self, counts: Sequence[int]) -> Iterator[list[int]]:
        """What the compiled chain is told of each link."""
        start = address_of(self._copies)
        for link, count in zip(self.links, counts, strict=True):
            before, taken, made, _, after = map(len, link.copies)
            yield [link.rounds, count, before, taken, made, after, start]
            start += 8 * COPY * (before + taken + 2 * made + after)

    def _addresses(self, thread: int) -> Array:
        """For each link the driver's arguments of a thread."""
        rows = []
        for turns in self._turns:
            calls = [turn.calls[thread] for turn in (turns[0], turns[-1]) if thread < len(turn.calls)]
            rows.append([*map(address_of, calls)] or [0, 0])
        return np.array(rows, np.int64)

    def _argument(self, thread: int, threads: int) -> Array:
        """The arguments of the compiled chain on a thread."""
        address = loaded(self.links[0].program.image.driver).address
        words = [address, address_of(self._links), len(self.links), address_of(self._calls[thread])]
        words += [thread + 1 if threads > 1 else 0, address_of(self._counters)]
        words += [pauses(PATIENCE) if threads > 1 else 0, address_of(self._table), address_of(self._placed)]
        return np.array([*words, address_of(self._arrays), data_offset()], np.int64)

    def _step(self) -> Callable[[], None]:
        """What runs the whole chain, on all threads."""
        addresses = [*map(address_of, self._arguments)]
        if len(addresses) > 1:
            return Team(loaded(digest()).address, addresses, self._counters).run
        return partial(driver(digest()), ctypes.c_int64(addresses[0]))


def _workspaces(link: Link) -> Iterator[Workspace]:
    """Memory of a program, for each set of values."""
    workspace = Workspace(link.program, ())
    yield workspace
    yield from (workspace.twin() for _ in link.turns[1:])


@cache
def digest() -> str:
    """The digest of the compiled chain."""
    return compile_kernel(text()).digest


@cache
def text() -> str:
    """The source of the compiled chain."""
    return Path(kernels.__file__).with_name("chain.py").read_text(encoding="utf-8")
