"""From a nest to the text of its kernel, and the numbers that the text takes as arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tiling.expr import Expr, walk
from tiling.nest import Access, Affine, Indirect, Nest
from tosajit.kernels.layout import ACCUMULATOR, FLAGS, REPORT, Layout
from tosajit.kernels.scalars import requirement, scalar_source

HEADER = """import numpy as np
from tosajit.kernels.intrinsics import *
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

    With a `section` number the kernel is checked: it reports the first requirement that the data break, as the
    number of the section, the number of the check, and the coordinates along the axes.
    """
    return _Emitter(nest, accesses, split, section).emit()


@dataclass
class _Emitter:
    nest: Nest
    accesses: Sequence[Strided]
    split: bool
    section: int | None = None
    checks: list[str] = field(default_factory=list)
    payload: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    constants: dict[int, str] = field(default_factory=dict)

    def emit(self) -> Emitted:
        nest, size = self.nest, len(self.nest.axes)
        layout = Layout(size, len(self.accesses))
        head = [f"    lo{a}, hi{a} = load_i64(args, {layout.first + a}), load_i64(args, {layout.end + a})" for a in range(size)]
        head += [f"    p{k} = load_i64(args, {layout.base + k})" for k in range(len(self.accesses))]
        if nest.reduction is None:
            order = list(range(size))
            _Phase(self, [], order, self._write_results).emit()
        else:
            self._reduction()
        head += [f"    n{i} = load_i64(args, {layout.payload + i})" for i in range(len(self.payload))]
        names = {node.op for expr in self._all_exprs() for node in walk(expr)}
        if nest.reduction is not None:
            names.add(f"{nest.reduction.op}_{nest.reduction.type}")
        if self.section is not None:
            head.append(f"    report = load_i64(args, {REPORT})")
            names |= {found for name in names if (found := requirement(name))}
        scalars = scalar_source(sorted(names - {"read", "const", "acc", "axis"}))
        body = head + self.lines
        return Emitted(f"{HEADER}\n{scalars}\n\ndef kernel(args):\n" + "\n".join(body) + "\n", tuple(self.payload), tuple(self.checks))

    def _all_exprs(self) -> list[Expr]:
        nest = self.nest
        exprs = [write.value for write in nest.writes]
        if nest.reduction is not None:
            exprs.append(nest.reduction.value)
        for item in self.accesses:
            exprs += [index.value for index in item.access.index if isinstance(index, Indirect)]
            exprs += [item.access.fill] if item.access.fill is not None else []
        return exprs

    def number(self, value: int) -> str:
        """The name of an argument of the kernel's own; small structural numbers stand in the text."""
        self.payload.append(value)
        return f"n{len(self.payload) - 1}"

    def _write_results(self, phase: _Phase) -> None:
        first = len(self.nest.reads)
        for position, write in enumerate(self.nest.writes):
            value = phase.value(write.value)
            number = first + position
            index = phase.index(number)
            phase.last(f"store_{carrier(write.access.type)}(p{number}, {index}, {value})")

    def _reduction(self) -> None:
        nest, outer = self.nest, self.nest.outer
        reduction = nest.reduction
        assert reduction is not None
        kind = reduction.type
        inner = [outer - 1] if outer else []
        reduced = list(range(outer, len(nest.axes)))
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
        self.lines.append(f"{indent}row = row0 + {place} * {width} * {_SIZES[kind]}")
        column = f"a{inner[0]} - lo{inner[0]}" if inner else "0"
        initial = literal(reduction.initial, kind)
        combine = f"{reduction.op}_{kind}"

        def start(phase: _Phase) -> None:
            phase.last(f"store_{kind}(row, {column}, {initial})")

        def vector(phase: _Phase) -> None:
            value = phase.value(reduction.value)
            phase.last(f"total = reload_{kind}(row, {column})")
            phase.check(combine, ["total", value], phase.depth)
            phase.last(f"store_{kind}(row, {column}, {combine}(total, {value}))")

        def scalar(phase: _Phase) -> None:
            phase.before(len(shared) + len(inner), f"total = reload_{kind}(row, {column})")
            value = phase.value(reduction.value)
            phase.check(combine, ["total", value], phase.depth)
            phase.last(f"total = {combine}(total, {value})")
            phase.after(len(shared) + len(inner), f"store_{kind}(row, {column}, total)")

        def finish(phase: _Phase) -> None:
            phase.last(f"total = reload_{kind}(row, {column})")
            phase.acc = "total"
            self._write_results(phase)

        self.lines.append(f"{indent}if flags & 1:")
        _Phase(self, shared, inner, start, indent + "    ").emit()
        if self._along_rows():
            _Phase(self, shared, reduced + inner, vector, indent).emit()
        else:
            _Phase(self, shared, inner + reduced, scalar, indent).emit()
        self.lines.append(f"{indent}if flags & 2:")
        _Phase(self, shared, inner, finish, indent + "    ").emit()

    def _along_rows(self) -> bool:
        """Whether to vectorise over the last kept axis rather than over the last reduced one."""
        nest, last = self.nest, self.nest.outer - 1
        if last < 0:
            return False
        assert nest.reduction is not None
        steps = [self.accesses[int(node.args[0])].steps for node in walk(nest.reduction.value) if node.op == "read"]  # type: ignore[arg-type]
        kept = any(s[last] == 1 for s in steps) and all(s[last] in (0, 1) for s in steps)
        dense = all(s[-1] in (0, 1) for s in steps)
        return kept and not (dense and any(s[-1] == 1 for s in steps) and nest.axes[-1].extent >= 16)


_SIZES = {"bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f32": 4, "f64": 8}
_NUMPY = {"bool": "np.bool_", "i8": "np.int8", "u8": "np.uint8", "i16": "np.int16", "u16": "np.uint16",
          "i32": "np.int32", "i64": "np.int64", "f32": "np.float32", "f64": "np.float64"}  # fmt: skip


def carrier(type: str) -> str:
    """What a kernel holds an element in: narrow floating-point numbers are bit patterns."""
    return {"f16": "u16", "bf16": "u16", "f8e4m3": "u8", "f8e5m2": "u8"}.get(type, type)


def literal(value: object, type: str) -> str:
    return f"{_NUMPY[type]}({value!r})"


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
            lines += [indent + line for line in self.statements[level]] or ([indent + "pass"] if level == self.depth else [])
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
                found = f"a{node.args[0]}", self._level(int(node.args[0]))  # type: ignore[arg-type]
            case "acc":
                found = self.acc, self.depth
            case "read":
                found = self._read(int(node.args[0]), node.type)  # type: ignore[arg-type]
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
        lines += [f"        store_i64(report, {place}, np.int64({number}))" for place, number in enumerate(numbers, 1)]
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

    def _read(self, number: int, type: str) -> tuple[str, int]:
        access = self.kernel.accesses[number].access
        index, level = self._index(number)
        text = f"load_{carrier(type)}(p{number}, {index})"
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
        terms: list[tuple[str, int]] = []
        for axis in axes:
            step = item.steps[axis]
            terms.append((f"a{axis}" if step == 1 else f"a{axis} * {self.kernel.number(step)}", self._level(axis)))
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
                terms.append(f"a{axis}" if coefficient == 1 else f"a{axis} * {self.kernel.number(coefficient)}")
        where = self._name("q", level, " + ".join(terms))
        return f"0 <= {where} < {self.kernel.number(extent)}", level
