"""The general kernel: formulas as loops that run one point after another, for what no nest can say.

It is made of checked terms, never of strings of the file. An index that data compute is kept inside its
tensor, as in nests; a limit of a loop that data compute is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiling.expr import Expr, axis, read, walk
from tiling.nest import dense_strides
from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.nests import meaning, terms
from tosajit.frontends.nnef.nests.assignment import Assignment, Unfit, largest_shape
from tosajit.frontends.nnef.nests.terms import Element, Loop, Term
from tosajit.frontends.nnef.syntax.source import Span
from tosajit.kernels.phase import literal
from tosajit.kernels.scalars import scalar_source

LONGEST_LOOP = 1 << 24
"""Steps of a loop whose limit data decide."""
_MOST_STATEMENTS = 20_000
HEADER = """import numpy as np
from tosajit.kernels.intrinsics import *
from tosajit.kernels.floats import *
"""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The text of a kernel and the tensors whose addresses it takes, in their order.

    Behind them is a word for a limit that was too large.
    """

    source: str
    tensors: tuple[Tensor, ...]


def kernel(assignments: Sequence[Assignment]) -> Kernel:
    """The kernel of assignments, in their order."""
    tensors = dict.fromkeys(
        element.tensor for one in assignments for element in (*one.targets, *one.reads, *_conditions(one))
    )
    written = frozenset(tensor for one in assignments for tensor in one.outputs)
    writer = _Writer({tensor: number for number, tensor in enumerate(tensors)}, written)
    initialised: set[Tensor] = set()
    for one in assignments:
        for output in one.outputs:
            if output not in initialised and one.operator in meaning.COMBINING:
                writer.fill(output, meaning.neutral(one.operator, meaning.COMPUTED[output.type]))
            initialised.add(output)
        writer.assign(one)
    return Kernel(writer.text(), tuple(tensors))


def _conditions(one: Assignment) -> list[Element]:
    """What is read before anything is computed: limits of loops, and extents that indices may leave."""
    return terms.elements_of(*(loop.extent for loop in one.loops), *one.skips)


@dataclass
class _Writer:
    """Writes the text."""

    places: Mapping[Tensor, int]
    written: frozenset[Tensor]
    counters: dict[Loop, str] = field(default_factory=dict)
    scalars: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    _indent: str = "    "
    _names: int = 0
    _counting: dict[Loop, Span] = field(default_factory=dict)
    """The formula that counts last."""

    def text(self) -> str:
        """The whole module."""
        count = len(self.places)
        head = ["def kernel(args):", "    pass"]
        head += [f"    p{number} = load_i64(args, {number})" for number in range(count)]
        head += [f"    {name} = np.int64(0)" for name in self.counters.values()]
        return "\n".join([HEADER, scalar_source(sorted(self.scalars)), "", *head, *self.lines, ""])

    def fill(self, output: Tensor, value: float) -> None:
        """Set all elements."""
        type = meaning.COMPUTED[output.type]
        size = 1
        for extent in largest_shape(output):
            size *= extent
        self.write(f"for i in range({size}):")
        self.write(f"    store_{type}(p{self.places[output]}, i, {_literal(value, type)})")

    def assign(self, one: Assignment) -> None:
        """The loops of an assignment."""
        outer, start = self._indent, len(self.lines)
        points = _Point(self, one)
        for number, loop in enumerate(one.loops):
            limit = str(loop.extent) if isinstance(loop.extent, int) else self._limit(points, loop.extent)
            self.write(f"for a{number} in range({limit}):")
            self._indent += "    "
            points.forget()
        for condition in (*one.skips, one.condition):
            if condition is not True:
                self.write(f"if {points.value(condition)}:")
                self._indent += "    "
                points.forget()
        points.store()
        for counter in () if one.is_count else points.counted:
            self._count(counter, one, start, outer)
        self._indent = outer

    def _count(self, counter: Loop, one: Assignment, start: int, outer: str) -> None:
        """Count the points of an assignment; from 0, unless it is a further part of the same formula."""
        self.write(f"{self.counters[counter]} += 1")
        if self._counting.get(counter) != one.span:
            self.lines.insert(start, f"{outer}{self.counters[counter]} = np.int64(0)")
        self._counting[counter] = one.span

    def _limit(self, points: _Point, extent: Term) -> str:
        """The name of a limit that data decide."""
        name = self.name()
        self.write(f"{name} = np.int64({points.value(extent)})")
        self.write(f"if {name} > {LONGEST_LOOP}:")
        self.write(f"    store_i64(args, {len(self.places)}, {name})")
        return f"min(max({name}, 0), {LONGEST_LOOP})"

    def name(self) -> str:
        """A new name."""
        self._names += 1
        if self._names > _MOST_STATEMENTS:
            raise Unfit(f"the formulas take more than {_MOST_STATEMENTS} steps")
        return f"t{self._names}"

    def set(self, text: str) -> str:
        """The name of what is computed."""
        name = self.name()
        self.write(f"{name} = {text}")
        return name

    def write(self, line: str) -> None:
        """A statement."""
        self.lines.append(self._indent + line)


class _Point:
    """What is computed at one point of the loops of an assignment."""

    def __init__(self, writer: _Writer, one: Assignment) -> None:
        self.writer, self.one = writer, one
        self.elements: list[Element] = []
        self.counted: dict[Loop, None] = {}
        self._axes = {loop: number for number, loop in enumerate(one.loops)}
        self._made: dict[Expr, str] = {}
        self._known: dict[Term, Expr] = {}
        self._indices: list[tuple[Expr, ...]] = []

    def forget(self) -> None:
        """Names of an outer block may be gone, or what they read may have changed."""
        self._made.clear()

    def store(self) -> None:
        """Compute all values and where they go, then store them: a packed assignment is done at once."""
        stores = []
        for target, value in zip(self.one.targets, self.one.values, strict=True):
            place, type = self.writer.places[target.tensor], meaning.COMPUTED[target.type]
            index = self._flat(target)
            name = self.value(value)
            if self.one.operator in meaning.COMBINING:
                combining = f"{meaning.COMBINING[self.one.operator]}_{type}"
                self.writer.scalars.add(combining)
                before = self.writer.set(f"reload_{type}(p{place}, {index})")
                name = self.writer.set(f"{combining}({before}, {name})")
            stores.append(f"store_{type}(p{place}, {index}, {name})")
        for line in stores or ["pass"]:
            self.writer.write(line)

    def value(self, term: Term) -> str:
        """The name of a term."""
        return self._expression(meaning.expression(term, self._leaf))

    def _leaf(self, term: Term) -> Expr | None:
        if isinstance(term, Loop):
            if term in self._axes:
                return _as_int(axis(self._axes[term]))
            self.writer.counters.setdefault(term, f"k{len(self.writer.counters)}")
            self.counted[term] = None
            return _as_int(axis(-1 - list(self.writer.counters).index(term)))
        if not isinstance(term, Element):
            return None
        if term not in self._known:
            self._indices.append(tuple(meaning.expression(one, self._leaf) for one in term.indices))
            self.elements.append(term)
            self._known[term] = read(len(self.elements) - 1, meaning.COMPUTED[term.type])
        return self._known[term]

    def _expression(self, root: Expr) -> str:
        def parts(expr: Expr) -> Sequence[Expr]:
            return self._indices[expr.number] if expr.op == "read" else expr.operands

        for expr in walk(root, parts=parts):
            if expr not in self._made:
                self._made[expr] = self._statement(expr)
        return self._made[root]

    def _statement(self, expr: Expr) -> str:
        match expr.op:
            case "const":
                return _literal(expr.args[0], expr.type)
            case "axis":
                return (
                    f"a{expr.number}"
                    if expr.number >= 0
                    else list(self.writer.counters.values())[-1 - expr.number]
                )
            case "read":
                return self._read(self.elements[expr.number], self._indices[expr.number], expr.type)
        self.writer.scalars.add(expr.op)
        return self.writer.set(f"{expr.op}({', '.join(self._made[one] for one in expr.operands)})")

    def _read(self, element: Element, indices: Sequence[Expr], type: str) -> str:
        load = "reload" if element.tensor in self.writer.written else "load"
        place = self.writer.places[element.tensor]
        index = self._offset(element, [self._made[one] for one in indices])
        return self.writer.set(f"{load}_{type}(p{place}, {index})")

    def _flat(self, target: Element) -> str:
        """Where an element is stored."""
        return self._offset(target, [self.value(one) for one in target.indices])

    def _offset(self, element: Element, names: Sequence[str]) -> str:
        """The place of an element, which is inside of its tensor whatever its indices are."""
        shape = largest_shape(element.tensor)
        rows = zip(names, shape, dense_strides(shape), strict=True)
        inside = [f"min(max(np.int64({name}), 0), {extent - 1}) * {stride}" for name, extent, stride in rows]
        return self.writer.set(f"np.int64({' + '.join(inside) or '0'})")


def _as_int(coordinate: Expr) -> Expr:
    return Expr("to_i32", (coordinate,), "i32")


def _literal(value: object, type: str) -> str:
    return f"np.bool_({bool(value)})" if type == "bool" else literal(value, type)
