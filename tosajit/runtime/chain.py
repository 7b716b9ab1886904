"""Steps that one compiled call runs: programs, and counted loops whose rounds are a program."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Protocol, runtime_checkable

import numpy as np

from tiling.records import dataclass, replace
from tosajit.arrays import Array
from tosajit.kernels.chained import Chained, Copy, Link
from tosajit.kernels.runner import Runner
from tosajit.runtime.steps import Frame

Type = tuple[tuple[int, ...], np.dtype[np.generic]]
"""The shape of an array, and what it stores."""


@dataclass(frozen=True, slots=True)
class Part:
    """A step of a chain."""

    runner: Runner
    link: Link
    """What it is in the chain, with the program that the runner has had first."""
    reads: tuple[str, ...]
    makes: Mapping[str, Type]
    own: Mapping[Hashable, int] = field(default_factory=dict)
    """Values that only it knows, and their bytes."""
    constants: Mapping[Hashable, Array] = field(default_factory=dict)

    @property
    def is_loop(self) -> bool:
        """Whether it has rounds."""
        return len(self.link.turns) > 1


@runtime_checkable
class Joining(Protocol):
    """A step that may be a part of a chain."""

    def part(self) -> Part | None:
        """The same in a chain; None if the driver does not do all of it."""


class Chain:
    """Parts, one after the other: they run as a program does."""

    def __init__(
        self,
        parts: Sequence[Part],
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        constants: Mapping[str, Array],
    ) -> None:
        self.inputs, self.outputs, self.parts = inputs, outputs, parts
        made = {name: type_ for part in parts for name, type_ in part.makes.items()}
        self._new = [made[name] for name in outputs]
        self._sizes: dict[Hashable, int] = {name: bytes_of(type_) for name, type_ in made.items()}
        self._constants: dict[Hashable, Array] = {}
        for part in parts:
            self._sizes |= part.own
            self._constants |= {name: constants[name] for name in part.reads if name in constants}
            self._constants |= part.constants
        self._free: list[Chained] = []

    @property
    def arena_bytes(self) -> int:
        """Memory for what parts make that is no result, and for what they make meanwhile."""
        values = sum(size for name, size in self._sizes.items() if name not in self.outputs)
        return values + sum(part.runner.program.arena_bytes for part in self.parts)

    def run(self, arrays: Sequence[Array], into: list[Array] | None = None) -> list[Array]:
        """Run on dense arrays of the right types and shapes; results are new ones, or those of `into`."""
        results = [np.empty(*one) for one in self._new] if into is None else into
        try:
            memory = self._free.pop()
        except IndexError:
            memory = self._memory()
        if not self._is_current(memory):
            memory = self._memory()
        every = (*arrays, *results)
        memory.place(every)
        memory.step()
        self._free.append(memory)
        return results

    def bind(self, arrays: Sequence[Array], results: Sequence[Array]) -> Callable[[], None]:
        """What runs on these arrays each time that it is called."""
        memory = self._bound(arrays, results)

        def run() -> None:
            nonlocal memory
            if not self._is_current(memory):
                memory = self._bound(arrays, results)
            memory.step()

        return memory.run if self._is_settled else run

    @property
    def _is_settled(self) -> bool:
        return all(part.runner.is_settled_but_for_copies for part in self.parts)

    def _bound(self, arrays: Sequence[Array], results: Sequence[Array]) -> Chained:
        memory = self._memory()
        memory.bind((*arrays, *results))
        return memory

    def _is_current(self, memory: Chained) -> bool:
        """Whether programs are those that runners have now."""
        for part, link in zip(self.parts, memory.links):  # noqa: B905  (as many; strict= costs its time)
            if part.runner.program is not link.program:
                return False
        return True

    def _memory(self) -> Chained:
        """New memory for one run at a time."""
        links = [replace(part.link, program=part.runner.program) for part in self.parts]
        return Chained(links, (*self.inputs, *self.outputs), self._constants, self._sizes)


def whole_chain(
    parts: Sequence[Part],
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    constants: Mapping[str, Array],
) -> Chain | None:
    """The chain of parts that give all results of a block, each of which is another value."""
    made = {name for part in parts for name in part.makes}
    if not parts or len({*outputs}) < len(outputs) or not made.issuperset(outputs):
        return None
    return Chain(parts, inputs, outputs, constants)


@dataclass(frozen=True, slots=True)
class Together:
    """A step that runs several as a chain."""

    chain: Chain

    @classmethod
    def of(cls, parts: Sequence[Part], constants: Mapping[str, Array]) -> Together:
        """The step of some parts; what each of them makes may be read behind it."""
        made = tuple(name for part in parts for name in part.makes)
        read = dict.fromkeys(name for part in parts for name in part.reads)
        inputs = tuple(name for name in read if name not in made and name not in constants)
        return cls(Chain(parts, inputs, made, constants))

    def run(self, frame: Frame) -> None:
        """Take the inputs from the frame and put the outputs there."""
        results = self.chain.run(frame.take(self.chain.inputs))
        frame.values.update(zip(self.chain.outputs, results, strict=True))


@dataclass(frozen=True, slots=True)
class Turn:
    """A program on some values."""

    operands: Mapping[str, Hashable]
    """The values that it reads and writes, by the names that it has for them."""
    results: tuple[Hashable, ...]
    """The value that each output is then: the one it is to be, or what has to be copied there."""

    @classmethod
    def of(cls, runner: Runner, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> Turn:
        """The turn in which inputs and outputs are these."""
        made = {name: outputs[place] for name, place in runner.made.items()}
        constants = {name: (runner.program.name, name) for name in runner.constants}
        operands = {**dict(zip(runner.inputs, inputs, strict=True)), **made}
        every = {**operands, **constants}
        return cls(operands, tuple(every[name] for name in runner.outputs))


def passed_constants(runner: Runner) -> dict[Hashable, Array]:
    """Constants that are outputs of a program."""
    there = runner.constants
    return {(runner.program.name, name): there[name] for name in runner.outputs if name in there}


def program_part(runner: Runner) -> Part:
    """A program that runs once."""
    turn = Turn.of(runner, runner.inputs, runner.outputs)
    makes = dict(zip(runner.outputs, runner.program.results, strict=True))
    copies = tuple(
        Copy(found, name, bytes_of(makes[name]))
        for found, name in zip(turn.results, runner.outputs, strict=True)
        if found != name
    )
    link = Link(runner.program, (turn.operands,), after=copies)
    return Part(runner, link, runner.inputs, makes, constants=passed_constants(runner))


def bytes_of(type_: Type) -> int:
    """The bytes of an array."""
    shape, storage = type_
    return prod(shape) * storage.itemsize
