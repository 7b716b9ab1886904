"""Nests in plain Python and NumPy: what kernels compute, to find out where a bit goes wrong.

The points of a nest that differ in kept axes are taken together, those along reduced axes one after another,
in their order. Scalars are the same text as in kernels. So integers and elementwise floating-point numbers
have the same bits; only sums of floating-point numbers, whose order is free, may differ within their bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from tiling.expr import Expr, walk
from tiling.nest import Access, Indirect, Nest, access_exprs
from tosajit.arrays import Array
from tosajit.dtypes import DTYPES
from tosajit.errors import RequireError
from tosajit.kernels.scalars import requirement, requirement_text, scalar, vectorised

STORAGE: dict[str, np.dtype[np.generic]] = {"u8": np.dtype(np.uint8), "u16": np.dtype(np.uint16)}
STORAGE |= {dtype.compute: dtype.storage for dtype in DTYPES.values()}
FLOATS = frozenset({"f16", "bf16", "f32", "f8e4m3", "f8e5m2"})


class Interpreter:
    """Nests that are run as they are: `run` takes arrays for the inputs and gives arrays for the outputs."""

    def __init__(
        self,
        nests: Sequence[Nest],
        inputs: Sequence[str],
        outputs: Mapping[str, tuple[tuple[int, ...], np.dtype[np.generic]]],
        constants: Mapping[str, Array],
        checked: bool = False,
    ) -> None:
        self.nests, self.inputs, self.outputs = tuple(nests), tuple(inputs), tuple(outputs)
        self.constants, self.checked = constants, checked
        self._results = outputs
        self._made: dict[str, tuple[int, np.dtype[np.generic]]] = {}
        for access in (access for nest in self.nests for access in nest.accesses):
            size, _ = self._made.get(access.operand, (0, None))
            largest = max(size, int(np.prod(access.shape, dtype=object)))
            self._made[access.operand] = largest, STORAGE[access.type]

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """Run on dense arrays of the right types and shapes."""
        memory = self.memory(arrays)
        return [memory[n].astype(type).reshape(shape) for n, (shape, type) in self._results.items()]

    def memory(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """All that is there after a run, one dimension long: intermediate results too."""
        given = {**self.constants, **dict(zip(self.inputs, arrays, strict=True))}
        memory = {name: array.ravel() for name, array in given.items()}
        memory |= {n: np.zeros(size, type) for n, (size, type) in self._made.items() if n not in given}
        with np.errstate(all="ignore"):
            for nest in self.nests:
                _Run(nest, memory, self.checked).run()
        return memory


class _Run:
    """One nest on memory."""

    def __init__(self, nest: Nest, memory: Mapping[str, Array], checked: bool) -> None:
        self.nest, self.memory, self.checked = nest, memory, checked
        self.extents = nest.extents[: nest.outer]
        self.point: list[Any] = [
            np.arange(extent).reshape(-1, *(1,) * (nest.outer - number - 1))
            for number, extent in enumerate(self.extents)
        ]
        self.known: dict[Expr, Any] = {}

    def run(self) -> None:
        """Reduce, then write all results."""
        total = self._reduced()
        self.point[self.nest.outer :] = [0] * (len(self.nest.axes) - self.nest.outer)
        self.known = {} if total is None else {leaf: total for leaf in self._accumulators()}
        found = [(write.access, self._value(write.value)) for write in self.nest.writes]
        places = [self._place(access)[0] for access, _ in found]
        for (access, value), place in zip(found, places, strict=True):
            target = self.memory[access.operand]
            target[np.broadcast_to(place, self.extents)] = _stored(value, target.dtype)

    def _accumulators(self) -> list[Expr]:
        roots = [part for write in self.nest.writes for part in (write.value, *access_exprs(write.access))]
        nodes = walk(*roots, parts=self._parts)
        return [node for node in nodes if node.op == "acc"]

    def _reduced(self) -> Any:
        """The results of the reduction, along the reduced axes in their order."""
        reduction = self.nest.reduction
        if reduction is None:
            return None
        kind, name = reduction.type, f"{reduction.op}_{reduction.type}"
        total: Any = np.full(self.extents, reduction.initial, _computed(kind))
        for inner in product(*map(range, self.nest.extents[self.nest.outer :])):
            self.point[self.nest.outer :] = inner
            self.known = {}
            total = self._applied(name, [total, self._value(reduction.value)])
        return total

    def _parts(self, expr: Expr) -> Sequence[Expr]:
        return access_exprs(self.nest.reads[expr.number]) if expr.op == "read" else expr.operands

    def _value(self, expr: Expr) -> Any:
        for node in walk(expr, parts=self._parts):
            if node not in self.known:
                self.known[node] = self._made(node)
        return self.known[expr]

    def _made(self, node: Expr) -> Any:
        """The values of an expression whose parts have theirs."""
        match node.op:
            case "const":
                return _computed(node.type).type(node.args[0])
            case "axis":
                return np.int64(self.point[node.number])
            case "read":
                return self._read(self.nest.reads[node.number])
        args = [self.known[operand] for operand in node.operands]
        if node.scalar.family == "choose" and args[1].dtype == args[2].dtype:
            return np.where(*args)  # which keeps all bits, as kernels do
        return self._applied(node.op, args)

    def _applied(self, name: str, args: Sequence[Any]) -> Any:
        """A scalar of all points; floating-point numbers are float32 there."""
        wide = [_widened(arg) for arg in args]
        if self.checked and requirement(name):
            ok = np.frompyfunc(scalar(f"{name}_ok"), len(wide), 1)(*wide)
            self._require(np.asarray(ok, np.bool_), requirement_text(name))
        return vectorised(name)(*wide)

    def _read(self, access: Access) -> Any:
        place, inside = self._place(access)
        operand = self.memory[access.operand]
        if access.fill is None:
            return operand[place]
        outside = _stored(self.known[access.fill], operand.dtype)
        return np.where(inside, operand[place], outside) if np.any(inside) else outside

    def _place(self, access: Access) -> tuple[Any, Any]:
        """Where an access is in its operand, and whether that is inside; outside, some place there is."""
        place: Any = np.int64(0)
        inside: Any = True
        for index, extent, stride in zip(access.index, access.shape, access.strides, strict=True):
            if isinstance(index, Indirect):
                given = np.asarray(self._value(index.value), np.int64)
                if self.checked:
                    self._require((0 <= given) & (given < extent), "an index is outside of its operand")
            else:
                pairs = zip(index.coefficients, self.point, strict=False)
                given = np.asarray(index.offset + sum(c * p for c, p in pairs if c), np.int64)
                within = (0 <= given) & (given < extent)
                assert access.fill is not None or within.all(), f"an index is outside {access.operand}"
                inside = inside & within
            place = place + np.clip(given, 0, extent - 1) * stride
        return place, inside

    def _require(self, ok: Array, rule: str) -> None:
        """Raise for the first point where a rule does not hold."""
        if ok.all():
            return
        first = np.unravel_index(int(np.argmin(np.broadcast_to(ok, self.extents))), self.extents)
        reduced = self.point[self.nest.outer :]
        pairs = zip(self.nest.axes, (*map(int, first), *reduced), strict=False)
        where = ", ".join(f"{axis.name}={place}" for axis, place in pairs) or "its only point"
        raise RequireError(f"{', '.join(self.nest.members)}: {rule}, at {where}")


@cache
def _computed(type: str) -> np.dtype[np.generic]:
    """What numbers of a type are computed in."""
    return np.dtype(np.float32) if type in FLOATS else STORAGE[type]


NARROW = frozenset(STORAGE[type] for type in FLOATS)


def _widened(value: Any) -> Any:
    return value.astype(np.float32) if value.dtype in NARROW else value


def _stored(value: Any, type: np.dtype[np.generic]) -> Any:
    """Values as they are kept: those that expressions round are exact."""
    return value if value.dtype == type else np.asarray(value).astype(type)
