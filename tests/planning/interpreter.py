"""What nests mean, point by point in Python: slow, and independent of fusion, planning and kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from tiling.expr import Expr
from tiling.nest import Access, Affine, Nest

STORAGE = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
FUNCTIONS = {
    "add_i32": lambda a, b: wrap(a + b),
    "sub_i32": lambda a, b: wrap(a - b),
    "mul_i32": lambda a, b: wrap(a * b),
    "max_i32": max,
    "min_i32": min,
    "add_i64": lambda a, b: a + b,
    "mul_i64": lambda a, b: a * b,
}


def wrap(value: int) -> int:
    """An integer as int32."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def interpret(
    nests: Sequence[Nest], arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Run nests in order over flat arrays; what they write is added to the result."""
    memory = {name: np.array(array).reshape(-1) for name, array in arrays.items()}
    for nest in nests:
        for write in nest.writes:
            name = write.access.operand
            memory.setdefault(name, np.zeros(sizes[name], STORAGE[write.access.type]))
        _run(nest, memory)
    return memory


def _run(nest: Nest, memory: dict[str, np.ndarray]) -> None:
    outer = [range(axis.extent) for axis in nest.axes if not axis.reduced]
    inner = [range(axis.extent) for axis in nest.axes if axis.reduced]
    for kept in product(*outer):
        total: Any = None
        if nest.reduction is not None:
            total = nest.reduction.initial
            for reduced in product(*inner):
                value = _value(nest.reduction.value, nest, (*kept, *reduced), memory, None)
                total = FUNCTIONS[f"{nest.reduction.op}_{nest.reduction.type}"](total, value)
        point = (*kept, *(0 for _ in inner))
        results = [_value(write.value, nest, point, memory, total) for write in nest.writes]
        for write, result in zip(nest.writes, results, strict=True):
            offset = _offset(write.access, nest, point, memory, total)
            assert offset is not None
            memory[write.access.operand][offset] = result


def _value(expr: Expr, nest: Nest, point: Sequence[int], memory: Mapping[str, np.ndarray], total: Any) -> Any:
    match expr.op:
        case "const":
            return expr.args[0]
        case "axis":
            return point[expr.args[0]]
        case "acc":
            return total
        case "read":
            access = nest.reads[expr.args[0]]
            offset = _offset(access, nest, point, memory, total)
            if offset is None:
                return _value(access.fill, nest, point, memory, total)
            return int(memory[access.operand][offset])
    return FUNCTIONS[expr.op](*(_value(arg, nest, point, memory, total) for arg in expr.operands))


def _offset(
    access: Access, nest: Nest, point: Sequence[int], memory: Mapping[str, np.ndarray], total: Any
) -> int | None:
    offset = 0
    for index, extent, stride in zip(access.index, access.shape, access.strides, strict=True):
        if isinstance(index, Affine):
            at = index.offset + sum(c * p for c, p in zip(index.coefficients, point, strict=True))
            if not 0 <= at < extent:
                assert access.fill is not None, "an index without a fill left its operand"
                return None
        else:
            at = min(max(int(_value(index.value, nest, point, memory, total)), 0), extent - 1)
        offset += at * stride
    return offset
