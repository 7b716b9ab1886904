"""What the public converter gets wrong or leaves out (tosa-converter-for-tflite 2026.2) is right here."""

from __future__ import annotations

import numpy as np
import pytest
from litert import LiteRT

import tosajit as tj
from tests.tflite_cases import draw, drawn
from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tests.tflite_cases.running import fault
from tosajit.frontends.tflite.options import AddOptions, FullyConnectedOptions, SoftmaxOptions
from tosajit.frontends.tflite.schema import Type

LEFT = (
    *(("SOFTMAX", "int16"), ("GELU", "float32"), ("LOG_SOFTMAX", "int8"), ("L2_NORMALIZATION", "int8")),
    *(("CUMSUM", "float32"), ("TOPK_V2", "int8"), ("REDUCE_PROD", "float32"), ("GREATER", "int8")),
    *(("GELU", "int8"), ("RSQRT", "int8"), ("REDUCE_PROD", "int16"), ("ABS", "int8"), ("SQRT", "int8")),
    *(("EXP", "int16"), ("CONV_2D", "int16"), ("ELU", "int8"), ("SIN", "float32"), ("CEIL", "float32")),
    *(("NEG", "float32"), ("CONV_3D", "float32"), ("DENSIFY", "int8"), ("ASSIGN_VARIABLE", "float32")),
    ("IF", "int8"),
)
"""Operators and types that it wraps, refuses or leaves as floating point."""


@pytest.mark.parametrize(("name", "kind"), LEFT, ids=lambda one: one)
def test_it_gives_what_litert_gives(name: str, kind: str, litert: LiteRT) -> None:
    for seed in (21, 22):
        assert fault(draw(name, kind, seed), litert) is None


def test_a_softmax_of_a_thousand_equal_classes_is_defined() -> None:
    tensors = [
        RawTensor("x", Type.INT8, (1, 1000), scale=(0.1,), zero_point=(0,)),
        RawTensor("y", Type.INT8, (1, 1000), scale=(1 / 256,), zero_point=(-128,)),
    ]
    node = RawOperator("SOFTMAX", (0,), (1,), SoftmaxOptions(beta=1.0))
    graph = tj.load(RawModel([RawSubgraph(tensors, [node], [0], [1])]).bytes())
    found = tj.compile(graph, checked=True)(np.zeros((1, 1000), np.int8))
    np.testing.assert_array_equal(found, np.full((1, 1000), -128, np.int8))  # 0.256 of a step


def test_an_open_batch_is_one() -> None:
    tensors = [RawTensor(name, Type.FLOAT32, (1, 2), signature=(-1, 2)) for name in "xy"]
    node = RawOperator("ADD", (0, 0), (1,), AddOptions())
    graph = tj.load(RawModel([RawSubgraph(tensors, [node], [0], [1])]).bytes())
    assert [value.shape for value in (*graph.inputs, *graph.outputs)] == [(1, 2), (1, 2)]


def test_what_does_not_fit_an_open_extent_names_the_input_and_the_remedy() -> None:
    tensors = [
        RawTensor("sound", Type.FLOAT32, (1, 1), signature=(1, -1)),
        RawTensor("weights", Type.FLOAT32, (1, 2), data=np.ones((1, 2), np.float32).tobytes()),
        RawTensor("y", Type.FLOAT32, (1, 1)),
    ]
    node = RawOperator("FULLY_CONNECTED", (0, 1, -1), (2,), FullyConnectedOptions())
    with pytest.raises(tj.ModelError) as caught:
        tj.load(RawModel([RawSubgraph(tensors, [node], [0], [2])]).bytes())
    first, second = caught.value.refusals
    text = "sound (input): its shape is [1, ?], and taken as [1, 1]; give shapes={'sound': (…)}"
    assert (str(first), second.operator) == (text, "FULLY_CONNECTED")


def test_every_one_of_them_is_drawn() -> None:
    assert [one for one in LEFT if one[1] not in drawn()[one[0]].types] == []
