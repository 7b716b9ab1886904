"""Quantised graphs in integers are as those of rounded real numbers, but for the last step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tests.nnef.quantizing import Model, Q, steps_apart

FORMS = {
    "int8": (Q(0.05, 3), Q(0.031, -7)),
    "uint8": (Q(0.05, 131, signed=False), Q(0.031, 100, signed=False)),
    "int16": (Q(0.0002, bits=16), Q(0.00013, bits=16)),
    "symmetric": (Q(0.05, symmetric=True), Q(0.031, symmetric=True)),
    "bits6": (Q(0.2, 3, bits=6), Q(0.1, 0, bits=6)),
    "bits12": (Q(0.003, bits=12), Q(0.002, bits=12)),
    "half": (Q(0.1, 5, bits=7, signed=False), Q(0.06, 9, bits=7, signed=False)),
}
Shapes = Mapping[str, tuple[int, ...]]
ONE: Shapes = {"a": (2, 3, 5)}
TWO: Shapes = {"a": (2, 3, 5), "b": (2, 3, 5)}
EACH: dict[str, tuple[str, Shapes, tuple[int, ...], float]] = {
    "add": ("y = math.add(a, b);", TWO, (2, 3, 5), 2.5),
    "add_number": ("y = math.add(a, 0.75);", ONE, (2, 3, 5), 1.3),
    "sum_n": ("y = math.sum_n([a, b, a, b, a]);", TWO, (2, 3, 5), 5.0),
    "sub": ("y = math.sub(a, b);", TWO, (2, 3, 5), 2.5),
    "mul": ("y = math.mul(a, b);", TWO, (2, 3, 5), 5.0),
    "mul_number": ("y = math.mul(a, 0.3);", ONE, (2, 3, 5), 0.4),
    "mul_negative": ("y = math.mul(a, -0.7);", ONE, (2, 3, 5), 1.0),
    "div_number": ("y = math.div(a, 3.0);", ONE, (2, 3, 5), 0.4),
    "broadcast_add": ("y = math.add{rhs_align=1}(a, b);", {"a": (2, 3, 5), "b": (3,)}, (2, 3, 5), 2.5),
    "min": ("y = math.min(a, b);", TWO, (2, 3, 5), 1.1),
    "max_number": ("y = math.max(a, 0.33);", ONE, (2, 3, 5), 1.1),
    "min_n": ("y = math.min_n([a, b, a]);", TWO, (2, 3, 5), 1.1),
    "clamp": ("y = math.clamp(a, -1.1, 2.3);", ONE, (2, 3, 5), 0.9),
    "select": (
        "t = math.max_reduce{axes=[2]}(a); c = math.lt(a, t); y = math.select(c, a, b);", TWO, (2, 3, 5), 1.1,
    ),
    "relu": ("y = nn.relu(a);", ONE, (2, 3, 5), 1.1),
    "relu6": ("y = nn.relu{max=2.0}(a);", ONE, (2, 3, 5), 0.7),
    "leaky": ("y = nn.relu{alpha=0.1}(a);", ONE, (2, 3, 5), 1.1),
    "sigmoid": ("y = nn.sigmoid(a);", ONE, (2, 3, 5), 0.25),
    "tanh": ("y = math.tanh(a);", ONE, (2, 3, 5), 0.25),
    "silu": ("y = nn.silu(a);", ONE, (2, 3, 5), 1.0),
    "gelu": ("y = nn.gelu(a);", ONE, (2, 3, 5), 1.0),
    "elu": ("y = nn.elu(a);", ONE, (2, 3, 5), 1.0),
    "abs": ("y = math.abs(a);", ONE, (2, 3, 5), 1.1),
    "neg": ("y = math.neg(a);", ONE, (2, 3, 5), 1.1),
    "exp": ("y = math.exp(a);", ONE, (2, 3, 5), 40.0),
    "sqr": ("y = math.sqr(a);", ONE, (2, 3, 5), 5.0),
    "concat": ("y = layout.concat{axis=1}([a, b]);", TWO, (2, 6, 5), 1.1),
    "stack": ("y = layout.stack{axis=1}([a, b]);", TWO, (2, 2, 3, 5), 1.1),
    "reshape": ("y = layout.reshape{shape=[6, 5]}(a);", ONE, (6, 5), 1.1),
    "transpose": ("y = layout.transpose{perm=[2, 0, 1]}(a);", ONE, (5, 2, 3), 1.1),
    "tile": ("y = layout.tile{axes=[1], repeats=[2]}(a);", ONE, (2, 6, 5), 1.1),
    "slice": ("y = layout.slice{axes=[2], begin=[1], end=[4]}(a);", ONE, (2, 3, 3), 1.1),
    "pad": ("y = layout.pad{axes=[1], padding=[1, 2]}(a);", ONE, (2, 6, 5), 1.1),
    "mirrored": ("y = layout.pad{axes=[2], padding=[1, 2], method='REFLECT'}(a);", ONE, (2, 3, 8), 1.1),
    "max_reduce": ("y = math.max_reduce{axes=[2]}(a);", ONE, (2, 3, 1), 1.1),
    "sum_reduce": ("y = math.sum_reduce{axes=[2]}(a);", ONE, (2, 3, 1), 3.0),
    "mean_reduce": ("y = math.mean_reduce{axes=[0, 2]}(a);", ONE, (1, 3, 1), 0.5),
    "max_pool": (
        "y = nn.max_pool{axes=[2, 3], size=[3, 2], stride=[2, 1], padding=[1, 0, 1, 0]}(a);",
        {"a": (1, 3, 7, 6)}, (1, 3, 4, 5), 1.1,
    ),
    "avg_pool": ("y = nn.avg_pool{axes=[2, 3], size=[3, 2], stride=[2, 1], padding=0}(a);",
                 {"a": (1, 3, 7, 6)}, (1, 3, 3, 5), 0.6),
    "sum_pool": ("y = nn.sum_pool{axes=[2, 3], size=[3, 2], stride=[2, 1], padding=[1, 0, 1, 0]}(a);",
                 {"a": (1, 3, 7, 6)}, (1, 3, 4, 5), 4.0),
    "softmax": ("y = nn.softmax{axes=[2]}(a);", ONE, (2, 3, 5), 0.2),
    "matmul": ("y = linalg.matmul(a, b);", {"a": (2, 3, 5), "b": (2, 5, 4)}, (2, 3, 4), 9.0),
    "upsample": ("y = image.nearest_upsample{axes=[2, 3], factor=[2, 2]}(a);",
                 {"a": (1, 2, 3, 5)}, (1, 2, 6, 10), 1.1),
}  # fmt: skip


def model(name: str, form: str, seed: int = 0) -> Model:
    """A model of one operator; the last number says how much wider its result is than its operand."""
    compose, inputs, output, wider = EACH[name]
    first, second = FORMS[form]
    scale = first.scale
    assert isinstance(scale, float)
    said = {"a": first, "b": second, "y": replace(first, scale=scale * wider)}
    return Model(compose, inputs, {one: said[one] for one in (*inputs, "y")}, output, seed=seed)


OFTEN = (
    "add", "sub", "mul", "mul_number", "min", "relu6", "leaky", "tanh", "pad", "concat", "sum_reduce",
    "max_pool", "avg_pool", "softmax", "matmul",
)  # fmt: skip
"""Operators that meet all forms; others see two."""
CHOSEN = [(name, form) for name in EACH for form in FORMS if form in ("int8", "int16") or name in OFTEN]


@pytest.mark.parametrize(("name", "form"), CHOSEN)
def test_an_operator_on_integers_is_a_step_from_one_on_rounded_numbers(name: str, form: str) -> None:
    found = model(name, form)
    assert found.graph().notes == ()
    apart = steps_apart(found)
    assert apart.max() <= 1 + between_samples(name, form), np.unique(apart, return_counts=True)


CURVATURES = {"tanh": 0.77, "sigmoid": 0.1, "silu": 0.5, "gelu": 1.13, "elu": 1.0, "exp": 700.0, "sqr": 2.0}
"""How much the slopes of functions change, at most."""


def between_samples(name: str, form: str) -> float:
    """How far a line between two of the 513 samples of a table is from a function; steps of the result."""
    first, _ = FORMS[form]
    assert isinstance(first.scale, float)
    if first.bits <= 8 or name not in (*CURVATURES, "softmax"):
        return 0.0
    if name == "softmax":
        return 2.0  # of 1 / 32768 each, by the arithmetic that TFLite has for it
    width: float = 2.0**first.bits * first.scale / 512
    return width**2 / 8 * CURVATURES[name] / (first.scale * EACH[name][3])
