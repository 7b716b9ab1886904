"""Scatter and gather operators (TOSA 1.0.1 section 2.11)."""

from __future__ import annotations

from tiling.expr import acc, apply, call
from tiling.nest import Access, Indirect, Nest, Reduction, Write, along
from tosajit.graph.operator import Operator, read, require, table, write
from tosajit.operators.lowering import (
    Lowering,
    access,
    convert,
    element,
    move_nest,
    over,
    reduce_nest,
    repeated,
    shape_of,
    space,
)

INDEXED = table(
    "index_t in_out_t",
    """
    PRO-FP      | fp16      | i32 fp16
    PRO-FP      | fp32      | i32 fp32
    PRO-INT     | signed 16 | i32 i16
    PRO-INT     | signed 32 | i32 i32
    PRO-INT     | signed 8  | i32 i8
    EXT-BF16    | bf16      | i32 bf16
    EXT-FP8E4M3 | fp8e4m3   | i32 fp8e4m3
    EXT-FP8E5M2 | fp8e5m2   | i32 fp8e5m2
    """,
)


class GATHER(Operator):
    """The rows that indices choose."""

    section, modes = "2.11.1", INDEXED
    batched = "N"

    values = read("in_out_t", "N,K,C")
    indices = read("index_t", "N,W")
    output = write("in_out_t", "N,W,C")

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that copies rows."""
        values, indices = use.inputs
        rows = access(indices, [along(0, 3), along(1, 3)])
        source = access(values, [along(0, 3), Indirect(element(1, indices)), along(2, 3)])
        return [move_nest(use, source, fill=[rows])]


class SCATTER(Operator):
    """A tensor with the rows that indices choose replaced."""

    section, modes = "2.11.2", INDEXED
    batched = "N"

    values_in = read("in_out_t", "N,K,C")
    indices = read("index_t", "N,W")
    input = read("in_out_t", "N,W,C")
    values_out = write("in_out_t", "N,K,C")

    @require("indices")
    def repeated_index(self, W: int, K: int) -> bool:
        """There are {W} in a batch, but only {K} rows, and each is written once."""
        return W > K

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that copies all rows, then one that replaces some."""
        values_in, indices, input = use.inputs
        at = over(shape_of(input))
        place = Indirect(element(1, indices))
        target = access(use.outputs[0], [along(0, 3), place, along(2, 3)])
        reads = (repeated(input, at.shape), access(indices, [along(0, 3), along(1, 3)]))
        replaced = Nest("move", at.axes, reads, (Write(target, element(0, input)),), None, (use.name,))
        checks = [_written_once(use)] if use.checked else []
        return [*checks, move_nest(use, repeated(values_in, shape_of(values_in))), replaced]


def _written_once(use: Lowering) -> Nest:
    """A nest that counts, for each index, those before it that are equal."""
    indices = use.inputs[1]
    N, W = shape_of(indices)
    at = space({"n": N, "w": W}, {"before": W})
    reads = [access(indices, [at(n=1), at(w=1)]), access(indices, [at(n=1), at(before=1)])]
    same = apply("eq", element(0, indices), element(1, indices), type="bool")
    earlier = apply("gt", at.coordinate("w"), at.coordinate("before"), type="bool")
    count = Reduction("add", 0, "i32", convert(same & earlier, "i32"))
    target = Access(f"{use.name}.repeated", "i32", (N, W), (at(n=1), at(w=1)))
    return reduce_nest(use, "reduce", at, reads, count, call("first_write", acc("i32"), type="i32"), target)
