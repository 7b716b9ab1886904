"""Where operators of TensorFlow end: the last case that is taken, and the first that is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tensorflow_cases.operators import OpCase, real, whole
from tests.tflite_cases.running import by_arm, listed, stored
from tosajit.frontends.tensorflow.schema import ENUMERATORS


def case(op: str, operands: Sequence[Any], constants: Sequence[int] = (), **attributes: Any) -> OpCase:
    """A node whose result is not told; numbers of Python are int32."""
    arrays = [np.asarray(one, None if isinstance(one, np.ndarray) else np.int32) for one in operands]
    return OpCase(op, arrays, [None], attributes, frozenset(constants))


def loaded(one: OpCase) -> tj.Graph:
    """The graph of a case."""
    return tj.from_tensorflow(one.model(), outputs=["y:0"])


def result(one: OpCase) -> np.ndarray[Any, Any]:
    """What the graph of a case gives."""
    graph = loaded(one)
    (found,) = listed(by_arm(graph)(*(stored(one.inputs[value.name]) for value in graph.inputs)))
    return found


@pytest.mark.parametrize(("rows", "folded"), [(256, True), (257, False)])
@pytest.mark.parametrize("op", ["AddV2", "Tile", "Pad"])
def test_constants_grow_to_a_bound_when_a_model_is_read(op: str, rows: int, folded: bool) -> None:
    column, line = whole(rows, 1), whole(1, 256)
    given: dict[str, Sequence[Any]] = {
        "AddV2": [column, line],
        "Tile": [column, [1, 256]],
        "Pad": [column, [[0, 0], [100, 155]]],
    }
    operands = given[op]
    graph = loaded(case(op, operands, constants=range(len(operands))))
    computed = [node for node in graph.nodes if node.inputs and node.operator.opcode != "IDENTITY"]
    assert (not computed) == folded


@pytest.mark.parametrize(("mode", "most"), [("REFLECT", 3), ("SYMMETRIC", 4)])
def test_a_border_mirrors_no_more_than_there_is(mode: str, most: int) -> None:
    value = real(1, 4)
    borders = [[0, 0], [most, 1]]
    found = result(case("MirrorPad", [value, borders], [1], mode=mode))
    np.testing.assert_array_equal(found, np.pad(value, borders, mode=mode.lower()))  # type: ignore[call-overload]
    with pytest.raises(tj.ModelError, match=f"is {most + 1} wide, but {most} can be mirrored"):
        loaded(case("MirrorPad", [value, [[0, 0], [0, most + 1]]], [1], mode=mode))


@pytest.mark.parametrize(("start", "size"), [(0, 4), (3, 1), (1, -1)])
def test_a_part_reaches_to_the_end(start: int, size: int) -> None:
    value = real(2, 4)
    found = tuple(loaded(case("Slice", [value, [0, start], [2, size]], [0, 1, 2])).outputs[0].shape or ())
    assert found == (2, 4 - start if size < 0 else size)


def test_a_part_without_elements_is_no_output() -> None:
    with pytest.raises(tj.ModelError, match=r"y is \[2, 0\], but TOSA's tensors have elements"):
        loaded(case("Slice", [real(2, 4), [0, 4], [2, 0]], [0, 1, 2]))


@pytest.mark.parametrize(("start", "size"), [(-1, 1), (5, 0), (4, 1), (0, 5)])
def test_a_part_that_is_not_inside_is_refused(start: int, size: int) -> None:
    with pytest.raises(tj.ModelError, match="is not inside of 4 elements"):
        loaded(case("Slice", [real(2, 4), [0, start], [2, size]], [1, 2]))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("...ij,...jk->...ik", ((2, 3, 4, 5), (2, 3, 5, 2))),
        ("...ij,...jk->...ik", ((4, 5), (5, 2))),
        ("b...d,de->b...e", ((2, 3, 2, 4), (4, 3))),
        ("b...d,de->...be", ((2, 3, 4), (4, 3))),
        ("...a,ab->...b", ((4,), (4, 3))),
    ],
)
def test_an_ellipsis_is_all_dimensions_without_a_letter(
    equation: str, shapes: tuple[tuple[int, ...], ...]
) -> None:
    operands = [real(*shape, seed=number) for number, shape in enumerate(shapes)]
    found = result(case("Einsum", operands, equation=equation))
    np.testing.assert_allclose(found, np.einsum(equation, *operands), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("ranges", "masks", "expected"),
    [
        (([1, 0], [3, 2], [1, 1]), {}, np.s_[1:3, 0:2]),
        (([1, 1], [3, 2], [1, 1]), {"end_mask": 1}, np.s_[1:, 1:2]),
        (([1, 1], [3, 2], [1, 1]), {"begin_mask": 2}, np.s_[1:3, :2]),
        (([-1, 3], [-4, 0], [-2, -1]), {}, np.s_[-1:-4:-2, 3:0:-1]),
        (([1, 1], [0, 0], [1, 1]), {"shrink_axis_mask": 3}, np.s_[1, 1]),
        (([0, 1], [0, 3], [1, 1]), {"new_axis_mask": 1}, np.s_[None, 1:3]),
    ],
)
def test_bits_say_what_bounds_do_not_count(
    ranges: tuple[list[int], ...], masks: dict[str, int], expected: Any
) -> None:
    value = real(4, 4)
    found = result(case("StridedSlice", [value, *ranges], [1, 2, 3], **masks))
    np.testing.assert_array_equal(found, value[expected])


@pytest.mark.parametrize(("equation", "constants", "op"), [
    ("ab,bc->ac", (1,), "CONV2D"), ("ab,bc->ac", (), "MATMUL"), ("nab,nbc->nac", (1,), "MATMUL"),
])  # fmt: skip
def test_a_constant_matrix_that_all_rows_share_is_a_weight(
    equation: str, constants: tuple[int, ...], op: str
) -> None:
    shapes = ((2, 3, 4), (2, 4, 5)) if "n" in equation else ((3, 4), (4, 5))
    operands = [real(*shape, seed=number) for number, shape in enumerate(shapes)]
    graph = loaded(case("Einsum", operands, constants, equation=equation))
    assert op in {node.operator.opcode for node in graph.nodes}


@pytest.mark.parametrize(("count", "missing"), [(0, 0), (1, 1), (2, 2)])
def test_an_operand_that_is_not_there_is_told_by_its_number(count: int, missing: int) -> None:
    operands = [real(2, 4), [0, 0], [2, 2]][:count]
    with pytest.raises(tj.ModelError, match=f"operand {missing} is missing"):
        loaded(case("Slice", operands, range(1, count)))


TYPES = (
    "INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16 "
    "QINT16 QUINT16 UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64 FLOAT8_E5M2 FLOAT8_E4M3FN "
    "FLOAT8_E4M3FNUZ FLOAT8_E4M3B11FNUZ FLOAT8_E5M2FNUZ INT4 UINT4 INT2 UINT2"
)
"""The types of `types.proto`, in their order from 0 on."""


def test_types_have_the_numbers_of_tensorflow() -> None:
    assert {f"DT_{name}": number for number, name in enumerate(TYPES.split())} == ENUMERATORS
