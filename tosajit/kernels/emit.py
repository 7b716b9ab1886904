"""From a nest to the text of its kernel, and the numbers that the text takes as arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tiling.expr import BYTES, LEAVES, Expr, reads_of, walk
from tiling.nest import Access, Affine, Indirect, Nest, nest_exprs
from tosajit.kernels.layout import ACCUMULATOR, FLAGS, REPORT, Layout
from tosajit.kernels.scalars import requirement, scalar_source

HEADER = """import numpy as np
from tosajit.kernels.intrinsics import *
"""
FLOATS = """from tosajit.kernels.floats import *
"""


@dataclass(frozen=True, slots=True)
class Strided:
    """An access as a kernel sees it: elements between neighbours along each axis and each dimension."""

    access: Access
    steps: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Emitted:
    """The text of a kernel and its own arguments; `checks` names the requirements that it watches."""

    source: str
    payload: tuple[int, ...]
    checks: tuple[str, ...] = ()


def strided(access: Access, strides: Sequence[int], axes: int) -> Strided:
    """The access with its operand laid out by `strides`."""
    steps = [0] * axes
    for index, stride in zip(access.index, strides, strict=True):
        if isinstance(index, Affine):
            for position, coefficient in enumerate(index.coefficients):
                steps[position] += coefficient * stride
    return Strided(access, tuple(steps), tuple(strides))


def emit(nest: Nest, accesses: Sequence[Strided], split: bool, section: int | None = None) -> Emitted:
    """The kernel of one nest; `split` if a tile may be a part of a reduction.

    With a `section` number the kernel is checked: it reports the first requirement that the data break, as
    the number of the section, the number of the check, and the coordinates along the axes.
    """
    return _Emitter(nest, accesses, split, section).emit()


@dataclass
class _Emitter:
    """The text of one kernel while it is written."""

    nest: Nest
    accesses: Sequence[Strided]
    split: bool
    section: int | None = None
    checks: list[str] = field(default_factory=list)
    payload: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def emit(self) -> Emitted:
        """The whole module."""
        nest, size = self.nest, len(self.nest.axes)
        if nest.reduction is None:
            _Phase(self, [], list(range(size)), self._write_results).emit()
        else:
            self._reduction()
        layout = Layout(size, len(self.accesses))
        lines = ["def kernel(args):"]
        for axis in range(size):
            first, end = layout.first + axis, layout.end + axis
            lines.append(f"    lo{axis}, hi{axis} = load_i64(args, {first}), load_i64(args, {end})")
        lines += [f"    p{k} = load_i64(args, {layout.base + k})" for k in range(len(self.accesses))]
        lines += [f"    n{i} = load_i64(args, {layout.payload + i})" for i in range(len(self.payload))]
        if self.section is not None:
            lines.append(f"    report = load_i64(args, {REPORT})")
        computes = not self.copies or any(map(_chooses, walk(*nest_exprs(self.nest))))
        header = HEADER + FLOATS if self._floats() and computes else HEADER
        text = "\n".join([header, self._scalars(), "", *lines, *self.lines, ""])
        return Emitted(text, tuple(self.payload), tuple(self.checks))

    def _floats(self) -> bool:
        """Whether the kernel sees a floating-point number."""
        kinds = {access.access.type for access in self.accesses}
        return not _FLOATS.isdisjoint(kinds | {node.type for node in walk(*nest_exprs(self.nest))})

    @cached_property
    def copies(self) -> bool:
        """Whether floating-point numbers are only chosen and copied, which keeps all of their bits."""
        nodes = [*walk(*nest_exprs(self.nest))]
        used = {part for node in nodes if not _chooses(node) for part in node.operands}
        floats = [node for node in nodes if node.type in _FLOATS]
        return all(node not in used and (node.op == "read" or _chooses(node)) for node in floats)

    def element(self, type: str) -> str:
        """What loads and stores call the elements of an operand."""
        return _BITS.get(type, type) if self.copies else type

    def _scalars(self) -> str:
        """The scalar functions that the kernel calls, and in a checked one their requirements."""
        reduction = self.nest.reduction
        names = {node.op for node in walk(*nest_exprs(self.nest))} - LEAVES
        if reduction is not None and (self._along_rows() or self._combination not in _IN_ANY_ORDER):
            names.add(self._combination)
        if self.section is not None:
            names |= {found for name in names if (found := requirement(name))}
        return scalar_source(sorted(names))

    def number(self, value: int) -> str:
        """The name of an argument of the kernel's own; small structural numbers stand in the text."""
        self.payload.append(value)
        return f"n{len(self.payload) - 1}"

    def _write_results(self, phase: _Phase) -> None:
        first = len(self.nest.reads)
        for position, write in enumerate(self.nest.writes):
            number, kind = first + position, self.element(write.access.type)
            source, store = write.value, "put" if kind in NARROW else "store"
            if source.op == f"to_{kind}" and source.operands[0].type in _FLOATS:
                source, store = source.operands[0], "store"  # which rounds
            value = phase.value(source)
            phase.last(f"{store}_{kind}(p{number}, {phase.index(number)}, {value})")

    def _reduction(self) -> None:
        """Three phases over each row of accumulators: set them, combine, and make results of them."""
        outer, kind = self.nest.outer, self._reduction_type
        inner = [outer - 1] if outer else []
        reduced = list(range(outer, len(self.nest.axes)))
        shared = list(range(outer - 1)) if outer else []
        indent = "    "
        self.lines += [f"    flags, row0 = load_i64(args, {FLAGS}), load_i64(args, {ACCUMULATOR})"]
        for axis in shared:
            self.lines.append(f"{indent}for a{axis} in range(lo{axis}, hi{axis}):")
            indent += "    "
        width = f"(hi{inner[0]} - lo{inner[0]})" if inner else "1"
        place = "0"
        if self.split:
            for axis in shared:
                place = f"({place} * (hi{axis} - lo{axis}) + a{axis} - lo{axis})"
        self.lines.append(f"{indent}row = row0 + {place} * {width} * {BYTES[kind]}")
        self.lines.append(f"{indent}if flags & 1:")
        _Phase(self, shared, inner, self._start, indent + "    ").emit()
        if self._along_rows():
            _Phase(self, shared, reduced + inner, self._combine_in_memory, indent).emit()
        else:
            _Phase(self, shared, inner + reduced, self._combine, indent).emit()
        self.lines.append(f"{indent}if flags & 2:")
        _Phase(self, shared, inner, self._finish, indent + "    ").emit()

    @property
    def _combination(self) -> str:
        """The scalar that combines values."""
        assert self.nest.reduction is not None
        return f"{self.nest.reduction.op}_{self.nest.reduction.type}"

    @property
    def _reduction_type(self) -> str:
        assert self.nest.reduction is not None
        return self.nest.reduction.type

    @property
    def _column(self) -> str:
        """Where in a row the accumulator of a point is."""
        last = self.nest.outer - 1
        return f"a{last} - lo{last}" if last >= 0 else "0"

    def _start(self, phase: _Phase) -> None:
        reduction = self.nest.reduction
        assert reduction is not None
        initial = literal(reduction.initial, reduction.type)
        phase.last(f"store_{reduction.type}(row, {self._column}, {initial})")

    def _combine_in_memory(self, phase: _Phase) -> None:
        """With the reduced axes outside: a row of accumulators at a time."""
        reduction = self.nest.reduction
        assert reduction is not None
        kind, combine = reduction.type, f"{reduction.op}_{reduction.type}"
        value = phase.value(reduction.value)
        phase.last(f"total = reload_{kind}(row, {self._column})")
        phase.check(combine, ["total", value], phase.depth)
        phase.last(f"store_{kind}(row, {self._column}, {combine}(total, {value}))")

    def _combine(self, phase: _Phase) -> None:
        """With the reduced axes inside: the accumulator is a local variable."""
        reduction = self.nest.reduction
        assert reduction is not None
        kind, combine, level = reduction.type, f"{reduction.op}_{reduction.type}", self.nest.outer
        phase.before(level, f"total = reload_{kind}(row, {self._column})")
        value = phase.value(reduction.value)
        phase.check(combine, ["total", value], phase.depth)
        phase.last(f"total = {_IN_ANY_ORDER.get(combine, combine)}(total, {value})")
        phase.after(level, f"store_{kind}(row, {self._column}, total)")

    def _finish(self, phase: _Phase) -> None:
        phase.last(f"total = reload_{self._reduction_type}(row, {self._column})")
        phase.acc = "total"
        self._write_results(phase)

    def _along_rows(self) -> bool:
        """Whether to vectorise over the last kept axis rather than over the last reduced one."""
        nest, last = self.nest, self.nest.outer - 1
        if last < 0:
            return False
        assert nest.reduction is not None
        steps = [self.accesses[number].steps for number in reads_of(nest.reduction.value)]
        kept = any(s[last] == 1 for s in steps) and all(s[last] in (0, 1) for s in steps)
        dense = all(s[-1] in (0, 1) for s in steps)
        return kept and not (dense and any(s[-1] == 1 for s in steps) and nest.axes[-1].extent >= 16)


_NUMPY = {"bool": "np.bool_", "i8": "np.int8", "u8": "np.uint8", "i16": "np.int16", "u16": "np.uint16",
          "i32": "np.int32", "i64": "np.int64", "f32": "np.float32", "f64": "np.float64"}  # fmt: skip


_BITS = {"f16": "u16", "bf16": "u16", "f32": "i32", "f8e4m3": "u8", "f8e5m2": "u8"}
_FLOATS = frozenset(_BITS)
NARROW = _FLOATS - {"f32"}
"""Formats whose values are exact in expressions: a scalar rounds what it makes of them."""
_IN_ANY_ORDER = {"add_f32": "sum_f32", "max_f32": "greatest_f32", "min_f32": "least_f32"}
"""What combines values of a reduction in vectors: the specification leaves the order open."""


def _chooses(node: Expr) -> bool:
    """Whether a value is one of two others, as they are."""
    return node.op.startswith("select_")


def literal(value: object, type: str) -> str:
    """A number in the text of a kernel; narrow floating-point numbers are float32 there."""
    if type in _FLOATS and not math.isfinite(float(value)):  # type: ignore[arg-type]
        return f"np.float32({'-' if value == -math.inf else ''}np.{'nan' if value != value else 'inf'})"
    return f"{_NUMPY.get(type, 'np.float32')}({value!r})"


class _Phase:
    """One loop nest of a kernel: statements placed at the outermost loop where their operands are known."""

    def __init__(
        self,
        kernel: _Emitter,
        opened: Sequence[int],
        order: Sequence[int],
        fill: Callable[[_Phase], None],
        indent: str = "    ",
    ) -> None:
        self.kernel, self.opened, self.order, self.indent = kernel, list(opened), list(order), indent
        self.fill = fill
        self.acc = ""
        self.depth = len(self.opened) + len(self.order)
        self.statements: list[list[str]] = [[] for _ in range(self.depth + 1)]
        self.endings: list[list[str]] = [[] for _ in range(self.depth + 1)]
        self.names: dict[Expr, tuple[str, int]] = {}
        self.indices: dict[int, tuple[str, int]] = {}
        self.count = 0

    def emit(self) -> None:
        """Append the loops to the kernel's text."""
        self.fill(self)
        indent, known = self.indent, len(self.opened)
        lines = self.kernel.lines
        for level in range(known + 1):
            lines += [indent + line for line in self.statements[level]]
        for level, axis in enumerate(self.order, known + 1):
            lines.append(f"{indent}for a{axis} in range(lo{axis}, hi{axis}):")
            indent += "    "
            empty = ["pass"] if level == self.depth else []
            lines += [indent + line for line in self.statements[level] or empty]
        for level in range(self.depth, known, -1):
            lines += [indent + line for line in self.endings[level]]
            indent = indent[:-4]
        for level in range(known, -1, -1):
            lines += [indent + line for line in self.endings[level]]

    def last(self, line: str) -> None:
        """A statement in the innermost loop."""
        self.statements[-1].append(line)

    def before(self, level: int, line: str) -> None:
        """A statement at a level, ahead of the loops further in."""
        self.statements[level].append(line)

    def after(self, level: int, line: str) -> None:
        """A statement at a level, behind the loops further in."""
        self.endings[level].append(line)

    def value(self, expr: Expr) -> str:
        """The name of an expression's value; its statements are placed on the way."""
        for node in walk(expr):
            self._place(node)
        return self._place(expr)[0]

    def _place(self, node: Expr) -> tuple[str, int]:
        if node in self.names:
            return self.names[node]
        match node.op:
            case "const":
                found = literal(node.args[0], node.type), 0
            case "axis":
                found = f"a{node.number}", self._level(node.number)
            case "acc":
                found = self.acc, self.depth
            case "read":
                found = self._read(node.number, node.type)
            case _:
                args = [self._place(arg) for arg in node.operands]
                level = max((level for _, level in args), default=0)
                self.check(node.op, [name for name, _ in args], level)
                found = self._name("t", level, f"{node.op}({', '.join(name for name, _ in args)})"), level
        self.names[node] = found
        return found

    def check(self, name: str, args: Sequence[str], level: int) -> None:
        """In a checked kernel, report if a scalar must not have these arguments."""
        if self.kernel.section is not None and (test := requirement(name)):
            self._report(f"{test}({', '.join(args)})", name, level)

    def _report(self, test: str, name: str, level: int) -> None:
        kernel = self.kernel
        kernel.checks.append(name)
        known = [*self.opened, *self.order][:level]
        numbers = [kernel.number(kernel.section or 0), kernel.number(len(kernel.checks) - 1)]
        numbers += [f"a{axis}" if axis in known else "-1" for axis in range(len(kernel.nest.axes))]
        lines = [f"if not {test}:", "    if fetch_add(report, 0, 1) == 0:"]
        for place, number in enumerate(numbers, 1):
            lines.append(f"        store_i64(report, {place}, np.int64({number}))")
        self.statements[level] += lines

    def _name(self, prefix: str, level: int, text: str) -> str:
        name = f"{prefix}{self.count}"
        self.count += 1
        self.statements[level].append(f"{name} = {text}")
        return name

    def _level(self, axis: int) -> int:
        """How many loops are open once the coordinate along an axis is known."""
        if axis in self.opened:
            return self.opened.index(axis) + 1
        return len(self.opened) + self.order.index(axis) + 1

    def _times(self, axis: int, factor: int) -> str:
        """A coordinate times a number."""
        return f"a{axis}" if factor == 1 else f"a{axis} * {self.kernel.number(factor)}"

    def _read(self, number: int, type: str) -> tuple[str, int]:
        access = self.kernel.accesses[number].access
        index, level = self._index(number)
        text = f"load_{self.kernel.element(type)}(p{number}, {index})"
        inside, checked = self._inside(number)
        level = max(level, checked)
        if inside and access.fill is not None:
            fill = self.value(access.fill)
            level = max(level, self.names[access.fill][1])
            text = f"{text} if {inside} else {fill}"
        return self._name("v", level, text), level

    def index(self, number: int) -> str:
        """The text of the element that an access meets."""
        return self._index(number)[0]

    def _index(self, number: int) -> tuple[str, int]:
        if number not in self.indices:
            self.indices[number] = self._make_index(number)
        return self.indices[number]

    def _make_index(self, number: int) -> tuple[str, int]:
        item = self.kernel.accesses[number]
        text, level = "0", 0
        axes = [axis for axis in (*self.opened, *self.order) if item.steps[axis]]
        terms = [(self._times(axis, item.steps[axis]), self._level(axis)) for axis in axes]
        for index, stride, extent in zip(item.access.index, item.strides, item.access.shape, strict=True):
            if isinstance(index, Indirect):
                value = self.value(index.value)
                found = self.names[index.value][1]
                if self.kernel.section is not None:
                    bound = self.kernel.number(extent)
                    self._report(f"0 <= np.int64({value}) < {bound}", "index", found)
                limit = self.kernel.number(extent - 1)
                scale = "" if stride == 1 else f" * {self.kernel.number(stride)}"
                terms.append((f"min(max(np.int64({value}), 0), {limit}){scale}", found))
        terms.sort(key=lambda term: term[1])
        for position, (term, term_level) in enumerate(terms):
            level = max(level, term_level)
            text = term if text == "0" else f"{text} + {term}"
            if position + 1 < len(terms) and terms[position + 1][1] > level:
                text = self._name("i", level, text)
        return text, level

    def _inside(self, number: int) -> tuple[str, int]:
        """The name of the test that every index of a read is within its bounds; empty if always true."""
        item = self.kernel.accesses[number]
        if item.access.fill is None:
            return "", 0
        extents = self.kernel.nest.extents
        name, level = "", 0
        tests: list[tuple[str, int]] = []
        for index, extent in zip(item.access.index, item.access.shape, strict=True):
            if not isinstance(index, Affine):
                continue
            low, high = index.span((0,) * len(extents), extents)
            if low < 0 or high >= extent:
                tests.append(self._test(index, extent))
        for test, at in sorted(tests, key=lambda t: t[1]):
            level = max(level, at)
            name = self._name("ok", level, f"{name} and {test}" if name else test)
        return name, level

    def _test(self, index: Affine, extent: int) -> tuple[str, int]:
        terms = [self.kernel.number(index.offset)]
        level = 0
        for axis, coefficient in enumerate(index.coefficients):
            if coefficient:
                level = max(level, self._level(axis))
                terms.append(self._times(axis, coefficient))
        where = self._name("q", level, " + ".join(terms))
        return f"0 <= {where} < {self.kernel.number(extent)}", level
