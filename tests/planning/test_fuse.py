"""Fusion and normal forms keep the meaning of nests."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.drawing import Chain, chains
from tests.planning.interpreter import interpret
from tiling.expr import acc, call, const, read
from tiling.fuse import fuse
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Verb, Write, identity
from tiling.normal import normalise
from tiling.records import replace


def arrays(chain: Chain, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        name: random.integers(-9, 10, prod(shape)).astype(np.int32) for name, shape in chain.inputs.items()
    }


@given(chains(), st.integers(0, 99))
def test_a_normal_form_computes_the_same(chain: Chain, seed: int) -> None:
    sizes = {name: prod(shape) for name, shape in chain.shapes.items()}
    given_arrays = arrays(chain, seed)
    plain = interpret(chain.nests, given_arrays, sizes)
    normal = interpret([normalise(nest) for nest in chain.nests], given_arrays, sizes)
    for name in sizes:
        np.testing.assert_array_equal(plain[name], normal[name])


@pytest.mark.parametrize("frugal", [False, True])
@given(chain=chains(), seed=st.integers(0, 99), data=st.data())
def test_fused_nests_compute_what_is_kept(chain: Chain, seed: int, data: st.DataObject, frugal: bool) -> None:
    sizes = {name: prod(shape) for name, shape in chain.shapes.items()}
    results = [nest.writes[0].access.operand for nest in chain.nests]
    if not results:
        return
    kept = {results[-1], *data.draw(st.lists(st.sampled_from(results), max_size=2))}
    given_arrays = arrays(chain, seed)
    plain = interpret(chain.nests, given_arrays, sizes)
    fused = interpret(fuse(chain.nests, kept, frugal=frugal), given_arrays, sizes)
    for name in kept:
        np.testing.assert_array_equal(plain[name], fused[name], err_msg="\n".join(map(str, chain.nests)))


def nest(verb: Verb, extents: tuple[int, ...], reduced: int, source: Access, target: Write) -> Nest:
    """A nest with one read, whose last axes are reduced."""
    kept = len(extents) - reduced
    axes = tuple(Axis(f"i{n}", extent, n >= kept) for n, extent in enumerate(extents))
    reduction = Reduction("add", 0, "i32", read(0, source.type)) if reduced else None
    return Nest(verb, axes, (source,), (target,), reduction, (target.access.operand,))


def along_one(name: str, type: str, size: int) -> Access:
    """An access that walks a vector."""
    return Access(name, type, (size,), identity(1))


wider = call("add_i32", read(0, "i8"), const(1, "i32"), type="i32")
twice = call("mul_i32", read(0, "i32"), const(2, "i32"), type="i32")


def test_sums_along_two_axes_become_one_where_memory_is_dear() -> None:
    whole = Access("x", "i32", (3, 4, 5), (Affine((0, 0, 1)), Affine((1, 0, 0)), Affine((0, 1, 0))))
    rows = Write(Access("v", "i32", (4, 5), identity(2, 0, 3)), acc("i32"))
    found = Access("v", "i32", (4, 5), (Affine((0, 1)), Affine((1, 0))))
    sums = Write(Access("y", "i32", (5,), identity(1, 0, 2)), acc("i32"))
    nests = [nest("reduce", (4, 5, 3), 1, whole, rows), nest("reduce", (5, 4), 1, found, sums)]
    (group,) = fuse(nests, {"y"}, frugal=True)
    assert group.points == 60
    assert len(fuse(nests, {"y"})) == 2
    x = np.arange(60, dtype=np.int32)
    result = interpret([group], {"x": x}, {"y": 5})["y"]
    np.testing.assert_array_equal(result, x.reshape(3, 4, 5).sum((0, 1)))


def test_values_are_stored_as_narrow_as_they_are_where_memory_is_dear() -> None:
    nests = [
        nest("map", (64,), 0, along_one("x", "i8", 64), Write(along_one("n", "i8", 64), read(0, "i8"))),
        nest("map", (64,), 0, along_one("n", "i8", 64), Write(along_one("w", "i32", 64), wider)),
        nest("reduce", (64,), 1, along_one("w", "i32", 64), Write(Access("s", "i32", (), ()), acc("i32"))),
        nest("map", (64,), 0, along_one("w", "i32", 64), Write(along_one("y", "i32", 64), twice)),
    ]
    groups = fuse(nests, {"n", "s", "y"}, frugal=True)
    assert {access.operand for group in groups for access in group.accesses} == {"x", "n", "s", "y"}
    x = np.arange(64, dtype=np.int8)
    found = interpret(groups, {"x": x}, {"n": 64, "s": 1, "y": 64})
    assert found["s"][0] == (x + 1).astype(int).sum()
    np.testing.assert_array_equal(found["y"], 2 * (x.astype(int) + 1))


def test_a_part_folds_into_a_window_that_pads_other_dimensions() -> None:
    part = Access("x", "i32", (6, 8), (Affine((1, 0)), Affine((0, 1), 3)))
    cut = nest("move", (6, 4), 0, part, Write(Access("p", "i32", (6, 4), identity(2)), read(0, "i32")))
    padded = Access("p", "i32", (6, 4), (Affine((1, 0, 1), -1), Affine((0, 1, 0))), const(7, "i32"))
    sums = nest(
        "reduce", (6, 4, 3), 1, padded, Write(Access("y", "i32", (6, 4), identity(2, 0, 3)), acc("i32"))
    )
    (group,) = fuse([cut, sums], {"y"}, frugal=True)
    x = {"x": np.arange(48, dtype=np.int32)}
    expected = interpret([cut, sums], x, {"p": 24, "y": 24})["y"]
    np.testing.assert_array_equal(interpret([group], x, {"y": 24})["y"], expected)


def parts(size: int) -> list[Nest]:
    """Sums of rows of a matrix, the even ones and the odd ones apart, and twice of all of them."""
    rows = [
        Nest(
            "contract",
            (Axis("i0", size), Axis("i1", 3, reduced=True)),
            (Access("x", "i32", (2 * size, 3), (Affine((2, 0), odd), Affine((0, 1)))),),
            (Write(Access("v", "i32", (2 * size,), (Affine((2, 0), odd),)), acc("i32")),),
            Reduction("add", 0, "i32", read(0, "i32")),
            ("v",),
        )
        for odd in (0, 1)
    ]
    whole = along_one("v", "i32", 2 * size)
    return [*rows, nest("map", (2 * size,), 0, whole, Write(along_one("y", "i32", 2 * size), twice))]


@pytest.mark.parametrize("frugal", [False, True])
def test_work_on_what_parts_leave_goes_into_each_of_them(frugal: bool) -> None:
    groups = fuse(parts(4), {"y"}, frugal=frugal)
    assert [(group.verb, len(group.writes), group.members) for group in groups] == [
        ("contract", 1, ("v", "y"))
    ] * 2
    x = np.arange(24, dtype=np.int32)
    result = interpret(groups, {"x": x}, {"y": 8})["y"]
    np.testing.assert_array_equal(result, 2 * x.reshape(8, 3).sum(1))


def test_what_parts_leave_is_written_if_others_read_it_or_a_part_is_missing() -> None:
    first, second, work = parts(4)
    other = nest("map", (8,), 0, along_one("v", "i32", 8), Write(along_one("z", "i32", 8), read(0, "i32")))
    stranger = replace(second, members=("w",))
    for nests, kept in (
        ([first, second, work], {"y", "v"}),
        ([first, second, work, other], {"y", "z"}),
        ([first, stranger, work], {"y"}),
        ([first, replace(second, axes=(Axis("i0", 3), second.axes[1])), work], {"y"}),
    ):
        assert len(fuse(nests, kept)) == len(nests)
