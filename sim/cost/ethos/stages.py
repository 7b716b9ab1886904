"""What an expression asks of hardware that computes one binary operation at a time.

A stage takes one or two feature maps, scales them, combines them, scales and clamps the result and sends it
through a table. So scaling, clamping and tables are no stages of their own where they follow one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from sim.cost.forms import form_of
from sim.cost.geometry import by_nest, roles_of
from sim.cost.reach import reaches
from tiling.contraction import unwrapped
from tiling.expr import BYTES, Expr
from tiling.nest import Access, Indirect, Nest
from tiling.scalars import Family

StageKind = Literal["primary", "add", "multiply", "other", "copy", "resize"]
SCALING: frozenset[Family] = frozenset({"rescale", "cast", "index", "negate"})
NEIGHBOURS = 4
"""Elements that a bilinear one is a mean of."""
NARROW = frozenset({"i8", "u8", "i16", "u16"})


@dataclass(frozen=True, slots=True)
class Source:
    """Where an operand of a stage comes from: a read of the nest, or the result of a stage."""

    read: int | None
    stage: int | None
    axes: frozenset[int]
    type: str
    scaled: bool = False
    """Whether it is still to be scaled, by whoever takes it."""


@dataclass(slots=True)
class Stage:
    """One pass over all points of some axes."""

    kind: StageKind
    operands: tuple[Source, ...]
    axes: frozenset[int]
    type: str
    """Of the result as it is stored."""
    table: bool = False
    scalar: bool = False
    times: int = 1
    grid: tuple[tuple[int, int], ...] = ()
    """Of a resize: axes of rows and columns, and how many results an element of the source has there."""
    closed: bool = field(default=False)
    """Whether the result is as narrow as it gets: further scaling is the next stage's."""

    @property
    def wide(self) -> bool:
        """Whether an operand has 32 bits or more."""
        return any(BYTES[source.type] >= 4 for source in self.operands)


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a nest around its reduction, which is `primary` if there is one."""

    before: tuple[Stage, ...]
    primary: Stage | None
    after: tuple[Stage, ...]


@by_nest
def stages_of(nest: Nest) -> Stages:
    """The stages that a nest needs, in order."""
    finder = _Finder(nest)
    if nest.reduction is not None:
        finder.start()
    before = len(finder.stages)
    primary = None
    if nest.reduction is not None:
        kept = frozenset(range(nest.outer))
        primary = Stage("primary", (), kept, nest.reduction.type)
        finder.stages.append(primary)
        finder.primary = before
    for write in nest.writes:
        finder.finish(
            write.value, frozenset(a for a, s in enumerate(write.access.steps(len(nest.axes))) if s)
        )
    first = before + (primary is not None)
    return Stages(tuple(finder.stages[:before]), primary, tuple(finder.stages[first:]))


def scales(nest: Nest) -> frozenset[int]:
    """Reads of a contraction that come packed for each output channel: biases, multipliers and shifts.

    Operands of stages that are as long are none.
    """
    return _scales(form_of(nest).nest)


@by_nest
def _scales(nest: Nest) -> frozenset[int]:
    roles = roles_of(nest)
    if nest.verb != "contract" or roles is None:
        return frozenset()
    columns, found = set(roles.filters), stages_of(nest)
    moved = [{axis for axis, step in enumerate(reach.steps) if step} for reach in reaches(nest)]
    taken = {source.read for stage in (*found.before, *found.after) for source in stage.operands}
    reads = (number for number in range(len(nest.reads)) if number not in taken)
    return frozenset(number for number in reads if moved[number] and moved[number] <= columns)


class _Finder:
    """One walk over the expressions of a nest."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.stages: list[Stage] = []
        self.primary: int | None = None
        roles = roles_of(nest)
        self._columns = frozenset(() if roles is None else roles.filters)
        self._found: dict[Expr, Source | None] = {}
        self._roots: dict[Expr, tuple[frozenset[Expr] | None, bool]] = {}

    def start(self) -> None:
        """The stages before the reduction: what is more than an operand with its zero point."""
        assert self.nest.reduction is not None
        value = unwrapped(self.nest.reduction.value)
        if any(leaf.op == "axis" for leaf in value.leaves):
            return  # the hardware finds the place of a maximum itself
        product = self.nest.verb == "contract" and value.scalar.base == "mul"
        for factor in value.operands if product else (value,):
            self.visit(factor)

    def finish(self, value: Expr, axes: frozenset[int]) -> None:
        """The stages of a result."""
        source = self.visit(value)
        if source is None:
            self.stages.append(Stage("copy", (), axes, value.type, scalar=True))
        elif source.stage is None or source.scaled:
            self._copy(source, value.type)

    def visit(self, expr: Expr) -> Source | None:
        """Where the value of an expression can be had; None for what is one number for all points."""
        if expr not in self._found:
            # Expressions are walked parts first, so that depth is no matter.
            self._found[expr] = self._visited(expr)
        return self._found[expr]

    def _visited(self, expr: Expr) -> Source | None:
        roots, looked_up = self._narrow(expr)
        if roots is not None and not roots and expr.op != "acc":
            return None
        if looked_up and roots is not None and len(roots) == 1 and not (_plain(expr) or _widened(expr)):
            return self._looked_up(next(iter(roots)), expr)
        if expr.op == "acc":
            assert self.primary is not None
            return Source(None, self.primary, frozenset(range(self.nest.outer)), expr.type)
        if expr.op == "read":
            return self._read(expr)
        if expr.op == "axis":
            return Source(None, None, frozenset({expr.number}), "i16")
        return self._operation(expr)

    def _read(self, expr: Expr) -> Source:
        access = self.nest.reads[expr.number]
        axes = {axis for axis, step in enumerate(access.steps(len(self.nest.axes))) if step}
        for index in access.index:
            if isinstance(index, Indirect):
                inner = self.visit(index.value)
                axes |= inner.axes if inner is not None else set()
        if access.bits:
            return Source(expr.number, None, frozenset(axes), f"i{access.bits}", scaled=True)
        return Source(expr.number, None, frozenset(axes), access.type)

    def _operation(self, expr: Expr) -> Source | None:
        family = expr.scalar.family
        # Factors of a scaling are numbers of the command or of a channel, whatever they are computed from.
        read = expr.operands[:1] if family == "rescale" else expr.operands
        sources = [self.visit(operand) for operand in read]
        given = [source for source in sources if source is not None]
        main = given[0]
        scaling = family in SCALING or (expr.scalar.base == "shl" and BYTES[main.type] <= 2)
        alone = len(given) == 1 or (scaling and sources[0] is main)
        if alone and scaling:
            return self._scaled(main, expr)
        if alone and family == "clamp":
            return self._clamped(main, expr)
        if family == "add" and self._offset(main, given, sources):
            return main
        kind: StageKind = family if family == "add" or family == "multiply" else "other"
        # A choice is a product with the condition, and another with its opposite that is added.
        times = (2 if family == "choose" else 1) * max(1, len(given) - 1)
        resized = self._resized(given)
        if resized is not None:
            kind = "resize"
            if _is_single(resized):
                # A single position is repeated, which an addition of nothing does.
                kind, resized, times = "add", None, 1
        operands = self._matched(given[:2])
        axes = frozenset().union(*(source.axes for source in given))
        grid = () if resized is None else self._grid(resized)
        return self._stage(Stage(kind, operands, axes, expr.type, False, len(given) < 2, times, grid))

    def _resized(self, given: list[Source]) -> Access | None:
        """One of the four neighbours that something is a mean of, each with its weight."""
        reads = [self.nest.reads[source.read] for source in given if source.read is not None]
        found = [read for read in reads if read.indirect]
        names = [read.operand for read in found]
        return next((read for read in found if names.count(read.operand) == NEIGHBOURS), None)

    def _grid(self, neighbour: Access) -> tuple[tuple[int, int], ...]:
        """Axes of rows and columns with results an element of the source; none where these are not two."""
        found = list[tuple[int, int]]()
        for index, size in zip(neighbour.index, neighbour.shape, strict=True):
            place = self.visit(index.value) if isinstance(index, Indirect) else None
            if place is not None and len(place.axes) == 1:
                (axis,) = place.axes
                found.append((axis, -(-self.nest.axes[axis].extent // size)))
        return tuple(found) if len(found) == 2 else ()

    def _offset(self, main: Source, given: list[Source], sources: list[Source | None]) -> bool:
        """Whether an addition is a zero point's, or a bias that is added with the scaling of a channel."""
        summed = self.primary is not None and main.stage == self.primary and self.nest.verb == "contract"
        summed = summed and not main.scaled
        if len(given) == 1:
            return sources[0] is main and (summed or (main.stage is None and BYTES[main.type] <= 2))
        other = given[1]
        return summed and other.read is not None and other.axes <= self._columns

    def _scaled(self, source: Source, expr: Expr) -> Source:
        conversion = expr.scalar.family == "cast"
        if source.stage is None or self.stages[source.stage].closed:
            if BYTES[source.type] >= 4 and not conversion:
                axes = source.axes
                return self._stage(Stage("multiply", (source,), axes, expr.type, scalar=True))
            return source if conversion else _pending(source)
        stage = self.stages[source.stage]
        if stage.kind == "add" and stage.wide and not conversion:
            return self._stage(Stage("multiply", (source,), source.axes, expr.type, scalar=True))
        stage.type = expr.type
        return Source(None, source.stage, source.axes, expr.type)

    def _clamped(self, source: Source, expr: Expr) -> Source:
        if source.stage is None or source.scaled:
            return self._copy(source, expr.type)
        stage = self.stages[source.stage]
        if stage.closed and (stage.type != expr.type or stage.table):
            return self._copy(source, expr.type)
        stage.type = expr.type
        stage.closed = stage.closed or expr.type in NARROW
        return Source(None, source.stage, source.axes, expr.type)

    def _looked_up(self, index: Expr, looked_up: Expr) -> Source:
        """A function of one narrow value: a table, with whatever is done to its entries."""
        source, type = self.visit(index), looked_up.type
        assert source is not None
        direct = BYTES[source.type] == 1 or self._is_direct(index, looked_up)
        ready = source.stage is not None and not source.scaled and not self.stages[source.stage].table
        if not (ready and direct) or self._is_shared(index, looked_up):
            source = self._copy(source, type)
            assert source.stage is not None
            if self._is_moved(index, looked_up):
                self.stages[source.stage].kind = "add"
        assert source.stage is not None
        stage = self.stages[source.stage]
        stage.table, stage.type, stage.closed = True, type, True
        return Source(None, source.stage, source.axes, type)

    def _is_direct(self, value: Expr, function: Expr) -> bool:
        """Whether a value is an index of tables as it is; others are scaled for them, in their own pass."""
        users = [expr for expr in _parts([function], self.nest) if value in expr.operands]
        return all(expr.scalar.family in ("index", "interpolate") for expr in users)

    def _is_moved(self, value: Expr, function: Expr) -> bool:
        """Whether a number is added to a value before it is looked up: an addition, with a table behind."""
        parts = _parts([function], self.nest)
        sums = [expr for expr in parts if expr.scalar.family == "add" and expr.operands[1].op == "read"]
        return any(_unscaled(expr.operands[0]) is value for expr in sums)

    def _is_shared(self, value: Expr, function: Expr) -> bool:
        """Whether something else than a function of a value reads it, so that it has to be there as it is."""
        results = [write.value for write in self.nest.writes]
        return _readers(results, value, self.nest) > _readers([function], value, self.nest)

    def _copy(self, source: Source, type: str) -> Source:
        made = self._stage(Stage("copy", (source,), source.axes, type))
        assert made.stage is not None
        self.stages[made.stage].closed = type in NARROW
        return made

    def _matched(self, given: list[Source]) -> tuple[Source, ...]:
        """Operands of one width: narrow ones are widened by a pass.

        What is repeated along an axis is taken at the width of the other operand: it is small, and is brought
        there once.
        """
        full = max(given, key=lambda source: len(source.axes))
        repeated = [source.axes < full.axes for source in given]
        given = [replace(s, type=full.type) if less else s for s, less in zip(given, repeated, strict=True)]
        width = max(BYTES[source.type] for source in given)
        made = []
        for source in given:
            if BYTES[source.type] < 4 <= width:
                source = self._copy(source, f"i{8 * width}")
            made.append(source)
        return tuple(made)

    def _stage(self, stage: Stage) -> Source:
        self.stages.append(stage)
        return Source(None, len(self.stages) - 1, stage.axes, stage.type)

    def _narrow(self, expr: Expr) -> tuple[frozenset[Expr] | None, bool]:
        """The narrow values that an expression is a function of (None: wide ones), and whether tables."""
        if expr not in self._roots:
            self._roots[expr] = self._narrowed(expr)
        return self._roots[expr]

    def _narrowed(self, expr: Expr) -> tuple[frozenset[Expr] | None, bool]:
        if expr.op == "read":
            return self._narrow_read(expr)
        if expr.op == "acc":
            return None, False
        if expr.op == "axis":
            return None, False
        roots: frozenset[Expr] = frozenset()
        table, wide = False, False
        for operand in expr.operands:
            inner, looked_up = self._narrow(operand)
            if operand.type in NARROW and (self._is_kept(operand) or _is_root(operand, inner, looked_up)):
                inner, looked_up = frozenset({operand}), False
            table = table or looked_up
            wide = wide or inner is None
            roots |= inner or frozenset()
        factors = [self._narrow(operand)[0] for operand in expr.operands]
        if expr.scalar.family == "multiply" and _is_product(factors, roots, table):
            return frozenset(expr.operands), False
        if expr.type[0] == "f" and all(BYTES[root.type] == 1 for root in roots):
            table = table or bool(roots)
        return (None if wide else roots), table

    def _is_kept(self, expr: Expr) -> bool:
        """Whether a value is a table's, and several functions read it: these are operations behind it."""
        if expr.op != "read" or not self.nest.reads[expr.number].indirect:
            return False
        parts = _parts([write.value for write in self.nest.writes], self.nest)
        values = [
            _unscaled(operand)
            for part in parts
            if not _widened(part)
            for operand in _operands(part, self.nest)
        ]
        return values.count(expr) > 1

    def _narrow_read(self, expr: Expr) -> tuple[frozenset[Expr] | None, bool]:
        access = self.nest.reads[expr.number]
        moves = any(access.steps(len(self.nest.axes)))
        if not access.indirect:
            return (
                frozenset({expr}) if moves and access.type in NARROW else None if moves else frozenset()
            ), False
        if moves:
            return None, False
        roots: frozenset[Expr] = frozenset()
        for index in access.index:
            if isinstance(index, Indirect):
                inner, _ = self._narrow(index.value)
                if inner is None:
                    return None, False
                roots |= inner
        return roots, True


def _is_root(operand: Expr, roots: frozenset[Expr] | None, looked_up: bool) -> bool:
    """Whether functions of a narrow operand are tables of it, and not of the one value that it comes from.

    Of a table's result they are, where both have 16 bits: interpolations cannot be put into one.
    """
    if looked_up and roots is not None:
        return operand.op != "read" and all(BYTES[one.type] > 1 for one in (operand, *roots))
    return roots is None or len(roots) > 1


def _is_product(factors: list[frozenset[Expr] | None], roots: frozenset[Expr], table: bool) -> bool:
    """Whether a product of functions of one value is multiplied, and not looked up.

    It is where the value has 16 bits, or one of the functions is a table already: those are operators' own.
    """
    if sum(1 for factor in factors if factor is None or factor) < 2:
        return False
    return table or any(BYTES[root.type] > 1 for root in roots)


def _readers(results: Iterable[Expr], value: Expr, nest: Nest) -> int:
    """How often a value is an operand in what some results are made of."""
    return sum(_operands(expr, nest).count(value) for expr in _parts(results, nest))


def _parts(results: Iterable[Expr], nest: Nest) -> list[Expr]:
    """Some results and what they are made of, places of what they read included."""
    known = dict.fromkeys(results)
    waiting = list(known)
    while waiting:
        fresh = dict.fromkeys(part for part in _operands(waiting.pop(), nest) if part not in known)
        known |= fresh
        waiting += fresh
    return list(known)


def _operands(expr: Expr, nest: Nest) -> list[Expr]:
    if expr.op != "read":
        return list(expr.operands)
    return [index.value for index in nest.reads[expr.number].index if isinstance(index, Indirect)]


def _widened(expr: Expr) -> bool:
    """Whether an expression is a narrow value that is scaled to a wider one, which those who read it do."""
    return BYTES[expr.type] >= 4 and _unscaled(expr).type in NARROW


def _unscaled(expr: Expr) -> Expr:
    """What is scaled, of a value that is scaled to a wider one."""
    while BYTES[expr.type] >= 4 and (expr.scalar.family in SCALING or expr.scalar.base == "shl"):
        expr = expr.operands[0]
    return expr


def _plain(expr: Expr) -> bool:
    """Whether an expression is only the index of a table."""
    return expr.scalar.family == "index"


def _is_single(neighbour: Access) -> bool:
    """Whether a neighbour has but one position."""
    found = zip(neighbour.index, neighbour.shape, strict=True)
    return all(size == 1 for index, size in found if isinstance(index, Indirect))


def _pending(source: Source) -> Source:
    return Source(source.read, source.stage, source.axes, source.type, True)
