"""Post-training quantisation: a float graph becomes one of integers, by the ranges that samples show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tosajit.arrays import Array
from tosajit.checks.validation import check
from tosajit.dtypes import FP32, INT8, INT16
from tosajit.errors import CompileError, InputError
from tosajit.frontends import load
from tosajit.graph import Graph
from tosajit.graph.given import as_graph
from tosajit.operators import COND_IF, VARIABLE, WHILE_LOOP
from tosajit.quantization.equalizing import equalized
from tosajit.quantization.observing import OBSERVERS, Observer, observed, samples_of
from tosajit.quantization.result import Accuracy, Quantized
from tosajit.quantization.rewriting import Rewriting, Stayed
from tosajit.tracing import trace

__all__ = ["Accuracy", "Quantized", "Stayed", "quantize"]

_ACTIVATIONS = {"int8": INT8, "int16": INT16}


def quantize(
    graph: Graph | str | Path | Callable[..., Any],
    samples: Iterable[Any] | Array,
    *,
    activations: Literal["int8", "int16"] = "int8",
    observer: Observer = "minmax",
    percentile: float = 99.99,
    per_channel: bool = True,
    equalize: bool = False,
    keep: Iterable[str] = (),
    ends: Literal["integer", "real"] = "integer",
    progress: Callable[[int, int], None] | None = None,
) -> Quantized:
    """Quantise a float32 graph after its training, by what it computes for samples.

    * `graph` is a graph, the path of a model, or a function as `tj.jit` takes, which the first sample traces.
    * `samples` has inputs such as the model will see, some dozens: each an array, a tuple of arrays, or a
      dictionary by names; or it is one array of them.
    * `activations` has 8 bits, with zero points, or 16, without; weights have 8, symmetric. Values between
      arithmetic alone, as inside of a layer norm, have 16 bits in either case.
    * `observer` takes ranges from samples: all that was seen (`minmax`), what `percentile` of all numbers are
      in, or the range whose distribution is nearest (`entropy`).
    * `per_channel` gives the weights of each channel a scale.
    * `equalize` gives channels between two convolutions ranges alike first, which helps where weights have
      one scale.
    * `keep` has names of values, or patterns of names, whose operators keep real numbers.
    * `ends` says what inputs and outputs are; `graph.scales` of the result has the scales of integers.
    * `progress(done, total)` is called after each sample.

    What has no form in integers keeps real numbers, and is listed in `stayed`. Raises `CompileError` for a
    graph with nothing to quantise, with control flow or variables, and `InputError` for unfit samples.
    """
    _check(activations, observer, percentile, ends)
    rows = samples if isinstance(samples, np.ndarray | Mapping) else list(samples)
    source = check(_source(graph, rows))
    _check_graph(source)
    kept = _named(source, tuple(keep))
    given = samples_of(source, rows)
    even = equalized(source) if equalize else source
    ranges = observed(even, given, observer, percentile, progress)
    rewriting = Rewriting(even, ranges, _ACTIVATIONS[activations], per_channel, kept)
    found = rewriting.run(ends == "integer")
    return Quantized(found, source, tuple(dict.fromkeys(rewriting.stayed)), rewriting.placed)


def _source(graph: Graph | str | Path | Callable[..., Any], samples: Any) -> Graph:
    """The float graph; that of a function for its first sample."""
    if isinstance(graph, str | Path):
        return load(graph)
    if isinstance(graph, Graph) or not callable(graph):
        return as_graph(graph, "a graph, the path of a model or a function")
    first = next(iter(samples), None)
    if first is None:
        raise InputError("samples has none: ranges are taken from what the graph computes for them")
    if isinstance(first, Mapping):
        return trace(graph, **first)
    return trace(graph, *(first if isinstance(first, list | tuple) else (first,)))


def _check(activations: str, observer: str, percentile: float, ends: str) -> None:
    for name, given, known in (
        ("activations", activations, tuple(_ACTIVATIONS)),
        ("observer", observer, OBSERVERS),
        ("ends", ends, ("integer", "real")),
    ):
        if given not in known:
            choices = ", ".join(map(repr, known[:-1]))
            raise CompileError(f"{name} is {given!r}, but must be {choices} or {known[-1]!r}")
    if not 50 < percentile <= 100:
        raise CompileError(f"percentile is {percentile}, but must be more than 50 and at most 100")


def _check_graph(graph: Graph) -> None:
    for node in graph.nodes:
        if isinstance(node.operator, COND_IF | WHILE_LOOP | VARIABLE):
            raise CompileError(
                f"{node.name} ({node.operator.opcode}): graphs with control flow or variables are not "
                "quantised: quantise their parts"
            )
    if not any(value.dtype is FP32 for value in graph.main.values.values() if value.data is None):
        raise CompileError("the graph has no float32 values, so there is nothing to quantise")


def _named(graph: Graph, patterns: tuple[str, ...]) -> frozenset[str]:
    """The results that patterns name."""
    names = [name for node in graph.main.nodes if node.inputs for name in node.outputs]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise CompileError(f"keep: no value is called {pattern!r}")
    return frozenset(name for name in names if any(fnmatchcase(name, one) for one in patterns))
