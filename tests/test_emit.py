"""Emitted kernels read as they did, hold no numbers of the graph, and are texts of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from math import inf, prod

import numpy as np
import pytest
from llvmlite.binding import parse_assembly

import tosajit as tj
from tests.test_text import chain, product
from tiling.expr import acc, call, const, read
from tiling.nest import (
    Access,
    Affine,
    Axis,
    Indirect,
    Nest,
    Reduction,
    Write,
    along,
    identity,
    map_accesses,
)
from tiling.plan import plan
from tiling.program import Operand, Program, Section
from tiling.target import HOST, Target
from tosajit.arrays import Array
from tosajit.kernels.emit import Emitted
from tosajit.kernels.link import emit_program, emit_section
from tosajit.kernels.native import llvm_text, target_machine
from tosajit.kernels.phase import SKIPS
from tosajit.kernels.sets.cpus import foreign
from tosajit.kernels.sets.registry import compiling_for


def section(nest: Nest, target: Target = HOST) -> Section:
    """The only section of a program with all operands outside of the scratchpad."""
    operands = {a.operand: Operand(a.operand, a.type, prod(a.shape), "input") for a in nest.accesses}
    program = plan([nest], operands, replace(target, values="offchip", cores=1))
    assert isinstance(program, Program)
    return program.sections[0]


def window(type: str = "i8", least: float = -128) -> Nest:
    """The greatest of three neighbours, with a number outside."""
    source = Access("a", type, (20,), (Affine((1, 1), -1),), const(least, type))
    target = Access("b", type, (20,), (Affine((1, 0)),))
    reduction = Reduction("max", least, type, read(0, type))
    axes = (Axis("x", 20), Axis("k", 3, reduced=True))
    return Nest("reduce", axes, (source,), (Write(target, acc(type)),), reduction, ("pool",))


def gather() -> Nest:
    """Rows picked by an operand."""
    rows = Access("rows", "i32", (5,), (Affine((1, 0)),))
    source = Access("a", "i8", (9, 7), (Indirect(read(1, "i32")), Affine((0, 1))))
    target = Access("b", "i8", (5, 7), identity(2))
    write = Write(target, call("neg_i8", read(0, "i8"), type="i8"))
    return Nest("map", (Axis("y", 5), Axis("x", 7)), (source, rows), (write,), None, ("gather",))


NESTS = {"chain": chain(2), "product": product(), "window": window(), "gather": gather()}


@pytest.mark.parametrize("name", NESTS)
def test_a_kernel_reads_as_it_did(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"kernel_{name}", emit_section(section(NESTS[name])).source.rstrip())


def test_a_checked_kernel_reads_as_it_did(golden: Callable[[str, str], None]) -> None:
    golden("kernel_gather_checked", emit_section(section(gather()), number=0).source.rstrip())


def test_extremes_along_rows_come_to_the_new_value_first() -> None:
    source = emit_section(section(window("f32", -inf))).source
    assert re.search(r"store_f32\(row, a0 - lo0, greatest_f32\(\w+, total\)\)", source)
    assert "def max_f32" not in source


@pytest.mark.parametrize("name", ["haswell", "znver4"])
def test_places_of_extremes_are_stored_whole(name: str) -> None:
    image = np.zeros((32, 64), np.float32)
    made = tj.compile(tj.trace(lambda x: tj.ops.argmax(x, axis=0), image))
    (nest,) = made.stages["simplify"].values["main"].nests
    source = emit_section(section(nest)).source
    assert re.search(r"store_i64\(row, a0 - lo0, whole_i64\(max_i64\(", source)
    with compiling_for(foreign("x86_64-unknown-linux-gnu", name)):
        assembly = str(target_machine().emit_assembly(parse_assembly(llvm_text(source))))
    assert re.search("[yz]mm", assembly)
    assert "vpmaskmov" not in assembly


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "f32"])
@pytest.mark.parametrize("name", ["haswell", "skylake-avx512"])
def test_rows_that_are_turned_round_are_read_as_vectors(name: str, type: str) -> None:
    source = Access("a", type, (9, 70), (Affine((1, 0)), Affine((0, -1), 69)))
    target = Access("b", type, (9, 70), identity(2))
    nest = Nest(
        "move", (Axis("y", 9), Axis("x", 70)), (source,), (Write(target, read(0, type)),), None, ("turn",)
    )
    with compiling_for(foreign("x86_64-unknown-linux-gnu", name)):
        text = llvm_text(emit_section(section(nest)).source)
        assembly = str(target_machine().emit_assembly(parse_assembly(text)))
    assert re.search(r"v(perm[dqpw]|permp[sd]|pshufb|shuf).*[yz]mm", assembly)


@pytest.mark.parametrize("step", [*SKIPS, 9])
@pytest.mark.parametrize("name", ["haswell", "skylake-avx512"])
def test_near_elements_are_worked_on_as_vectors(name: str, step: int) -> None:
    source = Access("a", "f32", (9, 70 * step), (Affine((1, 0)), Affine((0, step), step - 1)))
    write = Write(Access("b", "f32", (9, 70), identity(2)), call("neg_f32", read(0, "f32"), type="f32"))
    nest = Nest("map", (Axis("y", 9), Axis("x", 70)), (source,), (write,), None, ("skip",))
    with compiling_for(foreign("x86_64-unknown-linux-gnu", name)):
        text = llvm_text(emit_section(section(nest)).source)
        assembly = str(target_machine().emit_assembly(parse_assembly(text)))
    assert bool(re.search(r"\bv\w*(gather|ins)", assembly)) == (step in SKIPS)


@pytest.mark.parametrize("step", range(1, 7))
@pytest.mark.parametrize("type", [np.int8, np.int16, np.float32])
def test_near_elements_are_those_that_were_meant(step: int, type: type) -> None:
    for count in (1, 15, 16, 17, 40, 100):
        rows: Array = np.arange(3 * count * step).reshape(3, count * step).astype(type)
        made = tj.compile(tj.trace(lambda x: x.reshape(3, -1, step)[:, :, -1], rows))
        np.testing.assert_array_equal(made(rows), rows[:, step - 1 :: step])


@pytest.mark.parametrize("name", NESTS)
def test_a_kernel_in_tiles_is_a_module(name: str) -> None:
    emitted = emit_section(section(NESTS[name], Target("small", 256, 4)))
    functions = [node.name for node in ast.parse(emitted.source).body if isinstance(node, ast.FunctionDef)]
    assert functions.count("kernel") == 1


@pytest.mark.parametrize("name", NESTS)
def test_twice_the_extent_is_the_same_kernel(name: str) -> None:
    nest = NESTS[name]
    first = replace(nest.axes[0], extent=2 * nest.axes[0].extent)

    def larger(access: Access) -> Access:
        grown = [2 * size if _walks(i) else size for size, i in zip(access.shape, access.index, strict=True)]
        return replace(access, shape=tuple(grown))

    other = replace(
        nest,
        axes=(first, *nest.axes[1:]),
        reads=tuple(map(larger, nest.reads)),
        writes=tuple(Write(larger(write.access), write.value) for write in nest.writes),
    )
    assert emit_section(section(other)).source == emit_section(section(nest)).source


def _walks(index: object) -> bool:
    return isinstance(index, Affine) and index.coefficients[0] != 0


@pytest.mark.parametrize(
    ("extent", "kind", "loop"),
    [
        (32, "f32", "by_registers"),
        (19, "f32", "by_masks"),
        (19, "i8", "by_masks"),
        (24, "f32", "by_halves"),
        (24, "i64", "range"),
        (8, "f32", "exactly"),
        (3, "f32", "exactly"),
        (3, "i64", "exactly"),
        (64, "f32", "range"),
        (19, "i64", "range"),
        (32, "i64", "by_registers"),
    ],
)
def test_short_rows_are_done_by_single_registers(extent: int, kind: str, loop: str) -> None:
    axes, value = (Axis("y", 50), Axis("x", extent)), read(0, kind)
    source, other, target = (
        Access(name, kind, shape, index)
        for name, shape, index in (
            ("a", (50, extent), identity(2)),
            ("b", (extent,), (along(1, 2),)),
            ("c", (50, extent), identity(2)),
        )
    )
    total = call(f"add_{kind}", value, read(1, kind), type=kind)
    nest = Nest("map", axes, (source, other), (Write(target, total),), None, ("n",))
    text = emit_section(section(nest)).source
    turns = f", {extent}" if loop == "exactly" else ""
    assert f"in {loop}(lo1, hi1{turns})" in text
    assert "in range(lo0, hi0)" in text
    assert llvm_text(text)


@pytest.mark.parametrize(
    ("cpu", "extent", "functions", "beside"),
    [
        ("haswell", 5000, 2, True),
        ("haswell", 5000, 1, True),
        ("haswell", 5000, 0, False),
        ("haswell", 500, 2, False),
        ("skylake-avx512", 5000, 2, True),
        ("skylake-avx512", 5000, 1, False),
    ],
)
def test_long_rows_of_functions_are_done_by_several_registers_at_a_time(
    cpu: str, extent: int, functions: int, beside: bool
) -> None:
    value = read(0, "f32")
    for _ in range(functions):
        value = call("exp_f32", value, type="f32")
    source, target = (Access(name, "f32", (extent,), identity(1)) for name in "ab")
    nest = Nest("map", (Axis("x", extent),), (source,), (Write(target, value),), None, ("n",))
    text = emit_section(section(nest)).source
    with compiling_for(foreign("x86_64-unknown-linux-gnu", cpu)):
        assembly = str(target_machine().emit_assembly(parse_assembly(llvm_text(text))))
    register = "ymm" if cpu == "haswell" else "zmm"
    products = len(re.findall(rf"vfn?m(add|sub)\w+\s.*{register}", assembly))
    assert products == 8 * functions * (4 if beside else 1)


@pytest.mark.parametrize(
    ("extent", "functions", "loop"),
    [
        (75, 1, "overlapping_at_need"),
        (75, 0, "range"),
        (80, 1, "range"),
        (257, 1, "range"),
    ],
)
def test_rows_of_functions_that_fill_no_register_may_overlap(extent: int, functions: int, loop: str) -> None:
    value = read(0, "f32")
    for _ in range(functions):
        value = call("exp_f32", value, type="f32")
    source, target = (Access(name, "f32", (9, extent), identity(2)) for name in "ab")
    source = replace(source, index=(Affine((1, 0)), Affine((0, -1), extent - 1)))
    nest = Nest("map", (Axis("y", 9), Axis("x", extent)), (source,), (Write(target, value),), None, ("n",))
    assert f"in {loop}(lo1, hi1)" in emit_section(section(nest)).source


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize("extent", [3, 4, 8])
def test_rows_of_few_elements_are_done_by_vectors(cpu: str, extent: int) -> None:
    source, other, target = (
        Access(name, "f32", shape, index)
        for name, shape, index in (
            ("a", (50, extent), identity(2)),
            ("b", (extent,), (along(1, 2),)),
            ("c", (50, extent), identity(2)),
        )
    )
    axes, total = (Axis("y", 50), Axis("x", extent)), call("add_f32", read(0, "f32"), read(1, "f32"))
    nest = Nest("map", axes, (source, other), (Write(target, total),), None, ("n",))
    with compiling_for(foreign("x86_64-unknown-linux-gnu", cpu)):
        assert f"fadd <{extent // 2 * 2} x float>" in llvm_text(emit_section(section(nest)).source)


@pytest.mark.parametrize(("kind", "loop"), [("i32", "exactly(lo1, hi1, 5)"), ("f32", "range(lo1, hi1)")])
def test_few_integers_are_combined_in_any_order(kind: str, loop: str) -> None:
    source = Access("a", kind, (50, 5), identity(2))
    target = Access("b", kind, (50,), (along(0, 2),))
    axes, reduction = (Axis("y", 50), Axis("x", 5, True)), Reduction("add", 0, kind, read(0, kind))
    nest = Nest("reduce", axes, (source,), (Write(target, acc(kind)),), reduction, ("n",))
    assert f"for a1 in {loop}" in emit_section(section(nest)).source


def test_sections_that_differ_in_names_alone_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def called(nest: Nest, suffix: str) -> Nest:
        return map_accesses(nest, lambda access: replace(access, operand=access.operand + suffix))

    nests = [called(window(), "1"), called(window(), "2"), called(gather(), "3"), called(window("i32"), "4")]
    operands = {
        a.operand: Operand(a.operand, a.type, prod(a.shape), "input") for n in nests for a in n.accesses
    }
    program = plan(nests, operands, replace(HOST, cores=1))
    assert isinstance(program, Program)
    separate = tuple(emit_section(one) for one in program.sections)
    written: list[Section] = []

    def noted(one: Section) -> Emitted:
        written.append(one)
        return emit_section(one)

    monkeypatch.setattr("tosajit.kernels.link.emit_section", noted)
    assert emit_program(program, {}) == separate
    assert [one.nest for one in written] == [nests[0], *nests[2:]]
