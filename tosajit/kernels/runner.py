"""Running a compiled program on arrays: a workspace for each run at a time, and the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

import numpy as np

from tosajit.arrays import Array
from tosajit.errors import PlanError, RequireError
from tosajit.kernels import threads
from tosajit.kernels.lines import address_of
from tosajit.kernels.runnable import Runnable
from tosajit.kernels.workspace import Workspace


class Runner:
    """A compiled program: `run` takes arrays for the inputs and gives arrays for the outputs."""

    def __init__(self, program: Runnable, waits: bool = False) -> None:
        """`waits`: other kernels will take the place of the program's."""
        self.program, self.constants, self._waits = program, program.constants, waits
        self.inputs, self.outputs = program.inputs, program.outputs
        self._checked, self._new, self.threads = program.checked, program.results, program.threads
        self._free: list[Workspace] = []
        self._there = {slot.name: slot for slot in program.slots if slot.resident}
        written = program.written
        self._made = {name: i for i, name in reversed([*enumerate(self.outputs)]) if name in written}
        self._passed = [(i, name) for i, name in enumerate(self.outputs) if self._made.get(name) != i]
        if self.threads > 1:
            threads.ready()
        self._brought = [(i, o) for i, name in enumerate(self.inputs) if (o := self._there.get(name))]
        self._taken = [(i, o) for name, i in self._made.items() if (o := self._there.get(name))]
        self._in_place = not (self._checked or self._brought or self._taken or self._passed)
        """Whether the program does all that there is to do."""
        self.unchanged = frozenset(i for i, name in self._passed if self.inputs[i : i + 1] == (name,))
        """Outputs that are the inputs in the same places."""

    def run(self, arrays: Sequence[Array], into: list[Array] | None = None) -> list[Array]:
        """Run on dense arrays of the right types and shapes; results are new ones, or those of `into`."""
        free = self._free
        try:
            results = [np.empty(shape, storage) for shape, storage in self._new] if into is None else into
            workspace = free.pop() if free else self.workspace()
        except IndexError:  # another thread has taken it
            workspace = self.workspace()
        except MemoryError:
            raise self._too_large() from None
        every = (*arrays, *results)
        workspace.place(every)
        if self._in_place:
            workspace.step()
        else:
            self._work(workspace, arrays, results)
        free.append(workspace)
        return results

    def replace(self, program: Runnable) -> None:
        """Run a program that does the same by other kernels from the next call on."""
        self.program, self.constants, self._waits = program, program.constants, False
        # After the program: what a call finds here was made for the present one.
        self._free = []

    @property
    def is_settled(self) -> bool:
        """Whether the driver does all that there is to do, by kernels that stay."""
        return self._in_place and not self._waits

    @property
    def is_driven(self) -> bool:
        """Whether the driver does all but copies of results that no nest writes."""
        return not (self._checked or self._brought or self._taken)

    @property
    def is_settled_but_for_copies(self) -> bool:
        """Whether it does all but what `copies` gives."""
        return self.is_driven and not self._waits

    @property
    def has_copies(self) -> bool:
        """Whether there are results that no nest writes, other than inputs in their places."""
        return len(self._passed) > len(self.unchanged)

    def copies(self, arrays: Sequence[Array], results: Sequence[Array]) -> list[tuple[Array, Array]]:
        """Results that no nest writes, and what is to be copied there; unless they are inputs."""
        found = [(results[n], self._source(name, arrays, results)) for n, name in self._passed]
        return [(to, source.reshape(to.shape)) for to, source in found if to is not source]

    @property
    def made(self) -> Mapping[str, int]:
        """The outputs that nests write, and the first place of each."""
        return self._made

    def borrow(self) -> Workspace:
        """Memory for some runs of a program that is settled; `give_back` takes it for others."""
        try:
            return self._free.pop()
        except IndexError:
            return self.workspace()

    def give_back(self, workspace: Workspace) -> None:
        """Keep what `borrow` has given."""
        self._free.append(workspace)

    def bind(self, arrays: Sequence[Array], results: Sequence[Array]) -> Callable[[], None]:
        """What runs on these arrays each time that it is called."""
        workspace = self._bound(arrays, results)
        if self._waits:
            return self._latest(workspace, arrays, results)
        return workspace.kept if self._in_place else lambda: self._work(workspace, arrays, results)

    def _bound(self, arrays: Sequence[Array], results: Sequence[Array]) -> Workspace:
        """A workspace that keeps these arrays and has been told of them."""
        workspace = self.workspace()
        workspace.bind((*arrays, *results))
        return workspace

    def _latest(
        self, workspace: Workspace, arrays: Sequence[Array], results: Sequence[Array]
    ) -> Callable[[], None]:
        """What runs on these arrays with the kernels that are there when it is called."""
        program = self.program

        def run() -> None:
            nonlocal workspace, program
            if self.program is not program:
                program, workspace = self.program, self._bound(arrays, results)
            self._work(workspace, arrays, results)

        return run

    def _work(self, workspace: Workspace, arrays: Sequence[Array], results: Sequence[Array]) -> None:
        """Run on the arrays that the workspace has been told."""
        self._bring(workspace, arrays)
        workspace.step()
        if self._checked and workspace.report[0]:
            raise self._broken(workspace)
        self._take(workspace, results)
        if self._passed:
            for to, source in self.copies(arrays, results):
                to[...] = source

    def _bring(self, workspace: Workspace, arrays: Sequence[Array]) -> None:
        """Copy inputs to the scratchpad, those that live there."""
        for number, operand in self._brought:
            workspace.resident(operand)[:] = arrays[number].reshape(-1).view(np.uint8)

    def _take(self, workspace: Workspace, results: Sequence[Array]) -> None:
        """Copy outputs from the scratchpad."""
        for number, operand in self._taken:
            results[number].reshape(-1).view(np.uint8)[:] = workspace.resident(operand)

    def _source(self, name: str, arrays: Sequence[Array], results: Sequence[Array]) -> Array:
        """Where an output that no nest writes is: another output, a constant or an input."""
        if name in self._made:
            return results[self._made[name]]
        return self.constants[name] if name in self.constants else arrays[self.inputs.index(name)]

    def workspace(self) -> Workspace:
        """New memory for one run at a time."""
        program = self.program
        return Workspace(program, self._places(program))

    def _places(self, program: Runnable) -> list[int]:
        """The entries of the table of addresses that inputs and outputs have in a program."""
        nobody = len(program.slots)
        slots = {slot.name: nobody if slot.resident else n for n, slot in enumerate(program.slots)}
        passed = {i for i, _ in self._passed}
        entry = [slots.get(name, nobody) for name in self.inputs]
        leave = [nobody if i in passed else slots[name] for i, name in enumerate(self.outputs)]
        return [*entry, *leave]

    def _too_large(self) -> PlanError:
        from tosajit.kernels.memory import too_large

        return too_large(self.program.slots, self.program.arena_bytes)

    def profile(self, arrays: Sequence[Array], runs: int) -> list[list[float]]:
        """Run group by group on one thread, so many times: the seconds that each group took in each run.

        What it takes to call the driver does not count.
        """
        results = [np.empty(shape, storage) for shape, storage in self._new]
        workspace = self._bound(arrays, results)
        call, groups = workspace.calls[0], range(self.program.image.sections)
        call[2] = 0
        self._bring(workspace, arrays)
        address = ctypes.c_int64(address_of(call))

        def timed(first: int, end: int) -> float:
            call[5:7] = first, end
            start = perf_counter()
            workspace.driver(address)
            return perf_counter() - start

        least = min(timed(0, 0) for _ in range(20))
        found = [[timed(number, number + 1) for number in groups] for _ in range(runs + 1)][1:]
        return [[max(0.0, run[number] - least) for run in found] for number in groups]

    def _broken(self, workspace: Workspace) -> RequireError:
        """What a checked kernel has reported, as an error."""
        from tosajit.kernels.scalars import requirement_text

        section, check, *point = map(int, workspace.report[1:])
        members = self.program.members[section]
        name = self.program.image.checks[section][check]
        index = ", ".join(f"{a}={p}" for a, p in zip(members.axes, point, strict=False) if p >= 0)
        rule = "an index is outside of its operand" if name == "index" else requirement_text(name)
        return RequireError(f"{members}: {rule}, at {index or 'its only point'}")
