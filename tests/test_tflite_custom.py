"""Custom operators of TFLite models become CUSTOM nodes, which run where they have been registered."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases import draw
from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tosajit.arrays import Array
from tosajit.customs.attributes import numbers
from tosajit.errors import CompileError
from tosajit.frontends.tflite.schema import Type

ATTRIBUTES = b"\x01\x02\xff"


def model(name: str, *, kind: Type = Type.FLOAT32, version: int = 1, left_out: bool = False) -> bytes:
    tensors = [RawTensor("x", kind, (2,)), RawTensor("layer/y", kind, (2,))]
    operands = (0, -1) if left_out else (0,)
    node = RawOperator(name, operands, (1,), None, version, ATTRIBUTES, custom=True)
    return RawModel([RawSubgraph(tensors, [node], [0], [1])]).bytes()


def doubled(values: Array, attributes: bytes) -> Array:
    assert attributes == ATTRIBUTES
    return values * np.float32(2)


def test_a_custom_operator_keeps_its_name_and_attributes() -> None:
    (node,) = tj.load(model("MyDouble")).nodes
    assert isinstance(node.operator, tj.operators.CUSTOM)
    assert (node.operator.domain_name, node.operator.operator_name) == ("tflite", "MyDouble")
    assert node.operator.implementation_attrs == ATTRIBUTES
    assert node.name == "layer/y"


def test_it_runs_as_what_was_registered_also_from_a_written_file(tmp_path: Path) -> None:
    tj.save(tj.load(model("TestOnlyDouble")), tmp_path / "model.tosa")
    tj.register_custom("tflite", "TestOnlyDouble", doubled)
    for source in (tj.load(model("TestOnlyDouble")), tj.load(tmp_path / "model.tosa")):
        found = tj.compile(source)(np.array([1, 2], np.float32))
        assert found.tolist() == [2, 4]


def test_where_it_is_not_registered_an_error_says_how() -> None:
    with pytest.raises(CompileError, match=r"layer/y \(CUSTOM\).*tj.register_custom\('tflite', 'NotThere'"):
        tj.compile(tj.load(model("NotThere")))


def test_a_custom_operator_with_a_builtin_name_is_not_that_one() -> None:
    (node,) = tj.load(model("ABS")).nodes
    assert isinstance(node.operator, tj.operators.CUSTOM)


@pytest.mark.parametrize("version", [0, 1, 1 << 30])
def test_its_version_is_its_own_affair(version: int) -> None:
    (node,) = tj.load(model("MyDouble", version=version)).nodes
    assert isinstance(node.operator, tj.operators.CUSTOM)


def test_an_operand_that_is_left_out_is_refused() -> None:
    with pytest.raises(tj.ModelError, match="operand 1 is missing"):
        tj.load(model("MyDouble", left_out=True))


def test_strings_are_refused() -> None:
    with pytest.raises(tj.ModelError, match="which TOSA has no type for"):
        tj.load(model("MyDouble", kind=Type.STRING))


def transposing(options: bytes) -> bytes:
    shapes = (1, 2, 3, 4), (5, 3, 2, 4), (5,), (1, 6, 6, 5)
    tensors = [RawTensor(name, Type.FLOAT32, shape) for name, shape in zip("xwby", shapes, strict=True)]
    node = RawOperator("Convolution2DTransposeBias", (0, 1, 2), (3,), None, 1, options, custom=True)
    return RawModel([RawSubgraph(tensors, [node], [0, 1, 2], [3])]).bytes()


def test_mediapipe_transposed_convolutions_are_transpose_conv2d_with_strides_by_width_first() -> None:
    graph = tj.load(transposing(struct.pack("<3i", 2, 2, 3)))
    (found,) = [
        one.operator for one in graph.nodes if isinstance(one.operator, tj.operators.TRANSPOSE_CONV2D)
    ]
    assert found.stride == (3, 2)
    assert graph.outputs[0].shape == (1, 6, 6, 5)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (b"", "have 0 bytes"),
        (struct.pack("<2i", 1, 2), "have 8 bytes, but must have 12"),
        (struct.pack("<3i", 0, 2, 2), r"padding is 0, but must be 1 \(SAME\) or 2 \(VALID\)"),
        (struct.pack("<3i", 2, 0, 2), "strides are 2 and 0, but must be at least 1"),
        (struct.pack("<3i", 1, 2, -1), "strides are -1 and 2"),
    ],
)
def test_damaged_options_of_a_transposed_convolution_are_refused(options: bytes, fault: str) -> None:
    with pytest.raises(tj.TosaError, match=fault):
        tj.load(transposing(options))


def test_detections_are_many_and_not_regular_where_nothing_else_is_said() -> None:
    said = []
    for seed in range(25):
        graph = tj.load(draw("TFLite_Detection_PostProcess", "float32", seed).model)
        (found,) = [one.operator for one in graph.nodes if isinstance(one.operator, tj.operators.CUSTOM)]
        options = numbers(found.implementation_attrs)
        said.append((options["detections_per_class"], bool(options["use_regular_nms"])))
    assert (100, False) in said
    assert (100, True) not in said
    assert max(count for count, _ in said if count != 100) <= 20
