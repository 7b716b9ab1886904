"""Data layout (TOSA 1.0.1 section 2.10): operators that move elements and leave them as they are."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tiling.nest import Nest, Write, along
from tosajit.graph.operator import (
    BATCH,
    Dims,
    Operator,
    ShapeFault,
    error_if,
    read,
    reads,
    shown,
    table,
    write,
)
from tosajit.operators.lowering import (
    Lowering,
    access,
    element,
    move_nest,
    over,
    padded,
    repeated,
    scalar,
    shape_of,
    shape_operand,
)
from tosajit.operators.types import CTC, LAYOUT, Int32, Shape, out_of_range


class CONCAT(Operator):
    """Tensors one after the other along an axis."""

    section = "2.10.1"
    batched = "first"
    modes = table(
        "in_out_t",
        """
        PRO-FP            | fp16      | fp16
        PRO-FP            | fp32      | fp32
        PRO-INT or PRO-FP | Boolean   | bool
        PRO-INT           | signed 32 | i32
        PRO-INT           | signed 8  | i8
        EXT-BF16          | bf16      | bf16
        EXT-FP8E4M3       | fp8e4m3   | fp8e4m3
        EXT-FP8E5M2       | fp8e5m2   | fp8e5m2
        EXT-INT16         | signed 16 | i16
        """,
    )

    input1 = reads("in_out_t", "shapes1", rank=(1, None))
    output = write("in_out_t", "shape", rank=(1, None))

    axis: Int32

    def infer(self, shapes1: tuple[Shape, ...]) -> Dims:
        """The first shape, with the sum along the axis."""
        first = shapes1[0]
        total = sum(shape[self.axis] for shape in shapes1)
        return {"shape": (*first[: self.axis], total, *first[self.axis + 1 :])}

    @error_if("input1")
    def no_inputs(self, shapes1: tuple[Shape, ...]) -> bool:
        """There are 0 tensors, but must be at least 1."""
        return not shapes1

    @error_if("axis")
    def no_such_axis(self, shapes1: tuple[Shape, ...]) -> bool:
        """It is {self.axis}, but the first shape is {shapes1[0]}."""
        return bool(shapes1) and out_of_range(self.axis, shapes1[0])

    @error_if("input1")
    def unlike_shapes(self, shapes1: tuple[Shape, ...]) -> Iterator[str]:
        """All shapes are alike but for the axis."""
        for number, shape in enumerate(shapes1):
            first = shapes1[0]
            others = [axis for axis in range(len(first)) if axis != self.axis]
            if len(shape) != len(first) or any(shape[axis] != first[axis] for axis in others):
                yield f"shape {number} is {shown(shape)}, but shape 0 is {shown(first)}, axis {self.axis}"

    def lower(self, use: Lowering) -> list[Nest]:
        """A nest for each input, which writes behind the one before."""
        nests: list[Nest] = []
        offset = 0
        for value in use.inputs:
            shape = shape_of(value)
            at = over(shape)
            index = [along(d, len(shape), offset=offset if d == self.axis else 0) for d in range(len(shape))]
            target = Write(access(use.outputs[0], index), element(0, value))
            nests.append(Nest("move", at.axes, (repeated(value, shape),), (target,), None, (use.name,)))
            offset += shape[self.axis]
        return nests


class PAD(Operator):
    """The input with a border of a constant."""

    section, modes = "2.10.2", LAYOUT
    batched, before_batch = "first", {"padding": (0, 0)}
    because = "input and padding give"

    input1 = read("in_out_t", "shape1", rank=(1, None))
    padding = read("shape_t", "P", ctc=CTC)
    pad_const = read("in_out_t", "1", ctc=CTC, or_zero=True)
    output = write("in_out_t", "shape", rank=(1, None))

    def infer(self, shape1: Shape, padding: Shape) -> Dims:
        """The input's shape with both sides."""
        sides = zip(padding[::2], shape1, padding[1::2], strict=False)
        return {"shape": tuple(before + extent + after for before, extent, after in sides)}

    @error_if("padding")
    def padding_length(self, P: int, shape1: Shape) -> bool:
        """Its length is {P}, but must be twice the rank of the shape {shape1}."""
        return 2 * len(shape1) != P

    @error_if("padding")
    def negative_padding(self, padding: Shape) -> bool:
        """It is {padding}, but must not be negative."""
        return min(padding, default=0) < 0

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that finds the constant outside of the input."""
        value, _, pad_const = use.inputs
        shape, padding = shape_of(use.outputs[0]), shape_operand(use, "padding")
        axes = len(shape)
        index = [along(d, axes, offset=-before) for d, before in enumerate(padding[::2])]
        source = padded(value, index, over(shape), element(1, pad_const))
        return [move_nest(use, source, fill=[scalar(pad_const, axes)])]


class RESHAPE(Operator):
    """The same elements in another shape."""

    section, modes = "2.10.3", LAYOUT
    batched, before_batch = "first", {"shape": (BATCH,)}
    because = "the operand shape gives"

    input1 = read("in_out_t", "shape1")
    shape = read("shape_t", "R", ctc=CTC)
    output = write("in_out_t", "new_shape")

    def infer(self, shape: Shape) -> Dims:
        """The shape that was asked for."""
        return {"new_shape": shape}

    @error_if("output")
    def unlike_sizes(self, shape1: Shape, new_shape: Shape) -> bool | str:
        """Input and output have as many elements."""
        before, after = prod(shape1), prod(new_shape)
        return before != after and f"it has {after} elements, but input1 has {before}"

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that sees the input in the new shape."""
        shape = shape_of(use.outputs[0])
        return [
            move_nest(use, access(use.inputs[0], [along(d, len(shape)) for d in range(len(shape))], shape))
        ]


class REVERSE(Operator):
    """The elements in reverse along an axis."""

    section, modes = "2.10.4", LAYOUT
    batched = "first"

    input1 = read("in_out_t", "shape", rank=(1, None))
    output = write("in_out_t", "shape", rank=(1, None))

    axis: Int32

    @error_if("axis")
    def no_such_axis(self, shape: Shape) -> bool:
        """It is {self.axis}, but the shape of input1 is {shape}."""
        return out_of_range(self.axis, shape)

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that walks the axis backwards."""
        shape = shape_of(use.outputs[0])
        index = [along(d, len(shape)) for d in range(len(shape))]
        index[self.axis] = along(self.axis, len(shape), -1, shape[self.axis] - 1)
        return [move_nest(use, access(use.inputs[0], index))]


class SLICE(Operator):
    """A part of the input."""

    section, modes = "2.10.5", LAYOUT
    batched, before_batch = "first", {"start": (0,), "size": (BATCH,)}
    because = "size gives"

    input1 = read("in_out_t", "shape1", rank=(1, None))
    start = read("shape_t", "R1", ctc=CTC)
    size = read("shape_t", "R2", ctc=CTC)
    output = write("in_out_t", "shape", rank=(1, None))

    def infer(self, size: Shape) -> Dims:
        """The size that was asked for."""
        return {"shape": size}

    @error_if("start")
    def start_length(self, R1: int, R2: int, shape1: Shape) -> bool:
        """Start and size have {R1} and {R2} components, but the shape of input1 is {shape1}."""
        return not R1 == R2 == len(shape1)

    @error_if("start")
    def negative_start(self, start: Shape) -> bool:
        """It is {start}, but must not be negative."""
        return min(start, default=0) < 0

    @error_if("size")
    def no_size(self, size: Shape) -> bool:
        """It is {size}, but must be positive."""
        return min(size, default=1) <= 0

    @error_if("size")
    def past_the_end(self, shape1: Shape, start: Shape, size: Shape) -> bool:
        """Start {start} and size {size} reach beyond input1, which has the shape {shape1}."""
        return any(a + b > extent for a, b, extent in zip(start, size, shape1, strict=False))

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that reads from the start on."""
        start = shape_operand(use, "start")
        index = [along(d, len(start), offset=first) for d, first in enumerate(start)]
        return [move_nest(use, access(use.inputs[0], index))]


class TILE(Operator):
    """The input repeated along each dimension."""

    section, modes = "2.10.6", LAYOUT
    batched, before_batch = "first", {"multiples": (1,)}
    because = "input and multiples give"

    input1 = read("in_out_t", "shape1", rank=(1, None))
    multiples = read("shape_t", "R", ctc=CTC)
    output = write("in_out_t", "shape", rank=(1, None))

    def infer(self, shape1: Shape, multiples: Shape) -> Dims:
        """The input's shape times the multiples."""
        return {"shape": tuple(extent * times for extent, times in zip(shape1, multiples, strict=False))}

    @error_if("multiples")
    def multiples_length(self, R: int, shape1: Shape) -> bool:
        """It has {R} components, but the shape of input1 is {shape1}."""
        return len(shape1) != R

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that sees each dimension of the output as repetitions of the input's."""
        value = use.inputs[0]
        shape, multiples = shape_of(value), shape_operand(use, "multiples")
        seen = tuple(extent for pair in zip(multiples, shape, strict=True) for extent in pair)
        index = [along(2 * d + 1, len(seen)) for d in range(len(shape))]
        return [move_nest(use, access(value, index), seen)]


class TRANSPOSE(Operator):
    """The dimensions of the input in another order."""

    section, modes = "2.10.7", LAYOUT
    batched = "first"
    because = "input and perms give"

    input1 = read("in_out_t", "shape1", rank=(1, None))
    output = write("in_out_t", "shape", rank=(1, None))

    perms: tuple[Int32, ...]

    def infer(self, shape1: Shape) -> Dims:
        """The input's extents in the new order."""
        if sorted(self.perms) != list(range(len(shape1))):
            raise ShapeFault(
                "perms", f"it is {shown(self.perms)}, which is not a permutation of {len(shape1)} axes"
            )
        return {"shape": tuple(shape1[axis] for axis in self.perms)}

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest over the output, which reads along the permuted axes."""
        index = [along(self.perms.index(d), len(self.perms)) for d in range(len(self.perms))]
        return [move_nest(use, access(use.inputs[0], index))]
