"""Forms of operators: elementwise with one, two and three inputs, and reductions along an axis."""

from __future__ import annotations

from collections.abc import Callable
from types import new_class
from typing import Any

from tiling.expr import Expr
from tosajit.operator import Dims, Mode, Operator, error_if, read, write
from tosajit.operators.types import Int32, Shape, broadcast, out_of_range


class Unary(Operator):
    """Elementwise, one input: output and input have one shape."""


class Binary(Operator):
    """Elementwise, two inputs that are broadcast."""

    because = "broadcasting gives"

    input1 = read("in_out_t", "shape1")
    input2 = read("in_out_t", "shape2")
    output = write("in_out_t", "shape")

    def infer(self, shape1: Shape, shape2: Shape) -> Dims:
        """The shape that both are broadcast to."""
        return {"shape": broadcast({"input1": shape1, "input2": shape2})}


class Ternary(Operator):
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

    because = "reducing the axis gives"

    input = read("in_out_t", "shape1", rank=(1, None))
    output = write("in_out_t", "shape", rank=(1, None))

    axis: Int32

    def infer(self, shape1: Shape) -> Dims:
        """The input's shape with a length of one along the axis."""
        return {"shape": (*shape1[: self.axis], 1, *shape1[self.axis + 1 :])}

    @error_if("axis")
    def no_such_axis(self, shape1: Shape) -> bool:
        """It is {self.axis}, but the shape of input is {shape1}."""
        return out_of_range(self.axis, shape1)


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
