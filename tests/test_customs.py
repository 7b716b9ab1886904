"""CUSTOM operators of tosajit's own: known in every file, whatever its attributes say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.building import add_all
from tests.tflite_cases import Sketch, draw
from tosajit import customs
from tosajit.customs.attributes import count, numbers, written
from tosajit.customs.detection import decoded, detection_post_process
from tosajit.customs.heap import partial_sort, pop, push
from tosajit.customs.suppression import intersection_over_union, non_max_suppression
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


KEYS = (3, 1, 4, 1, 5, 2, 2, 5, 3, 1)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, KEYS[:0]), (1, (4,)), (2, (7, 4, 1, 3, 0, 5, 6, 2, 8, 9)), (3, (7, 4, 2, 3, 1, 5, 6, 0, 8, 9)),
        (5, (4, 7, 2, 8, 0, 3, 1, 5, 6, 9)), (6, (4, 7, 2, 8, 0, 6, 3, 1, 5, 9)),
        (9, (4, 7, 2, 0, 8, 5, 6, 1, 3, 9)), (10, (4, 7, 2, 8, 0, 5, 6, 3, 1, 9)),
    ],
)  # fmt: skip
def test_equal_elements_are_sorted_as_libstdcxx_does(count: int, expected: tuple[int, ...]) -> None:
    found = partial_sort(range(10), count, lambda one, other: KEYS[one] > KEYS[other])
    assert tuple(found[: len(expected)]) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, [0]), (2, [0, 1]), (3, [2, 0, 1]), (4, [2, 0, 1, 3]), (7, [4, 2, 0, 5, 6, 3, 1]),
        (8, [4, 7, 2, 0, 5, 6, 3, 1]),
    ],
)  # fmt: skip
def test_equal_elements_leave_a_heap_as_in_libstdcxx(count: int, expected: list[int]) -> None:
    heap: list[int] = []

    def less(one: int, other: int) -> bool:
        return KEYS[one] < KEYS[other]

    for element in range(count):
        push(heap, element, less)
    assert [pop(heap, less) for _ in range(count)] == expected


@pytest.mark.parametrize("number", [0, 1, 1 << 20])
def test_counts_have_a_limit(number: int) -> None:
    assert count({"n": number}, "n") == number


@pytest.mark.parametrize("number", [-1, (1 << 20) + 1])
def test_counts_beyond_the_limit_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"n is {number}, but must be from 0 to 1048576"):
        count({"n": number}, "n")


def test_attributes_may_be_so_long() -> None:
    assert numbers(b'{"n": 2}'.ljust(4096)) == {"n": 2}
    with pytest.raises(ValueError, match="attributes of 4097 bytes, where 4096 are enough"):
        numbers(b'{"n": 2}'.ljust(4097))


def suppressed(
    boxes: Any, scores: Any, most: int = 4, iou: float = 0.5, least: float = 0.0, sigma: float = 0.0
) -> tuple[list[int], list[float]]:
    """The boxes that are kept, and their scores; behind them zeros."""
    limit, lowest, width = (np.array([one], np.float32) for one in (iou, least, sigma))
    given = np.array(boxes, np.float32), np.array(scores, np.float32), limit, lowest, width
    places, kept, total = non_max_suppression(*given, written(max_output_size=most))
    assert len(places) == len(kept) == most
    assert not places[int(total) :].any()
    assert not kept[int(total) :].any()
    return places[: int(total)].tolist(), kept[: int(total)].tolist()


UNIT, HALF, APART = [0, 0, 2, 2], [0, 1, 2, 3], [5, 5, 7, 8]


def test_boxes_are_suppressed_from_the_limit_on() -> None:
    boxes = [UNIT, HALF, APART]
    scores = [0.5, 0.75, 0.25]
    assert suppressed(boxes, scores, iou=0.34) == ([1, 0, 2], [0.75, 0.5, 0.25])
    assert suppressed(boxes, scores, iou=float(np.float32(1) / np.float32(3))) == ([1, 2], [0.75, 0.25])
    assert suppressed(boxes, scores, most=1) == ([1], [0.75])
    assert suppressed(boxes, scores, most=0) == ([], [])


def test_corners_of_a_box_have_any_order() -> None:
    assert suppressed([[2, 2, 0, 0], [2, 3, 0, 1], [7, 5, 5, 8]], [0.5, 0.75, 0.25], iou=0.3)[0] == [1, 2]


def test_scores_have_to_be_above_the_least() -> None:
    assert suppressed([UNIT, APART, [9, 9, 10, 10]], [0.25, 0.5, 0.125], least=0.25) == ([1], [0.5])


def test_of_equal_scores_the_first_box_is_taken() -> None:
    assert suppressed([APART, UNIT, HALF], [0.5, 0.5, 0.5], iou=0.3)[0] == [0, 1]


def test_overlaps_lower_scores_softly() -> None:
    boxes, scores = [UNIT, HALF, APART], [0.5, 0.75, 0.25]
    lowered = float(np.float32(0.5) * np.float32(np.exp(np.float32(-0.5) / np.float32(0.5) / 9)))
    places, kept = suppressed(boxes, scores, iou=1.0, sigma=0.5)
    assert places == [1, 0, 2]
    np.testing.assert_allclose(kept, [0.75, lowered, 0.25], rtol=1e-6)
    assert suppressed(boxes, scores, iou=1.0, sigma=0.5, least=0.46)[0] == [1]
    assert suppressed(boxes, [0.5, 0.75, 0.47], iou=1.0, sigma=0.5)[0] == [1, 2, 0]


def test_ratios_of_boxes() -> None:
    lows, highs = (
        np.array(one, np.float32)
        for one in ([[0, 1], [2, 0], [0, 0], [1, 1]], [[2, 3], [4, 2], [2, 2], [1, 5]])
    )
    low, high = np.zeros(2, np.float32), np.full(2, 2, np.float32)
    found = intersection_over_union(low, high, lows, highs)
    np.testing.assert_array_equal(found, np.array([1 / 3, 0, 1, 0], np.float32))
    flat = intersection_over_union(low, low, lows, highs)
    np.testing.assert_array_equal(flat, np.zeros(4, np.float32))


OPTIONS: dict[str, Any] = {
    "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0, "nms_iou_threshold": 0.5,
    "nms_score_threshold": 0.25, "num_classes": 3, "max_detections": 2, "max_classes_per_detection": 2,
    "detections_per_class": 2, "use_regular_nms": False,
}  # fmt: skip
ANCHORS = np.array([[1, 1, 2, 2], [1, 1, 2, 2.5], [6, 6, 2, 2], [12, 12, 4, 4]], np.float32)
SCORES = np.array(
    [[9, 0.5, 0.25, 0.1], [9, 0.75, 0.3, 0.6], [9, 0.2, 0.25, 0.7], [9, 0.1, 0.2, 0.15]], np.float32
)


def detected(**given: Any) -> tuple[Any, ...]:
    attributes = written(**{**OPTIONS, **given})
    encodings = np.zeros((1, 4, 4), np.float32)
    found = detection_post_process(encodings, SCORES[None], ANCHORS, attributes)
    return tuple(one[0].tolist() for one in found[1:3]), int(found[3][0]), found[0][0]


def test_boxes_compete_by_their_best_classes() -> None:
    (classes, scores), total, boxes = detected()
    assert total == 2
    assert classes == [0, 2, 2, 1]
    np.testing.assert_array_equal(scores, np.array([0.75, 0.6, 0.7, 0.25], np.float32))
    np.testing.assert_array_equal(boxes, [[0, -0.25, 2, 2.25]] * 2 + [[5, 5, 7, 7]] * 2)


def test_boxes_compete_in_each_class() -> None:
    (classes, scores), total, boxes = detected(use_regular_nms=True, max_detections=3)
    assert total == 3
    assert classes == [0, 2, 2, 0, 0, 0]
    np.testing.assert_array_equal(scores, np.array([0.75, 0.7, 0.6, 0, 0, 0], np.float32))
    np.testing.assert_array_equal(boxes[:3], [[0, -0.25, 2, 2.25], [5, 5, 7, 7], [0, -0.25, 2, 2.25]])
    assert not boxes[3:].any()
    assert detected(use_regular_nms=True, max_detections=9, detections_per_class=1)[1] == 3


def test_there_may_be_fewer_classes_than_are_wanted() -> None:
    (classes, scores), total, _ = detected(max_classes_per_detection=4)
    assert total == 2
    assert classes == [0, 2, 1, 0, 2, 1, 0, 0]
    np.testing.assert_array_equal(scores[:4], np.array([0.75, 0.6, 0.3, 0], np.float32))


def test_boxes_are_as_far_from_anchors_as_is_said() -> None:
    encodings = np.array([[5, -10, 0, 5, 9]], np.float32)
    found = decoded(encodings, np.array([[1, 2, 4, 8]], np.float32), OPTIONS)
    wide = 4 * math.e
    np.testing.assert_allclose(found, [[1, -6 - wide, 5, -6 + wide]], rtol=1e-6)


def test_a_box_that_ends_before_it_begins_is_refused() -> None:
    for size in ([-1, 1], [1, -1]):
        with pytest.raises(tj.InputError, match="a box ends before it begins"):
            decoded(np.zeros((1, 4), np.float32), np.array([[1, 2, *size]], np.float32), OPTIONS)
    assert decoded(np.zeros((1, 4), np.float32), np.array([[1, 2, 0, 0]], np.float32), OPTIONS).shape == (
        1,
        4,
    )
