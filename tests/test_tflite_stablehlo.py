"""Operators of StableHLO where LiteRT cannot say what is right, and what is refused of them."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases import Sketch
from tests.tflite_cases.stablehlo import body
from tosajit.frontends.tflite.options import (
    StablehloCaseOptions,
    StablehloGatherOptions,
    StablehloReduceWindowOptions,
    StablehloScatterOptions,
)
from tosajit.frontends.tflite.schema import Type

REAL = Type.FLOAT32
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)


def gathering(sizes: tuple[int, ...], collapsed: tuple[int, ...] = (0,)) -> Sketch:
    """A table, and indices of its rows without a dimension for their vectors."""
    sketch = Sketch("STABLEHLO_GATHER", 1)
    places = [sketch.given(REAL, TABLE), sketch.given(Type.INT32, np.array([2, 0], np.int32))]
    options = StablehloGatherOptions((1,), collapsed, (0,), 1, sizes)
    sketch.add(places, sketch.result(REAL, (2, 4)), options)
    return sketch


def test_indices_of_one_dimension_need_no_vectors() -> None:
    case = gathering((1, 4)).case()
    found = tj.compile(tj.load(case.model))(*case.calls[0])
    np.testing.assert_array_equal(found, TABLE[[2, 0]])


@pytest.mark.parametrize("sizes", [(1, 5), (0, 4), (1,)])
def test_parts_that_do_not_fit_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(tj.ModelError, match=r"are none of \[3, 4\]"):
        tj.load(gathering(sizes).case().model)


def test_parts_of_other_dimensions_than_the_result_are_refused() -> None:
    with pytest.raises(tj.ModelError, match=r"its parts have 2 dimensions, but \[1\] are said to be theirs"):
        tj.load(gathering((1, 4), ()).case().model)


def test_a_file_cannot_ask_for_more_parts_than_memory_has_room_for() -> None:
    sketch = Sketch("STABLEHLO_GATHER", 1)
    starts = sketch.constant(Type.INT32, np.zeros((2000, 2), np.int32))
    places = [sketch.operand(REAL, (0,), constant=False), starts]
    sketch.tensors[places[0]] = replace(sketch.tensors[places[0]], shape=(1 << 14, 1 << 14))
    options = StablehloGatherOptions((1, 2), (), (0, 1), 1, (1 << 10, 1 << 10))
    sketch.add(places, sketch.result(REAL, (2000, 1 << 10, 1 << 10)), options)
    tracemalloc.start()
    with pytest.raises(tj.ModelError, match="its parts have 2097152000 rows, but may at most have 4194304"):
        tj.load(sketch.case().model)
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


def test_scattering_by_several_operators_is_refused() -> None:
    sketch = Sketch("STABLEHLO_SCATTER", 1)
    places = [sketch.given(REAL, TABLE), sketch.given(Type.INT32, np.array([[2]], np.int32))]
    places.append(sketch.given(REAL, TABLE[:1]))
    body(sketch, REAL, "SUB")
    sketch.add(
        places, sketch.result(REAL, (3, 4)), StablehloScatterOptions(False, (1,), (0,), (0,), 1, False, 1)
    )
    with pytest.raises(tj.ModelError, match="it combines numbers by SUB, but must add or multiply or"):
        tj.load(sketch.case().model)


def test_windows_of_other_dimensions_are_refused() -> None:
    sketch = Sketch("STABLEHLO_REDUCE_WINDOW", 1)
    places = [sketch.given(REAL, TABLE), sketch.constant(REAL, np.float32(0))]
    body(sketch, REAL, "STABLEHLO_ADD")
    sketch.add(places, sketch.result(REAL, (3, 4)), StablehloReduceWindowOptions((1,), body_subgraph_index=1))
    with pytest.raises(tj.ModelError, match=r"its windows \[1\] are not those of 2 dimensions"):
        tj.load(sketch.case().model)


def test_a_choice_of_nothing_is_refused() -> None:
    sketch = Sketch("STABLEHLO_CASE", 1)
    sketch.add([sketch.given(Type.INT32, np.int32(0))], sketch.result(REAL, ()), StablehloCaseOptions())
    with pytest.raises(tj.ModelError, match="it has no subgraphs to choose from"):
        tj.load(sketch.case().model)
