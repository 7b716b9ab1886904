"""One loop nest in the text of a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

from tiling.expr import Expr, walk
from tiling.nest import Access, Affine, Indirect, Nest, nest_exprs
from tiling.records import dataclass
from tosajit.kernels.scalars import requirement

BITS = {"f16": "u16", "bf16": "u16", "f32": "i32", "f8e4m3": "u8", "f8e5m2": "u8"}
FLOATING = frozenset(BITS)
TOGETHER = 4
"""Rows that are combined at a time with one of totals in memory."""
LONG = 4096
"""Points of rows beside which those are few that are left of several registers at a time."""
LONG_LOOPS = ("range", "interleaved_at_need", "interleaved")
"""What long loops are to LLVM: without functions, with one, and with several.

A core does not see the next point far enough ahead behind the steps of several; behind those of one, smaller
cores do not.
"""
SHORT = 64
"""Points of rows that are too few for four registers at a time."""
MIDDLING = 256
"""Points of rows beside which those are few that do not fill a register of AVX2."""
HALF = 8
"""Words of half a register with AVX-512, which rows are done by at their ends."""
SKIPS = tuple(range(2, 9))
"""Elements from one to the next that stand in the text, so that LLVM makes vectors of those, too."""
WORD = 1 << 31
"""What indices are less than that are compared as words."""
_NUMPY = {"bool": "np.bool_", "i8": "np.int8", "u8": "np.uint8", "i16": "np.int16", "u16": "np.uint16",
          "i32": "np.int32", "i64": "np.int64", "f32": "np.float32", "f64": "np.float64"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Strided:
    """An access as a kernel sees it: elements between neighbours along each axis and each dimension."""

    access: Access
    steps: tuple[int, ...]
    strides: tuple[int, ...]


def literal(value: object, type: str) -> str:
    """A number in the text of a kernel; narrow floating-point numbers are float32 there."""
    if type in FLOATING and not math.isfinite(float(value)):  # type: ignore[arg-type]
        return f"np.float32({'-' if value == -math.inf else ''}np.{'nan' if value != value else 'inf'})"
    return f"{_NUMPY.get(type, 'np.float32')}({value!r})"


@dataclass
class KernelText:
    """The text of one kernel while it is written, and the numbers that it takes."""

    nest: Nest
    accesses: Sequence[Strided]
    split: bool
    section: int | None = None
    checks: list[str] = field(default_factory=list)
    payload: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def number(self, value: int) -> str:
        """The name of an argument of the kernel's own; small structural numbers stand in the text."""
        self.payload.append(value)
        return f"n{len(self.payload) - 1}"

    @cached_property
    def bits(self) -> bool:
        """Whether half precision is only compared with bounds, which its bits allow without widening."""
        kinds = {item.access.type for item in self.accesses}
        if kinds != {"f16"} or self.nest.reduction is not None or self.section is not None:
            return False
        return {node.op for node in walk(*nest_exprs(self.nest))} - {"read"} <= BY_BITS.keys()

    def scalar(self, op: str) -> str:
        """The name of what does an operation in this kernel."""
        return BY_BITS.get(op, op) if self.bits else op

    @cached_property
    def copies(self) -> bool:
        """Whether floating-point numbers are only chosen and copied, which keeps all of their bits."""
        nodes = [*walk(*nest_exprs(self.nest))]
        used = {part for node in nodes if not chooses(node) for part in node.operands}
        floats = [node for node in nodes if node.type in FLOATING]
        return all(node not in used and (node.op == "read" or chooses(node)) for node in floats)

    @cached_property
    def functions(self) -> int:
        """How many functions a point of a plain map takes: steps that wait for each other."""
        if self.nest.reduction is not None or self.section is not None:
            return 0
        return sum(node.scalar.family == "function" for node in walk(*nest_exprs(self.nest)))

    @cached_property
    def words(self) -> bool:
        """Whether there is nothing that takes 64 bits, as scaling does: registers hold few of these."""
        nodes = [*walk(*nest_exprs(self.nest))]
        return all(node.type not in ("i64", "f64") and node.scalar.family != "rescale" for node in nodes)

    def element(self, type: str) -> str:
        """What loads and stores call the elements of an operand."""
        if self.bits and not self.copies:
            return "i16"
        return BITS.get(type, type) if self.copies else type


BY_BITS = {"clip_f16": "half_clip", "clip_ignore_f16": "half_clip_ignore"}


def chooses(node: Expr) -> bool:
    """Whether a value is one of two others, as they are."""
    return node.scalar.family == "choose"


class Phase:
    """One loop nest of a kernel: statements placed at the outermost loop where their operands are known.

    Its part may be to go along the last axis by twos, or to do only the last point there; or to go along the
    axis around the innermost by `TOGETHER` at a time, or over the rest there.
    """

    def __init__(
        self,
        kernel: KernelText,
        opened: Sequence[int],
        order: Sequence[int],
        fill: Callable[[Phase], None],
        indent: str = "    ",
        part: str = "",
    ) -> None:
        self.kernel, self.opened, self.order, self.indent = kernel, list(opened), list(order), indent
        self.fill, self.part = fill, part
        self.twos = part == "twos"
        self.ahead = 0
        self.twins: set[str] = set()
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
            if level == self.depth and self.part == "last":
                lines.append(f"{indent}a{axis} = hi{axis} - 1")
            else:
                loop = self._loop(axis) if level == self.depth else "range"
                lines.append(f"{indent}for a{axis} in {loop}({self._range(level, axis)}):")
                indent += "    "
            empty = ["pass"] if level == self.depth else []
            lines += [indent + line for line in self.statements[level] or empty]
        for level in range(self.depth, known, -1):
            lines += [indent + line for line in self.endings[level]]
            indent = indent[:-4]
        for level in range(known, -1, -1):
            lines += [indent + line for line in self.endings[level]]

    def _loop(self, axis: int) -> str:
        """What the innermost loop is to LLVM."""
        kernel, extent = self.kernel, self.kernel.nest.axes[axis].extent
        if extent >= LONG:
            return LONG_LOOPS[min(kernel.functions, len(LONG_LOOPS) - 1)]
        if self._is_few(axis):
            return "exactly"
        plain = kernel.nest.reduction is None and kernel.section is None and not self.part
        if not plain or self.depth == 1 or extent >= MIDDLING:
            return "range"
        if extent >= SHORT:
            return "overlapping_at_need" if extent % HALF and kernel.functions and kernel.words else "range"
        if extent % (2 * HALF) == 0:
            return "by_registers"
        if not kernel.words:
            return "range"
        return "by_masks" if extent % HALF else "by_halves"

    def _is_few(self, axis: int) -> bool:
        """Whether an innermost loop has so few turns, in any order, that their number stands in the text."""
        kernel, reduction = self.kernel, self.kernel.nest.reduction
        ordered = reduction is not None and reduction.type in FLOATING
        plain = not ordered and kernel.section is None and not self.part
        return plain and self.depth > 1 and kernel.nest.axes[axis].extent <= HALF

    def _range(self, level: int, axis: int) -> str:
        """Where a loop begins and ends, and its steps or, of few, how many they are."""
        low, high = f"lo{axis}", f"hi{axis}"
        if level == self.depth and self._is_few(axis):
            return f"{low}, {high}, {self.kernel.nest.axes[axis].extent}"
        if self.twos and level == self.depth:
            return f"{low}, {high} - 1, 2"
        if level == self.depth - 1 and self.part == "rows":
            return f"{low}, {high} - {TOGETHER - 1}, {TOGETHER}"
        if level == self.depth - 1 and self.part == "last rows":
            return f"{low} + ({high} - {low}) // {TOGETHER} * {TOGETHER}, {high}"
        return f"{low}, {high}"

    def go_ahead(self, count: int) -> None:
        """Have what follows see the point so many steps further along the axis around the innermost."""
        self.ahead = count
        self.names = {node: found for node, found in self.names.items() if found[1] < self.depth - 1}
        self.indices = {read: found for read, found in self.indices.items() if found[1] < self.depth - 1}

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
                found = self._apply(self.kernel.scalar(node.op), [name for name, _ in args], level), level
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

    def _apply(self, op: str, args: Sequence[str], level: int) -> str:
        """The name of a scalar's result; by twos also that of its twin."""
        name = self._name("t", level, f"{op}({', '.join(args)})")
        if not self.twins.isdisjoint(args):
            self._twin(name, f"{op}({', '.join(map(self.twin, args))})")
        return name

    def _twin(self, name: str, text: str) -> None:
        """A statement for the second one of two."""
        self.twins.add(name)
        self.last(f"{self.twin(name)} = {text}")

    def twin(self, name: str) -> str:
        """The name of a value for the second one of two."""
        return f"{name}b" if name in self.twins else name

    def write(self, text: str, value: str) -> None:
        """Store a value, or two."""
        values = [value, self.twin(value)] if self.twos else [value]
        self.last(f"{text.format('two_' if self.twos else '')}, {', '.join(values)})")

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
        """A coordinate times a number; LLVM makes vectors along a direction that stands in the text."""
        if factor in (1, -1):
            return f"a{axis}" if factor == 1 else f"(-a{axis})"
        if factor in SKIPS and self.order and axis == self.order[-1]:
            return f"a{axis} * {factor}"
        return f"a{axis} * {self.kernel.number(factor)}"

    def _read(self, number: int, type: str) -> tuple[str, int]:
        access = self.kernel.accesses[number].access
        index, level = self._index(number)
        text = f"load_{self.kernel.element(type)}(p{number}, {index})"
        inside, checked = self._inside(number)
        level = max(level, checked)
        if self.twos and level == self.depth:
            word = self._name("w", level, f"load_two_{type}(p{number}, {index})")
            name = self._name("v", level, f"first_{type}({word})")
            self._twin(name, f"second_{type}({word})")
            return name, level
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
        if self.ahead and self.order[-2] in axes:
            terms.append((self.kernel.number(item.steps[self.order[-2]] * self.ahead), 0))
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
                tests.append(self._test(index, extent, max(-low, high, extent) < WORD))
        for test, at in sorted(tests, key=lambda t: t[1]):
            level = max(level, at)
            name = self._name("ok", level, f"{name} and {test}" if name else test)
        return name, level

    def _test(self, index: Affine, extent: int, narrow: bool) -> tuple[str, int]:
        terms = [self.kernel.number(index.offset)]
        level = 0
        for axis, coefficient in enumerate(index.coefficients):
            if coefficient:
                level = max(level, self._level(axis))
                terms.append(self._times(axis, coefficient))
        where = self._name("q", level, " + ".join(terms))
        bound = self.kernel.number(extent)
        return f"is_inside({where}, {bound})" if narrow else f"0 <= {where} < {bound}", level
