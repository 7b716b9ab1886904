"""An executable as the header and blobs of an archive, and back: the one place that knows both forms.

Kernels are stored as the object files that they are; addresses become digests of kernels, and then
addresses again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

import numpy as np

from tiling.records import dataclass
from tiling.target import Target
from tosajit import customs
from tosajit.arrays import Array
from tosajit.dtypes import DTYPES, NAMED
from tosajit.errors import CompileError
from tosajit.graph import Node, Value
from tosajit.kernels import chained, threads
from tosajit.kernels.objects import adopt, compile_kernel, loaded, placed
from tosajit.kernels.runnable import Image64, Members, Runnable, Slot
from tosajit.kernels.runner import Runner
from tosajit.runtime.archive import Blobs
from tosajit.runtime.body import Body, Branch, Compute, Loop, Run
from tosajit.runtime.chain import Type
from tosajit.runtime.interface import Interface
from tosajit.runtime.scan import Scan
from tosajit.runtime.stateful import Stateful
from tosajit.runtime.steps import Declare, Known, ReadVariable, Step, WriteVariable

_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_KINDS = {name: np.dtype(name) for name in ("bool", *_INTEGERS, "float16", "float32")}
"""The types that arrays may have, by their names."""
_LATE = {stored: DTYPES[name] for name, stored in NAMED.items()}
"""Those that NumPy does not have itself."""
OURS = (Compute, Run, Stateful, Branch, Loop, Scan, Declare, ReadVariable, WriteVariable, Known)
"""The steps that have a form."""


def stored(interface: Interface, body: Body) -> tuple[dict[str, Any], list[memoryview]]:
    """The header and the blobs of an executable; raises `CompileError`, with the node, if it has none."""
    if interface.interpret:
        raise CompileError("an interpreted executable has no kernels that could be stored")
    writer = _Writer()
    header = {
        "inputs": [writer.value(value, data=False) for value in interface.inputs],
        "outputs": [writer.value(value, data=False) for value in interface.outputs],
        "outside": dict(interface.outside),
        "target": asdict(interface.target),
        "main": writer.body(body),
        "bodies": writer.bodies,
        "kernels": writer.kernels,
    }
    return header, writer.blobs.parts


def restored(header: dict[str, Any], blobs: list[memoryview]) -> tuple[Interface, Body]:
    """What was stored, with its kernels loaded; one of `DAMAGE` is raised if the header is none of ours."""
    for digest, blob in header["kernels"].items():
        adopt(digest, bytes(blobs[blob]))
    reader = _Reader(blobs)
    reader.bodies += (reader.body(body) for body in header["bodies"])
    interface = Interface(
        tuple(map(reader.value, header["inputs"])),
        tuple(map(reader.value, header["outputs"])),
        header["outside"],
        Target(**header["target"]),
    )
    return interface, reader.bodies[header["main"]]


DAMAGE = (LookupError, TypeError, ValueError, AttributeError)
"""What reading something raises that has another form."""


@dataclass(slots=True)
class _Writer:
    """The parts of an executable in the words of JSON, with numbers in place of arrays."""

    blobs: Blobs = field(default_factory=Blobs)
    kernels: dict[str, int] = field(default_factory=dict)
    bodies: list[Any] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    """The places of bodies that have one, by their `id`."""

    def body(self, body: Body) -> int:
        """Store a body behind those that it needs; return its place."""
        if id(body) not in self.numbers:
            steps = [step if isinstance(step, OURS) else _known(step) for step in body.steps]
            wanted = {name for step in steps for name in _taken(step)} | {*body.outputs}
            constants = {} if body.whole else {n: a for n, a in body.constants.items() if n in wanted}
            made = {
                "name": body.name,
                "inputs": body.inputs,
                "outputs": body.outputs,
                "constants": self.arrays(constants),
                "steps": [self.step(step) for step in steps],
            }
            if body.has_chains:
                self.kernel(chained.digest())
            self.numbers[id(body)] = len(self.bodies)
            self.bodies.append(made)
        return self.numbers[id(body)]

    def step(self, step: Step) -> list[Any]:
        match step:
            case Compute(runner=Runner(program=program)) | Run(runner=Runner(program=program)):
                return ["run", self.program(program)]
            case Stateful(runner, accesses, reads, writes):
                return ["stateful", self.program(runner.program), [*map(self.step, accesses)], reads, writes]
            case Branch(inputs, outputs, one, other):
                return ["branch", inputs, outputs, self.body(one), self.body(other)]
            case Loop(inputs, outputs, condition, body):
                return ["loop", inputs, outputs, self.body(condition), self.body(body)]
            case Scan(inputs=inputs, outputs=outputs, body=body):
                numbers = step.rounds, step.first, step.step, step.place
                places = step.states, step.fixed, step.taken, step.made
                types = _types(step.types)
                return ["scan", inputs, types, outputs, self.body(body), numbers, *places]
            case Declare(node, variable, value):
                return ["declare", node, variable, self.value(value)]
            case ReadVariable(node, variable, value):
                return ["read", node, variable, self.value(value, data=False)]
            case WriteVariable(node, variable, value):
                return ["write", node, variable, self.value(value, data=False)]
            case Known(node, operator, attributes, inputs, outputs, is_cut):
                values = [self.value(value, data=False) for value in outputs]
                return ["known", node, operator, attributes.hex(), inputs, values, is_cut]
        raise AssertionError(step)

    def program(self, made: Runnable) -> dict[str, Any]:
        image = made.image
        for digest in (image.driver, *(digest for _, digest in image.calls)):
            self.kernel(digest)
        if made.threads > 1:
            self.kernel(compile_kernel(threads.SOURCE).digest)
        numbers = image.numbers.copy()
        numbers[[place for place, _ in image.calls]] = 0
        slots = [(one.name, one.kind, one.bytes, one.offset, one.resident) for one in made.slots]
        return {
            "name": made.name,
            "numbers": self.array(numbers),
            "sections": image.sections,
            "thread_bytes": image.thread_bytes,
            "checks": image.checks,
            "section_kernels": image.kernels,
            "calls": image.calls,
            "driver": image.driver,
            "lasting_bytes": image.lasting_bytes,
            "slots": [*zip(*slots, strict=True)],
            "written": sorted(made.written),
            "members": [[one.nodes, one.axes] for one in made.members],
            "constants": self.arrays(made.constants),
            "inputs": made.inputs,
            "outputs": made.outputs,
            "results": _types(made.results),
            "arena_bytes": made.arena_bytes,
            "threads": made.threads,
            "checked": made.checked,
        }

    def kernel(self, digest: str) -> None:
        if digest not in self.kernels:
            self.kernels[digest] = self.blobs.add(loaded(digest).code)

    def value(self, value: Value, data: bool = True) -> list[Any]:
        array = None if value.data is None or not data else self.array(value.data)
        return [value.name, value.dtype.name, value.shape, array, value.variable_name]

    def arrays(self, arrays: Mapping[str, Array]) -> list[Any]:
        """Arrays by name; those of one number side by side, as there may be more of them than of all else."""
        every: dict[str, list[Any]] = {}
        single: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for name in sorted(arrays):
            if arrays[name].size == 1:
                single.setdefault((str(arrays[name].dtype), arrays[name].shape), []).append(name)
            else:
                every[name] = self.array(arrays[name])
        beside = [
            [names, shape, self.array(np.concatenate([arrays[name].reshape(1) for name in names]))]
            for (_, shape), names in single.items()
        ]
        return [every, beside]

    def array(self, array: Array) -> list[Any]:
        return [str(array.dtype), array.shape, self.blobs.add(array)]


def _known(step: Step) -> Known:
    """A step of the user's as one of ours; raises `CompileError` if only Python knows what it does."""
    from tosajit.runtime.called import CheckLate, CustomCall

    assert isinstance(step, CheckLate | CustomCall)
    if isinstance(step, CustomCall) and (known := step.known()) is not None:
        return known
    text = "Python runs it, so the executable cannot be stored; compile the model where it is to run"
    raise CompileError(f"{step.node.name} ({_called(step.node)}): {text}")


def _called(node: Node) -> str:
    """What a node's operator is called."""
    operator: Any = node.operator
    if operator.opcode != "CUSTOM":
        return str(operator.opcode)
    return f"CUSTOM, {operator.operator_name!r} of domain {operator.domain_name!r}"


def _taken(step: Step) -> tuple[str, ...]:
    """The names that a step looks up."""
    match step:
        case Branch(inputs) | Loop(inputs) | Scan(reads=inputs):
            return inputs
        case WriteVariable(value=value):
            return (value.name,)
        case Compute(runner=Runner(inputs=inputs)) | Run(runner=Runner(inputs=inputs)):
            return inputs
        case Known(inputs=inputs):
            return inputs
        case Stateful():
            return step.inputs
    return ()


_VARIABLES: Mapping[str, type[Declare | ReadVariable | WriteVariable]] = {
    "declare": Declare,
    "read": ReadVariable,
    "write": WriteVariable,
}


def _kind(name: str) -> np.dtype[Any]:
    return _KINDS[name] if name in _KINDS else _LATE[name].storage


def _types(types: Sequence[Type]) -> list[Any]:
    return [[shape, str(storage)] for shape, storage in types]


def _types_of(given: Sequence[Any]) -> tuple[Type, ...]:
    return tuple((tuple(shape), _kind(name)) for shape, name in given)


def _paired(one: Any) -> Any:
    """A pair, which JSON keeps as a list, or something else."""
    return tuple(one) if isinstance(one, list) else one


@dataclass(slots=True)
class _Reader:
    """The way back."""

    blobs: list[memoryview]
    bodies: list[Body] = field(default_factory=list)

    def body(self, given: dict[str, Any]) -> Body:
        steps = tuple(self.step(*step) for step in given["steps"])
        constants = self.arrays(given["constants"])
        return Body(given["name"], tuple(given["inputs"]), tuple(given["outputs"]), constants, steps)

    def step(self, kind: str, *given: Any) -> Step:
        match kind:
            case "run":
                return Run(Runner(self.program(*given)))
            case "stateful":
                program, accesses, reads, writes = given
                steps: Any = tuple(self.step(*one) for one in accesses)
                pairs = tuple((name, start) for name, start in writes)
                return Stateful(Runner(self.program(program)), steps, tuple(reads), pairs)
            case "branch" | "loop":
                inputs, outputs, one, other = given
                step = Branch if kind == "branch" else Loop
                return step(tuple(inputs), tuple(outputs), self.bodies[one], self.bodies[other])
            case "scan":
                inputs, types, outputs, body, numbers, *places = given
                states, fixed, taken, made = (tuple(map(_paired, one)) for one in places)
                rounds, first, step_, place = numbers
                made_of = self.bodies[body], rounds, first, step_, place, states, fixed, taken, made
                return Scan(tuple(inputs), _types_of(types), tuple(map(_paired, outputs)), *made_of)
            case "declare" | "read" | "write":
                node, variable, value = given
                return _VARIABLES[kind](node, variable, self.value(value))
            case "known":
                node, operator, attributes, inputs, outputs, is_cut = given
                if operator not in customs.names():
                    raise ValueError(f"there is no operator {operator!r}")
                values = tuple(map(self.value, outputs))
                return Known(node, operator, bytes.fromhex(attributes), tuple(inputs), values, is_cut)
        raise ValueError(f"there is no step {kind!r}")

    def program(self, given: dict[str, Any]) -> Runnable:
        calls = tuple((place, digest) for place, digest in given["calls"])
        image = Image64(
            placed(self.array(*given["numbers"]), calls),
            given["sections"],
            given["thread_bytes"],
            tuple(map(tuple, given["checks"])),
            tuple(given["section_kernels"]),
            calls,
            given["driver"],
            given["lasting_bytes"],
        )
        return Runnable(
            name=given["name"],
            image=image,
            slots=tuple(Slot(*slot) for slot in zip(*given["slots"], strict=True)),
            written=frozenset(given["written"]),
            members=tuple(Members(tuple(nodes), tuple(axes)) for nodes, axes in given["members"]),
            constants=self.arrays(given["constants"]),
            inputs=tuple(given["inputs"]),
            outputs=tuple(given["outputs"]),
            results=_types_of(given["results"]),
            arena_bytes=given["arena_bytes"],
            threads=given["threads"],
            checked=given["checked"],
        )

    def value(self, given: list[Any]) -> Value:
        name, kind, shape, array, variable = given
        data = None if array is None else self.array(*array)
        return Value(name, DTYPES[kind], None if shape is None else tuple(shape), data, variable)

    def arrays(self, given: list[Any]) -> dict[str, Array]:
        every, beside = given
        found = {name: self.array(*array) for name, array in every.items()}
        for names, shape, numbers in beside:
            rows = self.array(*numbers).reshape(len(names), *shape)
            found |= {name: rows[number, ...] for number, name in enumerate(names)}
        return found

    def array(self, kind: str, shape: list[int], blob: int) -> Array:
        array = np.frombuffer(self.blobs[blob], _kind(kind)).reshape(shape)
        array.flags.writeable = False
        return array
