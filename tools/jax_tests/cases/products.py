"""Products of tensors, and convolutions."""

from __future__ import annotations

from typing import Any

from drawing import Random, array
from jax import lax

from jax_tests.cases import Drawn, case


@case("dot_general")
def dots(rng: Random, name: str) -> Drawn:
    """All dimension numbers, in several types."""
    kind = str(rng.choice(("float32", "float32", "float16", "bfloat16", "int8", "int32", "uint8")))
    shared, summed, rows, columns = (tuple(rng.integers(1, 5, rng.integers(0, 3)).tolist()) for _ in range(4))
    total = min(len(shared), 1), min(len(rows), 2), min(len(columns), 2)
    shared, rows, columns = shared[: total[0]], rows[: total[1]], columns[: total[2]]
    left, right = [*shared, *summed, *rows], [*shared, *summed, *columns]
    orders = rng.permutation(len(left)).tolist(), rng.permutation(len(right)).tolist()
    numbers = tuple(
        tuple(tuple(order.index(place) for place in span) for order in orders)
        for span in (range(len(shared), len(shared) + len(summed)), range(len(shared)))
    )
    given = tuple(
        array(rng, kind, tuple(shape[place] for place in order))
        for shape, order in zip((left, right), orders, strict=True)
    )
    wider = {"int8": "int32", "float16": "float32", "bfloat16": "float32"}
    preferred = wider.get(kind) if rng.random() < 0.5 else None
    if rng.random() < 0.3:
        return Drawn(
            lambda x: lax.dot_general(x, given[1], numbers, preferred_element_type=preferred), given[:1], name
        )
    return Drawn(lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=preferred), given, name)


_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


@case("conv_general_dilated")
def convolutions(rng: Random, name: str) -> Drawn:
    """All layouts, groups, dilations of both operands, and paddings."""
    rank = int(rng.integers(1, 4))
    letters = _LETTERS[rank]
    groups = int(rng.choice([1, 1, 2, 4]))
    depth, count = int(rng.integers(1, 3)), groups * int(rng.integers(1, 3))
    extents = dict(zip(letters, rng.integers(5, 9, rank).tolist(), strict=True))
    windows = dict(zip(letters, rng.integers(1, 4, rank).tolist(), strict=True))
    batch, batches = int(rng.integers(1, 3)), 1
    if groups == 1 and rng.random() < 0.2:
        batches, batch, count = 2, 2 * batch, 2 * count
    layouts = tuple("".join(rng.permutation(list(f"{two}{letters}"))) for two in ("NC", "IO", "NC"))
    image = array(
        rng, "float32", tuple({"N": batch, "C": groups * depth, **extents}[one] for one in layouts[0])
    )
    kernel = array(rng, "float32", tuple({"O": count, "I": depth, **windows}[one] for one in layouts[1]))
    strides, spread, gaps = (
        tuple(rng.integers(1, 3, rank).tolist()) if rng.random() < 0.5 else (1,) * rank for _ in range(3)
    )
    padding: Any = "SAME"
    if any(one > 1 for one in spread) or rng.random() < 0.6:
        padding = [tuple(rng.integers(-1, 3, 2).tolist()) for _ in range(rank)]
    numbers = lax.conv_dimension_numbers(image.shape, kernel.shape, layouts)

    def convolve(x: Any, y: Any) -> Any:
        return lax.conv_general_dilated(
            x, y, strides, padding, spread, gaps, numbers, groups, batch_group_count=batches
        )

    if rng.random() < 0.7:
        return Drawn(lambda x: convolve(x, kernel), (image,), name)
    return Drawn(convolve, (image, kernel), name)
