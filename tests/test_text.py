"""Programs, executables and nests in print."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import numpy as np
import pytest

import tosajit as tj
from tiling.expr import Expr, acc, apply, const, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write
from tiling.plan import plan
from tiling.program import Operand, Program
from tiling.target import TINY
from tiling.text import LONGEST, members_text, nest_text, program_html, section_lines
from tosajit import ops

X = Affine((1,))
Golden = Callable[[str, str], None]


def planned(nests: list[Nest], inputs: set[str], outputs: set[str]) -> Program:
    kinds = dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output")
    operands: dict[str, Operand] = {}
    for nest in nests:
        for access in nest.accesses:
            size = access.bytes // {"i8": 1, "i32": 4}[access.type]
            kind = kinds.get(access.operand, "temporary")
            operands[access.operand] = Operand(access.operand, access.type, size, kind)  # type: ignore[arg-type]
    program = plan(nests, operands, TINY)
    assert isinstance(program, Program)
    return program


def product() -> Nest:
    """A matrix product of 40×64 and 64×48 with a zero point and a clamp."""
    left = Access("a", "i8", (40, 64), (Affine((1, 0, 0)), Affine((0, 0, 1))))
    right = Access("b", "i8", (64, 48), (Affine((0, 0, 1)), Affine((0, 1, 0))))
    zero = Access("zero", "i8", (1,), (Affine((0, 0, 0)),))
    target = Access("c", "i32", (40, 48), (Affine((1, 0, 0)), Affine((0, 1, 0))))
    value = Expr("mul_i32", (Expr("sub_i32", (read(0, "i8"), read(2, "i8")), "i32"), read(1, "i8")), "i32")
    result = apply("clip", acc("i32"), const(0, "i32"), const(99, "i32"))
    axes = (Axis("y", 40), Axis("x", 48), Axis("k", 64, reduced=True))
    reduction = Reduction("add", 0, "i32", value)
    return Nest(
        "contract", axes, (left, right, zero), (Write(target, result),), reduction, ("product", "clamp")
    )


def chain(steps: int) -> Nest:
    """A map in which each step uses the one before it twice."""
    value = read(0, "i32")
    for _ in range(steps):
        value = apply("mul", value, value) + value
    reads = (Access("a", "i32", (8,), (X,)),)
    return Nest(
        "map", (Axis("x", 8),), reads, (Write(Access("b", "i32", (8,), (X,)), value),), None, ("chain",)
    )


def test_a_matrix_product_in_tiles_reads_as_it_did(golden: Golden) -> None:
    golden("product", str(planned([product()], {"a", "b", "zero"}, {"c"})))


def test_a_chain_reads_as_it_did(golden: Golden) -> None:
    golden("chain", str(planned([chain(3)], {"a"}, {"b"})))


def test_shared_values_are_written_once() -> None:
    text = nest_text(chain(40))
    assert len(text.splitlines()) < 60
    assert max(map(len, text.splitlines())) < LONGEST


def test_every_name_is_set_before_it_is_used_and_only_once() -> None:
    known: list[str] = []
    for line in nest_text(chain(20)).splitlines()[1:]:
        left, right = line.split(" = ")
        assert set(re.findall(r"\bt\d+\b", right)) <= set(known)
        known.append(left.strip())
    assert len(known) == len(set(known))


def test_differences_keep_their_parentheses() -> None:
    a, b, c = (read(number, "i32") for number in range(3))
    reads = tuple(Access(name, "i32", (8,), (X,)) for name in "abc")
    for value, text in ((a - (b - c), "a[x] - (b[x] - c[x])"), ((a + b) + c, "a[x] + b[x] + c[x]")):
        write = Write(Access("d", "i32", (8,), (X,)), value)
        nest = Nest("map", (Axis("x", 8),), reads, (write,), None, ("d",))
        assert nest_text(nest).splitlines()[1] == f"  d[x] = {text}"


def test_transfers_name_the_bytes_that_they_fill() -> None:
    program = planned([product()], {"a", "b", "zero"}, {"c"})
    section = program.sections[0]
    text = "\n".join(section_lines(0, section))
    for access, image in zip(section.nest.accesses, section.images, strict=True):
        assert image is not None
        assert f"[{image.address}..{image.address + image.bytes}]" in text
        assert access.operand in text


def test_transfers_stand_in_the_loops_that_move_them() -> None:
    program = planned([product()], {"a", "b", "zero"}, {"c"})
    section = program.sections[0]
    lines = list(section_lines(0, section))
    for access, image in zip(section.nest.accesses, section.images, strict=True):
        assert image is not None
        (line,) = (line for line in lines if f" {access.operand} " in line and "<-" in line)
        assert len(line) - len(line.lstrip()) == 2 * (image.level + 1)


def test_many_members_are_abbreviated() -> None:
    assert members_text(["a", "b", "a"]) == "a, b"
    assert members_text([f"n{number}" for number in range(9)]) == "n0, n1, … n8 (9 nodes)"


class Balance(HTMLParser):
    """Checks that what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def executable() -> tj.Executable:
    @tj.jit
    def softened(x: np.ndarray) -> object:
        return ops.clamp(ops.reverse(x, axis=0), min_val=0, max_val=6)

    return softened.executable(np.zeros((3, 4), np.int8))


def test_html_is_closed_and_escaped(executable: tj.Executable) -> None:
    for html in (program_html(planned([product()], {"a"}, {"c"})), executable._repr_html_()):
        parser = Balance()
        parser.feed(html)
        assert not parser.open
        assert "<-" not in html


def test_an_executable_shows_inputs_outputs_and_groups(executable: tj.Executable) -> None:
    text = str(executable)
    assert "input  %x: INT8[3, 4]" in text
    assert "output %clamp_" in text
    assert text.splitlines()[-1].split()[1] in ("map", "move")
    assert repr(executable).startswith("<Executable (INT8[3, 4]) -> (INT8[3, 4]): ")


EXECUTABLE = """\
Executable (INT32[12, 3000], INT32[]) -> (INT32[12, 1], INT32[]): 2 groups on tiny, 1 thread, arena 0 bytes
  input  %x: INT32[12, 3000]
  input  %y: INT32[]
  output %reduce_sum_3: INT32[12, 1]
  output %abs_4: INT32[]

group  verb     points  tiles  nodes
    0  reduce  12×3000     96  reduce_sum_3, add_2
    1  map           1      1  abs_4"""


def test_an_executable_is_shown_with_its_groups() -> None:
    graph = tj.trace(
        lambda x, y: (tj.ops.reduce_sum(x + x, axis=1), tj.ops.abs(y)),
        np.zeros((12, 3000), np.int32),
        np.zeros((), np.int32),
    )
    made = tj.compile(graph, target=tj.TINY)
    assert str(made) == EXECUTABLE
    assert repr(made) == f"<{EXECUTABLE.splitlines()[0]}>"
