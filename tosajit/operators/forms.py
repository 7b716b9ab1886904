"""Forms of operators: elementwise with one, two and three inputs, and reductions along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import new_class
from typing import Any, ClassVar

from tiling.expr import Expr, acc
from tiling.nest import Nest, Reduction
from tosajit.graph.operator import Dims, Mode, Operator, error_if, read, write
from tosajit.operators.lowering import (
    Lowering,
    access,
    convert,
    element,
    is_float,
    map_nest,
    reduce_nest,
    repeated,
    scalar,
    shape_of,
    space,
)
from tosajit.operators.types import Int32, NanMode, Shape, broadcast, out_of_range


class Elementwise(Operator):
    """Computes each element of the output from those at its place, and from operands of one element."""

    batched = "first"

    def compute(self, *elements: Any, **_: Any) -> Expr:
        """What becomes of one element of each input."""
        raise NotImplementedError(f"{self.opcode} computes nothing")

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest over the output."""
        shape = shape_of(use.outputs[0])
        pairs = zip(self.operands_read, use.inputs, strict=True)
        reads = [
            scalar(value, len(shape)) if operand.dims == (1,) else repeated(value, shape)
            for operand, value in pairs
        ]
        elements = [element(number, value) for number, value in enumerate(use.inputs)]
        return [map_nest(use, reads, self.compute(*elements))]


class Unary(Elementwise):
    """Elementwise, one input: output and input have one shape."""


class Binary(Elementwise):
    """Elementwise, two inputs that are broadcast."""

    because = "broadcasting gives"

    input1 = read("in_out_t", "shape1")
    input2 = read("in_out_t", "shape2")
    output = write("in_out_t", "shape")

    def infer(self, shape1: Shape, shape2: Shape) -> Dims:
        """The shape that both are broadcast to."""
        return {"shape": broadcast({"input1": shape1, "input2": shape2})}


class Ternary(Elementwise):
    """Elementwise, three inputs that are broadcast."""

    because = "broadcasting gives"

    input1 = read("in_out_t", "shape1")
    input2 = read("in_out_t", "shape2")
    input3 = read("in_out_t", "shape3")
    output = write("in_out_t", "shape")

    def infer(self, shape1: Shape, shape2: Shape, shape3: Shape) -> Dims:
        """The shape that all are broadcast to."""
        return {"shape": broadcast({"input1": shape1, "input2": shape2, "input3": shape3})}


class AxisReduction(Operator):
    """Combines the elements along an axis, which stays with a length of one."""

    batched = "first"

    because = "reducing the axis gives"

    input = read("in_out_t", "shape1", rank=(1, None))
    output = write("in_out_t", "shape", rank=(1, None))

    combines: ClassVar[str]
    """The operation, as the scalar library calls it."""

    axis: Int32

    def infer(self, shape1: Shape) -> Dims:
        """The input's shape with a length of one along the axis."""
        return {"shape": (*shape1[: self.axis], 1, *shape1[self.axis + 1 :])}

    @error_if("axis")
    def no_such_axis(self, shape1: Shape) -> bool:
        """It is {self.axis}, but the shape of input is {shape1}."""
        return out_of_range(self.axis, shape1)

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that reduces the axis, last; floating-point numbers are combined as float32."""
        value = use.inputs[0]
        shape = shape_of(value)
        item = element(0, value)
        step = convert(item, "f32") if is_float(item) else item
        kept = {f"i{axis}": extent for axis, extent in enumerate(shape) if axis != self.axis}
        at = space(kept, {f"i{self.axis}": shape[self.axis]})
        source = access(value, [at(**{f"i{axis}": 1}) for axis in range(len(shape))])
        low, high = value.dtype.minimum, value.dtype.maximum
        start = {"add": 0, "mul": 1.0, "and": 1, "or": 0, "max": low, "min": high}[self.combines]
        combines = with_nan(self, self.combines, item)
        if combines != self.combines:
            start = math.nan  # where all is NaN, so is the result
        reduction = Reduction(combines, float(start) if is_float(item) else start, step.type, step)
        result = convert(acc(step.type), item.type)
        return [reduce_nest(use, "reduce", at, [source], reduction, result)]


def with_nan(operator: Operator, name: str, example: Expr) -> str:
    """The name of a function that does with NaN what the operator's `nan_mode` says."""
    ignores = getattr(operator, "nan_mode", NanMode.PROPAGATE) is NanMode.IGNORE
    return f"{name}_ignore" if ignores and is_float(example) else name


def elementwise(
    section: str, modes: tuple[Mode, ...], input: str = "in_out_t", output: str = "in_out_t"
) -> Callable[[Callable[..., Expr]], type[Operator]]:
    """Declare an elementwise operator without attributes: the function is what it computes of one element."""

    def declare(body: Callable[..., Expr]) -> type[Operator]:
        names = body.__code__.co_varnames[: body.__code__.co_argcount]
        form: type[Operator] = (Unary, Binary, Ternary)[len(names) - 1]

        def compute(self: Operator, *elements: Expr) -> Expr:
            return body(*elements)

        members: dict[str, Any] = {
            "__doc__": body.__doc__,
            "__module__": body.__module__,
            "section": section,
            "modes": modes,
            "compute": compute,
        }
        for number, name in enumerate(names, 1):
            members[name] = read(input, "shape" if len(names) == 1 else f"shape{number}")
        members["output"] = write(output, "shape")
        return new_class(body.__name__, (form,), exec_body=lambda namespace: namespace.update(members))

    return declare
