"""Detections and searches, which TOSA cannot say: they become CUSTOM operators of tosajit's own."""

from __future__ import annotations

from math import prod

import numpy as np

from tosajit.arrays import Array
from tosajit.customs.attributes import written
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common.custom import custom, suppressed
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.flexbuffer import read_map
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.quantization import dequantized
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor

_DEFAULTS = {"detections_per_class": 100, "use_regular_nms": False}
_SCALES = "y_scale", "x_scale", "h_scale", "w_scale"
_COUNTS = "max_detections", "max_classes_per_detection", "num_classes"
_THRESHOLDS = "nms_score_threshold", "nms_iou_threshold"

_DIMENSIONS = 8
"""How many dimensions a constant may have for its places to be known: they take 8 bytes for each of them."""


@operator("NON_MAX_SUPPRESSION_V4", types="float32", kind="custom")
def non_max_suppression_v4(node: Node) -> tuple[Tensor, ...]:
    """The places of boxes that overlap no better one too much, best first; zeros behind them."""
    places, _, count = _suppressed(node, np.zeros(1, np.float32))
    return places, count


@operator("NON_MAX_SUPPRESSION_V5", types="float32", kind="custom")
def non_max_suppression_v5(node: Node) -> tuple[Tensor, ...]:
    """The same with scores, which overlaps may lower."""
    return _suppressed(node, node[5].tensor)


@operator("TFLite_Detection_PostProcess", types="float32 uint8", kind="custom")
def detection_post_process(node: Node) -> tuple[Tensor, ...]:
    """Boxes, classes and scores of the best detections, from distances to anchors; zeros behind them."""
    given = _DEFAULTS | dict(read_map(node.record.custom_options))
    names = (*_COUNTS, *_THRESHOLDS, *_SCALES)
    missing = [name for name in names if name not in given]
    if missing:
        raise Refused(f"its options lack {' and '.join(missing)}")
    counts = {name: int(given[name]) for name in (*_COUNTS, "detections_per_class")}
    reals = {name: float(np.float32(given[name])) for name in (*_THRESHOLDS, *_SCALES)}
    regular = bool(given["use_regular_nms"])
    size = counts["max_detections"] * counts["max_classes_per_detection"]
    shapes = (1, size, 4), (1, size), (1, size), (1,)
    operands = [dequantized(one) if one.quantized else one.tensor for one in node.inputs]
    attributes = written(**counts, **reals, use_regular_nms=regular)
    return custom("DETECTION_POST_PROCESS", operands, [(FP32, shape) for shape in shapes], attributes)


def _places(node: Node) -> Array | None:
    """The places of elements of a constant, as many as there are."""
    return np.argwhere(node[0].raw) if node[0].rank <= _DIMENSIONS else None


@operator("WHERE", types="bool float32 int8 uint8 int32 int64", versions=2, kind="custom", fold=_places)
def where(node: Node) -> Tensor:
    """The places of elements that are not zero, in order; rows of -1 behind them, up to all elements."""
    value = _searched(node)
    shape = (prod(value.shape), value.rank)
    return custom("WHERE", [value.tensor], [(INT32, shape)], _zero(value))[0]


@operator("UNIQUE", types="float32 int8 uint8 int16 int32 int64", kind="custom")
def unique(node: Node) -> tuple[Tensor, ...]:
    """The different elements in order, zeros behind them up to all; and which of them each element is."""
    value = _searched(node)
    results = [(value.dtype, value.shape), (INT32, value.shape)]
    return custom("UNIQUE", [value.tensor], results, _zero(value))


def _suppressed(node: Node, sigma: Tensor | Array) -> tuple[Tensor, ...]:
    if not node[2].is_constant:
        raise Refused("how many boxes it may choose is computed, but must be a constant")
    (most,) = node[2].ints
    return suppressed([*(node[place].tensor for place in (0, 1, 3, 4)), sigma], most)


def _searched(node: Node) -> Operand:
    """What is searched, if nothing computes with results that are as long as what is found."""
    if any(map(node.subgraphs.uses, node.record.outputs)):
        text = "how long its result is depends on what is found, and other operators compute with it"
        raise Refused(text, "make it an output, and do what follows outside of the model")
    return node[0]


def _zero(value: Operand) -> bytes:
    return written(zero=-128 if value.type is Type.UINT8 else 0)
