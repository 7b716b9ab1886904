"""What stages make as text: the same graph gives the same text, on every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from tiling.nest import Nest
from tiling.text import members_text
from tiling.words import listed, plain
from tosajit.arrays import Array
from tosajit.compiler.segment import Groups, Linked, Planned, Segment, Written
from tosajit.graph import Graph
from tosajit.kernels.link import Unit, sources_of


def text_of(value: object) -> str:
    """A value between two stages as text."""
    match value:
        case Segment():
            return _joined(
                _segment(value), _nests("nest", value.nests), _constants(value.constants, value.nests)
            )
        case Groups():
            constants = {**value.segment.constants, **value.added}
            head = [f"part {plain(value.name)}: {counted(len(value.nests), 'group')}"]
            return _joined(head, _nests("group", value.nests, value), _constants(constants, value.nests))
        case Planned():
            return f"part {plain(value.name)}: {value.program}"
        case Written():
            return _joined(
                [f"part {plain(value.name)}: {counted(len(value.codes), 'group')}"], _written(value), []
            )
        case Linked():
            return "\n".join(_linked(value))
        case Graph():
            return str(value)
    raise TypeError(f"{type(value).__name__} comes from no stage")


def counted(count: int, noun: str) -> str:
    """So many of them."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _joined(head: Sequence[str], blocks: Iterator[str], tail: Sequence[str]) -> str:
    return "\n\n".join(filter(None, ["\n".join(head), *blocks, "\n".join(tail)]))


def _segment(segment: Segment) -> list[str]:
    tensors = segment.tensors
    lines = [f"part {plain(segment.name)}: {counted(len(segment.nests), 'nest')}"]
    lines += [f"  input    {tensors[name]}" for name in segment.inputs]
    return lines + [f"  output   {tensors[name]}" for name in segment.outputs]


def _constants(constants: Mapping[str, Array], nests: Sequence[Nest]) -> list[str]:
    """Those that nests read, with a hash of their bytes, by which a change is seen."""
    used = {name for nest in nests for name in nest.operands}
    return [
        f"constant {plain(name)}: {array.dtype}{list(array.shape)} {_hash(array)}"
        for name, array in constants.items()
        if name in used
    ]


def _hash(array: Array) -> str:
    return blake2b(np.ascontiguousarray(array).ravel().view(np.uint8).data, digest_size=4).hexdigest()


def _nests(what: str, nests: Sequence[Nest], groups: Groups | None = None) -> Iterator[str]:
    for number, nest in enumerate(nests):
        lines = [f"{what} {number}: {members_text(nest.members)}", *str(nest).splitlines()]
        if groups is not None and (unit := groups.units.get(nest)):
            operands = listed(access.operand for access in nest.prepared)
            lines.append(f"  by {unit.name} ({groups.library}){f' from {operands}' if operands else ''}")
        yield "\n  ".join(lines)


def _written(written: Written) -> Iterator[str]:
    """Each text once, numbered by its first use, and the groups that it does; then what each group adds."""
    users: dict[str, list[int]] = {}
    for number, code in enumerate(written.codes):
        for text in dict.fromkeys(sources_of(code)):
            users.setdefault(text, []).append(number)
    for number, (text, groups) in enumerate(users.items()):
        yield f"kernel {number} (groups {', '.join(map(str, groups))}):\n\n{text.rstrip()}"
    numbers = {text: number for number, text in enumerate(users)}
    sections = written.planned.program.sections
    for number, (code, section) in enumerate(zip(written.codes, sections, strict=True)):
        words = ", ".join(map(str, code.words if isinstance(code, Unit) else code.payload)) or "none"
        called = ", ".join(str(numbers[text]) for text in dict.fromkeys(sources_of(code)))
        yield f"group {number}: {members_text(section.nest.members)}\n  kernels {called}; numbers {words}"


def _linked(linked: Linked) -> Iterator[str]:
    image = linked.image
    threads = f"{counted(linked.threads, 'thread')}, {image.thread_bytes} bytes each"
    yield f"part {plain(linked.name)}: {image.numbers.size} numbers, {threads}"
    for number, (digest, section) in enumerate(zip(image.kernels, linked.program.sections, strict=True)):
        yield f"  group {number}: kernel {digest}  {members_text(section.nest.members)}"
