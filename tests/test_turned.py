"""Nests whose results lie across what they read give the same results by rows, and padded pools in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tiling.expr import acc, call, read, walk
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, along, fixed
from tosajit import ops
from tosajit.host.turned import turned
from tosajit.kernels.sets.registry import named_set

NONE, ALL = [0, 0, 0, 0], [1, 1, 1, 1]
FIRST, LAST = [0, 3, 1, 2], [0, 2, 3, 1]
TYPES = [np.int8, np.int16, np.float32]


def drawn(shape: tuple[int, ...], type: Any, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(-100, 100, shape).astype(type)


def verbs(made: tj.Executable) -> list[str]:
    return [nest.verb for nest in made.stages["simplify"].values["main"].nests]


def same_as_interpreted(function: Callable[..., Any], *values: np.ndarray) -> tj.Executable:
    graph = tj.trace(function, *values)
    made = tj.compile(graph)
    np.testing.assert_array_equal(made(*values), tj.compile(graph, interpret=True)(*values))
    return made


def pooled(type: Any, kernel: tuple[int, int], stride: tuple[int, int], pad: list[int], mean: bool) -> Any:
    options: dict[str, Any] = {"kernel": kernel, "stride": stride, "pad": pad}
    if not mean:
        return lambda x: ops.max_pool2d(x, **options)
    points = np.zeros(1, type), np.zeros(1, type)
    if type is np.int8:
        points = np.array([3], type), np.array([-2], type)
    acc = "FP32" if type is np.float32 else "INT32"
    return lambda x: ops.avg_pool2d(x, *points, **options, acc_type=acc)


POOLS = [
    # shape, kernel, stride, pad
    ((1, 12, 13, 17), (3, 3), (1, 1), ALL),
    ((2, 12, 20, 33), (3, 3), (2, 2), [0, 1, 0, 1]),
    ((1, 12, 16, 16), (2, 2), (2, 2), NONE),
    ((1, 13, 10, 5), (2, 3), (3, 2), [1, 0, 2, 1]),
    ((1, 9, 1, 24), (3, 1), (1, 1), [1, 1, 0, 0]),
    ((1, 3, 3, 8), (3, 3), (1, 1), ALL),
]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("case", range(len(POOLS)))
@pytest.mark.parametrize("form", ["rows", "to channels first", "from and to", "from"])
def test_pools_in_every_layout(type: Any, mean: bool, case: int, form: str) -> None:
    shape, kernel, stride, pad = POOLS[case]
    pool = pooled(type, kernel, stride, pad, mean)
    image = drawn(shape, type)
    match form:
        case "rows":
            same_as_interpreted(pool, image)
        case "to channels first":
            same_as_interpreted(lambda x: ops.transpose(pool(x), perms=FIRST), image)
        case "from":
            same_as_interpreted(lambda x: pool(ops.transpose(x, perms=LAST)), drawn_first(image))
        case _:
            turn = lambda x: ops.transpose(pool(ops.transpose(x, perms=LAST)), perms=FIRST)  # noqa: E731
            same_as_interpreted(turn, drawn_first(image))


def drawn_first(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(image.transpose(FIRST))


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("type", [np.int8, np.float32])
def test_padded_pools_are_maps_of_their_middle_sides_and_corners(
    type: Any, mean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not mean or type == np.int8:
        monkeypatch.setenv("TOSAJIT_CPU", "none")  # array kernels do windows as they are
    made = same_as_interpreted(pooled(type, (3, 3), (1, 1), ALL, mean), drawn((1, 12, 13, 17), type))
    assert verbs(made) == ["map"] * 9


def test_small_images_stay_whole() -> None:
    made = same_as_interpreted(pooled(np.float32, (3, 3), (1, 1), ALL, True), drawn((1, 3, 3, 8), np.float32))
    assert verbs(made) == ["reduce"]


@pytest.mark.parametrize("type", [np.int8, np.float32])
def test_results_that_lie_across_are_transposed_by_themselves(type: Any) -> None:
    image = drawn((1, 17, 19, 33), type)

    def turned(x: Any) -> Any:
        return ops.transpose(ops.maximum(x, ops.abs(x) if type is np.float32 else x), perms=FIRST)

    if type is np.int8:
        image = image.astype(np.int32)
    assert verbs(same_as_interpreted(turned, image)) == ["map", "move"]


@pytest.mark.parametrize("many", [False, True])
def test_much_work_on_few_channels_is_done_in_rows_before_they_come_last(many: bool) -> None:
    def turned(x: Any) -> Any:
        numbers = ops.exp(x) * x + ops.tanh(x) if many else ops.abs(x)
        return ops.transpose(ops.cast(numbers, dtype=tj.INT8), perms=LAST)

    image = (drawn((1, 3, 17, 19), np.float32) / 25).astype(np.float32)
    assert verbs(same_as_interpreted(turned, image)) == (["map", "move"] if many else ["map"])


@pytest.mark.parametrize("mode", ["BILINEAR", "NEAREST"])
def test_resized_images_are_transposed_by_themselves(mode: str) -> None:
    def resized(x: Any) -> Any:
        return ops.transpose(ops.resize(x, [4, 2, 4, 2], [0, 0], [2, 2], mode=mode), perms=FIRST)

    same_as_interpreted(resized, drawn((1, 9, 11, 19), np.float32))


@pytest.mark.parametrize("mode", ["BILINEAR", "NEAREST"])
def test_resized_images_are_written_where_they_belong(mode: str) -> None:
    def resized(x: Any) -> Any:
        found = ops.resize(x, [4, 2, 4, 2], [0, 0], [2, 2], mode=mode)
        return found if mode == "NEAREST" else ops.rescale(found, [1 << 30], [34], dtype=tj.INT8)

    made = same_as_interpreted(resized, drawn((1, 9, 11, 40), np.int8))
    assert verbs(made) == (["move"] if mode == "NEAREST" else ["map", "map"])  # along y, and along x
    nests = made.stages["simplify"].values["main"].nests
    assert all(node.scalar.family != "rescale" for nest in nests for node in walk(nest.writes[0].value))


def test_infinities_and_nans_go_through_padded_maxima() -> None:
    image = drawn((1, 12, 12, 9), np.float32)
    image[0, 3, 4], image[0, 0, 0], image[0, 11, 5, 2] = -np.inf, np.nan, np.inf
    same_as_interpreted(pooled(np.float32, (3, 3), (1, 1), ALL, False), image)


AVX2 = named_set("avx2")


def matrix(
    extents: tuple[int, int] = (16, 16),
    *,
    types: tuple[str, ...] = ("f32", "f32"),
    reads: tuple[str, ...] = ("across",),
    scalars: int = 0,
    verb: Any = "map",
    row: Affine | Indirect | None = None,
    across: bool = False,
    members: tuple[str, ...] = ("n",),
) -> Nest:
    """A nest over rows and columns; its results, of the types behind the first, lie in rows or across."""
    (rows, columns), (first, *results) = extents, types
    r, c = along(0, 2), along(1, 2)
    chosen = Indirect(read(len(reads) - 1, first))
    places: dict[str, tuple[tuple[int, ...], tuple[Affine | Indirect, ...]]] = {
        "own": ((rows, columns), (r, c)),
        "across": ((columns, rows), (c, r)),
        "across in steps": ((columns, 2 * rows), (c, along(0, 2, 2))),
        "four apart": ((rows + 4 * columns,), (along(0, 2) + along(1, 2, 4),)),
        "five apart": ((rows + 5 * columns,), (along(0, 2) + along(1, 2, 5),)),
        "point": ((1,), (fixed(0, 2),)),
        "table": ((256,), (chosen,)),
        "rows of a table": ((9, rows), (chosen, r)),
    }
    seen = [Access(f"x{number}", first, *places[name]) for number, name in enumerate(reads)]
    value = read(0, first)
    for _ in range(scalars):
        value = call(f"abs_{first}", value, type=first)
    shape, index = places["across" if across else "own"]
    index = index if row is None else (row, c)
    writes = [Write(Access(f"y{number}", type, shape, index), value) for number, type in enumerate(results)]
    return Nest(verb, (Axis("r", rows), Axis("c", columns)), tuple(seen), tuple(writes), members=members)


def pool(
    channels: int = 8,
    *,
    stride: int = 2,
    window: int = 2,
    type: str = "f32",
    verb: Any = "reduce",
    both: bool = False,
) -> Nest:
    """Maxima of windows along images whose channels are first."""
    axes = Axis("c", channels), Axis("x", 20), Axis("w", window, reduced=verb == "reduce")
    place = along(0, 3), along(1, 3, stride) + along(2, 3)
    images = [Access(name, type, (channels, 40), place) for name in "ab"]
    value = read(0, type)
    write = Write(Access("y", type, (channels, 20), (along(0, 3), along(1, 3))), value)
    total = Reduction("max", 0, type, value) if verb == "reduce" else None
    if total is not None:
        write = replace(write, value=acc(type))
    return Nest(verb, axes, tuple(images[: 1 + both]), (write,), total, ("n",))


def forms(nest: Nest, isa: Any = AVX2) -> list[str]:
    """The verbs of what is made of a nest, and its axes; nothing if it stays as it was."""
    made, known = turned(nest, isa, 7)
    written = {write.access.operand for one in made for write in one.writes}
    assert written - {write.access.operand for write in nest.writes} == {*known}
    return (
        [] if made == [nest] else [f"{one.verb} {' '.join(axis.name for axis in one.axes)}" for one in made]
    )


ROWS = ["map cr", "move c r"]
POOLED = ["move i1 i0", "reduce x c w", "move x c"]


@pytest.mark.parametrize(
    ("nest", "expected"),
    [
        (matrix(), ROWS),
        (matrix(verb="move"), []),
        (matrix(row=Indirect(read(0, "f32"))), []),
        # Where results lie across, too, the loops are exchanged.
        (matrix(across=True), ["map c r"]),
        (matrix((16, 3), across=True, reads=("across", "table", "point")), ["map c r"]),
        # Neighbours that vectors are still loaded with are at most four apart, and tables are near.
        (matrix(reads=("four apart",)), []),
        (matrix(reads=("five apart",)), ["map c r", "move c r"]),
        (matrix(reads=("own", "table", "point")), []),
        (matrix(reads=("rows of a table", "point")), ["map c r", "move c r"]),
        # All that lies across is near along the rows, and one after the other in one of them.
        (matrix(reads=("across", "own")), []),
        (matrix(reads=("across", "across in steps")), []),
        # Squares are of 8 words or 16 bytes, and rows are as long; there are none of eight bytes.
        (matrix((8, 8)), ROWS),
        (matrix((7, 8)), []),
        (matrix((8, 7)), []),
        (matrix((16, 15), types=("i8", "i8")), []),
        (matrix((16, 16), types=("i8", "i8")), ROWS),
        (matrix((8, 8), types=("f32", "f32", "f32")), [*ROWS, "move c r"]),
        (matrix((8, 8), types=("f32", "f32", "i8")), []),
        (matrix(types=("i64", "i64")), []),
        (matrix(types=("i64", "i32", "i64")), []),
        # Few columns are worth rows where there is much to do.
        (matrix((8, 2), scalars=4), ROWS),
        (matrix((8, 2), scalars=3), []),
        # Windows in steps are those of channels that come last.
        (pool(), POOLED),
        (pool(7), []),
        (pool(stride=1), []),
        (pool(window=1), []),
        (pool(type="i64"), []),
        (pool(verb="map"), ["map c w x"]),
        (pool(both=True), []),
    ],
)  # fmt: skip
def test_what_is_turned_and_what_is_declined(nest: Nest, expected: list[str]) -> None:
    assert forms(nest) == expected
    assert forms(nest, None) == []


@pytest.mark.parametrize(("members", "parts"), [("n", "nn"), ("mn", "mn"), ("lmn", ["lm", "n"])])
def test_the_last_operator_of_several_transposes(members: str, parts: Sequence[str]) -> None:
    made, _ = turned(matrix(members=tuple(members)), AVX2, 7)
    assert [one.members for one in made] == [tuple(part) for part in parts]
    assert turned(replace(pool(), members=("m", "n")), AVX2, 7)[0][0].members == ("m",)
