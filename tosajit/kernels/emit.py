"""From a nest to the text of its kernel, and the numbers that the text takes as arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiling.expr import BYTES, Expr, reads_of, walk
from tiling.nest import Access, Affine, Nest, Write, dense_strides, nest_exprs
from tiling.records import dataclass
from tosajit.kernels.layout import ACCUMULATOR, FLAGS, REPORT, Layout
from tosajit.kernels.phase import FLOATING, TOGETHER, KernelText, Phase, Strided, chooses, literal
from tosajit.kernels.scalars import requirement, scalar_source

HEADER = """import numpy as np
from tosajit.kernels.intrinsics import *
"""
FLOATS = """from tosajit.kernels.floats import *
"""

FIRST_PART, LAST_PART = 1, 2
"""Bits of a kernel's flags: the tile has the first part of a reduction, the last one."""


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
    return Emitter(nest, accesses, split, section).emit()


def emitter(nest: Nest) -> Emitter:
    """What writes the kernel of a nest whose operands are dense, and whose tiles have whole reductions."""
    size = len(nest.axes)
    return Emitter(nest, [strided(one, dense_strides(one.shape), size) for one in nest.accesses], False)


class Emitter(KernelText):
    """Writes one kernel."""

    def emit(self) -> Emitted:
        """The whole module."""
        nest, size = self.nest, len(self.nest.axes)
        if nest.reduction is None:
            self._map()
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
        computes = not self.copies or any(map(chooses, walk(*nest_exprs(self.nest))))
        header = HEADER + FLOATS if self._floats() and computes else HEADER
        text = "\n".join([header, self._scalars(), "", *lines, *self.lines, ""])
        return Emitted(text, tuple(self.payload), tuple(self.checks))

    def _floats(self) -> bool:
        """Whether the kernel sees a floating-point number."""
        kinds = {access.access.type for access in self.accesses}
        return not FLOATING.isdisjoint(kinds | {node.type for node in walk(*nest_exprs(self.nest))})

    def _map(self) -> None:
        """One loop nest; over rows of bfloat16 by twos, and over what is left of an odd row."""
        order, last = list(range(len(self.nest.axes))), len(self.nest.axes) - 1
        if not self._by_twos():
            Phase(self, [], order, self._write_results).emit()
            return
        Phase(self, [], order, self._write_results, part="twos").emit()
        self.lines.append(f"    if (hi{last} - lo{last}) & 1:")
        Phase(self, [], order, self._write_results, "        ", "last").emit()

    def _by_twos(self) -> bool:
        """Whether neighbours in all operands are words, or one number."""
        reads = len(self.nest.reads)
        if not self.nest.axes or self.section is not None or self.copies:
            return False
        if any(node.op == "axis" for node in walk(*nest_exprs(self.nest))):
            return False
        return all(
            item.access.type == "bf16"
            and item.access.fill is None
            and all(isinstance(index, Affine) for index in item.access.index)
            and item.steps[-1] in ((0, 1) if number < reads else (1,))
            for number, item in enumerate(self.accesses)
        )

    def _scalars(self) -> str:
        """The scalar functions that the kernel calls, and in a checked one their requirements."""
        reduction = self.nest.reduction
        names = {node.op for node in walk(*nest_exprs(self.nest)) if not node.is_leaf}
        if reduction is not None and self._combination not in self._instructions:
            names.add(self._combination)
        if self.section is not None:
            names |= {found for name in names if (found := requirement(name))}
        return scalar_source(sorted(map(self.scalar, names)))

    def _write_results(self, phase: Phase) -> None:
        first = len(self.nest.reads)
        for position, write in enumerate(self.nest.writes):
            number, kind = first + position, self.element(write.access.type)
            store, source = self.stored(write)
            value = phase.value(source)
            phase.write(f"{store}_{{}}{kind}(p{number}, {phase.index(number)}", value)

    def stored(self, write: Write) -> tuple[str, Expr]:
        """What stores a result, and of which value: one that was just rounded is rounded as it is stored."""
        source, kind = write.value, self.element(write.access.type)
        if source.scalar.family == "cast" and source.type == kind and source.operands[0].type in FLOATING:
            return "store", source.operands[0]
        return "put" if kind in NARROW else "store", source

    def _reduction(self) -> None:
        """Three phases over each row of accumulators: set them, combine, and make results of them."""
        outer = self.nest.outer
        shared, inner = list(range(outer - 1)), [outer - 1] if outer else []
        reduced = list(range(outer, len(self.nest.axes)))
        self.lines.append(f"    flags, row0 = load_i64(args, {FLAGS}), load_i64(args, {ACCUMULATOR})")
        indent = "    "
        for axis in shared:
            self.lines.append(f"{indent}for a{axis} in range(lo{axis}, hi{axis}):")
            indent += "    "
        self.lines.append(f"{indent}row = row0 + {self._row(shared, inner)}")
        self.lines.append(f"{indent}if flags & {FIRST_PART}:")
        Phase(self, shared, inner, self._start, indent + "    ").emit()
        if self.along_rows():
            for part in ("rows", "last rows") if self._several_rows() else ("",):
                Phase(self, shared, reduced + inner, self._combine_in_memory, indent, part).emit()
        else:
            Phase(self, shared, inner + reduced, self._combine, indent).emit()
        self.lines.append(f"{indent}if flags & {LAST_PART}:")
        Phase(self, shared, inner, self._finish, indent + "    ").emit()

    def _row(self, shared: Sequence[int], inner: Sequence[int]) -> str:
        """The offset of a row of accumulators in bytes; one row serves all unless reductions are split."""
        width = f"(hi{inner[0]} - lo{inner[0]})" if inner else "1"
        place = "0"
        for axis in shared if self.split else ():
            place = f"({place} * (hi{axis} - lo{axis}) + a{axis} - lo{axis})"
        return f"{place} * {width} * {BYTES[self._reduction_type]}"

    @property
    def _combination(self) -> str:
        """The scalar that combines values."""
        assert self.nest.reduction is not None
        return self.nest.reduction.scalar.name

    @property
    def _reduction_type(self) -> str:
        assert self.nest.reduction is not None
        return self.nest.reduction.type

    @property
    def _instructions(self) -> Mapping[str, str]:
        """What combines values by an instruction of its own."""
        return EXTREMES if self.along_rows() else IN_ANY_ORDER

    @property
    def _column(self) -> str:
        """Where in a row the accumulator of a point is."""
        last = self.nest.outer - 1
        return f"a{last} - lo{last}" if last >= 0 else "0"

    def _start(self, phase: Phase) -> None:
        reduction = self.nest.reduction
        assert reduction is not None
        initial = literal(reduction.initial, reduction.type)
        phase.last(f"store_{reduction.type}(row, {self._column}, {initial})")

    def _combine_in_memory(self, phase: Phase) -> None:
        """With the reduced axes outside: a row of accumulators at a time."""
        reduction = self.nest.reduction
        assert reduction is not None
        kind, combine = reduction.type, self._combination
        total = "total"
        phase.last(f"total = reload_{kind}(row, {self._column})")
        for ahead in range(TOGETHER if phase.part == "rows" else 1):
            phase.go_ahead(ahead)
            value = phase.value(reduction.value)
            phase.check(combine, ["total", value], phase.depth)
            operands = (value, total) if combine in EXTREMES else (total, value)
            total = f"{EXTREMES.get(combine, combine)}({', '.join(operands)})"
        if combine in CHOSEN:
            total = f"whole_i64({total}, {self.number(0)})"
        phase.last(f"store_{kind}(row, {self._column}, {total})")

    def _several_rows(self) -> bool:
        """Whether there are several rows to combine at a time, which lie alike."""
        nest, reduction = self.nest, self.nest.reduction
        assert reduction is not None
        reads = [nest.reads[number] for number in reads_of(reduction.value)]
        plain = all(access.fill is None and not access.indirect for access in reads)
        placed = any(node.op == "axis" for node in walk(reduction.value))
        several = nest.outer < len(nest.axes) and nest.axes[-1].extent >= 2 * TOGETHER
        return self.section is None and plain and not placed and several

    def _combine(self, phase: Phase) -> None:
        """With the reduced axes inside: the accumulator is a local variable."""
        reduction = self.nest.reduction
        assert reduction is not None
        kind, combine, level = reduction.type, self._combination, self.nest.outer
        phase.before(level, f"total = reload_{kind}(row, {self._column})")
        value = phase.value(reduction.value)
        phase.check(combine, ["total", value], phase.depth)
        phase.last(f"total = {IN_ANY_ORDER.get(combine, combine)}(total, {value})")
        phase.after(level, f"store_{kind}(row, {self._column}, total)")

    def _finish(self, phase: Phase) -> None:
        phase.last(f"total = reload_{self._reduction_type}(row, {self._column})")
        phase.acc = "total"
        self._write_results(phase)

    def in_free_order(self) -> bool:
        """Whether LLVM chooses in which order values are combined, for the loop over a row of them."""
        reduction = self.nest.reduction
        return reduction is not None and reduction.scalar.name in IN_ANY_ORDER and not self.along_rows()

    def along_rows(self) -> bool:
        """Whether to vectorise over the last kept axis rather than over the last reduced one."""
        nest, last = self.nest, self.nest.outer - 1
        if last < 0:
            return False
        assert nest.reduction is not None
        steps = [self.accesses[number].steps for number in reads_of(nest.reduction.value)]
        kept = any(s[last] == 1 for s in steps) and all(s[last] in (0, 1) for s in steps)
        dense = all(s[-1] in (0, 1) for s in steps)
        return kept and not (dense and any(s[-1] == 1 for s in steps) and nest.axes[-1].extent >= 16)


NARROW = FLOATING - {"f32"}
"""Formats whose values are exact in expressions: a scalar rounds what it makes of them."""
EXTREMES = {"max_f32": "greatest_f32", "min_f32": "least_f32"}
"""Instructions of their own. They come to the new value first: if LLVM chose between what it loads from a row
and another number, it would store by a mask, which takes ten times as long on AVX2."""
CHOSEN = frozenset({"max_i64", "min_i64"})
"""What AVX2 chooses by a comparison: it is stored whole, for the same reason."""
IN_ANY_ORDER = {"add_f32": "sum_f32", **EXTREMES}
"""What combines values of a reduction in vectors: the specification leaves the order open."""
