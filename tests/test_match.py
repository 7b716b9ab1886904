"""Nests that the array kernels are found to do read what the kernels read; which ones they are is golden."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from random import Random

from tiling.expr import Expr, acc, call, const, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write
from tosajit.host.match import Match, match

Index = Mapping[str, int]


def access(
    type: str, axes: Sequence[str], dimensions: Sequence[tuple[int, Index, int]], fill: Expr | None = None
) -> Access:
    """An operand by the extent of each dimension, the steps of axes along it, and its offset."""
    index = tuple(Affine(tuple(steps.get(a, 0) for a in axes), offset) for _, steps, offset in dimensions)
    return Access("operand", type, tuple(extent for extent, _, _ in dimensions), index, fill)


def contraction(
    kept: Sequence[tuple[str, int]],
    reduced: Sequence[tuple[str, int]],
    data: Access,
    weights: Access,
    zero: Expr | None = None,
) -> Nest:
    """A sum of products, from each of which a zero point is taken if there is one."""
    axes = (*(Axis(n, e) for n, e in kept), *(Axis(n, e, True) for n, e in reduced))
    names, type = [axis.name for axis in axes], data.type
    point = access(type, names, [(1, {}, 0)])
    first = read(0, type) if zero is None else call(f"sub_{type}", read(0, type), zero, type=type)
    value = call(f"mul_{type}", first, read(1, type), type=type)
    result = access(type, names, [(extent, {name: 1}, 0) for name, extent in kept])
    reads = (data, weights, point)
    return Nest("contract", axes, reads, (Write(result, acc(type)),), Reduction("add", 0, type, value))


def drawn(random: Random) -> Nest:
    """A convolution or a product, with a fault now and then."""
    some = {name: random.choice([1, 2, 3, 4]) for name in "gbzyxfwvuc"}
    kept = [name for name in "gbzyxf" if random.random() < {"g": 0.25, "z": 0.25}.get(name, 0.8)]
    reduced = [name for name in "wvuc" if random.random() < {"w": 0.2, "c": 0.85}.get(name, 0.6)]
    if random.random() < 0.1:
        random.shuffle(kept)
    if random.random() < 0.15:
        random.shuffle(reduced)
    names, padded = [*kept, *reduced], random.random() < 0.3
    dimensions: list[tuple[int, Index, int]] = []
    for place, window in (("g", ""), ("b", ""), ("z", "w"), ("y", "v"), ("x", "u"), ("", "c"), ("f", "")):
        used = [name for name in (place, window) if name in names]
        if not used or (place == "f" and random.random() < 0.8):
            continue
        plain = window in ("", "c")
        steps = {name: 1 if plain or random.random() < 0.6 else 2 for name in used}
        if random.random() < 0.03:
            steps[used[0]] = -1
        offset = -random.choice([0, 1]) if padded and not plain else random.choice([0] * 6 + [1])
        low = min(0, sum(min(0, step * (some[name] - 1)) for name, step in steps.items()))
        offset -= low
        reach = offset + sum(max(0, step * (some[name] - 1)) for name, step in steps.items()) + 1
        extent = max(1, reach + random.choice([0, -1] if padded else [0] * 6 + [1]))
        dimensions.append((extent, steps, offset))
    if random.random() < 0.2 and len(dimensions) > 1:
        random.shuffle(dimensions)
    if random.random() < 0.2 and not padded and len(dimensions) > 1:
        dimensions[-2:] = [joined(dimensions[-2], dimensions[-1])]
    type = random.choice(["i32", "i32", "f32"])
    fill = random.choice([read(2, type), const(0, type), const(1, type)]) if padded else None
    zero = read(2, type) if random.random() < (0.8 if padded else 0.3) else None
    inside = [name for name in names if name in "wvucf" or (name == "g" and random.random() < 0.8)]
    if random.random() < 0.1:
        inside = random.sample(inside, len(inside))
    weights = access(type, names, [(some[name], {name: 1}, 0) for name in inside])
    data = access(type, names, dimensions, fill)
    return contraction([(n, some[n]) for n in kept], [(n, some[n]) for n in reduced], data, weights, zero)


def joined(one: tuple[int, Index, int], other: tuple[int, Index, int]) -> tuple[int, Index, int]:
    """Two dimensions as one."""
    (extent, steps, offset), (inner, small, start) = one, other
    return (
        extent * inner,
        {**{name: inner * step for name, step in steps.items()}, **small},
        offset * inner + start,
    )


@cache
def nests() -> tuple[Nest, ...]:
    """Those that are drawn, the factors of some in the other order."""
    random = Random(5)
    found = [drawn(random) for _ in range(700)]
    return tuple(swapped(nest) if random.random() < 0.3 else nest for nest in found)


def swapped(nest: Nest) -> Nest:
    """The nest with its factors in the other order."""
    assert nest.reduction is not None
    left, right = nest.reduction.value.operands
    value = call(nest.reduction.value.op, right, left, type=nest.reduction.type)
    return replace(nest, reduction=replace(nest.reduction, value=value))


def read_by_nest(nest: Nest, number: int, point: Sequence[int]) -> int | None:
    """The element of an operand at a point; None outside."""
    one, place = nest.reads[number], 0
    for index, extent, stride in zip(one.index, one.shape, one.strides, strict=True):
        assert isinstance(index, Affine)
        where = index.offset + sum(c * p for c, p in zip(index.coefficients, point, strict=True))
        if not 0 <= where < extent:
            return None
        place += where * stride
    return place


def first_of(nest: Nest, found: Match) -> int:
    """The first element that an array kernel knows: that of the origin, but for what is padding."""
    one = nest.reads[found.left.read]
    pairs = zip(one.index, one.strides, strict=True)
    origin = sum(index.offset * stride for index, stride in pairs if isinstance(index, Affine))
    return origin + sum(pad * step for pad, step in zip(found.geometry.pad, found.strides[1:], strict=True))


def read_by_kernel(nest: Nest, found: Match, point: Sequence[int]) -> int | None:
    """The element of the input that an array kernel reads there."""
    shape, steps = found.geometry, nest.reads[found.left.read].steps(len(nest.axes))
    windows = iter(axis for axis in found.depth if nest.extents[axis] > 1)
    taps = [point[next(windows)] if extent > 1 else 0 for extent in shape.kernel]
    place = first_of(nest, found) + sum(point[axis] * steps[axis] for axis in found.batch)
    lines = zip(found.places, found.strides, shape.input, (1, *shape.stride), (0, *taps), strict=True)
    for number, (axis, elements, extent, stride, tap) in enumerate(lines):
        where = (0 if axis is None else point[axis]) * stride
        where += tap * (0, *shape.dilation)[number] - (0, *shape.pad)[number]
        if not 0 <= where < extent:
            return None
        place += where * elements
    if found.depthwise:
        return place + (0 if found.column is None else point[found.column])
    return place + (point[found.depth[-1]] if shape.in_channels > 1 else 0)


def test_kernels_read_what_nests_read() -> None:
    random, seen = Random(6), 0
    for nest in nests():
        if (found := match(nest)) is not None:
            seen += 1
            points = list(product(*map(range, nest.extents)))
            for point in (points[0], points[-1], *random.sample(points, min(30, len(points)))):
                assert read_by_kernel(nest, found, point) == read_by_nest(nest, found.left.read, point), nest
    assert seen > 200


def test_kernels_walk_over_every_axis_once() -> None:
    for nest in nests():
        if (found := match(nest)) is not None:
            column = [] if found.column is None else [found.column]
            assert sorted([*found.batch, *found.rows, *column, *found.depth]) == list(range(len(nest.axes)))
            assert found.geometry.out_channels == (nest.extents[column[0]] if column else 1)


def test_the_same_nests_are_found(golden: Callable[[str, str], None]) -> None:
    golden("matches", "\n".join(f"{number} {line(nest)}" for number, nest in enumerate(nests())))


def line(nest: Nest) -> str:
    """How kernels see a nest."""
    if (found := match(nest)) is None:
        return "-"
    shape, left, right = found.geometry, found.left, found.right
    factors = f"{left.read}-{left.zero_point} × {right.read}-{right.zero_point}"
    factors += f" {shape.element_bytes}{shape.floating:d}"
    axes = f"{found.batch} {found.positions} {found.places} {found.column} {found.depth} {found.depthwise:d}"
    window = f"{shape.kernel} {shape.stride} {shape.pad} {shape.dilation}"
    return f"{factors} {axes} {shape.input} {found.strides} {shape.output} {shape.in_channels} {window}"


def product_of_matrices() -> Nest:
    """The rows of one times the columns of the other, less a zero point."""
    data = access("i32", "yfc", [(3, {"y": 1}, 0), (5, {"c": 1}, 0)])
    weights = access("i32", "yfc", [(4, {"f": 1}, 0), (5, {"c": 1}, 0)])
    return contraction([("y", 3), ("f", 4)], [("c", 5)], data, weights, read(2, "i32"))


def test_sums_of_products_from_nothing_are_taken_alone() -> None:
    nest = product_of_matrices()
    assert match(nest) is not None
    assert nest.reduction is not None
    for other in (replace(nest.reduction, op="max"), replace(nest.reduction, initial=1), None):
        assert match(replace(nest, reduction=other)) is None
    assert match(replace(nest, reduction=replace(nest.reduction, value=read(0, "i32")))) is None


def test_a_zero_point_stays_where_it_is() -> None:
    nest = product_of_matrices()
    data, weights, _ = nest.reads
    for axis in "yfc":
        extent = {"y": 3, "f": 4, "c": 5}[axis]
        moving = access("i32", "yfc", [(extent, {axis: 1}, 0)])
        assert match(replace(nest, reads=(data, weights, moving))) is None
    computed = call("sub_i32", read(0, "i32"), call("abs_i32", read(2, "i32"), type="i32"), type="i32")
    value = call("mul_i32", computed, read(1, "i32"), type="i32")
    assert nest.reduction is not None
    assert match(replace(nest, reduction=replace(nest.reduction, value=value))) is None
