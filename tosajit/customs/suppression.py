"""Suppression of boxes that overlap better ones: as TFLite defines it, and as ONNX and NNEF do by class."""

from __future__ import annotations

from math import exp

import numpy as np

from tosajit.arrays import Array
from tosajit.customs.attributes import count, numbers
from tosajit.customs.heap import pop, push

Candidate = tuple[float, int, int]
"""A score, the box that has it, and how many chosen boxes it has been held against."""


def non_max_suppression(
    boxes: Array,
    scores: Array,
    iou_threshold: Array,
    score_threshold: Array,
    sigma: Array,
    attributes: bytes,
) -> tuple[Array, Array, Array]:
    """Places and scores of the chosen boxes, best first, with zeros behind them; and how many they are.

    A `sigma` above 0 lowers scores by overlaps that are too small to suppress a box.
    """
    most = count(numbers(attributes), "max_output_size")
    limit, least, width = (one.reshape(-1)[0] for one in (iou_threshold, score_threshold, sigma))
    scale = np.float32(-0.5) / width if width > 0 else np.float32(0)
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    chosen, kept = np.zeros(most, np.int32), np.zeros(most, np.float32)
    heap: list[Candidate] = []
    for candidate in np.flatnonzero(scores > least).tolist():
        push(heap, (float(scores[candidate]), candidate, 0), _less)
    found, enough = 0, min(len(heap), most)
    while found < enough and heap:
        score, place, begin = pop(heap, _less)
        held = chosen[begin:found][::-1]
        ratios = intersection_over_union(low[place], high[place], low[held], high[held])
        left = _softened(score, ratios, limit, least, scale)
        if left is None:
            continue
        if left > least:
            push(heap, (left, place, found), _less)
        if left == score:
            chosen[found], kept[found] = place, score
            found += 1
    return chosen, kept, np.array(found, np.int32)


def class_suppression(boxes: Array, scores: Array, attributes: bytes) -> tuple[Array, Array]:
    """Batch, class and place of the boxes that overlap no better one of their class too much; the extents.

    The best boxes of a class come first, of equal ones the first; zeros stand behind all of them. Boxes are
    two opposite corners, or a centre and extents. So ONNX's NonMaxSuppression defines it.
    """
    options = numbers(attributes)
    most, limit = count(options, "max_outputs_per_class"), np.float32(options["iou_threshold"])
    batches, classes, _ = scores.shape
    rows = np.zeros((batches * classes * most, 3), np.int32)
    found = 0
    for batch in range(batches):
        low, high = _corners(boxes[batch], centered=bool(options["centered"]))
        for number, row in enumerate(scores[batch]):
            order = np.argsort(-row, kind="stable")
            if "score_threshold" in options:
                order = order[row[order] > np.float32(options["score_threshold"])]
            kept = _apart(order, low, high, limit, most)
            rows[found : found + len(kept)] = [(batch, number, place) for place in kept] or np.zeros((0, 3))
            found += len(kept)
    return rows, np.array([found, 3], np.int32)


def _corners(boxes: Array, *, centered: bool) -> tuple[Array, Array]:
    """The least and the greatest coordinates of boxes."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if centered:
        half = second / np.float32(2)
        first, second = first - half, first + half
    return np.minimum(first, second), np.maximum(first, second)


def _apart(order: Array, low: Array, high: Array, limit: np.float32, most: int) -> list[int]:
    """The first boxes of an order that overlap none before them too much."""
    kept: list[int] = []
    left = order
    while len(left) and len(kept) < most:
        place, left = int(left[0]), left[1:]
        kept.append(place)
        left = left[intersection_over_union(low[place], high[place], low[left], high[left]) <= limit]
    return kept


def intersection_over_union(low: Array, high: Array, lows: Array, highs: Array) -> Array:
    """How much of the union of a box with each other one they have in common; 0 where one has no area."""
    area, areas = (high - low).prod(), (highs - lows).prod(axis=1)
    sides = np.maximum(np.minimum(high, highs) - np.maximum(low, lows), np.float32(0))
    common = sides.prod(axis=1)
    union = area + areas - common
    flat = (area <= 0) | (areas <= 0) | (union == 0)
    with np.errstate(all="ignore"):
        ratios: Array = np.where(flat, np.float32(0), common / union)
    return ratios


def _softened(
    score: float, ratios: Array, limit: np.float32, least: np.float32, scale: np.float32
) -> float | None:
    """A score less what overlaps take from it; None if one of them suppresses the box."""
    for ratio in ratios:
        if ratio >= limit:
            return None
        if scale:
            score = float(np.float32(score) * np.float32(exp(scale * ratio * ratio)))
        if score <= least:
            break
    return score


def _less(one: Candidate, other: Candidate) -> bool:
    return one[0] < other[0]
