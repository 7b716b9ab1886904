"""Whatever stands in for an operand or a result: the graph is legal, or the errors are ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.validate_samples import SAMPLES, Constant
from tosajit.checks.validation import validate
from tosajit.dtypes import BOOL, DTYPES, INT8, SHAPE, DType
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.binding import infer_outputs
from tosajit.graph.operator import OPERATORS, TYPES, Mode, Operator

ATTRIBUTES: Mapping[str, Any] = {
    "axis": 1, "round": True, "min_val": -1, "max_val": 1, "operator_name": "o", "domain_name": "d",
    "name": "v", "then_graph": "same", "else_graph": "same", "cond_graph": "test", "body_graph": "same",
}  # fmt: skip
EXTENTS = (0, 1, 2, -1, 1 << 20, 1 << 31, 1 << 62)
SHAPES = ((), *((extent,) for extent in EXTENTS), (2, 3), (2, 0), (1 << 16, 1 << 16), (1,) * 7, (2,) * 40)
NUMBERS = (0, 1, -1, 3, 63, 64, -(1 << 31), (1 << 31) - 1, 1 << 62, -(1 << 63), float("nan"), float("inf"))
LENGTHS = (1, 0, 2, 4, 8, 256, 513)
EVERY = 16
"""How many of the illegal graphs are compiled as well: it validates them again, then refuses them."""
LARGEST = 1 << 10
ODD = (
    np.array(["a"]), np.array([None]), np.zeros(3, "M8[s]"), np.zeros(1, "V4"), np.zeros(2, complex),
    np.array(["1", "2"], np.dtypes.StringDType()), np.zeros(1, ">i4"),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A use of an operator: what it reads and writes, each a tensor, or a constant with data."""

    operator: Operator
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    regions: tuple[Region, ...] = ()
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None
    free: str = ""
    """An input of the graph, whatever it holds."""

    @property
    def graph(self) -> Graph:
        """The use as a graph; constants and shapes come from nodes of their own, the rest is its inputs."""
        values = {value.name: value for value in (*self.outputs, *self.inputs)}
        nodes, free = [], []
        for value in values.values():
            if value in self.outputs:
                continue
            if (value.data is not None or value.dtype is SHAPE) and value.name != self.free:
                constant = OPERATORS["CONST_SHAPE" if value.dtype is SHAPE else "CONST"]
                nodes.append(Node(constant(), (), (value.name,)))
            else:
                free.append(value.name)
        reads = tuple(value.name for value in self.inputs) if self.reads is None else self.reads
        writes = tuple(value.name for value in self.outputs) if self.writes is None else self.writes
        nodes.append(Node(self.operator, reads, writes))
        block = Block("main", tuple(nodes), values, tuple(free), writes)
        return Graph((Region("main", (block,)), *self.regions))


def _regions() -> tuple[Region, ...]:
    x, verdict = Value("a", INT8, (2,)), Value("t", BOOL, (1,), np.array([True]))
    same = Block("same", (), {"a": x}, ("a",), ("a",))
    test = Block("test", (Node(OPERATORS["CONST"](), (), ("t",)),), {"a": x, "t": verdict}, ("a",), ("t",))
    return Region("same", (same,)), Region("test", (test,))


SPECIAL = {
    "COND_IF": ((Value("c", BOOL, (1,)), Value("x", INT8, (2,))), (Value("y", INT8, (2,)),)),
    "WHILE_LOOP": ((Value("x", INT8, (2,)),), (Value("y", INT8, (2,)),)),
    "CUSTOM": ((Value("x", INT8, (2,)),), (Value("y", INT8, (2,)),)),
    "CONST": ((), (Value("y", INT8, (2,), np.zeros(2, np.int8)),)),
    "CONST_SHAPE": ((), (Value("y", SHAPE, (2,), np.zeros(2, np.int64)),)),
    "VARIABLE": ((), (Value("y", INT8, (2,), np.zeros(2, np.int8), variable_name="v"),)),
    "VARIABLE_READ": ((), (Value("y", INT8, (2,)),)),
    "VARIABLE_WRITE": ((Value("x", INT8, (2,)),), ()),
}


def legal(name: str) -> Case:
    """A use of an operator that breaks nothing, or nearly so."""
    operator = OPERATORS[name]
    if name in SPECIAL:
        return Case(
            _made(operator, ATTRIBUTES), *SPECIAL[name], _regions() if "IF" in name or "LOOP" in name else ()
        )
    if name in SAMPLES:
        sample = SAMPLES[name]
        return Case(
            _made(operator, sample.attributes),
            tuple(_value(operand, given) for operand, given in sample.inputs.items()),
            tuple(_value(operand, given) for operand, given in sample.outputs.items()),
        )
    made, mode = _made(operator, ATTRIBUTES), operator.modes[0]
    inputs = tuple(_drawn(operand, mode) for operand in operator.operands_read)
    found = infer_outputs(made, inputs, {}, dtype=mode.types.get(operator.operands_written[0].type))
    outputs = zip(operator.operands_written, found, strict=True)
    return Case(made, inputs, tuple(Value(operand.name, *given) for operand, given in outputs))


def _made(operator: type[Operator], attributes: Mapping[str, Any]) -> Operator:
    return operator(**{k: v for k, v in attributes.items() if k in operator.fields})


def _value(name: str, given: Any) -> Value:
    if isinstance(given, Constant):
        return Value(name, given.dtype, given.data.shape, given.data)
    return Value(name, *given)


def _drawn(operand: Any, mode: Mode) -> Value:
    dtype = TYPES.get(operand.type) or mode[operand.type]
    return Value(operand.name, dtype, (2, 3) if operand.dims is None else (2,) * len(operand.dims))


def replacements(value: Value) -> Iterator[Value]:
    """Everything that may stand in the place of a value, whatever it means there."""
    name = value.name
    for dtype in DTYPES.values():
        yield replace(value, dtype=dtype, data=None)
        yield replace(value, dtype=dtype)
        yield from (Value(name, dtype, shape) for shape in (None, (), (1,), (2, 3)))
        for number in NUMBERS:
            elements = _filled(number, dtype)
            yield Value(name, dtype, (1,), elements[:1])
            if value.shape and 0 < np.prod(value.shape) < LARGEST:
                yield Value(name, dtype, value.shape, np.resize(elements, value.shape))
        yield Value(name, dtype, (), _filled(1, dtype)[0].reshape(()))
    for dtype in {value.dtype, SHAPE}:
        yield from (Value(name, dtype, shape) for shape in SHAPES)
        yield from (Value(name, dtype, (length,), _filled(1, dtype)[:length]) for length in LENGTHS)
        yield from (Value(name, dtype, odd.shape, odd) for odd in ODD)
        yield from (Value(name, dtype, shape, np.zeros(3, dtype.storage)) for shape in ((5,), None))


def _filled(number: float, dtype: DType) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.full(LARGEST, number).astype(dtype.storage)


def mutants(case: Case) -> Iterator[Case]:
    """The case with one operand or result replaced, left out, repeated, renamed or added."""
    yield case
    for place, value in enumerate(case.inputs):
        for other in replacements(value):
            yield replace(case, inputs=(*case.inputs[:place], other, *case.inputs[place + 1 :]))
        shape = Value(value.name, SHAPE, (1,))
        yield replace(case, inputs=(*case.inputs[:place], shape, *case.inputs[place + 1 :]), free=value.name)
        yield replace(case, free=value.name)
    for place, value in enumerate(case.outputs):
        for other in replacements(value):
            yield replace(case, outputs=(*case.outputs[:place], other, *case.outputs[place + 1 :]))
    reads, writes = (tuple(value.name for value in values) for values in (case.inputs, case.outputs))
    for names in _rearranged(reads, (*writes, "nowhere", "")):
        yield replace(case, reads=names)
    for names in _rearranged(writes, (*reads, "nowhere", "")):
        yield replace(case, writes=names)


def _rearranged(names: tuple[str, ...], others: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield ()
    yield names[::-1]
    yield (*names, *names)
    for place in range(len(names) + 1):
        yield names[:place]
        for name in (*names, *others):
            yield (*names[:place], name, *names[place:])
            yield (*names[:place], name, *names[place + 1 :])


@pytest.mark.parametrize("name", OPERATORS)
def test_the_sweep_begins_with_legal_uses(name: str) -> None:
    rules = {fault.rule for fault in validate(legal(name).graph)}
    # Alone, a write has nothing that declares its variable, and a shape is nothing that a graph may return.
    assert rules <= {"VARIABLE_WRITE": {"not_declared"}, "CONST_SHAPE": {"shape_at_the_border"}}.get(
        name, set()
    )


@pytest.mark.parametrize("name", OPERATORS)
def test_whatever_stands_in_for_an_operand_only_our_errors_come_out(name: str) -> None:
    timed = set()
    for number, case in enumerate(mutants(legal(name))):
        graph = case.graph
        faults = validate(graph)
        assert all(str(fault) for fault in faults)
        assert not [fault for fault in faults if fault.kind == "internal"], faults
        if faults:
            if number % EVERY == 0:
                with pytest.raises(tj.GraphError):
                    tj.compile(graph)
        elif (types := tuple(value.type for value in case.inputs + case.outputs)) not in timed:
            timed.add(types)
            with suppress(tj.TosaError):
                tj.simulate(graph, "tiny")


@pytest.mark.parametrize(
    "name", ["IDENTITY", "RESHAPE", "CONCAT", "CONST", "CONST_SHAPE", "VARIABLE", "VARIABLE_WRITE", "COND_IF"]
)
def test_every_graph_can_be_printed_and_is_written_or_refused(name: str) -> None:
    for case in mutants(legal(name)):
        assert str(case.graph)
        assert case.graph._repr_html_()
        with suppress(tj.TosaError):
            tj.to_bytes(case.graph)


def test_a_rule_that_fails_itself_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Operator, in_t: DType) -> bool:
        raise ZeroDivisionError("by zero")

    operator = OPERATORS["RESCALE"]
    rules = tuple(
        replace(rule, function=broken, parameters=("in_t",)) if rule.name == "shift_range" else rule
        for rule in operator.rules
    )
    monkeypatch.setattr(operator, "rules", rules)
    (fault,) = validate(legal("RESCALE").graph)
    assert (fault.kind, fault.rule) == ("internal", "shift_range")
    assert str(fault).startswith(
        "output (RESCALE) shift: the rule shift_range failed (ZeroDivisionError: by zero); "
        "this is a bug in tosajit"
    )


def test_shapes_that_cannot_be_inferred_for_a_fault_of_ours_are_a_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Operator, shape1: tuple[int, ...]) -> dict[str, int]:
        raise KeyError("axis")

    monkeypatch.setattr(OPERATORS["TRANSPOSE"], "infer", broken)
    (fault,) = validate(legal("TRANSPOSE").graph)
    assert (fault.kind, fault.rule) == ("internal", "infer")
