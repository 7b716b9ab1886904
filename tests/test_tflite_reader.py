"""TFLite files are read by tables of our own, and damage is told by byte and field."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from enum import EnumType
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases.files import RawModel, RawOperator, RawSparsity, RawSubgraph, RawTensor, _Writer
from tosajit.frontends.frame import Refused, proportion
from tosajit.frontends.tflite.fields import Activation, Padding, layout
from tosajit.frontends.tflite.operand import Described
from tosajit.frontends.tflite.options import OPTIONS, OPTIONS_2, AddOptions, Conv2DOptions, SplitOptions
from tosajit.frontends.tflite.reader import read_model
from tosajit.frontends.tflite.records import Dimension, Sparsity
from tosajit.frontends.tflite.schema import OPERATORS, Type
from tosajit.frontends.tflite.sparse import dense


def sum_of(
    *, data: bytes | None = None, shape: tuple[int, ...] = (2, 3), kind: Type = Type.FLOAT32
) -> RawModel:
    tensors = [
        RawTensor("x", Type.FLOAT32, (2, 3)),
        RawTensor("constant", kind, shape, np.ones(6, np.float32).tobytes() if data is None else data),
        RawTensor("y", Type.FLOAT32, (2, 3)),
    ]
    operators = [RawOperator("ADD", (0, 1), (2,), AddOptions(Activation.RELU6), 2)]
    return RawModel([RawSubgraph(tensors, operators, [0], [2], "main")])


def test_records_have_what_the_file_says() -> None:
    model = read_model(sum_of().bytes())
    (subgraph,) = model.subgraphs
    (operator,) = subgraph.operators
    assert (operator.name, operator.version, operator.inputs, operator.outputs) == ("ADD", 2, (0, 1), (2,))
    assert operator.options == AddOptions(Activation.RELU6)
    assert [tensor.name for tensor in subgraph.tensors] == ["x", "constant", "y"]
    constant = subgraph.tensors[1].data
    assert constant is not None
    np.testing.assert_array_equal(constant, np.ones((2, 3), np.float32))
    assert subgraph.tensors[0].data is None


def test_constants_are_views_of_the_file() -> None:
    data = sum_of().bytes()
    constant = read_model(data).subgraphs[0].tensors[1].data
    assert constant is not None
    assert np.shares_memory(constant, np.frombuffer(data, np.uint8))


@pytest.mark.parametrize("kind", [*OPTIONS.values(), *OPTIONS_2.values()], ids=lambda kind: kind.__name__)
def test_options_are_read_as_they_were_written(kind: type) -> None:
    rng = random.Random(kind.__name__)
    chosen = {name: drawn(rng, storage) for name, storage, _ in layout(kind)}
    options = kind(**chosen)
    operator = RawOperator("CUSTOM_OF_MINE", (), (), options)
    model = read_model(RawModel([RawSubgraph([], [operator], [], [])]).bytes())
    assert model.subgraphs[0].operators[0].options == options


def drawn(rng: random.Random, storage: object) -> object:
    if isinstance(storage, EnumType):
        members: list[object] = list(storage)
        return rng.choice(members)
    if isinstance(storage, str) and storage[0] == "[":
        return tuple(drawn(rng, storage[1]) for _ in range(3))
    drawing: dict[object, Callable[[], object]] = {
        str: lambda: "text",
        "?": lambda: rng.random() < 0.5,
        "f": lambda: float(np.float32(rng.uniform(-9, 9))),
        "B": lambda: rng.randrange(256),
        "I": lambda: rng.randrange(1 << 32),
        "i": lambda: rng.randrange(-99, 99),
        "q": lambda: rng.randrange(-1 << 60, 1 << 60),
    }
    return drawing[storage]()


@pytest.mark.parametrize(
    ("kind", "data", "elements"),
    [
        (Type.INT4, bytes([0x21, 0xF3, 0x08]), [1, 2, 3, -1, -8]),
        (Type.UINT4, bytes([0x21, 0xF3, 0x08]), [1, 2, 3, 15, 8]),
        (Type.INT2, bytes([0b11_10_01_00, 0b01]), [0, 1, -2, -1, 1]),
    ],
)
def test_narrow_elements_share_bytes(kind: Type, data: bytes, elements: list[int]) -> None:
    model = read_model(sum_of(data=data, shape=(5,), kind=kind).bytes())
    found = model.subgraphs[0].tensors[1].data
    assert found is not None
    assert found.tolist() == elements


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (replace(sum_of(), version=2), r"version\): expected version 3, found 2"),
        (RawModel([]), r"subgraphs\): expected at least one subgraph"),
        (sum_of(data=bytes(23)), r"tensors\[1\]\.buffer\): expected 24 bytes for float32\[2, 3\], found 23"),
        (sum_of(shape=(2, -3)), r"tensors\[1\]\.shape\): expected extents from 0"),
        (sum_of(shape=(1 << 30, 1 << 30)), r"tensors\[1\]\.shape\): expected extents from 0"),
    ],
)
def test_damage_is_told_by_field(model: RawModel, message: str) -> None:
    with pytest.raises(tj.FileError, match=message):
        read_model(model.bytes())


def test_references_to_what_is_not_there_are_refused() -> None:
    (subgraph,) = sum_of().subgraphs
    for broken, message in (
        (replace(subgraph, outputs=[3]), "expected one of 3 tensors, found 3"),
        (
            replace(subgraph, operators=[RawOperator("ADD", (0, 7), (2,))]),
            "expected one of 3 tensors, found 7",
        ),
        (
            replace(subgraph, operators=[RawOperator("ADD", (0, 1), (-1,))]),
            "expected one of 3 tensors, found -1",
        ),
    ):
        with pytest.raises(tj.FileError, match=message):
            read_model(RawModel([broken]).bytes())


def test_scales_along_a_dimension_are_as_many_as_it_has() -> None:
    (subgraph,) = sum_of().subgraphs
    tensors = [RawTensor("x", Type.INT8, (2, 3), scale=(0.5, 0.25), axis=1), *subgraph.tensors[1:]]
    with pytest.raises(tj.FileError, match=r"quantization\.scale\).*found 2 along 1"):
        read_model(RawModel([replace(subgraph, tensors=tensors)]).bytes())
    tensors[0] = replace(tensors[0], axis=0)
    found = read_model(RawModel([replace(subgraph, tensors=tensors)]).bytes()).subgraphs[0].tensors[0]
    assert found.quantization is not None
    assert (found.quantization.scale, found.quantization.zero_point) == ((0.5, 0.25), (0, 0))


def test_every_builtin_operator_has_its_number() -> None:
    operators = [RawOperator(name, (), (), version=4) for name in OPERATORS if name != "CUSTOM"]
    found = read_model(RawModel([RawSubgraph([], operators, [], [])]).bytes()).subgraphs[0].operators
    assert [one.name for one in found] == [one.name for one in operators]
    assert {one.version for one in found} == {4}


def test_convolutions_have_the_defaults_of_the_schema() -> None:
    found = read_model(
        RawModel([RawSubgraph([], [RawOperator("CONV_2D", (), (), Conv2DOptions())], [], [])]).bytes()
    )
    options = found.subgraphs[0].operators[0].options
    assert isinstance(options, Conv2DOptions)
    assert (options.padding, options.stride_h, options.dilation_h_factor) == (Padding.SAME, 0, 1)


def test_mutated_files_are_read_or_refused() -> None:
    whole = sum_of().bytes()
    rng = random.Random(13)
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            tj.load(bytes(data[: rng.randrange(len(data))] if rng.random() < 0.2 else data))
        except tj.TosaError:
            pass


@pytest.mark.parametrize(
    ("dimensions", "fault"),
    [
        ((2, ((0, 1, 3), [0, 1, 7])), "within"),
        ((2, ((0, 1, 3), [0, 1, 4])), r"expected elements within \[2, 4\]"),
        ((2, ((0, 1, 4), [0, 1, 2])), "segments of 3 indices"),
        ((3, 3), "at most 8 elements"),
        ((2, ((0, 1), [0, 1, 2])), "expected 3 segments"),
        ((2, ((0, 9, 3), [0, 1, 2])), "segments of 3 indices"),
        ((2, ((0, 2, 1), [0, 1, 2])), "at most 8 elements"),
        ((2, 1 << 30), "at most 8 elements"),
        ((2, 4), "expected 8 elements, found 3"),
    ],
)
def test_a_damaged_sparse_constant_is_told(dimensions: Any, fault: str) -> None:
    data = np.ones(3, np.float32).tobytes()
    sparse = RawTensor("w", Type.FLOAT32, (2, 4), data, sparsity=RawSparsity((0, 1), (), dimensions))
    result = RawTensor("y", Type.FLOAT32, (2, 4))
    model = RawModel([RawSubgraph([sparse, result], [RawOperator("DENSIFY", (0,), (1,))], [], [1])])
    with pytest.raises(tj.FileError, match=fault):
        tj.load(model.bytes())


def test_a_sparse_constant_may_lack_one_element() -> None:
    sparsity = Sparsity((0, 1), (), (Dimension(2, None, None), Dimension(4, None, None)))
    elements = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(dense(elements, (2, 4), sparsity), elements.reshape(2, 4))
    with pytest.raises(ValueError, match="expected 8 elements, found 7"):
        dense(elements[:7], (2, 4), sparsity)


def test_the_last_element_of_a_sparse_row_counts() -> None:
    sparsity = Sparsity((0, 1), (), (Dimension(2, None, None), Dimension(0, (0, 2, 3), (0, 3, 2))))
    found = dense(np.array([5, 6, 7], np.int8), (2, 4), sparsity)
    assert found.tolist() == [[5, 0, 0, 6], [0, 0, 7, 0]]


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        (Type.INT2, -2, 1),
        (Type.INT4, -8, 7),
        (Type.INT8, -128, 127),
        (Type.UINT8, 0, 255),
        (Type.INT16, -32768, 32767),
    ],
)
def test_zero_points_are_numbers_of_the_type(kind: Type, least: int, most: int) -> None:
    def described(point: int) -> Described:
        raw = RawTensor("x", kind, (2,), scale=(0.5,), zero_point=(point,))
        return Described(
            read_model(RawModel([RawSubgraph([raw], [], [], [])]).bytes()).subgraphs[0].tensors[0]
        )

    moved = 128 if kind is Type.UINT8 else 0
    for point in (least, most):
        assert described(point).zero_points == (point - moved,)
        assert described(point).bounds == (least - moved, most - moved)
    for point in (least - 1, most + 1):
        with pytest.raises(Refused, match=f"x has a zero point outside of {kind.label}"):
            described(point).zero_points  # noqa: B018


def test_a_signature_names_what_is_there() -> None:
    (subgraph,) = sum_of().subgraphs
    for signature, fault in (
        (("half", 1, {}, {}), r"subgraph_index\): expected one of 1 subgraphs, found 1"),
        (("half", 0, {"x": 3}, {}), r"tensor_index\): expected one of 3 tensors, found 3"),
        (("half", 0, {}, {"y": 3}), r"tensor_index\): expected one of 3 tensors, found 3"),
    ):
        with pytest.raises(tj.FileError, match=fault):
            read_model(RawModel([subgraph], [signature]).bytes())
    found = read_model(RawModel([subgraph], [("half", 0, {"x": 2}, {"y": 2})]).bytes()).signatures
    assert [(one.inputs, one.outputs) for one in found] == [((("x", 2),), (("y", 2),))]


@pytest.mark.parametrize(("more", "is_there"), [(0, True), (1, False)])
def test_buffers_may_be_behind_the_flatbuffer(
    more: int, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, ones = sum_of(), np.arange(6, dtype=np.float32).tobytes()
    place = [1 << 20, 24]

    def buffer(self: Any, data: bytes) -> int:
        return int(
            self.table(("o", 0), ("Q", place[0]), ("Q", place[1])) if data else self.table(("o", 0), ("Q", 1))
        )

    monkeypatch.setattr(_Writer, "buffer", buffer)
    size = len(model.bytes())
    place[:] = size + more, len(ones)
    data = model.bytes() + ones
    assert len(data) == size + len(ones)
    if is_there:
        constant = read_model(data).subgraphs[0].tensors[1].data
        assert constant is not None
        assert constant.tolist() == [[0, 1, 2], [3, 4, 5]]
    else:
        with pytest.raises(
            tj.FileError, match=f"expected 24 bytes at {size + 1}, but the file ends at {size + 24}"
        ):
            read_model(data)


def test_a_constant_that_is_a_result_is_found_again() -> None:
    pair = np.array([2, 3], np.int32)
    tensors = [RawTensor("c", Type.INT32, (2,), pair.tobytes()), RawTensor("axis", Type.INT32, (), bytes(4))]
    tensors += [RawTensor(name, Type.INT32, (2,)) for name in ("part", "shape")]
    operators = [
        RawOperator("SPLIT", (1, 0), (2,), SplitOptions(1)),
        RawOperator("BROADCAST_ARGS", (0, 0), (3,)),
    ]
    graph = tj.load(RawModel([RawSubgraph(tensors, operators, [], [2, 3])]).bytes())
    assert [one.name for one in graph.outputs] == ["part", "shape"]
    for found in tj.compile(graph)():
        np.testing.assert_array_equal(found, pair)


def test_a_graph_is_in_proportion_to_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proportion, "_FREE_NODES", 1)
    monkeypatch.setattr(proportion, "_NODES", 1)
    monkeypatch.setattr(proportion, "_MORE_NODES", 0)
    with pytest.raises(tj.FileError, match=r"y \(ADD\): expected a graph in proportion to its file"):
        tj.load(sum_of().bytes())


def test_a_large_file_may_have_more_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proportion, "_FREE_NODES", 0)
    monkeypatch.setattr(proportion, "_NODES", 0)
    assert len(sum_of().bytes()) >= 4 * 3
    assert tj.load(sum_of().bytes()).outputs[0].name == "y"
