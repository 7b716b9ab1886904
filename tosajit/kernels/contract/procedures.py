"""Vector code as what Numba calls: the functions of this package, for one instruction set.

Each takes vectors first, and then numbers; what has many takes the address of a record of `slots`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

from numba.core import types
from numba.extending import intrinsic

from tosajit.kernels.contract import (
    butterflies,
    fused,
    greatest,
    interleave,
    lines,
    matrices,
    means,
    moving,
    packing,
    pixel_tiles,
    products,
    requant,
    row_tiles,
    rows,
    tile,
    transforms,
    transposing,
)
from tosajit.kernels.contract.agreed import FEW, LANES
from tosajit.kernels.sets.registry import required
from tosajit.kernels.sets.values import Value
from tosajit.kernels.sets.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Procedure:
    """Vector code, and whether it is put in the place of its calls."""

    body: Callable[..., None]
    inline: bool = False


PROCEDURES: Mapping[str, Procedure] = {
    "copy_run": Procedure(rows.copy_run, inline=True),
    "fill_run": Procedure(rows.fill_run, inline=True),
    "copy_rows": Procedure(moving.copy_rows),
    "copy_rows_by": Procedure(moving.copy_rows_by),
    "fill_rows": Procedure(moving.fill_rows),
    "gather_rows": Procedure(rows.gather_rows),
    "add_row_sums": Procedure(rows.add_row_sums),
    "add_terms": Procedure(rows.add_terms),
    "flip_rows": Procedure(rows.flip_rows),
    "widen_rows": Procedure(rows.widen_rows),
    "widen_add_rows": Procedure(rows.widen_add_rows),
    "tile_i8": Procedure(partial(tile.tile, products.INT8)),
    "tile_i16": Procedure(partial(tile.tile, products.INT16)),
    "tile_f32": Procedure(partial(tile.tile, products.FLOAT32)),
    "tile_f16": Procedure(partial(tile.tile, products.FLOAT16)),
    "tile_bf16": Procedure(partial(tile.tile, products.BFLOAT16)),
    "tile_small_bf16": Procedure(partial(tile.tile, products.SMALL_BFLOAT16)),
    "tile_rescale_i8": Procedure(fused.tile_rescale_i8),
    "row_sums_i8": Procedure(row_tiles.row_sums_i8),
    "row_rescale_i8": Procedure(row_tiles.row_rescale_i8),
    "pixel_sums_i8": Procedure(pixel_tiles.pixel_sums_i8),
    "pixel_rescale_i8": Procedure(pixel_tiles.pixel_rescale_i8),
    "start_matrices": Procedure(matrices.start_matrices),
    "end_matrices": Procedure(matrices.end_matrices),
    "tile_matrices_i8": Procedure(partial(matrices.tile_matrices, "i8")),
    "tile_matrices_bf16": Procedure(partial(matrices.tile_matrices, "bf16")),
    "tile_rescale_matrices": Procedure(matrices.tile_rescale_matrices),
    "rescale_i8": Procedure(requant.rescale_i8),
    "least_bf16": Procedure(tile.least_bf16),
    "interleave_i8": Procedure(interleave.interleave_i8),
    "interleave_wide_i8": Procedure(interleave.interleave_wide_i8),
    "interleave_i16": Procedure(interleave.interleave_i16),
    "depthwise_i8": Procedure(partial(interleave.depthwise, products.INT8)),
    "depthwise_i16": Procedure(interleave.depthwise_i16),
    "depthwise_f32": Procedure(partial(interleave.depthwise, products.FLOAT32)),
    "depthwise_rescale_i8": Procedure(interleave.depthwise_rescale_i8),
    "pack_i8": Procedure(packing.pack_i8),
    "pack_halves": Procedure(packing.pack_halves),
    "transform_inputs": Procedure(partial(transforms.transform_inputs, "i8")),
    "transform_wide_inputs": Procedure(partial(transforms.transform_inputs, "i16")),
    "transform_lines": Procedure(transforms.transform_lines),
    "transform_sums": Procedure(partial(transforms.transform_sums, 1)),
    "transform_sums_of_squares": Procedure(partial(transforms.transform_sums, 2)),
    "transform_line_sums": Procedure(transforms.transform_line_sums),
    "transform_squares": Procedure(transforms.transform_squares),
    "transform_square_sums": Procedure(transforms.transform_square_sums),
    "transpose_8": Procedure(partial(transposing.transpose, "i8")),
    "transpose_16": Procedure(partial(transposing.transpose, "i16")),
    "transpose_32": Procedure(partial(transposing.transpose, "i32")),
    "lookup_i8": Procedure(transposing.lookup_i8),
    "greatest_line_i8": Procedure(partial(lines.lines_i8, True)),
    "least_line_i8": Procedure(partial(lines.lines_i8, False)),
    **{f"greatest_{kind}": Procedure(partial(greatest.greatest, kind)) for kind in ("i8", "i16", "f32")},
    **{f"mean_{kind}": Procedure(partial(means.mean, kind)) for kind in ("i8", "i16", "f32")},
    **{
        f"{name}_{lanes}": Procedure(body)
        for lanes in LANES
        for name, body in butterflies.steps(lanes).items()
    },
    **{
        f"{body.__name__}_{few}_{bits}": Procedure(partial(body, f"i{bits}", few))
        for body in (transposing.interleave_rows, transposing.part_columns)
        for bits in (8, 16, 32)
        for few in FEW
    },
}


def procedure(name: str, vectors: type[Vectors]) -> Callable[..., Any]:
    """Return a Numba intrinsic of int64 arguments, without result."""
    made = PROCEDURES[name]
    arguments = len(signature(made.body).parameters) - 1
    isa = required(vectors.describe)

    def typed(typing_context: Any, *given: Any) -> Any:
        def generate(context: Any, b: Any, signature: Any, values: Any) -> Any:
            v, numbers = vectors(b, isa), [Value(b, value) for value in values]
            if made.inline:
                made.body(v, *numbers)
            else:
                v.call(f"contract_{name}", made.body, *numbers)
            return context.get_dummy_value()

        return types.void(*[types.int64] * arguments), generate

    parameters = ", ".join(f"a{position}" for position in range(arguments))
    namespace: dict[str, Any] = {"typed": typed}
    exec(
        f"def {name}(typing_context, {parameters}): return typed(typing_context, {parameters})",
        namespace,
    )
    return intrinsic(namespace[name])
