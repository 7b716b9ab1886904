"""What axes are for: a contraction computed from their roles alone is what its nest computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import assume, given

from tests.planning.contractions import Drawn, contractions
from tests.planning.interpreter import interpret
from tiling.contraction import Contraction, contraction, seen
from tiling.nest import Nest


@given(contractions())
def test_roles_say_what_a_contraction_computes(drawn: Drawn) -> None:
    found = contraction(drawn.nest)
    assert found is not None
    check(drawn, found)


@given(contractions())
def test_either_factor_can_be_the_rows(drawn: Drawn) -> None:
    """As long as nothing is padded: the other one's index then never leaves it."""
    found = contraction(drawn.nest)
    assert found is not None
    assert found.weights is not None
    assume(drawn.nest.reads[found.data].fill is None)
    other = seen(drawn.nest, found.weights, found.data)
    assert (other.data, other.weights) == (found.weights, found.data)
    check(drawn, other)


@given(contractions())
def test_a_convolution_has_the_window_that_it_was_drawn_with(drawn: Drawn) -> None:
    assume(drawn.channels_last and not drawn.flat)
    found = contraction(drawn.nest)
    assert found is not None
    names = [axis.name for axis in drawn.nest.axes]
    assume({"y", "v"} <= set(names) or {"x", "u"} <= set(names))  # else either factor can be the map
    assert found.data == int(drawn.swapped)
    assert found.depthwise == ("d" in names)
    assert {names[axis] for axis in found.groups} == {"g"} & set(names)
    assert {names[axis] for axis in found.filters} == {"d", "f"} & set(names)
    assert {names[axis] for axis in found.channels} == {"c"} & set(names)
    assert {names[one.axis] for one in found.positions} == {"n", "y", "x"} & set(names)
    for one in found.positions:
        line = drawn.lines.get(names[one.axis])
        if line is None:
            assert (one.window, one.stride) == (None, 1)
            continue
        (dimension,) = (whole for whole in found.dimensions if whole.position == one.axis)
        assert (one.stride, dimension.stride, dimension.padding) == (line.stride, line.stride, line.padding)
        assert one.extent == dimension.extent == line.extent
        if one.window is not None:
            assert names[one.window] == {"y": "v", "x": "u"}[names[one.axis]]
            assert (one.dilation, dimension.dilation) == (line.dilation, line.dilation)


@given(contractions("cu", flat=True))
def test_columns_and_channels_that_are_one_dimension_keep_their_stride(drawn: Drawn) -> None:
    found = seen(drawn.nest, int(drawn.swapped), int(not drawn.swapped))
    (columns,) = (one for one in found.positions if one.axis == drawn.axis("x"))
    line = drawn.lines["x"]
    assert (columns.window, columns.stride, columns.extent) == (None, line.stride, line.extent)


def check(drawn: Drawn, found: Contraction) -> None:
    """Compute it as products of matrices: positions by window, window by filters, for each group."""
    nest = drawn.nest
    own = [axis for axis in found.filters if found.steps[axis]]
    repeated, rows = [*found.groups, *own], [one.axis for one in found.positions]
    filters = [axis for axis in found.filters if not found.steps[axis]]
    slid = [one.window for one in found.positions if one.window is not None]
    depth = [*slid, *found.windows, *found.channels]
    assert sorted([*repeated, *rows, *filters]) == list(range(nest.outer))
    assert sorted(depth) == list(range(nest.outer, len(nest.axes)))
    left = factor(drawn, found, [*repeated, *rows, *depth], (len(repeated), len(rows)))
    right = factor_of_weights(drawn, found, [*repeated, *depth, *filters], (len(repeated), len(depth)))
    product = (left @ right).reshape([nest.axes[axis].extent for axis in (*repeated, *rows, *filters)])
    order = np.argsort([*repeated, *rows, *filters])
    sizes = {"result": product.size}
    expected = interpret([nest], drawn.arrays, sizes)["result"]
    assert np.array_equal(product.transpose(order).reshape(-1), expected)


def factor(drawn: Drawn, found: Contraction, order: Sequence[int], split: tuple[int, int]) -> np.ndarray:
    """The feature map as matrices, from what walks over each of its dimensions."""
    nest = drawn.nest
    values = centred(drawn, found.data).reshape([one.extent for one in found.dimensions])
    labels: list[int] = []
    for one in found.dimensions:
        place = len(labels)
        grids = np.indices([nest.axes[axis].extent for axis, _ in one.terms])
        terms = zip(one.terms, grids, strict=True)
        index = np.asarray(sum((step * grid for (_, step), grid in terms), -one.padding))
        inside = (index >= 0) & (index < one.extent)
        values = np.take(values, np.clip(index, 0, one.extent - 1), axis=place)
        mask = inside.reshape(inside.shape + (1,) * (values.ndim - place - inside.ndim))
        values = np.where(mask, values, 0)
        labels += [axis for axis, _ in one.terms]
    return matrices(nest, np.einsum(values, labels, list(order)), order, split)


def factor_of_weights(
    drawn: Drawn, found: Contraction, order: Sequence[int], split: tuple[int, int]
) -> np.ndarray:
    """The other factor as matrices, from how far a step along each axis goes."""
    assert found.weights is not None
    values = centred(drawn, found.weights)
    start = drawn.nest.reads[found.weights].start()
    grids = np.indices([drawn.nest.axes[axis].extent for axis in order])
    steps = (found.weight_steps[axis] for axis in order)
    index = np.asarray(sum((step * grid for step, grid in zip(steps, grids, strict=True)), start))
    return matrices(drawn.nest, values[index], order, split)


def centred(drawn: Drawn, number: int) -> np.ndarray:
    """An operand, of the feature map without its zero point."""
    operand = drawn.nest.reads[number].operand
    values = drawn.arrays[operand].astype(np.int64)
    return values - drawn.arrays["zero"][0] if operand == "data" else values


def matrices(nest: Nest, values: np.ndarray, order: Sequence[int], split: tuple[int, int]) -> np.ndarray:
    """Values as repetitions × rows × columns: so many axes are the first, and the second."""
    extents = [nest.axes[axis].extent for axis in order]
    first, second = split[0], split[0] + split[1]
    shape = [int(np.prod(part)) for part in (extents[:first], extents[first:second], extents[second:])]
    return values.reshape(shape)
