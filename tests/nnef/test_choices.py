"""What NNEF 2.0 leaves open, or what its authors' tool does otherwise, is decided here once: a test for each.

Where the text decides against the tool, we follow the text, and the test says the section.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import nnef
from tosajit.arrays import Array
from tosajit.errors import ScriptError


def computed(expression: str, kind: str, *operands: Any) -> Any:
    """An expression of `a` and `b` where data are known only in a run."""
    types = [np.float32 if isinstance(one, float) else np.bool_ if isinstance(one, bool) else np.int32
             for one in operands]  # fmt: skip
    names = {np.float32: "real", np.bool_: "bool", np.int32: "int"}
    inputs = " ".join(f"{name}: {names[one]}[1];" for name, one in zip("ab", types, strict=False))
    named = ", ".join(f"{name}_ = {name}[i]" for name in "ab"[: len(types)])
    text = f"""operator f {{ @input {{ {inputs} }} @output {{ y: {kind}[1]; }}
        @lower {{ with {named}: y[i] = {expression}, i < 1; }} }}"""
    arrays: list[Array] = [np.array([one], dtype) for one, dtype in zip(operands, types, strict=True)]
    return nnef.operator(text)(*arrays)[0].item()


def folded(expression: str, kind: str, *operands: Any) -> Any:
    """The same where the text is composed: the elements of a constant."""
    texts = {f"{name}_": str(one).lower() for name, one in zip("ab", operands, strict=False)}
    using = "".join(f"{name} = {value};" for name, value in texts.items())
    graph = nnef.parse(f"""import layout; graph g {{ @input {{ x: real[1]; }} @output {{ y: {kind}[1]; }}
        @using {{ {using} }} @compose {{ y = layout.tensor{{shape=[1], value=[{expression}]}}(); }} }}""")
    return tj.compile(graph)(np.zeros(1, np.float32))[0].item()


@pytest.mark.parametrize("worth", [computed, folded])
@pytest.mark.parametrize(
    ("expression", "kind", "operands", "expected"),
    [
        ("a_ / b_", "int", (-7, 2), -4),
        ("a_ \\ b_", "int", (-7, 2), -3),
        ("a_ / b_", "int", (7, -2), -4),
        ("a_ \\ b_", "int", (7, -2), -3),
        ("a_ % b_", "int", (-7, 2), -1),
        ("a_ % b_", "int", (7, -2), 1),
        ("round(a_)", "real", (2.5,), 3.0),
        ("round(a_)", "real", (-2.5,), -3.0),
        ("round(a_)", "real", (0.5,), 1.0),
        ("int(a_)", "int", (2.9,), 2),
        ("int(a_)", "int", (-2.9,), -2),
    ],
)
def test_section_2_4_quotients_remainders_and_roundings(
    worth: Any, expression: str, kind: str, operands: tuple[Any, ...], expected: Any
) -> None:
    r"""`/` rounds down and `\` up, `%` is that of C, ties go away from zero, casts leave out fractions."""
    assert worth(expression, kind, *operands) == expected


@pytest.mark.parametrize("worth", [computed, folded])
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a_ + b_ * a_ ** b_", 2 + 3 * 2**3),
        ("a_ - b_ <? a_", -1),
        ("a_ <? b_ + a_", 2),
        ("-a_ ** b_", -8),
        ("a_ < b_ && b_ < a_ || a_ == a_ ? a_ : b_", 2),
        ("a_ > b_ => a_ > b_ ? a_ : b_", 2),
        ("a_ + b_ > a_ <? b_ ? 1 : 0", 1),
    ],
)
def test_section_2_4_operators_bind_from_conditions_to_powers(
    worth: Any, expression: str, expected: int
) -> None:
    r"""Loosest first: `?:`; `=>`; `&& || ^`; comparisons; `<? >?`; `+ -`; `* / \ %`; `**`."""
    assert worth(expression, "int", 2, 3) == expected


@pytest.mark.parametrize(
    ("fold", "pack", "expected"),
    [
        ("<", "[1, 2, 3]", True), ("<", "[1, 2, 2]", False), ("<=", "[1, 2, 2]", True),
        ("<=", "[1, 3, 2]", False), (">", "[3, 2, 1]", True), (">", "[3, 3, 1]", False),
        (">=", "[3, 3, 1]", True), (">=", "[1, 3]", False), ("!=", "[1, 2, 1]", False),
        ("!=", "[3, 2, 1]", True), ("!=", "[1, 1, 2]", False), ("==", "[2, 2, 2]", True),
        ("==", "[2, 2, 3]", False),
    ],
)  # fmt: skip
def test_section_2_4_folds_of_comparisons_ask_neighbours_or_all_pairs(
    fold: str, pack: str, expected: bool
) -> None:
    """`!=` asks all pairs. The tool takes `<` for `<=` and the reverse, and `!=` for always true."""
    assert folded(f"({pack} {fold} ..)", "bool") is expected


def test_section_2_11_updates_are_done_behind_each_run() -> None:
    """The tool never runs them."""
    graph = nnef.parse(
        """import math; graph g { @input { x: real[1]; } @output { y: real[1]; } @variable { w: real[1]; }
        @compose { y = math.add(x, w); } @update { w = math.iden(y); } }""",
        weights={"w": np.array([1], np.float32)},
    )
    executable = tj.compile(graph)
    found = [executable(np.array([2], np.float32)).item() for _ in range(3)]
    assert found == [3, 5, 7]


def test_section_2_12_a_null_right_hand_side_is_resolved_by_the_text() -> None:
    """The tool drops the whole assignment; it must say what stands for what is not there."""
    text = """operator f { @input { x: real[s]; b: optional real[s]; } @output { y: real[s]; }
        @lower { y[i] = x[i], i < s; y[i] += b[i], i < s; } }"""
    with pytest.raises(ScriptError, match="what is assigned may be null; say what stands for it"):
        nnef.operator(text)
    found = nnef.operator(text.replace("b[i]", "b[i] ?? 7.0"))
    x = np.array([1, 2], np.float32)
    assert found(x, x).tolist() == [2, 4]
    assert found(x).tolist() == [8, 9]


def test_section_2_13_asserts_on_what_is_known_are_checked_when_the_text_is_composed() -> None:
    """The tool never checks those on tensors."""
    text = """operator f { @input { x: real[s]; } @output { y: real[s]; }
        @assert { s > 2: "there are more than 2", s; } @lower { y[i] = x[i], i < s; } }"""
    assert nnef.operator(text)(np.ones(3, np.float32)).tolist() == [1, 1, 1]
    with pytest.raises(tj.TosaError, match="there are more than 2"):
        nnef.operator(text)(np.ones(2, np.float32))


@pytest.mark.parametrize("words", [("", ""), ("static ", ""), ("static ", "dynamic ")])
def test_section_2_5_markers_of_later_drafts_change_nothing(words: tuple[str, str]) -> None:
    attribute, tensor = words
    text = f"""operator f {{ @attrib {{ a: {attribute}int; }} @input {{ x: {tensor}int[s]; }}
        @output {{ y: int[s]; }} @lower {{ y[i] = x[i] * a, i < s; }} }}"""
    assert nnef.operator(text, a=3)(np.array([2], np.int32)).tolist() == [6]


def test_chapter_3_files_begin_with_a_header_of_128_bytes() -> None:
    """Magic, length of data, rank, eight extents, bits, type; then the items, row by row."""
    from tosajit.frontends.nnef.weights import read_dat, written_dat

    data = written_dat(np.array([[1, -2, 3]], np.int16))
    assert data[:12] == bytes([0x4E, 0xEF, 1, 0, 6, 0, 0, 0, 2, 0, 0, 0])
    assert np.frombuffer(data[12:52], "<u4").tolist() == [1, 3, 0, 0, 0, 0, 0, 0, 16, 4]
    assert data[128:] == b"\x01\x00\xfe\xff\x03\x00"
    marked = bytearray(written_dat(np.array([255], np.uint8)))
    marked[52:56] = b"\x01\x00\x00\x00"
    assert read_dat(bytes(marked)).array.tolist() == [-1]
    assert written_dat(np.array([True, False, True]))[128:] == b"\xa0"


def test_faults_name_sections() -> None:
    with pytest.raises(ScriptError, match=r"\[NNEF 2\.0 section 2\.\d+"):
        nnef.parse("graph g { @input { x: real[2]; } @output { y: real[2]; } @compose { y = nn.relu(x); } }")
