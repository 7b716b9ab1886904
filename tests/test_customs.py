"""CUSTOM operators of tosajit's own: known in every file, whatever its attributes say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.building import add_all
from tests.tflite_cases import Sketch, draw
from tosajit import customs
from tosajit.customs.attributes import written
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.tflite.schema import Type
from tosajit.graph import Graph
from tosajit.operators import CUSTOM
from tosajit.tracing.builder import GraphBuilder


def suppression(attributes: bytes, name: str = "NON_MAX_SUPPRESSION", most: int = 2) -> Graph:
    builder = GraphBuilder()
    operands = [builder.input("boxes", FP32, (3, 4)), builder.input("scores", FP32, (3,))]
    operands += [builder.input(one, FP32, (1,)) for one in ("iou", "score", "sigma")]
    operator = CUSTOM(operator_name=name, domain_name=customs.DOMAIN, implementation_attrs=attributes)
    builder.output(*add_all(builder, operator, operands, [(INT32, (most,)), (FP32, (most,)), (INT32, ())]))
    return builder.build()


def operands(sigma: float = 0.0) -> list[Any]:
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]], np.float32)
    numbers = [np.array([one], np.float32) for one in (0.5, 0.0, sigma)]
    return [boxes, np.array([0.5, 0.9, 0.7], np.float32), *numbers]


def test_a_written_file_keeps_the_meaning() -> None:
    graph = tj.from_bytes(tj.to_bytes(suppression(written(max_output_size=2))))
    places, scores, count = tj.compile(graph)(*operands())
    assert (places.tolist(), scores.tolist(), count) == ([1, 2], [np.float32(0.9), np.float32(0.7)], 2)


def test_what_is_registered_comes_before_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from tosajit.compiler import options

    monkeypatch.setattr(options, "_registered", {})
    results = np.array([7, 7], np.int32), np.zeros(2, np.float32), np.array(2, np.int32)
    tj.register_custom(customs.DOMAIN, "NON_MAX_SUPPRESSION", lambda *arrays: results)
    assert tj.compile(suppression(b"{}"))(*operands())[0].tolist() == [7, 7]


@pytest.mark.parametrize("name", ["os.system", "__import__", "NON_MAX_SUPPRESSION_", "customs.detection"])
def test_other_names_of_the_domain_mean_nothing(name: str) -> None:
    with pytest.raises(tj.CompileError, match="is not registered"):
        tj.compile(suppression(b"{}", name))


@pytest.mark.parametrize(
    "attributes",
    [
        b"", b"{}", b"[]", b"\xff", b"[" * 4000, b'{"max_output_size": "2"}', b'{"max_output_size": 1e300}',
        b'{"max_output_size": 1000000000000}', b'{"max_output_size": -1}', b'{"max_output_size": NaN}',
        b'{"max_output_size": 2, "more": [1]}', b" " * 5000,
    ],
    ids=range(12),
)  # fmt: skip
def test_attributes_that_make_no_sense_are_an_error(attributes: bytes) -> None:
    with pytest.raises(tj.InputError, match=r"NON_MAX_SUPPRESSION .*make no sense"):
        tj.compile(suppression(attributes))(*operands())


def test_a_count_that_differs_from_the_outputs_is_an_error() -> None:
    with pytest.raises(tj.InputError, match=r"gave int32\[1\], but the output is"):
        tj.compile(suppression(written(max_output_size=1)))(*operands())


def test_operands_that_are_no_boxes_are_an_error() -> None:
    given = operands()
    builder = GraphBuilder()
    names = [builder.input(str(number), FP32, array.shape) for number, array in enumerate(given[:2])]
    operator = CUSTOM(operator_name="DETECTION_POST_PROCESS", domain_name=customs.DOMAIN)
    builder.output(*add_all(builder, operator, names, [(FP32, (1,))]))
    with pytest.raises(tj.InputError, match=r"DETECTION_POST_PROCESS .*make no sense"):
        tj.compile(builder.build())(*given[:2])


def test_a_report_says_what_the_host_computes() -> None:
    detector = tj.load(draw("TFLite_Detection_PostProcess", "uint8", 1).model)
    report = tj.simulate(detector)
    assert report.cycles > 0
    assert report.program == "graph (without DETECTION_POST_PROCESS, on the host)"


def test_every_operator_has_a_meaning() -> None:
    assert all(customs.meaning(name) is not None for name in customs.names())


@pytest.mark.parametrize("name", ["WHERE", "UNIQUE"])
def test_results_as_long_as_what_is_found_are_for_outputs_alone(name: str) -> None:
    from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
    from tosajit.frontends.tflite.options import AddOptions

    shapes = {"WHERE": (4, 1), "UNIQUE": (4,)}
    tensors = [RawTensor("x", Type.FLOAT32, (4,)), RawTensor("y", Type.INT64, shapes[name])]
    tensors += [RawTensor("z", Type.INT64, (4,)), RawTensor("w", Type.INT64, shapes[name])]
    outputs = (1,) if name == "WHERE" else (2, 1)
    nodes = [RawOperator(name, (0,), outputs), RawOperator("ADD", (1, 1), (3,), AddOptions())]
    with pytest.raises(tj.ModelError, match="how long its result is depends on what is found"):
        tj.load(RawModel([RawSubgraph(tensors, nodes, [0], [3])]).bytes())


def test_places_in_a_constant_are_known_when_the_model_is_read() -> None:
    sketch = Sketch("WHERE", 1)
    mask = sketch.constant(Type.FLOAT32, [0.0, 3.0, 0.0, 1.0])
    value, places = sketch.operand(Type.FLOAT32, (4, 2), constant=False), sketch.tensor(Type.INT64, (2, 1))
    sketch.add([mask], places)
    sketch.add([value, places], sketch.result(Type.FLOAT32, (2, 2)), name="GATHER_ND")
    case = sketch.case()
    (rows,) = case.calls[0]
    np.testing.assert_array_equal(tj.compile(tj.load(case.model))(rows), rows[[1, 3]])
