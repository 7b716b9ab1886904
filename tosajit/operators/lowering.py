"""What `lower` methods are written with: indices and accesses of tensors, and nests that operators share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tiling.expr import Expr, acc, axis, call, const, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Verb, Write, along, fixed
from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.dtypes import DType, dtype_of
from tosajit.errors import CompileError
from tosajit.graph import Value
from tosajit.graph.binding import Use
from tosajit.graph.operator import Mode, Operator

Index = Affine | Indirect
Shape = tuple[int, ...]
FLOATS = frozenset({"f16", "bf16", "f32", "f8e4m3", "f8e5m2"})
"""Types of scalars that are floating-point numbers."""


@dataclass(slots=True)
class Lowering:
    """A node while it is lowered: its operands by name, and the constants that its nests read besides."""

    use: Use
    checked: bool = False
    """Whether every REQUIRE has to be watched."""
    sums: bool = False
    """Whether a Fourier transform is wanted as the sums that it is, for kernels that know how to do them."""
    added: dict[str, Array] = field(default_factory=dict)
    """By name: attributes and index tables that kernels read."""

    @property
    def name(self) -> str:
        """What messages call the node."""
        return self.use.name

    @property
    def operator(self) -> Operator:
        """What the node does."""
        return self.use.operator

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The tensors that it reads."""
        return self.use.inputs

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The tensors that it writes."""
        return self.use.outputs

    @property
    def mode(self) -> Mode | None:
        """The row of the type table."""
        return self.use.mode

    @property
    def dims(self) -> Mapping[str, Any]:
        """Everything that the declaration names."""
        return self.use.dims

    def value(self, operand: str) -> Value:
        """The tensor that is bound to an operand."""
        return self.use.value(operand)

    def values(self, operand: str) -> tuple[Value, ...]:
        """The tensors that are bound to an operand; more than one for a list."""
        return self.use.values(operand)

    def dtype(self, variable: str) -> DType:
        """The type that a type variable stands for."""
        return self.use.dtype(variable)

    def const(self, operand: str) -> Array | None:
        """The value of an operand that is a constant of the graph."""
        return self.use.const(operand)


@dataclass(frozen=True, slots=True)
class Space:
    """The axes of a nest by name; called, it gives an index: `at(-top, oy=stride, ky=dilation)`."""

    axes: tuple[Axis, ...]

    def __call__(self, offset: int = 0, **steps: int) -> Affine:
        """The index that starts at `offset` and goes so far with each step along the named axes."""
        return Affine(tuple(steps.pop(axis.name, 0) for axis in self.axes), offset)

    def coordinate(self, name: str) -> Expr:
        """Where a point is along an axis."""
        return axis([axis.name for axis in self.axes].index(name))

    @property
    def shape(self) -> Shape:
        """Extents of the axes that are kept."""
        return tuple(axis.extent for axis in self.axes if not axis.reduced)

    def write(self, value: Value, shape: Shape | None = None) -> Access:
        """The access to a result of which every kept axis walks one dimension."""
        seen = self.shape if shape is None else shape
        return access(value, [along(d, len(self.axes)) for d in range(len(seen))], seen)


def space(kept: Mapping[str, int], reduced: Mapping[str, int] | None = None) -> Space:
    """Axes with their extents."""
    last = [Axis(name, extent, reduced=True) for name, extent in (reduced or {}).items()]
    return Space((*(Axis(name, extent) for name, extent in kept.items()), *last))


def over(shape: Sequence[int], first: str = "i") -> Space:
    """An axis for each dimension of a shape."""
    return space({f"{first}{number}": extent for number, extent in enumerate(shape)})


def shape_of(value: Value) -> Shape:
    """The extents of a tensor."""
    assert value.shape is not None
    return value.shape


def access(value: Value, index: Sequence[Index], shape: Shape | None = None) -> Access:
    """An access of a tensor, seen as `shape` if it is given."""
    return Access(value.name, value.dtype.compute, shape_of(value) if shape is None else shape, tuple(index))


def padded(value: Value, index: Sequence[Affine], at: Space, fill: Expr) -> Access:
    """A read that finds `fill` outside of the tensor, if it ever leaves it."""
    extents = [axis.extent for axis in at.axes]
    spans = [item.span([0] * len(extents), extents) for item in index]
    inside = all(low >= 0 and high < size for (low, high), size in zip(spans, shape_of(value), strict=True))
    return Access(value.name, value.dtype.compute, shape_of(value), tuple(index), None if inside else fill)


def repeated(value: Value, shape: Shape) -> Access:
    """A read over axes of `shape`, along which dimensions of one element are repeated."""
    count = len(shape)
    pairs = enumerate(zip(shape_of(value), shape, strict=True))
    index = [fixed(0, count) if size == 1 < extent else along(d, count) for d, (size, extent) in pairs]
    return access(value, index)


def scalar(value: Value, axes: int) -> Access:
    """A read of a tensor of one element, such as a zero point."""
    return access(value, [fixed(0, axes) for _ in shape_of(value)])


def constant(use: Lowering, name: str, array: Array, index: Sequence[Index]) -> Access:
    """A read of a constant of our own: numbers are operands, so that a kernel serves all of them."""
    full = f"{use.name}.{name}"
    use.added[full] = array
    return Access(full, dtype_of(array.dtype).compute, array.shape, tuple(index))


def number(use: Lowering, name: str, value: float, dtype: np.dtype[np.generic] | str, axes: int) -> Access:
    """A read of a single number of our own, such as an attribute, of the type that NumPy calls `dtype`."""
    return constant(use, name, np.array([value], dtype), [fixed(0, axes)])


def element(number: int, source: Value | Access) -> Expr:
    """What read `number` finds in a tensor, or by an access."""
    return read(number, source.type if isinstance(source, Access) else source.dtype.compute)


def shape_operand(use: Lowering, operand: str) -> Shape:
    """The value of an operand that gives positions or extents, which has to be known to compile."""
    found = use.const(operand)
    if found is None:
        raise CompileError(f"{use.name} ({use.operator.opcode}) {operand}: is not a constant of the graph")
    return tuple(int(component) for component in found)


def map_nest(use: Lowering, reads: Sequence[Access], result: Expr) -> Nest:
    """A nest over the points of the only output."""
    output = use.outputs[0]
    at = over(shape_of(output))
    verb: Verb = "move" if result.op == "read" else "map"
    return Nest(verb, at.axes, tuple(reads), (Write(at.write(output), result),), None, (use.name,))


def move_nest(use: Lowering, source: Access, shape: Shape | None = None, fill: Sequence[Access] = ()) -> Nest:
    """A nest that copies; `shape` is how the output is seen, an axis a dimension."""
    output = use.outputs[0]
    at = over(shape_of(output) if shape is None else shape)
    write = Write(at.write(output), read(0, source.type))
    return Nest("move", at.axes, (source, *fill), (write,), None, (use.name,))


def reduce_nest(
    use: Lowering,
    verb: Verb,
    at: Space,
    reads: Sequence[Access],
    reduction: Reduction,
    result: Expr | None = None,
    target: Access | None = None,
) -> Nest:
    """A nest that reduces; its kept axes are the dimensions of the output unless `target` says more."""
    final = acc(reduction.type) if result is None else result
    write = Write(at.write(use.outputs[0]) if target is None else target, final)
    return Nest(verb, at.axes, tuple(reads), (write,), reduction, (use.name,))


def contract_nest(
    use: Lowering,
    at: Space,
    factors: Sequence[Access],
    bias: Access | None = None,
    target: Access | None = None,
    *,
    by_transforms: bool = False,
) -> Nest:
    """A nest that adds up the products of two operands less their zero points.

    The reads are the factors, the bias if there is one, and of integers the zero points: the last two inputs
    of the node. Floating-point numbers have none; their products are added up in float32, and rounded once.
    """
    axes = len(at.axes)
    floating = is_float(element(0, factors[0]))
    points = [] if floating else [scalar(value, axes) for value in use.inputs[-2:]]
    reads = [*factors, *(() if bias is None else (bias,)), *points]
    kind = use.outputs[0].dtype.compute
    sums = "f32" if floating else kind
    left, right = (element(side, reads[side]) for side in (0, 1))
    if floating:
        value = convert(left, sums) * convert(right, sums)
    else:
        zero = len(reads) - 2
        left, right = (
            call("sub_i32", side, element(zero + place, reads[zero + place]), type="i32")
            for place, side in enumerate((left, right))
        )
        # Of the modes with zero points or 16 bits, no product leaves 32 bits.
        value = convert(left * right, sums)
    total = acc(sums)
    result = total if bias is None else total + convert(element(2, bias), sums)
    reduction = Reduction("add", 0.0 if floating else 0, sums, value, floating and by_transforms)
    return reduce_nest(use, "contract", at, reads, reduction, convert(result, kind), target)


def zero_of(use: Lowering, number: int, read_number: int) -> Expr:
    """What padding of input `number` holds: its zero point, which a nest reads; of floating point, zero."""
    value = use.inputs[number]
    return const(0.0, value.dtype.compute) if value.dtype.is_float else element(read_number, value)


def is_float(expr: Expr) -> bool:
    """Whether the value is a floating-point number."""
    return expr.type in FLOATS


def convert(expr: Expr, type: str) -> Expr:
    """A number as another type: integers wrap, floating-point numbers round, and saturate to integers."""
    if expr.type == type:
        return expr
    if expr.type in FLOATS and type not in FLOATS:
        return call(f"float_to_{type}", expr, type=type)
    if expr.type == "i32" and type in FLOATS:
        return call(f"i32_to_{type}", expr, type=type)
    return call(f"to_{type}", expr, type=type)
