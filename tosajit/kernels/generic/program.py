"""From a nest to the program of the generic kernel: lists of steps, and where each operand's elements are.

Values of expressions are vectors in registers, one for each distinct expression. Those that are the same for
all points are computed once for a tile, the others for each vector. What is computed, and in which order sums
grow, is what the nest's own kernel does (`emit.py`), so that both give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiling.expr import BYTES, Expr, walk
from tiling.nest import Access, Affine, Indirect, Write, access_exprs
from tiling.program import Section
from tiling.records import dataclass
from tiling.scalars import HOLDS
from tosajit.kernels.emit import emitter
from tosajit.kernels.generic import steps
from tosajit.kernels.generic.steps import CLASSES, widest
from tosajit.kernels.generic.words import AFTER, BEFORE, EACH, ONCE
from tosajit.kernels.phase import FLOATING, chooses


class UnsuitedError(Exception):
    """A nest that the generic kernel cannot run, or not with the same bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """A vector: the class of its elements, and whether they are the same for all points."""

    kind: str
    uniform: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """An affine function of the axes: where an operand's elements are, in units of bytes, or a coordinate."""

    base: int
    """The operand whose address it begins with; -1: none."""
    constant: int
    coefficients: tuple[int, ...]
    unit: int

    @property
    def uniform(self) -> bool:
        """Whether it is the same for all points."""
        return not any(self.coefficients)


Operand = Register | Function | int


@dataclass(frozen=True, slots=True)
class Instruction:
    """A step, the types that it is for, and its operands; the result stands first if there is one."""

    name: str
    kinds: tuple[str, ...]
    operands: tuple[Operand, ...]
    writes: bool
    """Whether the first operand is a result."""


Lists = dict[int, list[Instruction]]


def instructions(section: Section) -> Lists:
    """The steps of a section's nest, in four lists; raises `UnsuitedError` if there are none for it."""
    if any(image is not None for image in section.images) or section.splits_reduction:
        raise UnsuitedError("its operands are in a scratchpad, or its reduction is split")
    if section.nest.prepared:
        raise UnsuitedError("its operands are packed for an array kernel")
    return _Writer(section).lists


class _Writer:
    """The lists while they are written."""

    def __init__(self, section: Section) -> None:
        self.nest = section.nest
        self.text = emitter(self.nest)
        self.lists: Lists = {part: [] for part in (ONCE, BEFORE, EACH, AFTER)}
        self.part, self.known = EACH, dict[object, Register]()
        self.values: dict[Expr, Register] = {}
        self.total: Register | None = None
        if self.nest.reduction is not None:
            self._reduce()
        for number, write in enumerate(self.nest.writes, len(self.nest.reads)):
            self._write(number, write)

    def _reduce(self) -> None:
        reduction = self.nest.reduction
        assert reduction is not None
        if self.text.in_free_order():
            raise UnsuitedError("the order of its sum is free, so that its own kernel may give other bits")
        total = Register(CLASSES[reduction.type])
        fill = Instruction("fill", (total.kind,), (total, _bits(reduction.initial, total.kind)), True)
        self.lists[BEFORE].append(fill)
        value = self._value(reduction.value)
        kinds = tuple(map(widest, reduction.scalar.operands))
        given = [self._converted(one, kind) for one, kind in zip((total, value), kinds, strict=True)]
        self.lists[EACH].append(Instruction(reduction.scalar.name, kinds, (total, *given), True))
        self.total, self.part = total, AFTER
        uniform = {key: one for key, one in self.known.items() if one.uniform}
        self.known, self.values = uniform, {}

    def _write(self, number: int, write: Write) -> None:
        store, source = self.text.stored(write)
        value, kind = self._value(source), self.text.element(write.access.type)
        if value.kind != CLASSES[kind]:
            raise UnsuitedError(f"a result is {kind}, but its value {value.kind}")
        if write.access.indirect:
            index = self._indices(number)
            name = "scatter" if store == "store" else "scatter_put"
            operands: tuple[Operand, ...] = (value, self._origin(number), index)
        else:
            name, operands = store, (value, self._place(number))
        self.lists[self.part].append(Instruction(name, (kind,), operands, False))

    # Values.

    def _value(self, root: Expr) -> Register:
        for node in walk(root):
            if node not in self.values:
                self.values[node] = self._made(node)
        return self.values[root]

    def _made(self, node: Expr) -> Register:
        match node.op:
            case "const":
                (value,) = node.args
                assert not isinstance(value, Expr)
                return self._constant(value, CLASSES[node.type])
            case "axis":
                return self._ramp(0, tuple(int(n == node.number) for n in range(len(self.nest.axes))))
            case "acc":
                assert self.total is not None
                return self.total
            case "read":
                return self._read(node.number, node.type)
        given = [self.values[operand] for operand in node.operands]
        if self._keeps(node, given):
            return given[0]
        if self.text.copies and chooses(node) and node.type in FLOATING:
            return self._applied("select_i32", ("bool", "i32", "i32"), given)
        name = self.text.scalar(node.op)
        if name in steps.BY_BITS:
            return self._applied(name, ("i32",) * 3, given)
        kinds = tuple(map(widest, node.scalar.operands))
        if len(given) == 1 and steps.has(name, given[0].kind):
            kinds = (given[0].kind,)
        return self._applied(name, kinds, given)

    @staticmethod
    def _keeps(node: Expr, given: Sequence[Register]) -> bool:
        """Whether an integer is only widened, within its class."""
        if node.scalar.family != "cast" or node.type in FLOATING:
            return False
        return node.operands[0].type in HOLDS[node.type] and given[0].kind == CLASSES[node.type]

    def _applied(self, name: str, kinds: tuple[str, ...], given: Sequence[Register]) -> Register:
        operands = [self._converted(one, kind) for one, kind in zip(given, kinds, strict=True)]
        return self._step(name, kinds, steps.result_of(name), *operands)

    def _converted(self, given: Register, kind: str) -> Register:
        """A register's elements in a wider class."""
        if given.kind == kind:
            return given
        name = f"to_{kind}"
        if kind not in ("i64", "f32") or not steps.has(name, given.kind):
            raise UnsuitedError(f"no step makes {kind} of {given.kind}")
        return self._step(name, (given.kind,), kind, given)

    def _constant(self, value: int | float, kind: str) -> Register:
        return self._step("fill", (kind,), kind, _bits(value, kind))

    def _step(self, name: str, kinds: tuple[str, ...], kind: str, *operands: Operand) -> Register:
        """The result of a step, which is done once for the same operands."""
        key = name, kinds, operands
        if key not in self.known:
            uniform = all(isinstance(one, int) or one.uniform for one in operands)
            result = self.known[key] = Register(kind, uniform)
            made = Instruction(name, kinds, (result, *operands), True)
            self.lists[ONCE if uniform else self.part].append(made)
        return self.known[key]

    # Operands of the nest.

    def _place(self, number: int) -> Function:
        item = self.text.accesses[number]
        return Function(number, 0, item.steps, BYTES[item.access.type])

    def _origin(self, number: int) -> Function:
        """Where an operand is at the origin of the axes."""
        size = BYTES[self.text.accesses[number].access.type]
        return Function(number, 0, (0,) * len(self.nest.axes), size)

    def _ramp(self, constant: int, coefficients: tuple[int, ...]) -> Register:
        return self._step("ramp", ("i64",), "i64", Function(-1, constant, coefficients, 1))

    def _read(self, number: int, type: str) -> Register:
        element, access = self.text.element(type), self.text.accesses[number].access
        kind = CLASSES[element]
        inside = self._inside(access)
        if inside is None and not access.indirect:
            return self._step("load", (element,), kind, self._place(number))
        for expr in access_exprs(access):
            self._value(expr)
        fill = self._constant(0, kind) if access.fill is None else self.values[access.fill]
        if fill.kind != kind:
            raise UnsuitedError(f"a fill is {fill.kind}, but elements are {kind}")
        if inside is None:
            inside = self._constant(1, "bool")
        index = self._indices(number)
        return self._step("gather", (element,), kind, self._origin(number), index, inside, fill)

    def _indices(self, number: int) -> Register:
        """Which element an access meets, from the origin: indices from data are kept inside of the bounds."""
        item = self.text.accesses[number]
        found = self._ramp(0, item.steps)
        for index, stride, extent in zip(item.access.index, item.strides, item.access.shape, strict=True):
            if isinstance(index, Indirect):
                value = self._converted(self._value(index.value), "i64")
                last = self._integer(extent - 1)
                bounded = self._applied("clip_i64", ("i64",) * 3, (value, self._integer(0), last))
                scaled = self._applied("mul_i64", ("i64",) * 2, (bounded, self._integer(stride)))
                found = self._applied("add_i64", ("i64",) * 2, (found, scaled))
        return found

    def _inside(self, access: Access) -> Register | None:
        """Whether every index of a read is within its bounds; None if they always are."""
        found, extents = None, self.nest.extents
        for index, extent in zip(access.index, access.shape, strict=True):
            if access.fill is None or not isinstance(index, Affine):
                continue
            low, high = index.span((0,) * len(extents), extents)
            if low >= 0 and high < extent:
                continue
            where = self._ramp(index.offset, index.coefficients)
            above = self._applied("ge_i64", ("i64",) * 2, (where, self._integer(0)))
            below = self._applied("gt_i64", ("i64",) * 2, (self._integer(extent), where))
            test = self._applied("and_bool", ("bool",) * 2, (above, below))
            found = test if found is None else self._applied("and_bool", ("bool",) * 2, (found, test))
        return found

    def _integer(self, value: int) -> Register:
        return self._constant(value, "i64")


def _bits(value: int | float, kind: str) -> int:
    """A number as a word of a record."""
    if kind != "f32":
        return int(value)
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.int32))
