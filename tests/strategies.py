"""Hypothesis strategies that draw valid graphs, inputs for them, and the results that the oracle gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from tests.motifs import MOTIFS, on
from tests.oracle import MODES, STORAGE, Mode
from tests.oracle.drawing import EXTENTS, Bench, Entry, RandomChooser, Rejected, Use
from tests.oracle.uses import USES
from tests.oracle.violations import Violation
from tiling.target import TINY, Target
from tosajit.dtypes import DTYPES
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.operators import OPERATORS

T = TypeVar("T")
TARGETS: dict[str, Target | None] = {"host": None, "tiny": TINY}
"""The host, and a scratchpad so small that every kind of edge tile occurs."""


@dataclass
class HypothesisChooser:
    """Draws from hypothesis, which can shrink them."""

    draw: Callable[[Any], Any]

    def integer(self, low: int, high: int) -> int:
        """Choose an integer from a closed range."""
        return int(self.draw(st.integers(low, high)))

    def pick(self, options: Sequence[T]) -> T:
        """Choose one of some options."""
        return options[self.integer(0, len(options) - 1)]


@dataclass(frozen=True)
class Drawn:
    """A graph, inputs for it, and the outputs that the oracle gives."""

    graph: Graph
    inputs: Mapping[str, np.ndarray]
    expected: Mapping[str, np.ndarray]
    operators: tuple[tuple[str, str], ...] = ()
    """Names of operators and modes."""
    listing: str = field(default="", compare=False)

    def __repr__(self) -> str:
        return f"\n{self.listing}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the listing where hypothesis prints the example."""
        printer.text(repr(self))


def assert_same(drawn: Drawn, outputs: Any, what: str = "") -> None:
    """Compare what an executable returned with the expected outputs, bit for bit."""
    arrays = outputs if isinstance(outputs, tuple) else (outputs,)
    assert len(arrays) == len(drawn.expected), f"{what}: {len(arrays)} outputs{drawn}"
    for (name, expected), array in zip(drawn.expected.items(), arrays, strict=True):
        fault = difference(array, expected)
        assert not fault, f"{what} {name}{fault}{drawn}"


def difference(array: np.ndarray, expected: np.ndarray) -> str:
    """Say how an array differs from what is expected; nothing if it does not."""
    if (array.shape, array.dtype) != (expected.shape, expected.dtype):
        return f" is {array.dtype}{list(array.shape)}, not {expected.dtype}{list(expected.shape)}"
    different = np.argwhere(array != expected)
    if not len(different):
        return ""
    at = tuple(int(i) for i in different[0])
    return f" at {list(at)} is {array[at]}, not {expected[at]}; {len(different)} of {array.size} differ"


def drawn_from(bench: Bench, outputs: Sequence[str]) -> Drawn:
    """Take from the bench what the outputs need."""
    needed, uses = set(outputs), []
    for use in reversed(bench.uses):
        if needed & set(use.outputs):
            needed |= set(use.inputs)
            uses.append(use)
    entries = [entry for name, entry in bench.entries.items() if name in needed]
    inputs = {entry.name: entry.array for entry in entries if entry.kind == "input"}
    return Drawn(
        graph_of(entries, uses[::-1], outputs),
        inputs,
        {name: bench.entries[name].array for name in outputs},
        tuple((use.operator, mode_name(bench, use)) for use in uses[::-1]),
        _listing(entries, uses[::-1], outputs),
    )


def mode_name(bench: Bench, use: Use) -> str:
    """Name the mode that a use is in, by its types."""
    types = [bench.entries[name].type_name for name in use.inputs]
    return "-".join([*types[:2], "to", bench.entries[use.outputs[0]].type_name]).lower()


def graph_of(entries: Sequence[Entry], uses: Sequence[Use], outputs: Sequence[str]) -> Graph:
    """Build the package's graph."""
    values, nodes = {}, []
    for entry in entries:
        is_constant = entry.kind in ("constant", "shape")
        dtype = DTYPES[entry.type_name]
        values[entry.name] = Value(entry.name, dtype, entry.shape, entry.array if is_constant else None)
        if is_constant:
            constant = OPERATORS["CONST_SHAPE" if entry.kind == "shape" else "CONST"]
            nodes.append(Node(constant(), (), (entry.name,)))
    nodes += [Node(OPERATORS[use.operator](**use.attributes), use.inputs, use.outputs) for use in uses]
    inputs = tuple(entry.name for entry in entries if entry.kind == "input")
    block = Block("main", tuple(nodes), values, inputs, tuple(outputs))
    return Graph((Region("main", (block,)),))


def _listing(entries: Sequence[Entry], uses: Sequence[Use], outputs: Sequence[str]) -> str:
    named = {entry.name: entry for entry in entries}
    lines = [f"{_typed(e)} is an input: {_short(e.array)}" for e in entries if e.kind == "input"]
    lines += [f"{_typed(e)} = {_short(e.array)}" for e in entries if e.kind in ("constant", "shape")]
    for use in uses:
        attributes = ", ".join(f"{name}={value}" for name, value in use.attributes.items())
        lines.append(
            f"{_typed(named[use.outputs[0]])} = {use.operator}({', '.join(use.inputs)}) {attributes}"
        )
    return "\n".join([*lines, f"return {', '.join(outputs)}"])


def _typed(entry: Entry) -> str:
    return f"{entry.name}: {entry.type_name}{list(entry.shape)}"


def _short(array: np.ndarray) -> str:
    return np.array2string(array.reshape(-1), threshold=10, edgeitems=3)


def violating_graph(violation: Violation) -> Drawn:
    """Build the graph of a violation."""
    bench = Bench(RandomChooser(np.random.default_rng(0)))
    entries = []
    for position, array in enumerate(violation.inputs):
        kind = "input" if position < violation.free else "constant"
        entries.append(bench.fresh(array.dtype.name.upper(), array, kind))
    zeros: np.ndarray = np.zeros(violation.output_shape, STORAGE[violation.output_type])
    result = bench.fresh(violation.output_type, zeros, "result")
    names = tuple(entry.name for entry in entries)
    bench.uses.append(Use(violation.operator, violation.attributes, names, (result.name,)))
    return drawn_from(bench, [result.name])


def draw_operator(bench: Bench, mode: Mode, operator: str) -> Drawn:
    """Draw a graph of one operator; rejected draws are drawn again."""
    for _ in range(50):
        try:
            result = USES[operator](bench, mode)
        except Rejected:
            continue
        return drawn_from(bench, [result.name])
    raise AssertionError(f"no valid {operator} in mode {mode} was drawn")


def operator_graph(
    operator: str,
    mode: Mode,
    seed: int,
    maximum_elements: int = 400,
    extents: Sequence[int] = EXTENTS,
) -> Drawn:
    """Draw a graph of one operator from a seed."""
    chooser = RandomChooser(np.random.default_rng([seed, len(operator)]))
    bench = Bench(chooser, maximum_elements, sizes_of_axes=extents)
    return draw_operator(bench, mode, operator)


def draw_graph(bench: Bench, operators: int) -> Drawn:
    """Draw a graph of about so many operators."""
    for _ in range(3 * operators):
        if len(bench.uses) >= operators:
            break
        try:
            _step(bench, operators - len(bench.uses))
        except Rejected:
            bench.focus = None
    if not bench.uses:
        return draw_operator(bench, MODES["IDENTITY"][1], "IDENTITY")
    return drawn_from(bench, _choose_outputs(bench))


def _step(bench: Bench, room: int) -> None:
    """Add a motif, or an operator on some value."""
    results = [entry for entry in bench.entries.values() if entry.kind == "result"]
    if room >= 3 and bench.choose.integer(0, 3) == 3:
        bench.focus = bench.choose.pick(results[::-1]) if results else None
        bench.choose.pick(MOTIFS)(bench)
    elif results:
        recent = results[-1] if bench.choose.integer(0, 3) else bench.choose.pick(results)
        operator = bench.choose.pick(OPERATORS_ON[recent.type_name])
        on(bench, recent, operator)
    else:
        operator = bench.choose.pick(tuple(MODES))
        mode = bench.choose.pick([mode for mode in MODES[operator] if "inexact" not in mode.variant])
        USES[operator](bench, mode)
    bench.focus = None


def _choose_outputs(bench: Bench) -> list[str]:
    """Results that nothing reads, and perhaps one that something does."""
    read = set(itertools.chain.from_iterable(use.inputs for use in bench.uses))
    results = [entry.name for entry in bench.entries.values() if entry.kind == "result"]
    outputs = [name for name in results if name not in read]
    inner = [name for name in results if name in read]
    if inner and bench.choose.integer(0, 3) == 3:
        outputs.append(bench.choose.pick(inner))
    return outputs


def _operators_on(type_name: str) -> tuple[str, ...]:
    """Operators that take a type, those that fuse or move data twice as often."""
    found = [name for name, modes in MODES.items() if any(type_name in mode.inputs for mode in modes)]
    often = [
        name
        for name in found
        if name in ("RESCALE", "CLAMP", "TRANSPOSE", "RESHAPE", "SLICE", "CONCAT", "ADD")
    ]
    return tuple(often + found + often)


OPERATORS_ON = {
    type_name: _operators_on(type_name) for type_name in ("BOOL", "INT4", "INT8", "INT16", "INT32", "INT48")
}


@st.composite
def graphs(draw: Callable[[Any], Any], maximum_operators: int = 12, maximum_elements: int = 300) -> Drawn:
    """Graphs of one to twelve operators with inputs that keep every REQUIRE."""
    bench = Bench(HypothesisChooser(draw), maximum_elements, reuse=True)
    return draw_graph(bench, draw(st.integers(1, maximum_operators)))


def random_graph(seed: int, maximum_operators: int = 12, maximum_elements: int = 300) -> Drawn:
    """Draw a graph from a seed, without hypothesis."""
    rng = np.random.default_rng(seed)
    bench = Bench(RandomChooser(rng), maximum_elements, reuse=True)
    return draw_graph(bench, int(rng.integers(1, maximum_operators, endpoint=True)))
