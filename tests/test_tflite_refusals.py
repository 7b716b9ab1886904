"""What TFLite models may not ask for is refused by name, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases import Sketch
from tosajit.errors import ModelError
from tosajit.frontends.tflite.fields import Options, ReduceFunction
from tosajit.frontends.tflite.options import (
    CumsumOptions,
    EmbeddingLookupSparseOptions,
    OneHotOptions,
    ReducerOptions,
    ReduceWindowOptions,
    ReverseSequenceOptions,
)
from tosajit.frontends.tflite.schema import Type

Given = tuple[Type, Any]
"""A type with the elements of a constant, or the shape of a computed tensor as a list."""

REAL, INTEGER = Type.FLOAT32, Type.INT32


def reason(
    name: str, given: Sequence[Given], result: tuple[Type, tuple[int, ...]], options: Options | None
) -> str:
    """Why a model of one operator is refused."""
    sketch = Sketch(name, name)
    places = [
        sketch.operand(kind, tuple(what), constant=False)
        if isinstance(what, list)
        else sketch.constant(kind, what)
        for kind, what in given
    ]
    sketch.add(places, sketch.result(*result), options)
    with pytest.raises(ModelError) as caught:
        tj.load(sketch.case().model)
    (refusal,) = caught.value.refusals
    return refusal.reason


@pytest.mark.parametrize(
    ("name", "given", "result", "options"),
    [
        ("TOPK_V2", [(REAL, [2, 9]), (INTEGER, [])], (REAL, (2, 3)), None),
        (
            "ONE_HOT",
            [(INTEGER, [3]), (INTEGER, []), (REAL, 1.0), (REAL, 0.0)],
            (REAL, (3, 4)),
            OneHotOptions(-1),
        ),
        ("SCATTER_ND", [(INTEGER, [2, 1]), (REAL, [2]), (INTEGER, [1])], (REAL, (4,)), None),
        ("SPARSE_TO_DENSE", [(INTEGER, [2]), (INTEGER, [1]), (REAL, [2]), (REAL, 0.0)], (REAL, (4,)), None),
        ("UNSORTED_SEGMENT_SUM", [(REAL, [4]), (INTEGER, [4]), (INTEGER, [])], (REAL, (4,)), None),
        ("CUMSUM", [(REAL, [2, 9]), (INTEGER, [])], (REAL, (2, 9)), CumsumOptions()),
        ("RANGE", [(INTEGER, 0), (INTEGER, []), (INTEGER, 1)], (INTEGER, (4,)), None),
        ("BROADCAST_ARGS", [(INTEGER, [2]), (INTEGER, [3, 4])], (INTEGER, (2,)), None),
        ("RFFT2D", [(REAL, [4, 4]), (INTEGER, [2])], (Type.COMPLEX64, (4, 3)), None),
        ("DILATE", [(REAL, [3]), (INTEGER, [1]), (REAL, 0.0)], (REAL, (5,)), None),
    ],
)
def test_what_must_be_constant_is_refused_where_it_is_computed(
    name: str, given: Sequence[Given], result: tuple[Type, tuple[int, ...]], options: Options | None
) -> None:
    assert "is computed when the model runs, but must be a constant" in reason(name, given, result, options)


@pytest.mark.parametrize(
    ("name", "given", "result", "options", "text"),
    [
        ("RANGE", [(INTEGER, 0), (INTEGER, 1 << 30), (INTEGER, 1)], (INTEGER, (9,)), None, "1073741824"),
        ("RANGE", [(INTEGER, 0), (INTEGER, 4), (INTEGER, 0)], (INTEGER, (4,)), None, "0 apart"),
        (
            "ONE_HOT", [(INTEGER, [3]), (INTEGER, 1 << 30), (REAL, 1.0), (REAL, 0.0)],
            (REAL, (3, 1 << 30)), OneHotOptions(-1), "too many to be numbered",
        ),
        ("TOPK_V2", [(REAL, [2, 9]), (INTEGER, 10)], (REAL, (2, 10)), None, "10 of 9"),
        ("BITCAST", [(INTEGER, [4])], (REAL, (4,)), None, "float32"),
        (
            "REVERSE_SEQUENCE", [(REAL, [4, 4]), (INTEGER, [4])],
            (REAL, (4, 4)), ReverseSequenceOptions(1, 1), "both along dimension 1",
        ),
        (
            "REDUCE_WINDOW",
            [(REAL, [3]), (REAL, 0.0), *((Type.INT64, np.array([one])) for one in (5, 1, 1))],
            (REAL, (1,)), ReduceWindowOptions(ReduceFunction.ADD), "do not fit into 3",
        ),
        ("REDUCE_PROD", [(Type.INT8, [9999]), (INTEGER, (0,))], (Type.INT8, ()), ReducerOptions(), "9999"),
        ("MATRIX_SET_DIAG", [(REAL, [3, 4]), (REAL, [4])], (REAL, (3, 4)), None, "[4]"),
        ("GATHER_ND", [(REAL, [3]), (INTEGER, [2, 2])], (REAL, (2,)), None, "[2, 2]"),
        ("RFFT2D", [(REAL, [4, 4]), (INTEGER, (3, 4))], (Type.COMPLEX64, (3, 3)), None, "powers of two"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_its_numbers(
    name: str,
    given: Sequence[Given],
    result: tuple[Type, tuple[int, ...]],
    options: Options | None,
    text: str,
) -> None:
    assert text in reason(name, given, result, options)


@pytest.mark.parametrize("keys", [[1, 1], [2, 1], [1, 2, 3]])
def test_keys_that_are_not_in_order_are_refused(keys: list[int]) -> None:
    sketch = Sketch("HASHTABLE_LOOKUP", 1)
    places = [sketch.given(INTEGER, [1]), sketch.constant(INTEGER, keys), sketch.given(REAL, [0.5, 1.5])]
    found = [sketch.result(REAL, (1,)), sketch.result(Type.UINT8, (1,), scale=(), zero_point=())]
    sketch.add(places, found)
    with pytest.raises(ModelError, match="its keys are not one for each row of its table"):
        tj.load(sketch.case().model)


def test_indices_of_another_number_of_rows_are_refused() -> None:
    sketch = Sketch("EMBEDDING_LOOKUP_SPARSE", 1)
    places = [sketch.given(INTEGER, [1, 0]), sketch.given(INTEGER, [[0, 0]])]
    places += [
        sketch.constant(INTEGER, [1, 1]),
        sketch.given(REAL, [1.0, 1.0]),
        sketch.given(REAL, [[1.0], [2.0]]),
    ]
    sketch.add(places, sketch.result(REAL, (1, 1)), EmbeddingLookupSparseOptions())
    with pytest.raises(ModelError, match=r"its indices are \[1, 2\], but it looks up \[2\]"):
        tj.load(sketch.case().model)
