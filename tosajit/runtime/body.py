"""A block as steps: programs that run, control flow, and what else the executor does between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.kernels.runner import Runner
from tosajit.runtime.chain import Joining, Part, Together, program_part, whole_chain
from tosajit.runtime.context import Context
from tosajit.runtime.rounds import run_rounds
from tosajit.runtime.stateful import Stateful
from tosajit.runtime.steps import Frame, Step

if TYPE_CHECKING:
    from tosajit.compiler.segment import Groups
    from tosajit.kernels.interpreter import Interpreter


@dataclass(frozen=True, slots=True)
class Compute:
    """A step that runs groups; there is no runner where the graph is only timed."""

    groups: Groups
    runner: Runner | None

    def run(self, frame: Frame) -> None:
        """Take the inputs from the frame and put the outputs there."""
        assert self.runner is not None
        _run(self.runner, frame)

    def part(self) -> Part | None:
        """The same in a chain; None if the driver does not do all of it."""
        return _part(self.runner)


@dataclass(frozen=True, slots=True)
class Run:
    """A step that runs a program of which only that is known, or interprets nests."""

    runner: Runner | Interpreter

    def run(self, frame: Frame) -> None:
        """Take the inputs from the frame and put the outputs there."""
        _run(self.runner, frame)

    def part(self) -> Part | None:
        """The same in a chain; None if the driver does not do all of it."""
        return _part(self.runner)


def _part(runner: Runner | Interpreter | None) -> Part | None:
    return program_part(runner) if isinstance(runner, Runner) and runner.is_driven else None


def _run(runner: Runner | Interpreter, frame: Frame) -> None:
    arrays = frame.take(runner.inputs)
    frame.context.note(runner, arrays)
    results = runner.run(arrays)
    frame.values.update(zip(runner.outputs, results, strict=True))


@dataclass(frozen=True, slots=True)
class Branch:
    """COND_IF (TOSA 1.0.1 section 2.16.1)."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    then_body: Body
    else_body: Body

    def run(self, frame: Frame) -> None:
        """Run one of the two regions."""
        condition, *arrays = frame.take(self.inputs)
        body = self.then_body if condition.reshape(-1)[0] else self.else_body
        frame.values.update(zip(self.outputs, body.run(arrays, frame.context), strict=True))


@dataclass(frozen=True, slots=True)
class Loop:
    """WHILE_LOOP (TOSA 1.0.1 section 2.16.2)."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    condition: Body
    body: Body

    def run(self, frame: Frame) -> None:
        """Run the body as long as the condition gives true."""
        given, context = frame.take(self.inputs), frame.context
        found = None if context.log is not None else run_rounds(self.condition.whole, self.body.whole, given)
        arrays = self._run(given, context) if found is None else found
        frame.values.update(zip(self.outputs, arrays, strict=True))

    def _run(self, given: Sequence[Array], context: Context) -> Sequence[Array]:
        """The values when the condition is false, whatever the regions are made of."""
        arrays = given
        while self.condition.run(arrays, context)[0].reshape(-1)[0]:
            arrays = self.body.run(arrays, context)
        return [array.copy() for array in given] if arrays is given else arrays


class Body:
    """A block as steps in order, the names it takes and gives, and the constants that its steps read."""

    def __init__(
        self,
        name: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        constants: Mapping[str, Array],
        steps: tuple[Step, ...],
    ) -> None:
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self.constants, self.steps = constants, steps
        first = steps[0] if len(steps) == 1 else None
        self.whole = first.runner if isinstance(first, Compute | Run) else None
        """What runs all of the block, if one step does."""
        parts = (
            []
            if self.whole is not None
            else [step.part() if isinstance(step, Joining) else None for step in steps]
        )
        known = [part for part in parts if part is not None]
        self.chain = whole_chain(known, inputs, outputs, constants) if len(known) == len(parts) else None
        """What runs all of the block in one call, if it does more than one step."""
        self._joined = tuple(_joined(steps, parts, constants))
        """The steps, those together that one call runs."""
        self.stateful = first if isinstance(first, Stateful) else None
        """The step that is all of the block, if that is a program with variables."""
        elsewhere = {*inputs, *constants}
        self._shared = [n in elsewhere or n in outputs[:place] for place, n in enumerate(outputs)]
        """Whether an output's array is another's as well; steps themselves make new ones."""

    def run(self, arrays: Sequence[Array], context: Context) -> list[Array]:
        """Run the block's steps in order."""
        if self.whole is not None:
            context.note(self.whole, arrays)
            return self.whole.run(arrays)
        if self.chain is not None and context.log is None:
            return self.chain.run(arrays)
        frame = Frame(dict(zip(self.inputs, arrays, strict=True)), self.constants, context, set())
        for step in self._joined if context.log is None else self.steps:
            step.run(frame)
        results = frame.take(self.outputs)
        return [
            array.copy() if shared else array for array, shared in zip(results, self._shared, strict=True)
        ]

    @property
    def has_chains(self) -> bool:
        """Whether one call runs several steps, or all rounds of a loop."""
        return self.chain is not None or any(isinstance(step, Together) for step in self._joined)

    @property
    def arena_bytes(self) -> int:
        """Memory for intermediate results of this block, but for regions that are no chain."""
        together = (step.chain for step in self._joined if isinstance(step, Together))
        chains = [*together] if self.chain is None else [self.chain]
        linked = {part.runner for chain in chains for part in chain.parts}
        alone = (runner.program.arena_bytes for runner in self.runners if runner not in linked)
        return sum(alone) + sum(chain.arena_bytes for chain in chains)

    @property
    def runners(self) -> list[Runner]:
        """The programs of this block, without those of nested regions; there are none to interpret."""
        steps = [step for step in self.steps if isinstance(step, Compute | Run | Stateful)]
        return [step.runner for step in steps if isinstance(step.runner, Runner)]


def _joined(
    steps: Sequence[Step], parts: Sequence[Part | None], constants: Mapping[str, Array]
) -> Iterator[Step]:
    """Steps in order, those in a row that are parts of chains as one; a program alone stays what it is."""
    for is_part, group in groupby(zip(steps, parts, strict=False), key=lambda pair: pair[1] is not None):
        pairs = [*group]
        known = [part for _, part in pairs if part is not None]
        if is_part and (len(known) > 1 or known[0].is_loop):
            yield Together.of(known, constants)
        else:
            yield from (step for step, _ in pairs)
