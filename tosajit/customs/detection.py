"""What follows a detector, as TFLite_Detection_PostProcess does it: boxes, their classes, suppression."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tosajit.arrays import Array
from tosajit.customs.attributes import count, numbers
from tosajit.customs.heap import partial_sort
from tosajit.customs.suppression import intersection_over_union
from tosajit.errors import InputError

Options = Mapping[str, float]


def detection_post_process(
    encodings: Array, scores: Array, anchors: Array, attributes: bytes
) -> tuple[Array, Array, Array, Array]:
    """The boxes, classes and scores of the best detections, zeros behind them; and how many they are."""
    options = numbers(attributes)
    boxes = decoded(encodings[0], anchors, options)
    behind = scores.shape[2] - int(options["num_classes"])
    of_classes = scores[0, :, behind:]
    select = _of_each_class if options["use_regular_nms"] else _of_best_classes
    found, classes, kept, total = select(boxes, of_classes, options)
    size = count(options, "max_detections") * count(options, "max_classes_per_detection")
    results = (
        np.zeros((1, size, 4), np.float32),
        np.zeros((1, size), np.float32),
        np.zeros((1, size), np.float32),
    )
    for result, one in zip(results, (found, classes, kept), strict=True):
        result[0, : len(one)] = one[:size]
    return *results, np.array([total], np.float32)


def decoded(encodings: Array, anchors: Array, options: Options) -> Array:
    """Boxes from their distances to anchors: least y and x, greatest y and x."""
    given, anchor = encodings[:, :4].astype(np.float64), anchors.astype(np.float64)
    scales = np.array([options[name] for name in ("y_scale", "x_scale", "h_scale", "w_scale")])
    with np.errstate(all="ignore"):
        relative = given / scales
        centre = (relative[:, :2] * anchor[:, 2:] + anchor[:, :2]).astype(np.float32)
        half = (0.5 * np.exp(relative[:, 2:]) * anchor[:, 2:]).astype(np.float32)
        boxes = np.concatenate([centre - half, centre + half], axis=1)
    if (boxes[:, :2] > boxes[:, 2:]).any():
        raise InputError("DETECTION_POST_PROCESS anchors: a box ends before it begins")
    return boxes


def _of_best_classes(boxes: Array, scores: Array, options: Options) -> tuple[Array, Array, Array, int]:
    """Boxes compete by their best scores; each has its best classes."""
    wanted = count(options, "max_classes_per_detection")
    taken = min(wanted, scores.shape[1])
    order = np.array([_best_of(row, taken) for row in scores], np.int64).reshape(len(scores), taken)
    best = np.take_along_axis(scores, order[:, :1], axis=1)[:, 0]
    chosen = _suppressed(boxes, best, count(options, "max_detections"), options)
    shape = len(chosen), wanted
    found, classes = np.zeros((*shape, 4), np.float32), np.zeros(shape, np.float32)
    kept = np.zeros(shape, np.float32)
    found[:, :taken] = boxes[chosen, None]
    classes[:, :taken] = order[chosen]
    kept[:, :taken] = np.take_along_axis(scores[chosen], order[chosen], axis=1)
    return found.reshape(-1, 4), classes.reshape(-1), kept.reshape(-1), len(chosen)


def _best_of(scores: Array, wanted: int) -> list[int]:
    """The places of the greatest scores of a box."""
    values = scores.tolist()
    return partial_sort(range(len(values)), wanted, lambda one, other: values[one] > values[other])[:wanted]


def _of_each_class(boxes: Array, scores: Array, options: Options) -> tuple[Array, Array, Array, int]:
    """Boxes compete in each class alone; the best of all classes are kept."""
    kept: list[tuple[float, int, int]] = []
    for number in range(scores.shape[1]):
        column = scores[:, number]
        chosen = _suppressed(boxes, column, count(options, "detections_per_class"), options)
        kept += [(float(column[place]), int(place), number) for place in chosen]
        scored = np.array([one[0] for one in kept], np.float32)
        order = _best(scored, min(len(kept), count(options, "max_detections")))
        kept = [kept[place] for place in order]
    found = [np.array([one[part] for one in kept]) for part in range(3)]
    return (
        boxes[found[1].astype(np.int64)],
        found[2].astype(np.float32),
        found[0].astype(np.float32),
        len(kept),
    )


def _best(scores: Array, wanted: int) -> Array:
    """The places of the greatest scores, of equal ones the first."""
    return np.argsort(-scores, kind="stable")[:wanted]


def _suppressed(boxes: Array, scores: Array, most: int, options: Options) -> Array:
    """The places of boxes, best first, without those that overlap a better one too much."""
    limit = np.float32(options["nms_iou_threshold"])
    places = np.flatnonzero(scores >= np.float32(options["nms_score_threshold"]))
    places = places[np.argsort(-scores[places], kind="stable")]
    low, high = boxes[:, :2], boxes[:, 2:]
    chosen: list[int] = []
    while len(places) and len(chosen) < most:
        first, rest = places[0], places[1:]
        chosen.append(int(first))
        ratios = intersection_over_union(low[first], high[first], low[rest], high[rest])
        places = rest[~(ratios > limit)]
    return np.array(chosen, np.int64)
