"""What tests of composition share: texts of operators, and short ways to call them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tosajit.errors import Fault, ScriptError
from tosajit.frontends.nnef.compose import Library, compose, invoke
from tosajit.frontends.nnef.model import Argument, Model, Operation, Tensor
from tosajit.frontends.nnef.values.value import Value

CONV = """
operator conv {
    @attrib { stride: int..(d) = 1; dilation: int..(d) = 1; padding: optional int..(d); }
    @input { input: real[b,c,is..(d)]; filter: real[n,c,fs..(d)]; bias: optional real[n]; }
    @using {
        fd = (fs - 1) * dilation + 1;
        paddings = 2 * padding ?? (is \\ stride - 1) * stride + fd - is;
        os = (is + paddings - fd) / stride + 1;
    }
    @output { output: real[b,n,os..]; }
    @assert {
        stride > 0: "'stride' must be positive; got {stride}";
        is + paddings >= fd: "too small", 'input-size': is, fs;
    }
    @lower {
        output[bi,ni,i..] = bias[ni] ?? 0.0, bi < b, ni < n, i < os;
        output[bi,ni,i..] += input[bi,ci,|i * stride + j * dilation - paddings / 2|..] * filter[ni,ci,j..],
            bi < b, ni < n, ci < c, i < os, j < fs;
    }
}
"""
BINARY = """
operator add {
    @dtype { T: num; }
    @input { x: T[s..]; y: T[s..]; }
    @output { z: T[s..]; }
    @lower { z[i..] = x[i..] + y[i..], i < s; }
}
operator scale {
    @input { x: real[s..]; factor: real[] = 1.0; }
    @output { z: real[s..]; }
    @lower { z[i..] = x[i..] * factor[], i < s; }
}
operator less {
    @dtype { T: num; }
    @input { x: T[]; y: T[]; }
    @output { z: bool[]; }
    @lower { z[] = x[] < y[]; }
}
operator split {
    @dtype { T: type; }
    @attrib { n: int; }
    @input { x: T[m, s..]; }
    @output { ys: T[m / n, s..]..(n); }
}
operator join {
    @dtype { T: type; }
    @input { xs: T[..m, s..]..(n); }
    @output { y: T[m + .., s..]; }
}
"""


def tensor(*shape: int, type: str = "real", name: str = "x") -> Tensor:
    return Tensor(name, type, shape)


def operation(
    text: str,
    inputs: Mapping[str, Argument] | None = None,
    attributes: Mapping[str, Value] | None = None,
    types: tuple[str, ...] = (),
    **more: Value,
) -> Operation:
    """The last operator of a text, on tensors."""
    attributes = {**(attributes or {}), **more}
    library = Library({"main": text})
    definition = list(library.main.definitions.values())[-1]
    return invoke(definition, library, types=types, attributes=attributes, inputs=inputs or {})


def graph(text: str, **attributes: Value) -> Model:
    return compose(Library({"main": CONV + BINARY + text}), attributes=attributes)


def refusal(text: str, inputs: Mapping[str, Argument] | None = None, **attributes: Value) -> Fault:
    """Why an operator cannot be called."""
    with pytest.raises(ScriptError) as caught:
        operation(text, inputs, attributes)
    return caught.value.faults[0]


def graph_refusal(text: str, **attributes: Value) -> Fault:
    with pytest.raises(ScriptError) as caught:
        graph(text, **attributes)
    return caught.value.faults[0]
