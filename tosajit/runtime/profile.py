"""Where the time of a run goes: a table of groups, each with its kernel, its speed and what bounds it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from math import prod
from typing import Any, overload

from tiling.expr import BYTES
from tiling.nest import Access, Nest
from tiling.program import Operand, Program
from tiling.records import replace
from tiling.words import plain
from tosajit.compiler.explain import GroupKernel
from tosajit.display.columns import aligned
from tosajit.graph import Block, Graph, Node
from tosajit.host.match import Match, match
from tosajit.kernels.contract.pack import OUTPUTS, POINTS, TAPS
from tosajit.kernels.contract.slots import SQUARE
from tosajit.kernels.peaks import Peaks, core_peaks

HEAD = (
    "group",
    "name",
    "operators",
    "result",
    "kernel",
    "µs",
    "share",
    "GMAC/s",
    "GB/s",
    "bound",
    "of bound",
)
RIGHT = (0, 5, 6, 7, 8, 10)
PRODUCTS = "MACs"
OPERATORS = 3
"""Of a group that are named, if it has more."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a group cannot be faster than: its products on one core, or its bytes out of the caches."""

    name: str
    """`MACs`, or the cache that most of the time of the bytes is for."""
    seconds: float

    def times(self, calls: int) -> Bound:
        """The same for so many calls."""
        return Bound(self.name, calls * self.seconds)


@dataclass(frozen=True, slots=True)
class GroupTime:
    """The time of a group."""

    group: int
    nodes: tuple[str, ...]
    operators: tuple[str, ...]
    result: str
    """The type of its last value."""
    kernel: str
    seconds: float
    macs: int
    bytes: int
    """What it reads and writes, each element once."""
    bound: Bound

    @property
    def of_bound(self) -> float:
        """The least time that the bound allows, as a part of the time."""
        return self.bound.seconds / self.seconds if self.seconds else 1.0


@dataclass(frozen=True)
class Profile(Sequence[GroupTime]):
    """The times of all groups in order of execution; prints as a table, the slowest group first."""

    groups: tuple[GroupTime, ...]

    @property
    def seconds(self) -> float:
        """Of all groups together."""
        return sum(group.seconds for group in self.groups)

    @property
    def bound_seconds(self) -> float:
        """The least time that the bounds allow."""
        return sum(group.bound.seconds for group in self.groups)

    def share(self, group: GroupTime) -> float:
        """A group's part of the time."""
        return group.seconds / self.seconds if self.seconds else 0.0

    def to_dict(self) -> list[dict[str, Any]]:
        """The same in lists, dictionaries, numbers and texts."""
        return [{**asdict(group), "share": self.share(group)} for group in self.groups]

    def to_json(self, indent: int | None = 2) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def table(self, top: int | None = None, in_order: bool = False) -> str:
        """The slowest groups, or the first ones in order of execution."""
        lines = aligned([HEAD, *self._rows(top, in_order)], right=RIGHT)
        return "\n".join([*lines, "", self.summary])

    @overload
    def __getitem__(self, index: int) -> GroupTime: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[GroupTime, ...]: ...
    def __getitem__(self, index: int | slice) -> GroupTime | tuple[GroupTime, ...]:
        return self.groups[index]

    def __len__(self) -> int:
        return len(self.groups)

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__

    @property
    def summary(self) -> str:
        """Of all groups, in one line."""
        spent, least = 1e6 * self.seconds, 1e6 * self.bound_seconds
        return f"Profile: {len(self)} groups in {spent:.1f} µs, where their bounds allow {least:.1f} µs"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in HEAD)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
            for row in self._rows(None, False)
        )
        return f"<b>{escape(self.summary)}</b><table><tr>{head}</tr>{rows}</table>"

    def _rows(self, top: int | None, in_order: bool) -> Iterator[tuple[str, ...]]:
        chosen = self.groups if in_order else sorted(self.groups, key=lambda one: one.seconds, reverse=True)
        for one in chosen[:top]:
            yield (
                str(one.group),
                plain(one.nodes[-1]) if one.nodes else "",
                _operators_text(one.operators),
                one.result,
                one.kernel,
                f"{one.seconds * 1e6:.2f}",
                f"{self.share(one):.1%}",
                _rate(one.macs, one.seconds),
                _rate(one.bytes, one.seconds),
                one.bound.name,
                f"{one.of_bound:.0%}",
            )


def _rate(amount: int, seconds: float) -> str:
    """Thousand millions a second."""
    return f"{amount / seconds / 1e9:.1f}" if amount and seconds else ""


def _operators_text(operators: Sequence[str]) -> str:
    more = len(operators) - OPERATORS
    return " ".join([*operators[:OPERATORS], *([f"+ {more}"] if more > 0 else [])])


def profile_of(
    graph: Graph,
    program: Program,
    kernels: Sequence[GroupKernel],
    times: Sequence[Sequence[float]],
    peaks: Peaks | None = None,
    calls: int = 1,
) -> Profile:
    """The profile of a program that is called so often, whose groups took so many seconds in some runs."""
    known = core_peaks() if peaks is None else peaks
    block = _block(graph, kernels)
    makers = {name: node for node in block.nodes for name in node.outputs}
    whole = sum(operand.bytes for operand in program.operands.values())
    groups = []
    for kernel, section, seconds in zip(kernels, program.sections, times, strict=True):
        names = [name for name in kernel.nodes if name in makers]
        groups.append(
            GroupTime(
                group=kernel.group,
                nodes=kernel.nodes,
                operators=tuple(makers[name].operator.opcode for name in names),
                result=_result(block, makers, kernel, section.nest),
                kernel=kernel.kernel,
                seconds=calls * statistics.median(seconds),
                macs=calls * macs_of(section.nest),
                bytes=calls * sum(bytes_of(section.nest, program.operands, kernel.reason is None).values()),
                bound=_bound(section.nest, program.operands, kernel, whole, known).times(calls),
            )
        )
    return Profile(tuple(_joined(groups)))


def _joined(groups: Sequence[GroupTime]) -> Iterator[GroupTime]:
    """Groups of the same nodes by the same kernel, such as bands of rows, as the first of them."""
    alike: dict[object, list[GroupTime]] = {}
    for one in groups:
        alike.setdefault((one.nodes, one.kernel) if one.nodes else one.group, []).append(one)
    for first, *others in alike.values():
        yield first if not others else _sum(first, *others)


def _sum(*groups: GroupTime) -> GroupTime:
    longest = max((one.bound for one in groups), key=lambda bound: bound.seconds)
    return replace(
        groups[0],
        seconds=sum(one.seconds for one in groups),
        macs=sum(one.macs for one in groups),
        bytes=sum(one.bytes for one in groups),
        bound=Bound(longest.name, sum(one.bound.seconds for one in groups)),
    )


def _block(graph: Graph, kernels: Sequence[GroupKernel]) -> Block:
    """The block that a program is a part of, or is, whose name then is that of the region."""
    blocks = {region.name: region.blocks[0] for region in graph.regions}
    part = kernels[0].part if kernels else "main"
    return blocks.get(part) or blocks.get(part.rpartition(".")[0]) or graph.main


def _result(block: Block, makers: Mapping[str, Node], kernel: GroupKernel, nest: Nest) -> str:
    """The type of the last value, or what the nest writes if the graph has no such value."""
    names = [name for name in kernel.nodes if name in makers]
    if names:
        return block.values[names[-1]].type
    access = nest.writes[0].access
    return plain(f"{access.type}[{', '.join(map(str, access.shape))}]")


def macs_of(nest: Nest) -> int:
    """Multiplications of a contraction."""
    return nest.points if nest.verb == "contract" else 0


def bytes_of(nest: Nest, operands: Mapping[str, Operand], by_array: bool) -> dict[str, int]:
    """Bytes of each operand that a group reads or writes; array kernels read packed weights alone."""
    found = match(nest) if by_array and nest.prepared else None
    packed = None if found is None else nest.reads[found.right.read]
    sizes: dict[str, int] = {}
    for access in nest.accesses:
        if access is not packed:
            size = min(_touched(access, nest), operands[access.operand].bytes)
            sizes[access.operand] = max(size, sizes.get(access.operand, 0))
    for access in nest.prepared:
        sizes[access.operand] = operands[access.operand].bytes
    return sizes


def _touched(access: Access, nest: Nest) -> int:
    """Bytes that an access can reach."""
    if access.indirect:
        return min(access.bytes, nest.points * BYTES[access.type])
    steps = access.steps(len(nest.axes))
    return prod(axis.extent for axis, step in zip(nest.axes, steps, strict=True) if step) * BYTES[access.type]


def _bound(
    nest: Nest, operands: Mapping[str, Operand], kernel: GroupKernel, whole: int, peaks: Peaks
) -> Bound:
    """The greater of two times: of all products, and of bytes from the caches that they live in.

    Constants come from where all operands of the program have room, others from where the group's have.
    """
    sizes = bytes_of(nest, operands, kernel.reason is None)
    near, far = peaks.level(sum(sizes.values())), peaks.level(whole)
    times: dict[str, float] = {}
    for name, size in sizes.items():
        level = far if operands[name].kind == "constant" else near
        times[level.name] = times.get(level.name, 0.0) + size / level.bytes_per_second
    found = match(nest) if nest.verb == "contract" else None
    peak = None if found is None else peaks.macs_per_second(*_types(nest, found))
    products = _share(kernel.kernel) * nest.points / peak if peak else 0.0
    if products >= sum(times.values()):
        return Bound(PRODUCTS, products)
    return Bound(max(times, key=lambda name: times[name]), sum(times.values()))


def _share(kernel: str) -> float:
    """The part of all products that a kernel takes."""
    if not kernel.startswith("winograd"):
        return 1.0
    axes = 2 if kernel.startswith("winograd squares") else 1
    return (SQUARE / (2 * TAPS)) ** 2 if "f32" in kernel else (POINTS / (OUTPUTS * TAPS)) ** axes


def _types(nest: Nest, found: Match) -> tuple[str, str]:
    """The types that an array kernel multiplies."""
    left, right = (nest.reads[factor.read].type for factor in (found.left, found.right))
    return (left, "f32") if left == "f32" else (left, right)
