"""What makes its result in rows, and what reads it so: only such groups pass on parts of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from random import Random
from zlib import crc32

import pytest

from tiling.cascade_stripes import Cascade, _needed, cascade_of, in_rows, makes_rows, row_of, striped
from tiling.expr import acc, const, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, along, identity
from tiling.program import Operand, OperandKind

AXES = (Axis("y", 6), Axis("x", 4), Axis("c", 3), Axis("k", 2, True))


def at(*coefficients: int, offset: int = 0) -> Affine:
    """An index over the four axes."""
    return Affine(coefficients, offset)


def nest(write: Access, *more: Write) -> Nest:
    """A sum over the last axis, stored by an access."""
    reduction = Reduction("add", 0, "i32", read(0, "i32"))
    source = Access("a", "i32", (6, 4, 3, 2), identity(4))
    return Nest("reduce", AXES, (source,), (Write(write, acc("i32")), *more), reduction)


WHOLE = Access("b", "i32", (6, 4, 3), identity(3, 0, 4))


def test_a_result_of_all_kept_axes_in_order_is_made_in_rows() -> None:
    assert makes_rows(nest(WHOLE))


@pytest.mark.parametrize(
    "write",
    [
        replace(WHOLE, shape=(7, 4, 3)),
        replace(WHOLE, shape=(6, 4, 4)),
        replace(WHOLE, shape=(6, 12), index=(at(1, 0, 0, 0), at(0, 3, 1, 0))),
        replace(WHOLE, index=(at(-1, 0, 0, 0, offset=5), *WHOLE.index[1:])),
        replace(WHOLE, shape=(4, 6, 3), index=(WHOLE.index[1], WHOLE.index[0], WHOLE.index[2])),
        replace(WHOLE, index=(at(1, 0, 0, 0, offset=1), *WHOLE.index[1:]), shape=(7, 4, 3)),
    ],
)
def test_a_result_with_gaps_or_in_another_order_is_not(write: Access) -> None:
    assert not makes_rows(nest(write))


def test_two_results_are_not_made_in_rows() -> None:
    assert not makes_rows(nest(WHOLE, Write(replace(WHOLE, operand="c"), acc("i32"))))


def test_a_single_result_makes_no_rows() -> None:
    total = Nest(
        "reduce",
        (Axis("k", 2, reduced=True),),
        (Access("a", "i32", (2,), (Affine((1,)),)),),
        (Write(Access("b", "i32", (), ()), acc("i32")),),
        Reduction("add", 0, "i32", read(0, "i32")),
    )
    assert not makes_rows(total)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ((at(1, 0, 0, 0), at(0, 1, 0, 0), at(0, 0, 1, 0)), True),
        ((at(2, 0, 0, 1, offset=-1), at(0, 1, 0, 0), at(0, 0, 0, 1)), True),
        ((at(1, 0, 0, 0), at(0, 0, 0, 0, offset=2), at(0, -1, 0, 0, offset=3)), True),
        ((at(0, 1, 0, 0), at(0, 0, 1, 0), at(0, 0, 0, 1)), False),
        ((at(-1, 0, 0, 0, offset=5), at(0, 1, 0, 0), at(0, 0, 1, 0)), False),
        ((at(1, 0, 0, 0), at(1, 1, 0, 0), at(0, 0, 1, 0)), False),
        ((at(1, 0, 0, 0), at(0, 1, 0, 0), at(2, 0, 1, 0)), False),
        ((at(0, 1, 0, 0), at(1, 0, 0, 0), at(0, 0, 1, 0)), False),
        ((at(1, 0, 0, 0), Indirect(const(1, "i32")), at(0, 0, 1, 0)), False),
        ((), False),
    ],
)
def test_rows_are_read_forwards_by_the_first_axis_alone(
    index: tuple[Affine | Indirect, ...], expected: bool
) -> None:
    shape = (30, 30, 30)[: len(index)]
    assert in_rows(Access("b", "i32", shape, index), nest(WHOLE)) == expected


def test_a_row_has_the_elements_of_all_dimensions_behind_the_first() -> None:
    assert [row_of(replace(WHOLE, shape=shape)) for shape in ((6, 4, 3), (5, 1, 7), (9, 2, 2))] == [12, 7, 4]


def layer(name: str, source: Access, rows: int, taps: int) -> Nest:
    """Sums over a window along the rows of a matrix."""
    axes = (Axis("y", rows), Axis("x", source.shape[1]), Axis("k", taps, True))
    write = Access(name, "i32", (rows, source.shape[1]), identity(2, 0, 3))
    reduction = Reduction("add", 0, "i32", read(0, "i32"))
    return Nest("reduce", axes, (source,), (Write(write, acc("i32")),), reduction, (name,))


def network(random: Random) -> list[Nest]:
    """Some layers, each over a window of the one before, the last perhaps over the first as well."""
    found: list[Nest] = []
    rows, columns = random.randint(5, 40), random.randint(1, 3)
    for number in range(random.randint(2, 4)):
        taps, step, dilation = random.randint(1, 3), random.choice([1, 1, 2]), random.choice([1, 1, 2])
        before = random.randint(0, 2)
        index = Affine((step, 0, dilation), -before), Affine((0, 1, 0))
        source = Access(f"v{number}", "i32", (rows, columns), index, const(0, "i32"))
        rows = max(1, (rows + 2 * before - dilation * (taps - 1) - 1) // step + 1)
        found.append(layer(f"v{number + 1}", source, rows, taps))
    return found


def touched(access: Access, nest: Nest, rows: range) -> list[int]:
    """The rows of an operand between those that an access meets while the first axis goes over some."""
    leading = access.index[0]
    assert isinstance(leading, Affine)
    others = [range(axis.extent) for axis in nest.axes[1:]]
    places = {
        leading.offset + sum(c * p for c, p in zip(leading.coefficients, (row, *point), strict=True))
        for row in rows
        for point in product(*others)
    }
    span = range(min(places, default=0), max(places, default=-1) + 1)
    return [place for place in span if 0 <= place < access.shape[0]]


def test_what_a_stripe_needs_is_from_the_first_row_that_it_meets_to_the_last() -> None:
    random = Random(11)
    for _ in range(40):
        for nest in network(random):
            (access,) = nest.reads
            first = random.randrange(nest.axes[0].extent)
            end = random.randint(first, nest.axes[0].extent)
            met, wide = touched(access, nest, range(first, end)), access.shape[1]
            expected = (met[0] * wide, (met[-1] + 1) * wide) if met else (0, 0)
            assert _needed(access, nest, (first, end)) == expected


def cut(
    nests: Sequence[Nest], stripes: int, **kinds: OperandKind
) -> tuple[Cascade | None, dict[str, Operand]]:
    """The layers in stripes, and their operands."""
    last = nests[-1].writes[0].access.operand
    known: dict[str, OperandKind] = {"v0": "input", last: "output", **kinds}
    operands = {
        one.operand: Operand(one.operand, "i32", prod(one.shape), known.get(one.operand, "temporary"))
        for nest in nests
        for one in nest.accesses
    }
    uses = {name: [n for n, nest in enumerate(nests) if name in nest.operands] for name in operands}
    spans = {name: (used[0], used[-1]) for name, used in uses.items()}
    return cascade_of(nests, operands, range(len(nests)), stripes, spans), operands


def test_stripes_hold_and_make_what_they_did(golden: Callable[[str, str], None]) -> None:
    random, lines = Random(12), []
    for _ in range(24):
        nests, stripes = network(random), random.randint(1, 9)
        found, operands = cut(nests, stripes)
        lines.append(f"{[nest.extents for nest in nests]} in {stripes}: {found and found.stripes}")
        if found is None:
            continue
        lines += [f"  rows {rows}" for rows in found.rows]
        for name, flow in found.flows.items():
            lines.append(f"  {name} of {flow.writer}: {flow.elements} at {flow.places}, lasts {flow.lasts}")
            lines.append(f"    {flow.held} made {flow.made} kept {flow.kept}")
        made, buffers = striped(found, operands)
        texts = [f"{n.verb} {n.extents} {[(a.operand, a.shape, a.index) for a in n.accesses]}" for n in made]
        sizes = {name: one.elements for name, one in buffers.items()}
        lines.append(f"  {len(made)} nests {crc32(chr(10).join(texts).encode()):08x}, {sizes}")
    golden("cascade_flows", "\n".join(lines))


def test_only_temporary_results_that_nobody_else_reads_are_passed_on_in_parts() -> None:
    nests = [layer(f"v{n + 1}", Access(f"v{n}", "i32", (12, 2), identity(2, 0, 3)), 12, 1) for n in range(3)]
    assert cut(nests, 4)[0] is not None
    assert cut(nests, 4, v1="output")[0] is None
    assert cut(nests, 4, v2="constant")[0] is None
    found, operands = cut(nests, 4)
    for outside in ((0, 3), (-1, 2)):
        spans = {"v0": (0, 0), "v1": (0, 1), "v2": outside, "v3": (2, 2)}
        assert cascade_of(nests, operands, range(3), 4, spans) is None
    assert found is not None
    scattered = replace(nests[1].writes[0].access, index=(Indirect(read(0, "i32")), along(1, 3)))
    others = replace(nests[1], writes=(Write(scattered, acc("i32")),))
    assert cut([nests[0], others, nests[2]], 4)[0] is None
    backwards = replace(nests[1].reads[0], index=(along(0, 3, -1, 11), along(1, 3)))
    assert cut([nests[0], replace(nests[1], reads=(backwards,)), nests[2]], 4)[0] is None
