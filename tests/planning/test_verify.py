"""What the verifier lets through, and that each fault is found and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tosajit as tj
from tests.planning.drawing import Chain, chains
from tests.planning.test_cascade import layers
from tiling.expr import acc, axis, call, const, read
from tiling.fuse import fuse
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, along, fixed
from tiling.normal import normalise
from tiling.plan import plan
from tiling.program import Image, Loop, Operand, Program, Section
from tiling.target import Target
from tiling.verify import verify_nest, verify_nests
from tiling.verify_program import verify_program
from tosajit import ops
from tosajit.compiler import stages
from tosajit.compiler.verify import VerifyError, verified

targets = st.sampled_from(
    [
        Target("tight", 64, 4),
        Target("small", 200, 4),
        Target("roomy", 4096, 4),
        Target("cores", cores=3, tile_points=2),
    ]
)


def operands_of(chain: Chain, kept: set[str]) -> dict[str, Operand]:
    def kind(name: str) -> Any:
        return "input" if name in chain.inputs else "output" if name in kept else "temporary"

    return {name: Operand(name, "i32", prod(shape), kind(name)) for name, shape in chain.shapes.items()}


@given(chains(), st.booleans(), targets)
def test_passes_make_what_is_well_formed(chain: Chain, frugal: bool, target: Target) -> None:
    if not chain.nests:
        return
    kept = {chain.nests[-1].writes[0].access.operand}
    operands = operands_of(chain, kept)
    assert verify_nests(chain.nests, operands) == []
    assert verify_nests([normalise(nest) for nest in chain.nests], operands) == []
    groups = fuse(chain.nests, kept, frugal=frugal)
    assert verify_nests(groups, operands) == []
    program = plan(groups, operands, target)
    if isinstance(program, Program):
        stripes = program.operands.keys() - operands.keys()
        assert verify_program(program, buffers=stripes) == []


def test_groups_in_stripes_are_well_formed_and_no_view_is_larger_than_its_buffer() -> None:
    nests, operands = layers(6, 256)
    program = plan(nests, operands, Target("small", 24 << 10))
    assert isinstance(program, Program)
    buffers = program.operands.keys() - operands.keys()
    assert buffers
    assert verify_program(program, buffers=buffers) == []
    assert any("is written again" in fault for fault in verify_program(program))
    name = min(buffers)
    cut = replace(program.operands[name], elements=1)
    faults = verify_program(replace(program, operands={**program.operands, name: cut}), buffers=buffers)
    assert any(f"{name} is seen as" in fault for fault in faults)


# One nest: y[i, j] = a sum over k of x[i, j + k, with 0 outside] * w[k], then less z.

AXES = (Axis("i", 4), Axis("j", 6), Axis("k", 3, reduced=True))
X = Access("x", "i8", (4, 6), (along(0, 3), Affine((0, 1, 1), -1)), const(0, "i8"))
W = Access("w", "i8", (3,), (along(2, 3),))
Z = Access("z", "i32", (6,), (along(1, 3),))
Y = Access("y", "i32", (4, 6), (along(0, 3), along(1, 3)))
SUM = Reduction("add", 0, "i32", call("mul_i32", read(0, "i8"), read(1, "i8")))
NEST = Nest("contract", AXES, (X, W, Z), (Write(Y, acc("i32") - read(2, "i32")),), SUM, ("conv",))
OPERANDS = {
    "x": Operand("x", "i8", 24, "input"),
    "w": Operand("w", "i8", 3, "constant"),
    "z": Operand("z", "i32", 6, "constant"),
    "y": Operand("y", "i32", 24, "output"),
}


def with_read(number: int, **more: Any) -> Nest:
    reads = list(NEST.reads)
    reads[number] = replace(reads[number], **more)
    return replace(NEST, reads=tuple(reads))


def with_write(**more: Any) -> Nest:
    return replace(NEST, writes=(Write(replace(Y, **more), NEST.writes[0].value),))


def giving(value: Any) -> Nest:
    return replace(NEST, writes=(Write(Y, value),))


def test_the_nest_is_well_formed() -> None:
    assert verify_nest(NEST) == []
    assert verify_nests([NEST], OPERANDS) == []


NESTS: list[tuple[Nest, str]] = [
    (replace(NEST, axes=(AXES[2], *AXES[:2])), "reduced axes are not the last ones"),
    (replace(NEST, axes=(AXES[0], Axis("j", 0), AXES[2])), "axis j has 0 steps"),
    (replace(NEST, verb="map", reduction=None), "axes are reduced, but there is no reduction"),
    (replace(NEST, verb="map"), "a map with a reduction"),
    (
        replace(NEST, reduction=None, axes=tuple(replace(a, reduced=False) for a in AXES)),
        "a contract without a reduction",
    ),
    (replace(NEST, writes=()), "nothing is written"),
    (replace(NEST, grain=(1,)), "the grain (1,) is not a number for each of 2 kept axes"),
    (with_read(0, type="i12"), "x has the type i12"),
    (with_read(2, shape=(2, 3)), "z has 2 dimensions, but 1 indices"),
    (with_read(1, shape=(0,)), "w is seen as [0]"),
    (with_read(1, index=(Affine((0, 1)),)), "an index of w is over 2 of 3 axes"),
    (with_read(1, index=(Indirect(read(3, "f32")),)), "an index of w is of f32"),
    (with_read(0, fill=const(0, "i32")), "x of i8 is filled with i32"),
    (giving(read(7, "i32")), "read 7 of 3"),
    (giving(read(0, "i32")), "x of i8 is read as i32"),
    (giving(call("to_i32", axis(4))), "axis 4 of 3"),
    (giving(acc("i8")), "a sum of i32 is used as i8"),
    (with_read(0, fill=None), "dimension 1 of x has 6 elements, but is used from -1 to 6"),
    (
        with_write(index=(along(0, 3), along(1, 3, 1, 1))),
        "dimension 1 of y has 6 elements, but is used from 1 to 6",
    ),
    (giving(call("to_i32", read(1, "i8"))), "y depends on k, which is reduced"),
    (with_read(2, index=(Indirect(read(1, "i8")),)), "y depends on k, which is reduced"),
    (with_write(index=(along(0, 3), along(2, 3))), "y depends on k, which is reduced"),
    (giving(call("to_i8", acc("i32"))), "y of i32 is given i8"),
    (
        replace(NEST, reduction=replace(SUM, value=call("to_i32", acc("i32")))),
        "a step of the reduction uses its result",
    ),
    (with_read(1, index=(Indirect(acc("i32")),)), "a step of the reduction uses its result"),
    (with_read(2, index=(Indirect(read(2, "i32")),)), "z is read at a place that depends on itself"),
    (with_write(fill=const(0, "i32")), "y is written, but filled"),
    (with_write(index=(along(0, 3), fixed(0, 3))), "elements of y are written more than once"),
    (with_write(shape=(24,), index=(Affine((1, 1, 0)),)), "elements of y are written more than once"),
]


@pytest.mark.parametrize(("nest", "fault"), NESTS, ids=[fault for _, fault in NESTS])
def test_a_fault_of_a_nest_is_named(nest: Nest, fault: str) -> None:
    assert f"conv: {fault}" in verify_nest(nest)


def test_places_that_are_no_rows_may_still_be_written_once() -> None:
    target = Access("y", "i32", (20,), (Affine((2, 3)),))
    nest = Nest(
        "move",
        (Axis("i", 3), Axis("j", 2)),
        (Access("x", "i32", (), ()),),
        (Write(target, read(0, "i32")),),
        None,
        ("m",),
    )
    assert verify_nest(nest) == []
    again = replace(nest, axes=(Axis("i", 4), Axis("j", 3)))
    assert verify_nest(again) == ["m: elements of y are written more than once"]


def copy(source: str, target: str, first: int = 0, count: int = 8) -> Nest:
    """A nest that copies elements to the same places."""
    index = (Affine((1,), first),)
    write = Write(Access(target, "i32", (8,), index), read(0, "i32"))
    return Nest(
        "move",
        (Axis("i", count),),
        (Access(source, "i32", (8,), index),),
        (write,),
        None,
        (f"{source}{target}",),
    )


LINE = {
    name: Operand(name, "i32", 8, kind)  # type: ignore[arg-type]
    for name, kind in (("a", "input"), ("b", "temporary"), ("c", "temporary"), ("d", "output"))
}
ORDERS: list[tuple[list[Nest], str]] = [
    ([copy("b", "d"), copy("a", "b")], "bd: b is read, but nothing has written it"),
    ([copy("a", "b", 0, 4), copy("b", "d")], "bd: elements of b are read that nothing has written"),
    ([copy("a", "d"), copy("a", "d")], "ad: d is written again"),
    ([copy("a", "d"), copy("a", "d", 3, 2), copy("a", "d", 4, 1)], "ad: d is written again"),
    ([copy("a", "b"), copy("b", "d"), copy("a", "b", 3, 2)], "ab: b is written again"),
    ([copy("a", "d", 0, 5), copy("a", "d", 4, 4)], "ad: d is written again"),
    ([copy("a", "a"), copy("a", "d")], "aa: a is written, but is an input"),
    ([copy("a", "b")], "d: is an output, but nothing writes it"),
    ([copy("a", "e"), copy("e", "d")], "ae: e is not an operand"),
    ([replace(copy("a", "d"), members=())], "d: has no members"),
    (
        [replace(copy("a", "d"), reads=(Access("a", "i32", (9,), (along(0, 1),)),))],
        "ad: a is seen as 9 elements of i32, but has 8 of i32",
    ),
]


@pytest.mark.parametrize(("nests", "fault"), ORDERS, ids=[fault for _, fault in ORDERS])
def test_a_fault_of_an_order_is_named(nests: list[Nest], fault: str) -> None:
    assert fault in verify_nests(nests, LINE)


def test_parts_of_a_result_come_one_after_another() -> None:
    assert verify_nests([copy("a", "d", 0, 5), copy("a", "d", 5, 3)], LINE) == []


def test_parts_may_be_written_over_a_ground() -> None:
    assert verify_nests([copy("a", "d"), copy("a", "d", 0, 2), copy("a", "d", 5, 3)], LINE) == []


# A program: two groups of which the first is cut into tiles.


def made() -> Program:
    nests = [copy("a", "b"), copy("b", "c"), copy("c", "d")]
    program = plan(nests, LINE, Target("small", 96, 4))
    assert isinstance(program, Program)
    assert verify_program(program) == []
    return program


def section(change: Callable[[Any], Any], number: int = 0) -> Program:
    program = made()
    sections = list(program.sections)
    sections[number] = change(sections[number])
    return replace(program, sections=tuple(sections))


def box(number: int = 0, **more: Any) -> Program:
    """The first image of a section, changed."""

    def change(one: Any) -> Any:
        images = list(one.images)
        place = next(place for place, image in enumerate(images) if image is not None)
        images[place] = replace(images[place], **more)
        return replace(one, images=tuple(images))

    return section(change, number)


def operand(name: str, **more: Any) -> Program:
    program = made()
    return replace(program, operands={**program.operands, name: replace(program.operands[name], **more)})


PROGRAMS: list[tuple[Callable[[], Program], str]] = [
    (lambda: section(lambda s: replace(s, loops=(Loop(3, 1, 8),))), "its loops are over the axes [3] of 1"),
    (lambda: section(lambda s: replace(s, loops=(Loop(0, 3, 2),))), "2 steps of 3 are not the 8 of i"),
    (lambda: section(lambda s: replace(s, images=s.images[:1])), "1 images for 2 accesses"),
    (lambda: section(lambda s: replace(s, nest=replace(s.nest, members=()))), "has no members"),
    (
        lambda: section(lambda s: replace(s, accumulator=Image(90, (), 8, 0))),
        "the accumulator is at 90 to 98 of",
    ),
    (lambda: box(shape=(3,)), "the box of a is [3], but a tile touches [8]"),
    (lambda: box(shape=(2, 4)), "the box of a has 2 dimensions of 1"),
    (lambda: box(bytes=5), "the box of a has 5 bytes, but is [8] of i32"),
    (lambda: box(level=2), "the box of a is moved by 2 of 0 loops"),
    (lambda: box(address=94), "the box of a is at 94 to 126 of"),
    (lambda: box(address=-4), "the box of a is at -4 to 28 of"),
    (lambda: box(address=2), "the box of a is at 2, which 4 does not divide"),
    (lambda: box(copies=2, pitch=8), "the box of a has 2 places of 32 bytes, 8 apart"),
    (lambda: operand("b", offset=1 << 20), "b is at 1048576 to"),
    (lambda: operand("b", offset=2), "b is at 2, which 4 does not divide"),
    (lambda: replace(made(), scratch_bytes=200), "the scratchpad has 96 bytes, but 200 are used"),
    (lambda: operand("b", offset=made().operands["c"].offset), "b and c overlap in the scratchpad"),
]


@pytest.mark.parametrize(("program", "fault"), PROGRAMS, ids=[fault for _, fault in PROGRAMS])
def test_a_fault_of_a_program_is_named(program: Callable[[], Program], fault: str) -> None:
    faults = verify_program(program())
    assert any(fault in one for one in faults), faults


def test_boxes_that_loops_move_are_said_to_move() -> None:
    nest = copy("a", "d")
    program = plan([nest], LINE, Target("tight", 24, 4))
    assert isinstance(program, Program)
    assert program.sections[0].loops
    images = tuple(image and replace(image, level=0) for image in program.sections[0].images)
    broken = replace(program, sections=(replace(program.sections[0], images=images),))
    assert verify_program(program) == []
    assert "ad: the box of a stays where it is while a loop moves it" in verify_program(broken)


def split() -> Program:
    """A sum of 64 numbers each, in parts, and a scratchpad that has room for no more."""
    source = Access("a", "i32", (4, 64), (along(0, 2), along(1, 2)))
    write = Write(Access("d", "i32", (4,), (along(0, 2),)), acc("i32"))
    axes = (Axis("i", 4), Axis("k", 64, reduced=True))
    nest = Nest("reduce", axes, (source,), (write,), Reduction("add", 0, "i32", read(0, "i32")), ("sum",))
    operands = {"a": Operand("a", "i32", 256, "input"), "d": Operand("d", "i32", 4, "output")}
    program = plan([nest], operands, Target("tight", 96, 4))
    assert isinstance(program, Program)
    assert verify_program(program) == []
    return program


SPLITS: list[tuple[dict[str, Any], str]] = [
    ({"accumulator": None}, "sum: the reduction is split, but there is no accumulator"),
    ({"loops": (Loop(1, 8, 8), Loop(0, 2, 2))}, "sum: loops over reduced axes are not the innermost ones"),
]


@pytest.mark.parametrize(("change", "fault"), SPLITS, ids=[fault for _, fault in SPLITS])
def test_a_fault_of_a_split_reduction_is_named(change: dict[str, Any], fault: str) -> None:
    program = split()
    (one,) = program.sections
    assert one.splits_reduction
    assert fault in verify_program(replace(program, sections=(replace(one, **change),)))


def test_a_stored_box_is_written_in_full() -> None:
    target = Access("d", "i32", (8,), (Affine((2,)),))
    source = Access("a", "i32", (8,), (along(0, 1),))
    nest = Nest("move", (Axis("i", 4),), (source,), (Write(target, read(0, "i32")),), None, ("gaps",))
    image = Image(32, (7,), 28, 0)
    one = Section(nest, (), (Image(0, (4,), 16, 0), image))
    program = Program(Target("small", 96, 4), LINE, (one,), 0, 96)
    assert verify_program(program) == ["gaps: the box of d is stored, but a tile does not write all of it"]


# After each stage.


def test_a_stage_that_errs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(nests: Any, *_: Any, **__: Any) -> list[Nest]:
        return [*nests, *nests]

    monkeypatch.setattr(stages, "fused", twice)

    @tj.jit
    def network(x: Any) -> Any:
        return ops.abs(x)

    with pytest.raises(VerifyError) as caught:
        network(np.array([1, -2], np.int32))
    assert str(caught.value).splitlines()[0] == "fuse made a result that is not well-formed:"
    assert "is written again" in str(caught.value)
    monkeypatch.setenv("TOSAJIT_VERIFY", "0")
    assert verified("fuse", 3) == 3
