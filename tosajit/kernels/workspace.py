"""The memory of one run of a segment at a time, and calling the driver with it."""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tosajit import kernels
from tosajit.arrays import Array
from tosajit.kernels.layout import COUNTERS, OWN_BYTES
from tosajit.kernels.lines import address_of, aligned
from tosajit.kernels.objects import loaded
from tosajit.kernels.runnable import Runnable, Slot
from tosajit.kernels.threads import PATIENCE, Team, pauses

BOUND = 13
"""The argument of the driver that says whether the arrays are the same in all calls."""


class Workspace:
    """Memory of one run: arena, table of addresses, each thread's own memory, and the driver's arguments.

    What lives in the scratchpad has its place in the memory of the only thread, constants from the beginning.

    `places` holds where the tuple of a call's arrays keeps them, and the table entry of each (the last one if
    nothing uses it): the driver looks up where their data are, many times as fast as asking NumPy.
    """

    def __init__(self, program: Runnable, slots: Sequence[int]) -> None:
        image, constants, threads = program.image, program.constants, program.threads
        self.arena = aligned(program.arena_bytes)
        self.table = np.zeros(len(program.slots) + 1, np.int64)
        self.memory = [aligned(image.thread_bytes) for _ in range(threads)]
        self.scratchpad = self.memory[0][OWN_BYTES:]
        base, scratchpad = address_of(self.arena), address_of(self.scratchpad)
        for slot, operand in enumerate(program.slots):
            if operand.resident:
                self.table[slot] = scratchpad + operand.offset
                if operand.kind == "constant":
                    self.resident(operand)[:] = constants[operand.name].reshape(-1).view(np.uint8)
            elif operand.kind == "temporary":
                self.table[slot] = base + operand.offset
            elif operand.name in constants:
                self.table[slot] = address_of(constants[operand.name])
        self.image, self._items = image, items_offset()
        self.counters = np.zeros((image.sections + 1, COUNTERS // 8), np.int64)
        self.report = np.zeros(64, np.int64)
        self._program, self._slots = program, slots  # constants are used where they are
        self.driver = driver(image.driver)
        self._begin()

    def _begin(self) -> None:
        """Make what runs on other arrays cannot share."""
        image, threads = self._program.image, self._program.threads
        self.lasting = np.zeros(image.lasting_bytes // 8, np.int64)
        self.places = array("q", [0, *self._slots])
        self.calls = [self._arguments(n, memory) for n, memory in enumerate(self.memory, int(threads > 1))]
        self.step = self._step()

    def twin(self) -> Workspace:
        """The same memory for runs on other arrays, which are not to be at the same time."""
        made = copy(self)
        made.table = self.table.copy()
        made._begin()
        return made

    def run(self) -> None:
        """Run the whole program."""
        self.step()

    @property
    def kept(self) -> Callable[[], None]:
        """What runs it, and keeps this memory alive, and the arrays that are bound."""
        if not isinstance(self.step, partial):
            return self.run
        same: Any = partial(self.step)
        same.workspace = self
        return same  # type: ignore[no-any-return]

    def bind(self, arrays: tuple[Array, ...]) -> None:
        """Note and keep the arrays of all calls."""
        self.bound = arrays
        self.place(arrays)
        self.last()

    def last(self) -> None:
        """Note that arguments of kernels are the same in all calls from the next one on."""
        self.lasting.fill(0)
        self.calls[0][BOUND] = 1

    def place(self, arrays: tuple[Array, ...]) -> None:
        """Note the arrays of a call, in the order of the slots; the tuple must live until `step` ends."""
        self.places[0] = id(arrays) + self._items

    def resident(self, operand: Slot) -> Array:
        """The bytes of an operand that lives in the scratchpad."""
        return self.scratchpad[operand.offset : operand.offset + operand.bytes]

    def _arguments(self, thread: int, memory: Array) -> Array:
        """The arguments of the driver on one thread."""
        image = self._program.image
        words = [address_of(image.numbers), address_of(self.table), thread]
        words += [address_of(self.counters) + COUNTERS, address_of(memory), 0, image.sections]
        words += [address_of(self.report), self.places.buffer_info()[0], len(self._slots), data_offset()]
        words += [pauses(PATIENCE) if thread else 0, address_of(self.lasting), 0]
        return np.array(words, np.int64)

    def _step(self) -> Callable[[], None]:
        """What runs the whole program, on all threads."""
        addresses = [address_of(call) for call in self.calls]
        if len(addresses) > 1:
            return Team(loaded(self._program.image.driver).address, addresses, self.counters).run
        return partial(self.driver, ctypes.c_int64(addresses[0]))


@cache
def data_offset() -> int:
    """Where an array object keeps the address of its data: behind what all objects have."""
    offset, sample = object.__basicsize__, np.zeros(3, np.int8)
    if ctypes.c_int64.from_address(id(sample) + offset).value != address_of(sample):
        raise RuntimeError(f"NumPy {np.__version__} keeps arrays in a way that tosajit does not know")
    return offset


@cache
def items_offset() -> int:
    """Where a tuple keeps the addresses of its items."""
    offset, sample = tuple.__basicsize__, (object(), object())
    if [ctypes.c_int64.from_address(id(sample) + offset + 8 * k).value for k in (0, 1)] != [*map(id, sample)]:
        raise RuntimeError(f"Python {sys.version} keeps tuples in a way that tosajit does not know")
    return offset


@cache
def driver(digest: str) -> Callable[[ctypes.c_int64], None]:
    """The compiled driver of this digest."""
    return ctypes.CFUNCTYPE(None, ctypes.c_int64)(loaded(digest).address)


@cache
def driver_text() -> str:
    """The source of the driver."""
    return Path(kernels.__file__).with_name("driver.py").read_text(encoding="utf-8")
