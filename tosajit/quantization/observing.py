"""What the values of a float graph are on samples: the ranges that integers have to cover."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.compiling import compile
from tosajit.dtypes import FP32
from tosajit.errors import InputError
from tosajit.graph import Graph
from tosajit.quantization.grids import Range
from tosajit.quantization.uses import Uses

Observer = Literal["minmax", "percentile", "entropy"]
Inputs = tuple[Array, ...]
_BINS = 2048
_LEVELS = 128
_FARTHEST = 1e8
"""Numbers beyond are masks: they say that something is left out, not how large it is."""
_MASKED, _NOTHING = 80.0, 10.0
"""How far below the greatest number masks are, and how far softmax makes nothing of one."""


def samples_of(graph: Graph, samples: Iterable[Any]) -> list[Inputs]:
    """The samples as tuples of a graph's inputs, each checked against it."""
    if isinstance(samples, Mapping):
        raise InputError("samples is one dictionary: pass a list of samples, each with all inputs")
    found = [_sample(graph, given, place) for place, given in enumerate(_each(graph, samples))]
    if not found:
        raise InputError("samples has none: ranges are taken from what the graph computes for them")
    return found


def _each(graph: Graph, samples: Iterable[Any]) -> Iterable[Any]:
    """Rows of one array, where a graph takes one at a time."""
    if not isinstance(samples, np.ndarray):
        return samples
    (first, *others), rows = graph.inputs, samples
    shape = first.shape or ()
    if not others and rows.ndim == len(shape) and rows.shape[1:] == shape[1:] and shape[:1] == (1,):
        return (rows[place : place + 1] for place in range(len(rows)))
    if not others and rows.ndim == len(shape) + 1:
        return iter(rows)
    raise InputError(
        f"samples is one array of shape {list(rows.shape)}, whose rows are no samples for "
        f"{', '.join(map(str, graph.inputs))}: pass a list of samples"
    )


def _sample(graph: Graph, given: Any, place: int) -> Inputs:
    names = [one.name for one in graph.inputs]
    if isinstance(given, Mapping):
        lacking = [name for name in names if name not in given]
        unknown = [str(name) for name in given if name not in names]
        if lacking or unknown:
            text = (
                f"lacks {', '.join(lacking)}" if lacking else f"has {', '.join(unknown)}, which is no input"
            )
            raise InputError(f"sample {place} {text}: the inputs are {', '.join(names)}")
        given = [given[name] for name in names]
    arrays = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(arrays) != len(names):
        raise InputError(f"sample {place} has {len(arrays)} arrays, but the inputs are {', '.join(names)}")
    return tuple(map(np.asarray, arrays))


class Watched:
    """A graph that gives each of its real values, beside its outputs."""

    def __init__(self, graph: Graph, names: Iterable[str] | None = None) -> None:
        block = graph.main
        made = (name for node in block.nodes if node.inputs for name in node.outputs)
        watched = list(made if names is None else names)
        self.names = [name for name in dict.fromkeys(watched) if names or block.values[name].dtype is FP32]
        inside = replace(block, outputs=tuple(self.names))
        regions = tuple(
            replace(one, blocks=(inside, *one.blocks[1:])) if block in one.blocks else one
            for one in graph.regions
        )
        self._inputs = block.inputs
        self._run = compile(replace(graph, regions=regions, outside={}, scales={}), progress=False)

    def __call__(self, inputs: Inputs) -> dict[str, Array]:
        """The values, and the inputs, by name."""
        found = self._run(*inputs)
        outputs = found if isinstance(found, tuple) else (found,)
        return {**dict(zip(self._inputs, inputs, strict=True)), **dict(zip(self.names, outputs, strict=True))}


def observed(
    graph: Graph,
    samples: Sequence[Inputs],
    observer: Observer,
    percentile: float,
    progress: Callable[[int, int], None] | None = None,
) -> Mapping[str, Range]:
    """The range of each real value on samples; all but `minmax` look at each sample twice."""
    watched, masked = Watched(graph), Uses(graph.main).softmaxes_of
    total = len(samples) * (1 if observer == "minmax" else 2)
    ends: dict[str, Range] = {}
    counts: dict[str, Array] = {}
    for place in range(total):
        values = watched(samples[place % len(samples)])
        for name, array in values.items():
            if array.dtype != np.float32:
                continue
            if place < len(samples):
                ends[name] = _joined(ends.get(name), array, name, name in masked)
            else:
                found = np.histogram(_kept(array, name in masked), bins=_BINS, range=_wide(ends[name]))[0]
                counts[name] = counts.get(name, 0) + found
        if progress is not None:
            progress(place + 1, total)
    return {name: _chosen(ends[name], counts.get(name), observer, percentile) for name in ends}


def _chosen(ends: Range, counts: Array | None, observer: Observer, percentile: float) -> Range:
    """The range by an observer."""
    if counts is None:
        return ends
    if observer == "percentile":
        return _quantiles(counts, _wide(ends), percentile)
    return _least_divergence(counts, _wide(ends))


def _kept(array: Array, is_masked: bool) -> Array:
    """Numbers that are no masks; what softmax takes has masks that are much lower than others."""
    least = max(-_FARTHEST, float(array.max(initial=-_FARTHEST)) - _MASKED) if is_masked else -_FARTHEST
    return array[(array > least) & (array < _FARTHEST)]


def _joined(before: Range | None, array: Array, name: str, is_masked: bool) -> Range:
    """The ends so far, and those of another sample; masks are below all that softmax makes something of."""
    if np.isnan(array).any():
        raise InputError(f"{name} is not a number (NaN) for a sample: its range cannot be taken")
    kept = _kept(array, is_masked)
    low, high = (float(kept.min()), float(kept.max())) if kept.size else (0.0, 0.0)
    if is_masked and kept.size < array.size:
        low -= _NOTHING
    return (low, high) if before is None else (min(low, before[0]), max(high, before[1]))


def _wide(ends: Range) -> Range:
    """A range that histograms can have."""
    return ends if ends[1] - ends[0] > 1e-30 else (ends[0] - 1e-6, ends[1] + 1e-6)


def _quantiles(counts: Array, ends: Range, percentile: float) -> Range:
    """The range that this share of all numbers is in, as many being left out on either side."""
    shares = np.cumsum(counts) / max(counts.sum(), 1)
    left = (1 - percentile / 100) / 2
    edges = np.linspace(*ends, _BINS + 1)
    low = int(np.searchsorted(shares, left, side="right"))
    high = int(np.searchsorted(shares, 1 - left - 1e-12))
    return float(edges[min(low, _BINS - 1)]), float(edges[min(high, _BINS - 1) + 1])


def _least_divergence(counts: Array, ends: Range) -> Range:
    """The range whose 128 steps to either side of 0 keep the distribution best (Kullback and Leibler)."""
    far = max(-ends[0], ends[1], 1e-30)
    places = (np.linspace(*ends, _BINS + 1)[:-1] + (ends[1] - ends[0]) / (2 * _BINS)) / far
    folded = np.bincount(
        np.minimum((np.abs(places) * _BINS).astype(np.int64), _BINS - 1), weights=counts, minlength=_BINS
    )
    folded[0] = folded[1]  # zeros are exact with any range, and many of them would outweigh all else
    limits = range(_LEVELS, _BINS + 1, _LEVELS // 8)
    best = min(limits, key=lambda limit: _divergence(folded, limit))
    near = far * best / _BINS
    return max(ends[0], -near), min(ends[1], near)


def _divergence(counts: Array, limit: int) -> float:
    """How much is lost where numbers are cut off at a bin, and the rest has 128 levels."""
    reference = counts[:limit].copy()
    reference[-1] += counts[limit:].sum()
    level = np.arange(limit) * _LEVELS // limit
    filled = counts[:limit] > 0
    totals = np.bincount(level, weights=counts[:limit], minlength=_LEVELS)
    sizes = np.bincount(level, weights=filled, minlength=_LEVELS)
    means = np.divide(totals, sizes, out=np.zeros(_LEVELS), where=sizes > 0)
    held = np.where(filled, means[level], 0)
    whole, kept = reference.sum(), held.sum()
    if not whole or not kept:
        return float("inf")
    first, second = reference / whole, held / kept
    inside = first > 0
    return float((first[inside] * np.log(first[inside] / np.maximum(second[inside], 1e-9))).sum())


OBSERVERS: tuple[str, ...] = get_args(Observer)
