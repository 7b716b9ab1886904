"""Vela's schedule as a plan of ours: what lives in SRAM, cascades with their stripes, and buffers of weights.

Read from what Vela 5.2.0 prints with `--verbose-schedule` and `--verbose-allocation`, and from its table of
operators for their names.
"""

from __future__ import annotations

import csv
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import tosajit as tj
from sim import Report
from tiling.schedule import Box, Cascade, Choice, Schedule
from tosajit.npu.simulate import Network as Planned
from validating import vela
from validating.facts import Configuration, Facts, Network, network

OPERATION = re.compile(r"^\t(\d+): Operation (\S+)\s+- OFM ([\d, ]+) \(in (\w+)\)")
BLOCK = re.compile(r"^\t\tOperator Config = OFM Block=\[([\d, ]*)\]")
READ = re.compile(r"^\t\tIFM Stripe +=\s*\[([\d, ]*)\]")
KERNEL = re.compile(r"^\t\tKernel: size=(\d+),(\d+) ")
STRIPE = re.compile(r"^\t\tOFM Stripe +=\s*\[([\d, ]*)\]")
CASCADE = re.compile(r"^\t\tAssigned Cascade = (\d+)")
BUFFER = re.compile(r"^\t\tWeight buffer = (\d+) bytes \((\w+)\)")
SLICES = re.compile(r"^\t\tDepth slices = \[([\d, ]*)\]")
BEHIND = re.compile(r"^\t\tsub-operations: (?:\[ (.*) \]|-)")
MEMORY = re.compile(r"^Allocation, memory (\w+),")
PLACE = re.compile(r"^ *\d+ - +\d+: .* : ([^;]+)")
PLAIN = re.compile(r"^ *\d+ - +\d+: .*: NHWC +: ([^;]+)")
ALIGNED = 64
"""Bytes that buffers begin at multiples of."""
COPIES = {"": 0, "None": 0, "Single": 1, "Double": 2}


@dataclass(frozen=True, slots=True)
class Operation:
    """What Vela has chosen for an operation and those that it does along with it."""

    kind: str
    shape: tuple[int, ...]
    area: str
    """Where the result lives: `Sram`, `Dram` or flash."""
    block: tuple[int, ...] = ()
    """What it works on at a time."""
    read: tuple[int, ...] = ()
    """What it reads at a time."""
    kernel: tuple[int, ...] = (1, 1)
    """Rows and columns."""
    stripe: tuple[int, ...] = ()
    cascade: int = 0
    """Its number; 0 stands for none."""
    copies: int = 0
    """Buffers of weights; 0 if they are read where they are."""
    buffer: int = 0
    """Bytes of these."""
    slices: tuple[int, ...] = ()
    """Channels at which a buffer begins, and the end."""
    along: tuple[str, ...] = ()
    """What operations it does along with it, behind it."""
    names: tuple[str, ...] = ()
    """The tensors that it and these make."""
    own: str = ""
    """What Vela calls its result, if that is none of the network's."""
    made: tuple[str, ...] = ()
    """The same of it and of those behind it."""
    source: str = ""
    """The kind of operator of the network that it is a part of."""

    @property
    def behind(self) -> int:
        """How many operations it does along with it."""
        return len(self.along)

    @property
    def stripes(self) -> int:
        """How many stripes the rows of the result are made in."""
        return -(-self.shape[-3] // self.stripe[-3]) if len(self.stripe) > 2 and self.stripe[-3] else 1


def operations(log: str) -> list[Operation]:
    """The operations of the last schedule that Vela printed, in order."""
    found: list[Operation] = []
    for line in log.splitlines():
        if line.startswith("Schedule:"):
            found = []
        elif match := OPERATION.match(line):
            found.append(Operation(match[2], _numbers(match[3]), match[4]))
        elif found:
            found[-1] = _with(found[-1], line)
    return found


def _with(operation: Operation, line: str) -> Operation:
    """The operation with what a line says of it."""
    if match := BLOCK.match(line):
        return replace(operation, block=_numbers(match[1]))
    if match := READ.match(line):
        return replace(operation, read=_numbers(match[1]))
    if match := KERNEL.match(line):
        return replace(operation, kernel=(int(match[2]), int(match[1])))
    if match := STRIPE.match(line):
        return replace(operation, stripe=_numbers(match[1]))
    if match := CASCADE.match(line):
        return replace(operation, cascade=int(match[1]))
    if match := BUFFER.match(line):
        return replace(operation, copies=COPIES.get(match[2], 1), buffer=int(match[1]))
    if match := SLICES.match(line):
        return replace(operation, slices=_numbers(match[1]))
    if match := BEHIND.match(line):
        return replace(operation, along=tuple((match[1] or "").split()))
    return operation


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split(",") if one.strip())


def areas(log: str) -> dict[str, str]:
    """The memory that each tensor lives in, by its first name; those within an operation are nowhere."""
    found, memory = {}, ""
    for line in log.splitlines():
        if match := MEMORY.match(line):
            memory = match[1]
        elif line.startswith("Tensor Allocation"):
            memory = ""
        elif memory and (match := PLACE.match(line)):
            found[match[1].strip()] = memory
    return found


def plain(log: str) -> frozenset[str]:
    """The tensors that are not in bricks of channels, by their first names."""
    return frozenset(match[1].strip() for line in log.splitlines() if (match := PLAIN.match(line)))


def named(
    found: Sequence[Operation], rows: Sequence[Facts], places: Mapping[str, str] | None = None
) -> list[Operation]:
    """The operations with the names of Vela's table, which has a row for each and for those behind it.

    That holds for those that it leaves to the CPU, too. Of operations that it does in one go, only the last
    result has a place.
    """
    place, result = 0, list[Operation]()
    for operation in found:
        own = rows[place : place + 1 + operation.behind]
        place += len(own)
        names = tuple(row["Name"].split(";")[0] for row in own)
        area = next((places[name] for name in reversed(names) if places and name in places), operation.area)
        made = tuple(row["Name"].split(";")[-1] for row in own)
        last = made[0] if made else ""
        source = own[0].get("Original Operator", "") if own else ""
        result.append(replace(operation, names=names, area=area, own=last, made=made, source=source))
    return result


@dataclass(frozen=True, slots=True)
class Printed:
    """What Vela prints of a network on a configuration."""

    totals: Network
    operations: tuple[Operation, ...]
    left: tuple[str, ...]
    """What it leaves to the CPU."""
    log: str


def run(file: Path, configuration: Configuration) -> Printed | str:
    """What Vela prints, or why it prints nothing."""
    with tempfile.TemporaryDirectory() as folder:
        command = vela.arguments(file, configuration, Path(folder))
        more = ("--verbose-schedule", "--verbose-allocation", "--verbose-performance")
        done = subprocess.run([*command, *more], capture_output=True, text=True)
        tables = [next(iter(Path(folder).glob(f"*_{part}*.csv")), None) for part in ("summary", "per-layer")]
        if None in tables:
            return vela.fault_of(done.stdout + done.stderr)
        summary, layers = (list(csv.DictReader(table.open(newline=""))) for table in tables if table)
    totals = network({**summary[0], "network": f"{file.stem}{file.suffix}"})
    left = tuple(row["Name"].split(";")[0] for row in layers if row["Target"] == "CPU")
    found = named(operations(done.stdout), layers, areas(done.stdout))
    return Printed(totals, tuple(found), left, done.stdout)


def uncounted(report: Report, left: Sequence[str]) -> int:
    """Cycles of ours for operators that Vela leaves to the CPU, for which it counts nothing."""
    parts = tuple(f"{name}/" for name in left)
    found = [one for one in report.operators if one.members[0] in left or one.members[0].startswith(parts)]
    return sum(sum(one.cycles.values()) for one in found)


# As a plan.


def plan_after(found: Sequence[Operation], graph: tj.Graph, machine: tj.Machine) -> tj.Plan:
    """A plan with Vela's choices, as far as our groups have tensors of these names; raises `PlanError`."""
    own = tj.plan(graph, machine.replace({"planner.cascading": False}))
    buffered = _buffered(graph, machine) if any(one.copies for one in found) else {}
    (part,) = own.parts
    writers = _writers(own)
    cascades = tuple(_cascades(found, writers))
    striped = tj.plan(graph, machine, plan=tj.Plan(own.machine, {part: Schedule({}, cascades)}))
    inside = dict.fromkeys(striped.parts[part].scratchpad or ())
    outside = {name for one in found if one.area != "Sram" for name in one.names}
    kept = {name: None for name in inside if name not in outside}
    choices = _choices(found, writers, striped, buffered)
    made = tj.plan(graph, machine, plan=tj.Plan(own.machine, {part: Schedule(choices, cascades, kept)}))
    return _apart(made, graph, machine)


def _apart(plan: tj.Plan, graph: tj.Graph, machine: tj.Machine) -> tj.Plan:
    """The plan with each buffer of weights elsewhere than the one in front, so that it is filled ahead.

    Where maps live in the scratchpad our planner spares it, and Vela fills buffers a step ahead. They go
    above all else, if there is room for two.
    """
    network = Planned.of(graph)
    (part,) = network.parts
    (name,) = plan.parts
    program, schedule = network.program(part, machine, plan), plan.parts[name]
    boxes = {one.nest.members: [i for i in one.images if i is not None] for one in program.sections}
    sizes = {
        group: max(image.end for image in boxes[choice.operators])
        for group, choice in plan
        if choice.boxes and len(choice.boxes) == 1 and len(boxes.get(choice.operators, ())) == 1
    }
    size = -(-max(sizes.values(), default=0) // ALIGNED) * ALIGNED
    base = -(-program.scratch_bytes // ALIGNED) * ALIGNED
    if machine.memory.activations != "scratchpad" or not size or base + 2 * size > machine.scratchpad.bytes:
        return plan
    groups = dict(schedule.groups)
    for number, group in enumerate(sizes):
        choice = groups[group]
        moved = {
            operand: tuple(replace(box, address=base + number % 2 * size) for box in some)
            for operand, some in (choice.boxes or {}).items()
        }
        groups[group] = replace(choice, boxes=moved)
    return tj.plan(graph, machine, plan=tj.Plan(plan.machine, {name: replace(schedule, groups=groups)}))


def _writers(plan: tj.Plan) -> dict[str, str]:
    """The groups by the names of the operators in them, which tensors are called after."""
    return {operator: name for name, choice in plan for operator in choice.operators}


def _cascades(found: Sequence[Operation], writers: Mapping[str, str]) -> Iterator[Cascade]:
    """Cascades whose first and last operation are groups of ours."""
    numbers = dict.fromkeys(one.cascade for one in found if one.cascade)
    for number in numbers:
        chain = [one for one in found if one.cascade == number]
        groups = [group for one in chain if (group := _group(one, writers))]
        if len(dict.fromkeys(groups)) > 1 and chain[-1].stripes > 1:
            yield Cascade(groups[0], groups[-1], chain[-1].stripes)


def _group(operation: Operation, writers: Mapping[str, str]) -> str | None:
    """The group of the last result: parts of an operator are called after it, and the first does its work."""
    for name in reversed(operation.names):
        parts = (group for operator, group in writers.items() if operator.startswith(f"{name}/"))
        group = next(parts, None) or writers.get(name)
        if group is not None:
            return group
    return None


def _buffered(graph: tj.Graph, machine: tj.Machine) -> dict[str, tuple[str, ...]]:
    """What each group has in boxes where weights are copied."""
    mapping = {"**": {"boxes": {"weights": 1, "constants": 0, "values": 0, "results": 0}}}
    plan = tj.plan(graph, machine.replace({"planner.cascading": False}), mapping=mapping)
    return {name: tuple(choice.boxes or ()) for name, choice in plan}


def _choices(
    found: Sequence[Operation],
    writers: Mapping[str, str],
    plan: tj.Plan,
    buffered: Mapping[str, tuple[str, ...]],
) -> dict[str, Choice]:
    """Operands where they are, but for weights with buffers and the channels that those have.

    Stripes, and groups that Vela does not know, are the planner's.
    """
    choices = {}
    for one in found:
        group = _group(one, writers)
        known = dict(plan).get(group or "")
        if group is None or known is None:
            continue
        size = deepest(one.slices)
        if one.copies and size and "oc" in known.extents:
            choices[group] = _sliced(known, one.copies, size, buffered.get(group, ()))
        elif group not in choices:
            choices[group] = Choice(tile=known.extents, boxes={})
    return choices


def deepest(slices: Sequence[int]) -> int:
    """Channels of the largest of several slices, by where they begin and the end."""
    return max((end - begin for begin, end in pairwise(slices)), default=0)


def _sliced(known: Choice, copies: int, size: int, operands: Iterable[str]) -> Choice:
    """A group in slices of so many channels, of which operands have so many buffers."""
    slice = {"oc": min(size, known.extents["oc"])} if "oc" in known.extents else {}
    return Choice(tile={**known.extents, **slice}, boxes={name: (Box(copies),) for name in operands})


def plan_of_one(graph: tj.Graph, machine: tj.Machine, copies: int, slices: Sequence[int]) -> tj.Plan:
    """A plan of an operator alone: weights have slices and so many buffers, all else is one tile."""
    own = tj.plan(graph, machine)
    (part,) = own.parts
    buffered, size = _buffered(graph, machine) if copies else {}, deepest(slices)
    groups = {name: _sliced(known, copies, size, buffered.get(name, ())) for name, known in own}
    return tj.Plan(own.machine, {part: Schedule(groups)})
