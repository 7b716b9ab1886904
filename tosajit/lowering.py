"""What `lower` methods are written with: accesses of a node's tensors, and the nests that many operators share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiling.expr import Expr, acc, call, read, rewrite, walk
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Verb, Write
from tosajit.binding import Use
from tosajit.dtypes import dtype_of
from tosajit.graph import Array, Value

Index = Affine | Indirect
Shape = tuple[int, ...]


def access(value: Value, index: Sequence[Index], shape: Shape | None = None, fill: Expr | None = None) -> Access:
    """An access of a tensor, seen as `shape` if it is given."""
    assert value.shape is not None
    return Access(value.name, value.dtype.compute, value.shape if shape is None else shape, tuple(index), fill)


def axes_over(shape: Sequence[int], first: str = "i") -> tuple[Axis, ...]:
    """An axis for each dimension."""
    return tuple(Axis(f"{first}{number}", extent) for number, extent in enumerate(shape))


def along(position: int, axes: int, coefficient: int = 1, offset: int = 0) -> Affine:
    """The index that follows one axis."""
    return Affine(tuple(coefficient * int(position == axis) for axis in range(axes)), offset)


def fixed(offset: int, axes: int) -> Affine:
    """The index that does not move."""
    return Affine((0,) * axes, offset)


def broadcast(value: Value, shape: Shape) -> Access:
    """A read over axes of `shape`, along which dimensions of one element are repeated."""
    assert value.shape is not None
    count = len(shape)
    return access(value, [fixed(0, count) if size == 1 else along(d, count) for d, size in enumerate(value.shape)])


def scalar(value: Value, axes: int) -> Access:
    """A read of a tensor of one element, such as a zero point."""
    assert value.shape is not None
    return access(value, [fixed(0, axes) for _ in value.shape])


def table(use: Use, name: str, array: Array, index: Sequence[Index]) -> Access:
    """A read of a constant of our own: numbers reach kernels as operands, so that kernels serve all numbers."""
    full = f"{use.name}.{name}"
    use.tables[full] = array
    return Access(full, dtype_of(array.dtype).compute if array.dtype != np.int64 else "i64", array.shape, tuple(index))


def number(use: Use, name: str, value: int | float, dtype: str, axes: int) -> Access:
    """A read of a single number of our own, such as an attribute."""
    return table(use, name, np.array([value], dtype), [fixed(0, axes)])


def element(number: int, value: Value) -> Expr:
    """What read `number` finds in a tensor."""
    return read(number, value.dtype.compute)


def map_nest(use: Use, reads: Sequence[Access], result: Expr) -> Nest:
    """A nest over the points of the only output."""
    output = use.outputs[0]
    assert output.shape is not None
    count = len(output.shape)
    write = Write(access(output, [along(d, count) for d in range(count)]), legal(result))
    return Nest("map", axes_over(output.shape), tuple(reads), (write,), None, (use.name,))


def elementwise(use: Use, result: Expr, scalars: Sequence[str] = ()) -> Nest:
    """A nest over broadcast inputs, in which the operands named in `scalars` have one element."""
    output = use.outputs[0]
    assert output.shape is not None
    single = [use.value(name) for name in scalars]
    reads = [scalar(v, len(output.shape)) if v in single else broadcast(v, output.shape) for v in use.inputs]
    return map_nest(use, reads, result)


def move_nest(use: Use, source: Access, shape: Shape | None = None, fill: Sequence[Access] = ()) -> Nest:
    """A nest that copies; `shape` is how the output is seen, an axis a dimension."""
    output = use.outputs[0]
    assert output.shape is not None
    seen = output.shape if shape is None else shape
    write = Write(access(output, [along(d, len(seen)) for d in range(len(seen))], seen), read(0, source.type))
    return Nest("move", axes_over(seen), (source, *fill), (write,), None, (use.name,))


def reduce_nest(
    use: Use,
    verb: Verb,
    axes: Sequence[Axis],
    reads: Sequence[Access],
    reduction: tuple[str, int | float, str, Expr],
    result: Expr | None = None,
) -> Nest:
    """A nest that reduces: its kept axes, first in `axes`, are the output's dimensions of more than one element.

    `reduction` is operation, initial value, type and value; `result` may refer to `acc`.
    """
    operation, initial, kind, value = reduction
    kept = [axis for axis in axes if not axis.reduced]
    output = use.outputs[0]
    shape = tuple(axis.extent for axis in kept)
    write = access(output, [along(d, len(axes)) for d in range(len(kept))], shape)
    final = acc(kind) if result is None else result
    return Nest(
        verb,
        tuple(axes),
        tuple(reads),
        (Write(write, legal(final)),),
        Reduction(operation, initial, kind, legal(value)),
        (use.name,),
    )


_BOOLEAN = {"and": "logical_and", "or": "logical_or", "xor": "logical_xor", "not": "logical_not", "equal": "equal"}
_WIDE = frozenset({"i8", "i16"})


def legal(expr: Expr) -> Expr:
    """The expression in terms of the scalar library, which computes 8- and 16-bit integers as 32-bit ones."""
    done: dict[Expr, Expr] = {}
    for node in walk(expr):
        args = tuple(done[arg] if isinstance(arg, Expr) else arg for arg in node.args)
        done[node] = _legal_node(node.op, args, node.type)
    return done[expr]


def _legal_node(op: str, args: tuple[Expr | int | float, ...], type: str) -> Expr:
    name, _, suffix = op.rpartition("_")
    if suffix == "bool" and name in _BOOLEAN:
        return Expr(_BOOLEAN[name], args, "bool")
    if suffix in _WIDE and name in ("add", "sub", "mul", "and", "or", "xor", "not", "max", "min", "select"):
        return call(f"to_{suffix}", Expr(f"{name}_i32", args, "i32"), type=suffix)
    return Expr(op, args, type)


def convert(expr: Expr, type: str) -> Expr:
    """An integer or boolean as another integer type, wrapping."""
    return expr if expr.type == type else call(f"to_{type}", expr, type=type)


def shifted_reads(expr: Expr, first: int) -> Expr:
    """The expression with its read numbers moved up."""
    return rewrite(expr, lambda leaf: read(int(leaf.args[0]) + first, leaf.type) if leaf.op == "read" else leaf)  # type: ignore[arg-type]
