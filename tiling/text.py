"""Nests and programs as text that people read: tile loops, transfers, and what is computed at a point.

Names `t1`, `t2`, … stand for values that are used more than once, and for parts of long lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from math import prod

from tiling.expr import Expr, walk
from tiling.nest import Access, Affine, Indirect, Nest, access_exprs
from tiling.program import Image, Program, Section
from tiling.words import plain

LONGEST = 72
"""Characters of an expression before a part of it gets a name."""
SHORTEST = 16
"""Characters that a part of a long line must have to get a name."""
MEMBERS = 6
"""Members of a group that are listed; of more, the first and the last."""

SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "eq": "==", "gt": ">", "ge": ">=",
    "shl": "<<", "ashr": ">>", "lshr": ">>>",
}  # fmt: skip
_ASSOCIATIVE = frozenset({"+", "*", "&", "|", "^"})


def nest_text(nest: Nest) -> str:
    """A nest as its axes, and one statement a result."""
    return "\n".join([_header(nest, nest.extents), *(f"  {line}" for line in statements(nest))])


def program_text(program: Program) -> str:
    """The whole program as pseudo-code: memory, then the groups."""
    parts = ["\n".join([_title(program), *(f"  {line}" for line in memory_lines(program))])]
    parts += ["\n".join(section_lines(number, section)) for number, section in enumerate(program.sections)]
    return "\n\n".join(parts)


def program_html(program: Program) -> str:
    """The program for notebooks: the groups fold out."""
    from html import escape

    memory = escape("\n".join(memory_lines(program)))
    parts = [f"<b>{escape(_title(program))}</b>"]
    parts += [f"<details><summary>memory</summary><pre>{memory}</pre></details>"]
    for number, section in enumerate(program.sections):
        first, *rest = section_lines(number, section)
        tiles = f"{section.tiles} tile{'s' if section.tiles > 1 else ''}"
        head = f"<summary><code>{escape(first)}</code> ({tiles})</summary>"
        parts.append(f"<details>{head}<pre>{escape(chr(10).join(rest))}</pre></details>")
    return "".join(parts)


def memory_lines(program: Program) -> list[str]:
    """The operands in memory, constants taken together; addresses in brackets are in the scratchpad."""
    shown = [operand for operand in program.operands.values() if operand.kind != "constant"]
    constants = [operand for operand in program.operands.values() if operand.kind == "constant"]
    used = {name for section in program.sections for name in section.nest.operands}
    shown = [operand for operand in shown if operand.kind != "temporary" or operand.name in used]
    width = max((len(plain(operand.name)) for operand in shown), default=0)
    lines = []
    for operand in shown:
        place = f" at {operand.offset}" if operand.kind == "temporary" else ""
        if operand.place == "scratchpad":
            place = f" at [{operand.offset}..{operand.offset + operand.bytes}]"
        if operand.place == "level2":
            place = f" at {operand.offset} of level 2"
        line = f"{operand.kind:<9} {plain(operand.name):<{width}} {operand.type}[{operand.elements}]{place}"
        lines.append(line)
    if constants:
        total = sum(operand.bytes for operand in constants)
        line = f"{len(constants)} constant{'s' if len(constants) > 1 else ''}, {total} bytes"
        for home, name in (("scratchpad", "the scratchpad"), ("level2", "level 2")):
            inside = sum(operand.bytes for operand in constants if operand.place == home)
            line += f", {inside} of them in {name}" if inside else ""
        lines.append(line)
    return lines


def section_lines(number: int, section: Section) -> Iterator[str]:
    """A group: its commands, each within the tile loops that change it."""
    nest = section.nest
    yield f"group {number}: {nest.verb} {members_text(nest.members)}"
    reads = len(nest.reads)
    pairs = list(zip(section.nest.accesses, section.images, strict=True))
    for depth in range(len(section.loops) + 1):
        yield from (
            f"{_indent(depth)}load  {line}" for line in _transfers(pairs[:reads], depth, "{1} <- {0}")
        )
        if depth < len(section.loops):
            loop = section.loops[depth]
            axis = nest.axes[loop.axis]
            yield f"{_indent(depth)}for {axis.name} in 0..{axis.extent} step {loop.step}:"
    indent = _indent(len(section.loops))
    if section.accumulator is not None:
        yield f"{indent}acc in [{section.accumulator.address}..{section.accumulator.end}]"
    yield indent + _header(nest, section.tile)
    for line in statements(nest):
        yield f"{indent}  {line}"
    if nest.prepared:
        operands = ", ".join(plain(access.operand) for access in nest.prepared)
        yield f"{indent}  by the array unit, from {operands}"
    for depth in reversed(range(len(section.loops) + 1)):
        yield from (
            f"{_indent(depth)}store {line}" for line in _transfers(pairs[reads:], depth, "{0} <- {1}")
        )


def _transfers(pairs: Sequence[tuple[Access, Image | None]], depth: int, form: str) -> Iterator[str]:
    """Copies of boxes that so many loops move."""
    for access, image in pairs:
        if image is not None and image.level == depth:
            place = f"[{image.address}..{image.address + image.bytes}]"
            box = f"({'×'.join(map(str, image.shape)) or '1'} {access.type}{_turns(image)})"
            yield f"{form.format(plain(access.operand), place)} {box}"


def _turns(image: Image) -> str:
    """What is special about a box: gaps between what it takes, and places that it takes turns in."""
    gaps = f", every {'×'.join(map(str, image.steps))}" if image.steps else ""
    gaps += "".join(f", {size} bytes {sections} groups ahead" for sections, size in image.ahead)
    return gaps + (f", {image.copies} in turns {image.pitch} apart" if image.copies > 1 else "")


def _indent(depth: int) -> str:
    return "  " * (depth + 1)


def members_text(members: Sequence[str]) -> str:
    """What a group is made of, each once."""
    names = [plain(name) for name in dict.fromkeys(members)]
    if len(names) <= MEMBERS:
        return ", ".join(names)
    return f"{names[0]}, {names[1]}, … {names[-1]} ({len(names)} nodes)"


def statements(nest: Nest) -> Iterator[str]:
    """What happens at one point: the step of the reduction, then the results."""
    numbers = count(1)
    if nest.reduction is not None:
        value, op = nest.reduction.value, nest.reduction.op
        lines = _Lines(nest, [value], numbers)
        text = lines.text(value)
        yield from lines.found
        step = f"acc {SYMBOLS[op]}= {_bare(text)}" if op in SYMBOLS else f"acc = {op}(acc, {_bare(text)})"
        yield f"{step}   ({nest.reduction.type}, from {nest.reduction.initial})"
    lines = _Lines(nest, list(_results(nest)), numbers)
    for write in nest.writes:
        text, target = lines.text(write.value), lines.access(write.access)
        yield from lines.taken()
        yield f"{target} = {_bare(text)}"


def _results(nest: Nest) -> Iterator[Expr]:
    for write in nest.writes:
        yield write.value
        yield from access_exprs(write.access)


class _Lines:
    """Expressions of one scope as text, with lines `t1 = …` for what is shared or long."""

    def __init__(self, nest: Nest, roots: Sequence[Expr], numbers: Iterator[int]) -> None:
        self.nest, self.numbers = nest, numbers
        self.found: list[str] = []
        self._texts: dict[Expr, str] = {}
        self._uses = Counter(part for expr in self._walk(*roots) for part in self._parts(expr))
        self._uses.update(roots)

    def text(self, expr: Expr) -> str:
        """The expression, after the lines for its parts."""
        if expr not in self._texts:
            for part in self._walk(expr):
                if part not in self._texts:
                    self._texts[part] = self._made(part)
        return self._texts[expr]

    def taken(self) -> list[str]:
        """The lines since the last call."""
        lines, self.found = self.found, []
        return lines

    def access(self, access: Access) -> str:
        """An element of an operand."""
        pairs = zip(access.index, access.shape, strict=True)
        index = ", ".join(self._index(item, extent) for item, extent in pairs)
        name = plain(access.operand)
        if access.fill is not None:
            return f"({name}[{index}] else {self.text(access.fill)})"
        return name if prod(access.shape) == 1 else f"{name}[{index}]"

    def _index(self, index: Affine | Indirect, extent: int) -> str:
        if isinstance(index, Indirect):
            return f"{self.text(index.value)} within 0..{extent}"
        axes = zip(self.nest.axes, index.coefficients, strict=True)
        terms = [axis.name if c == 1 else f"{c}*{axis.name}" for axis, c in axes if c]
        if index.offset or not terms:
            terms.append(str(index.offset))
        return " + ".join(terms).replace("+ -", "- ")

    def _made(self, expr: Expr) -> str:
        """The text of an expression all of whose parts have theirs: its name if it is shared."""
        text = self._plain(expr)
        while len(text) > LONGEST:
            inline = [part for part in self._parts(expr) if len(self._texts[part]) > SHORTEST]
            if not inline:
                break
            longest = max(inline, key=lambda part: len(self._texts[part]))
            self._texts[longest] = self._name(self._texts[longest])
            text = self._plain(expr)
        is_leaf = expr.is_leaf and len(text) <= LONGEST // 2
        return text if is_leaf or self._uses[expr] < 2 else self._name(text)

    def _parts(self, expr: Expr) -> tuple[Expr, ...]:
        """What an expression needs; of a read, its indices and its fill."""
        return tuple(access_exprs(self.nest.reads[expr.number])) if expr.op == "read" else expr.operands

    def _walk(self, *roots: Expr) -> Iterator[Expr]:
        return walk(*roots, parts=self._parts)

    def _name(self, text: str) -> str:
        name = f"t{next(self.numbers)}"
        self.found.append(f"{name} = {_bare(text)}")
        return name

    def _plain(self, expr: Expr) -> str:
        match expr.op:
            case "read":
                return self.access(self.nest.reads[expr.number])
            case "axis":
                return self.nest.axes[expr.number].name
            case "const":
                return str(expr.args[0])
            case "acc":
                return "acc"
        parts = [self.text(operand) for operand in expr.operands]
        scalar, first = expr.scalar, expr.operands[0]
        symbol = SYMBOLS.get(scalar.base)
        if symbol is None:
            shown = scalar.base if scalar.type == first.type else scalar.name
            return f"{shown}({', '.join(_bare(part) for part in parts)})"
        left, right = parts
        alike = first.scalar is scalar and symbol in _ASSOCIATIVE
        return f"({_bare(left) if alike else left} {symbol} {right})"


def _wrapped(text: str) -> bool:
    """Whether the first parenthesis is closed by the last."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position == len(text) - 1
    return False


def _bare(text: str) -> str:
    return text[1:-1] if _wrapped(text) else text


def _title(program: Program) -> str:
    target, sizes = program.target, f"arena {program.arena_bytes} bytes"
    if program.level2_bytes:
        sizes += f", level 2 {program.level2_bytes} bytes"
    if target.scratch_bytes is not None:
        sizes += f", scratchpad {program.scratch_bytes} of {target.scratch_bytes} bytes"
    return f"program for {plain(target.name)}: {sizes}"


def _header(nest: Nest, extents: Sequence[int]) -> str:
    axes = [f"{a.name}:{extent}" for a, extent in zip(nest.axes, extents, strict=True)]
    kept = " ".join(axes[: nest.outer])
    over = " ".join(axes[nest.outer :])
    return f"{nest.verb} {kept or 'one point'}{f' over {over}' if over else ''}"
