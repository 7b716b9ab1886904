"""What quantising gives: a graph of integers, what stayed real in it, and how near it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from tiling.words import plain
from tosajit.arrays import Array
from tosajit.compiling import compile
from tosajit.display.columns import aligned
from tosajit.errors import InputError
from tosajit.frontends.scaled import Affine
from tosajit.graph import Graph
from tosajit.quantization.observing import Inputs, Watched, samples_of
from tosajit.quantization.rewriting import Stayed
from tosajit.runtime.executable import Executable

_EXACT = 200.0
"""Decibels that stand for equal numbers."""


@dataclass(frozen=True, slots=True)
class Row:
    """How near one value is to that of the float graph."""

    name: str
    opcode: str
    dtype: str
    scale: float
    sqnr: float
    """The power of the numbers over that of their errors, in decibels."""
    cosine: float
    worst: float
    """The largest error."""
    is_output: bool


@dataclass(frozen=True)
class Accuracy:
    """How near a quantised graph is to the float graph, value by value in their order."""

    rows: tuple[Row, ...]
    samples: int

    @property
    def outputs(self) -> tuple[Row, ...]:
        """The rows of outputs."""
        return tuple(row for row in self.rows if row.is_output)

    @property
    def sqnr(self) -> float:
        """The decibels of the worst output."""
        return min((row.sqnr for row in self.outputs), default=_EXACT)

    def worst(self, count: int = 10) -> Accuracy:
        """The values that are farthest off."""
        return Accuracy(tuple(sorted(self.rows, key=lambda row: row.sqnr)[:count]), self.samples)

    def __repr__(self) -> str:
        count = f"{len(self.rows)} values, {self.samples} samples"
        return f"<Accuracy: {count}, {self.sqnr:.1f} dB at the worst output>"

    def __str__(self) -> str:
        lines = aligned([_HEAD, *map(_cells, self.rows)], right=_NUMBERS)
        return "\n".join([*lines, f"{self.samples} samples; * is an output"])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in _HEAD)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row)) + "</tr>"
            for row in self.rows
        )
        return f"<table><tr>{head}</tr>{body}</table>"


_HEAD = ["value", "operator", "type", "scale", "SQNR dB", "cosine", "largest error"]
_NUMBERS = range(3, len(_HEAD))


def _cells(row: Row) -> list[str]:
    name = plain(row.name) + ("*" if row.is_output else "")
    numbers = f"{row.scale:.3g}", f"{row.sqnr:.1f}", f"{row.cosine:.5f}", f"{row.worst:.3g}"
    return [name, row.opcode, row.dtype, *numbers]


@dataclass(frozen=True)
class Quantized:
    """A graph of integers that stands for a float graph.

    `graph` is what `tj.compile`, `tj.simulate` and `tj.save` take. Called with real numbers, this quantises
    them, runs the graph and gives real numbers.
    """

    graph: Graph
    source: Graph = field(repr=False)
    stayed: tuple[Stayed, ...]
    """The operators that have real numbers still, and why."""
    grids: Mapping[str, tuple[str, Affine]] = field(repr=False)
    """For values of the float graph, the tensor that stands for them, and what its integers are."""

    def __call__(self, *inputs: Any) -> Any:
        """Run the integers on real numbers."""
        found = self._executable(*self.integers(*inputs))
        outputs = found if isinstance(found, tuple) else (found,)
        reals = tuple(
            _real(array, self.graph.scales.get(one.name))
            for array, one in zip(outputs, self.graph.outputs, strict=True)
        )
        return reals[0] if len(reals) == 1 else reals

    def integers(self, *inputs: Any) -> Inputs:
        """Inputs of the float graph as the quantised one takes them."""
        values = self.graph.inputs
        if len(inputs) != len(values):
            raise InputError(f"{len(inputs)} inputs are given, but there are {len(values)}")
        return tuple(
            _integer(given, self.graph.scales.get(one.name), one.dtype.storage)
            for given, one in zip(inputs, values, strict=True)
        )

    def accuracy(self, samples: Iterable[Any]) -> Accuracy:
        """Compare each value with that of the float graph; samples need not be those of the ranges."""
        found = samples_of(self.source, samples)
        held = {name: tensor for name, (tensor, _) in self.grids.items() if tensor in self._tensors}
        mine = Watched(self.graph, dict.fromkeys((*held.values(), *self._tensors_out)))
        theirs = Watched(self.source)
        totals = {name: _Errors() for name in (*held, *(one.name for one in self.source.outputs))}
        for inputs in found:
            wanted, given = theirs(inputs), mine(self.integers(*inputs))
            for name, errors in totals.items():
                if name in wanted and wanted[name].dtype == np.float32:
                    errors.add(wanted[name], self._value(name, given))
        return Accuracy(
            tuple(self._row(name, errors) for name, errors in totals.items() if errors.count), len(found)
        )

    @cached_property
    def _executable(self) -> Executable:
        return compile(self.graph, progress=False)

    @cached_property
    def _tensors(self) -> frozenset[str]:
        block = self.graph.main
        made = {name for node in block.nodes if node.inputs for name in node.outputs}
        return frozenset(made | set(block.inputs))

    @property
    def _tensors_out(self) -> list[str]:
        return [one.name for one in self.graph.outputs]

    def _value(self, name: str, given: Mapping[str, Array]) -> Array:
        """A value of the float graph as the other one has it."""
        if name in self._tensors_out:
            return _real(given[name], self.graph.scales.get(name))
        tensor, affine = self.grids[name]
        return _real(given[tensor], (affine.scale, affine.zero_point))

    def _row(self, name: str, errors: _Errors) -> Row:
        maker = next((node for node in self.source.nodes if name in node.outputs), None)
        scale, dtype = 0.0, "FP32"
        if name in self.grids:
            affine = self.grids[name][1]
            scale, dtype = affine.scale, affine.dtype.name
        is_output = any(one.name == name for one in self.source.outputs)
        opcode = "input" if maker is None else maker.operator.opcode
        return Row(name, opcode, dtype, scale, errors.sqnr, errors.cosine, errors.worst, is_output)

    def __str__(self) -> str:
        made = [node for node in self.graph.nodes if node.inputs]
        lines = [f"{len(made)} operators, {len(self.stayed)} with real numbers"]
        lines += [f"  {plain(one.name)} ({one.opcode}): {one.reason}" for one in self.stayed]
        return "\n".join(lines)


class _Errors:
    """What a comparison adds up."""

    def __init__(self) -> None:
        self.count, self.worst = 0, 0.0
        self._power = self._noise = self._other = self._product = 0.0

    def add(self, wanted: Array, given: Array) -> None:
        """Compare the arrays of one sample; masks count for nothing."""
        first, second = wanted.astype(np.float64).ravel(), given.astype(np.float64).ravel()
        kept = np.abs(first) < 1e8
        first, second = first[kept], second[kept]
        error = first - second
        self.count += first.size
        self.worst = max(self.worst, float(np.abs(error).max(initial=0)))
        self._power += float(first @ first)
        self._noise += float(error @ error)
        self._other += float(second @ second)
        self._product += float(first @ second)

    @property
    def sqnr(self) -> float:
        """Decibels."""
        if not self._noise:
            return _EXACT
        return min(_EXACT, 10 * float(np.log10(max(self._power, 1e-300) / self._noise)))

    @property
    def cosine(self) -> float:
        """How far both point the same way."""
        sizes = float(np.sqrt(self._power * self._other))
        return self._product / sizes if sizes else float(self._power == self._other)


def _real(array: Array, scale: tuple[float, int] | None) -> Array:
    """The real numbers of integers."""
    if scale is None:
        return array
    found: Array = (array.astype(np.float32) - np.float32(scale[1])) * np.float32(scale[0])
    return found


def _integer(given: Any, scale: tuple[float, int] | None, storage: np.dtype[Any]) -> Array:
    """Real numbers as integers; what is no real number stays as it is."""
    array = np.asarray(given)
    if scale is None or not np.issubdtype(array.dtype, np.floating):
        return array
    ends = np.iinfo(storage)
    steps = np.rint(array.astype(np.float64) / scale[0]) + scale[1]
    found: Array = np.clip(steps, ends.min, ends.max).astype(storage)
    return found
