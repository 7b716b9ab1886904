"""Texts in SkriptND that hold every standard operator, called from the library and written out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from tests.nnef.cases import CASES, Case
from tests.nnef.cases.case import Given
from tests.nnef.running import definition_of, given_by_name
from tosajit.frontends.nnef.library import MODULES
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.value import Value, text_of

_TYPES = {"f": "real", "i": "int", "b": "bool"}
_LEFT_OUT = ("layout.nonzero", "layout.shape", "nn._jagged_lstm_loops", "nn.lstm")
"""Data decide the shapes of what these give, or the first case gives nothing: no graph holds that."""
_CONTROL = """
graph control {
    @input { x: real[4]; n: int[]; c: bool[]; }
    @output { y: real[4]; z: real[4]..(3); }
    @variable { w: real[4]; }
    @compose {
        a = if c then math.add(x, w) else { b = math.mul(x, w); yield b; };
        d = with s = a do..(i -> n) math.add(s, x);
        y = with s = d for k : [x, w] unroll math.mul(s, k);
        z = for k : [x, w, a] do math.neg(k);
    }
    @update { w = math.add(w, y); }
}
"""


def texts() -> Iterator[bytes]:
    """Valid texts."""
    imports = f"import {', '.join(MODULES)};\n"
    yield (imports + _CONTROL).encode()
    for cases in CASES.values():
        case = cases[0]
        definition = definition_of(case)
        if case.operator in _LEFT_OUT:
            continue
        yield f"{imports}{_graph(case, case.operator)}".encode()
        if definition.operator.lowerings is None:
            continue
        own = definition.source.text.strip()
        yield f"{imports}{own}\n{_graph(case, definition.operator.name)}".encode()


def _graph(case: Case, called: str) -> str:
    """A graph that calls an operator as a case does."""
    operator = definition_of(case).operator
    given = [(name, one) for name, one in given_by_name(case).items()]
    while given and given[-1][1] is None:
        given.pop()
    inputs = [_declared(name, one) for name, one in given if one is not None]
    types = f"<{', '.join(case.types)}>" if case.types else ""
    attributes = ", ".join(f"{name}={_written(value)}" for name, value in case.attributes.items())
    arguments = ", ".join("~" if one is None else f"in_{name}" for name, one in given)
    left = [_left(one, value) for one, value in zip(operator.outputs, case.expected, strict=True)]
    outputs = [_output(one, value) for one, value in zip(operator.outputs, case.expected, strict=True)]
    return (
        f"graph g {{\n    @input {{ {' '.join(inputs)} }}\n    @output {{ {' '.join(outputs)} }}\n"
        f"    @compose {{ {', '.join(left)} = {called}{types}{{{attributes}}}({arguments}); }}\n}}\n"
    )


def _declared(name: str, given: Given) -> str:
    first = given[0] if isinstance(given, Sequence) else given
    assert isinstance(first, np.ndarray)
    pack = f"..({len(given)})" if isinstance(given, Sequence) else ""
    return f"in_{name}: {_TYPES[first.dtype.kind]}[{', '.join(map(str, first.shape))}]{pack};"


def _output(parameter: tree.Parameter, value: object) -> str:
    first = value[0] if isinstance(value, list | tuple) else value
    pack = f"..({len(value)})" if isinstance(value, list | tuple) else ""
    return f"out_{parameter.name}: {_TYPES[np.asarray(first).dtype.kind]}{pack};"


def _left(parameter: tree.Parameter, value: object) -> str:
    pack = f"..({len(value)})" if isinstance(value, list | tuple) else ""
    return f"out_{parameter.name}{pack}"


def _written(value: Value) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_written, value))}]"
    return text_of(value)
