"""A program with variables: what they hold are its last inputs, what they shall hold its last outputs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.kernels.runner import Runner
from tosajit.runtime.context import Context, Held, Room
from tosajit.runtime.steps import Declare, Frame, ReadVariable, WriteVariable

Access = Declare | ReadVariable | WriteVariable


@dataclass(frozen=True, slots=True, eq=False)
class Stateful:
    """A step that reads variables, runs a program and writes them: each is written, or none if that fails."""

    runner: Runner
    accesses: tuple[Access, ...]
    """In the order of the graph."""
    reads: tuple[str, ...]
    """The variables that the last inputs are of."""
    writes: tuple[tuple[str, int], ...]
    """The variables that the last outputs are for, and at which elements of these they begin."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs that are no variables."""
        return self.runner.inputs[: len(self.runner.inputs) - len(self.reads)]

    def run(self, frame: Frame) -> None:
        """Take the inputs from the frame and put the outputs there."""
        runner, held = self.runner, self._found(frame.context, frame.declared)
        arrays = frame.take(self.inputs)
        frame.context.note(runner, [*arrays, *held.contents()])
        results = self.work(arrays, held, None)
        frame.values.update(zip(runner.outputs, results, strict=False))

    def call(self, arrays: Sequence[Array], context: Context, into: list[Array] | None = None) -> list[Array]:
        """Run it as all that a block is; results are new arrays, or those of `into`."""
        return self.work(arrays, self.held(context), into)

    def held(self, context: Context) -> Held:
        """The variables of a context; what is right once is right in each execution of the same block."""
        found = context.held.get(self)
        if found is None:
            found = context.held[self] = self._found(context.execution(), set())
        return found

    def room(self, held: Held) -> Room:
        """New arrays for what is written."""
        new = self.runner.program.results[-len(self.writes) :] if self.writes else []
        made = [np.empty(shape, storage) for shape, storage in new]
        starts = [start for _, start in self.writes]
        return Room(made, [*map(_part, made, starts, (one.shape for one in held.written))])

    def work(
        self, arrays: Sequence[Array], held: Held, into: list[Array] | None, room: Room | None = None
    ) -> list[Array]:
        """Run on what variables hold; those that are written hold arrays of `room` then, if it is given."""
        new = self.runner.program.results
        leaving = new[: len(new) - len(held.written)]
        results = [np.empty(shape, storage) for shape, storage in leaving] if into is None else into
        used = room or held.room() or self.room(held)
        self.runner.run([*arrays, *held.contents()], [*results, *used.made])
        held.hold(used)
        if room is None:
            held.spare.append(used)
        return results

    def _found(self, context: Context, declared: set[str]) -> Held:
        """Do what accesses demand in their order, as far as it is not moving data."""
        written: set[str] = set()
        for access in self.accesses:
            name, value = access.variable, access.value
            shape = value.shape or ()
            match access:
                case Declare():
                    access.declare(context, declared)
                case ReadVariable(node):
                    context.readable(node, name, value.dtype, shape, name in written)
                case WriteVariable(node):
                    context.writable(node, name, value.dtype, shape)
                    written.add(name)
        variables = context.variables
        return Held([variables[name] for name in self.reads], [variables[name] for name, _ in self.writes])


def _part(whole: Array, start: int, shape: tuple[int, ...]) -> Array:
    """The elements from `start` on that have this shape."""
    if whole.shape == shape:
        return whole
    return whole.reshape(-1)[start : start + prod(shape)].reshape(shape)
