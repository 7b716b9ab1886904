"""Functions of JAX by their records: names, constants, what is refused. JAX is not needed here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit.frontends.jax.lowering import lowered
from tosajit.frontends.jax.records import Equation, Function, Jaxpr, Parameter, Value

Array = np.ndarray[Any, Any]
Atom = Value | Array


class Sketch:
    """A jaxpr while it is drawn up."""

    numbers = count()

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.constants: dict[int, Array] = {}
        self.equations: list[Equation] = []

    def take(self, *shape: int, type: str = "float32") -> Value:
        self.inputs.append(self.value(shape, type))
        return self.inputs[-1]

    def value(self, shape: Sequence[int], type: str = "float32") -> Value:
        return Value(next(self.numbers), type, tuple(shape))

    def constant(self, array: Array) -> Value:
        found = self.value(array.shape, array.dtype.name)
        self.constants[found.number] = array
        return found

    def add(
        self,
        primitive: str,
        *inputs: Atom,
        shape: Sequence[int],
        type: str = "float32",
        scope: str = "",
        source: str = "model.py:7 (f)",
        **parameters: Parameter,
    ) -> Value:
        found = self.value(shape, type)
        parameters = {"shape": tuple(shape), **parameters}
        self.equations.append(Equation(primitive, inputs, (found,), parameters, scope, source))
        return found

    def jaxpr(self, *outputs: Atom) -> Jaxpr:
        return Jaxpr(tuple(self.inputs), self.constants, tuple(self.equations), outputs)

    def graph(self, *outputs: Atom) -> tj.Graph:
        inputs = [f"x{place}" for place in range(len(self.inputs))]
        results = [f"y{place}" for place in range(len(outputs))]
        size = sum(one.nbytes for one in self.constants.values())
        return lowered(
            Function(self.jaxpr(*outputs), tuple(inputs), tuple(results), size, len(self.equations))
        )


def opcodes(graph: tj.Graph) -> list[str]:
    return [node.operator.opcode for node in graph.nodes if not node.operator.opcode.startswith("CONST")]


def test_a_node_has_the_names_of_its_modules_and_the_line_of_its_source() -> None:
    sketch = Sketch()
    hidden = sketch.add("exp", sketch.take(2, 3), shape=(2, 3), scope="MLP/Dense_0")
    graph = sketch.graph(sketch.add("neg", hidden, shape=(2, 3)))
    node = next(one for one in graph.nodes if one.operator.opcode == "EXP")
    assert node.outputs == ("MLP/Dense_0/exp",)
    assert node.location == "exp at model.py:7 (f)"


def test_everything_that_has_no_form_is_told_at_once_with_its_line() -> None:
    sketch = Sketch()
    drawn = sketch.add("random_bits", sketch.take(2, type="uint32"), shape=(2,), source="noise.py:3 (g)")
    odd = sketch.add("mystery", sketch.add("neg", drawn, shape=(2,)), shape=(2,))
    with pytest.raises(tj.ModelError) as raised:
        sketch.graph(sketch.add("fft", odd, shape=(2,)))
    reasons = {one.operator: (one.reason, one.remedy) for one in raised.value.refusals}
    assert set(reasons) == {
        "random_bits at noise.py:3 (g)",
        "mystery at model.py:7 (f)",
        "fft at model.py:7 (f)",
    }
    assert reasons["mystery at model.py:7 (f)"][0] == "no lowering is written yet"
    assert all(one[1] for name, one in reasons.items() if not name.startswith("mystery"))


def test_what_no_result_needs_is_not_looked_at() -> None:
    sketch = Sketch()
    given = sketch.take(2)
    sketch.add("random_bits", given, shape=(2,))
    assert opcodes(sketch.graph(sketch.add("neg", given, shape=(2,)))) == ["NEGATE"]


def test_called_functions_are_written_in_the_place_of_their_callers() -> None:
    inner = Sketch()
    body = inner.jaxpr(inner.add("exp", inner.take(2), shape=(2,)))
    sketch = Sketch()
    first = sketch.add("jit", sketch.take(2), shape=(2,), jaxpr=body, name="act")
    graph = sketch.graph(sketch.add("custom_jvp_call", first, shape=(2,), call_jaxpr=body, name="act"))
    assert opcodes(graph) == ["EXP", "EXP"]
    assert [node.name for node in graph.nodes] == ["jit/act/exp", "y0"]


def test_constants_are_shared_and_not_copied() -> None:
    sketch, weights = Sketch(), np.ones((300, 300), np.float32)
    weights.flags.writeable = False  # as what JAX gives
    one, other = sketch.constant(weights), sketch.constant(weights)
    total = sketch.add("add", sketch.take(300, 300), one, shape=(300, 300))
    graph = sketch.graph(sketch.add("mul", total, other, shape=(300, 300)))
    large = [
        value for value in graph.main.values.values() if value.shape == (300, 300) and value.data is not None
    ]
    assert len(large) == 1
    assert large[0].data is not None
    assert np.shares_memory(large[0].data, weights)


def test_a_repeated_operand_is_not_written_out() -> None:
    sketch = Sketch()
    row = sketch.add("broadcast_in_dim", sketch.take(3), shape=(5, 3), broadcast_dimensions=(1,))
    graph = sketch.graph(sketch.add("add", sketch.take(5, 3), row, shape=(5, 3)))
    assert opcodes(graph) == ["RESHAPE", "ADD"]


def test_two_repeated_operands_give_a_repeated_result() -> None:
    sketch = Sketch()
    given = sketch.take(3)
    row = sketch.add("broadcast_in_dim", given, shape=(5, 3), broadcast_dimensions=(1,))
    run = tj.compile(sketch.graph(sketch.add("add", row, row, shape=(5, 3))), interpret=True)
    np.testing.assert_array_equal(run(np.arange(3, dtype=np.float32)), [[0, 2, 4]] * 5)


@pytest.mark.parametrize(("type", "reason"), [("float64", "float64"), ("key<fry>", "key<fry>")])
def test_arguments_of_types_that_tosa_lacks_are_refused(type: str, reason: str) -> None:
    sketch = Sketch()
    with pytest.raises(tj.ModelError, match=f"x0 \\(argument\\): TOSA has no type for {reason}"):
        sketch.graph(sketch.take(2, type=type))


def test_arguments_without_elements_and_of_many_dimensions_are_refused() -> None:
    sketch = Sketch()
    with pytest.raises(tj.ModelError, match=r"x0 .* has no elements(.|\n)*x1 .* has 7 dimensions"):
        sketch.graph(sketch.take(2, 0), sketch.take(1, 1, 1, 1, 1, 1, 1))


def test_results_that_are_arguments_or_numbers_are_outputs_of_their_own() -> None:
    sketch = Sketch()
    graph = sketch.graph(sketch.take(2), np.float32(3) * np.ones((2,), np.float32))
    found = tj.compile(graph, interpret=True)(np.array([1, 2], np.float32))
    np.testing.assert_array_equal(found, [[1, 2], [3, 3]])


def test_arrays_of_other_packages_are_taken() -> None:
    class Foreign:
        def __array__(self, dtype: object = None, copy: object = None) -> Array:
            return np.array([1, 2], np.float32)

    sketch = Sketch()
    run = tj.compile(sketch.graph(sketch.add("neg", sketch.take(2), shape=(2,))), interpret=True)
    np.testing.assert_array_equal(run(Foreign()), [-1, -2])


def test_without_jax_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(tj.InputError, match=r"JAX is not installed, .*: pip install tosajit\[jax\]"):
        tj.from_jax(lambda x: x, np.zeros(2, np.float32))


def test_what_is_refused_inside_of_calls_is_told_too() -> None:
    inner = Sketch()
    body = inner.jaxpr(inner.add("random_bits", inner.take(2, type="key<fry>"), shape=(2,), source=""))
    sketch = Sketch()
    with pytest.raises(tj.ModelError, match=r"x0 \(argument\)(.|\n)*random_bits at model.py:7"):
        sketch.graph(sketch.add("jit", sketch.take(2, type="key<fry>"), shape=(2,), jaxpr=body))


@pytest.mark.parametrize("channel", [1, 3])
def test_a_constant_of_channels_behind_a_convolution_is_its_bias(channel: int) -> None:
    sketch, orders = Sketch(), {1: (0, 1, 2, 3), 3: (0, 3, 1, 2)}
    shape = (1, 4, 4, 4)
    image, kernel = sketch.take(*shape), sketch.constant(np.ones((4, 4, 1, 1), np.float32))
    bias = np.arange(4, dtype=np.float32).reshape([4 if axis == channel else 1 for axis in range(4)])
    total = sketch.add(
        "conv_general_dilated", image, kernel, shape=shape, window_strides=(1, 1), padding=((0, 0), (0, 0)),
        lhs_dilation=(1, 1), rhs_dilation=(1, 1), feature_group_count=1, batch_group_count=1,
        dimension_numbers={
            "lhs_spec": orders[channel], "rhs_spec": (0, 1, 2, 3), "out_spec": orders[channel],
        },
    )  # fmt: skip
    more = sketch.add("add", total, sketch.constant(np.broadcast_to(bias, shape)), shape=shape)
    graph = sketch.graph(more)
    assert "ADD" not in opcodes(graph)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    expected = x.sum(channel, keepdims=True) + bias
    assert np.abs(tj.compile(graph)(x) - expected).max() < 1e-5


def test_a_sum_that_is_used_elsewhere_keeps_its_own_convolution() -> None:
    sketch = Sketch()
    image, kernel = sketch.take(2, 3), sketch.constant(np.eye(3, dtype=np.float32))
    total = sketch.add("dot_general", image, kernel, shape=(2, 3), dimension_numbers=(((1,), (0,)), ((), ())))
    bias = sketch.constant(np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3)))
    more = sketch.add("add", bias, total, shape=(2, 3))
    assert opcodes(sketch.graph(more)).count("ADD") == 0
    assert opcodes(sketch.graph(more, total)).count("ADD") == 1


@pytest.mark.parametrize("border", [0, 1])
def test_a_sum_of_windows_over_their_size_is_a_mean(border: int) -> None:
    sketch = Sketch()
    image = sketch.take(1, 5, 5, 2)
    extent = 3 if border else 2
    windows: dict[str, Any] = {
        "window_dimensions": (1, 3, 3, 1), "window_strides": (1, 2, 2, 1), "base_dilation": (1,) * 4,
        "padding": ((0, 0), (border, border), (border, border), (0, 0)), "window_dilation": (1,) * 4,
    }  # fmt: skip
    total = sketch.add("reduce_window_sum", image, shape=(1, extent, extent, 2), **windows)
    ones = sketch.constant(np.ones((1, 5, 5, 1), np.float32))
    counts = sketch.add("reduce_window_sum", ones, shape=(1, extent, extent, 1), **windows)
    mean = sketch.add("div", total, counts, shape=(1, extent, extent, 2))
    flat = sketch.add("div", total, np.array(9, np.float32), shape=(1, extent, extent, 2))
    assert opcodes(sketch.graph(mean)) == ["AVG_POOL2D"]
    assert ("AVG_POOL2D" in opcodes(sketch.graph(flat))) is (border == 0)
    x = np.arange(50, dtype=np.float32).reshape(1, 5, 5, 2)
    found = tj.compile(sketch.graph(mean))(x)
    assert np.abs(found[0, 0, 0] - x[0, : 3 - border, : 3 - border].mean((0, 1))).max() < 1e-5


def test_series_whose_length_depends_on_elements_are_refused() -> None:
    sketch = Sketch()
    first = sketch.take(3)
    with pytest.raises(tj.ModelError, match="it is a series whose length depends on its elements"):
        sketch.graph(sketch.add("igamma", first, first, shape=(3,)))


def test_what_has_no_elements_is_left_out() -> None:
    """As `associative_scan` combines parts of no elements where it has two."""
    sketch = Sketch()
    x = sketch.take(2, 3)
    none = sketch.add("slice", x, shape=(2, 0), start_indices=(0, 1), limit_indices=(2, 1), strides=None)
    scaled = sketch.add("exp", sketch.add("mul", none, none, shape=(2, 0)), shape=(2, 0))
    graph = sketch.graph(sketch.add("concatenate", scaled, x, scaled, shape=(2, 3), dimension=1))
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(tj.compile(graph)(numbers), numbers)
    assert {"EXP", "MUL", "SLICE"}.isdisjoint(opcodes(graph))


def test_a_part_of_no_elements_is_split_off() -> None:
    sketch = Sketch()
    x = sketch.take(3, 2)
    parts = [sketch.value((extent, 2)) for extent in (1, 0, 2)]
    sketch.equations.append(Equation("split", (x,), tuple(parts), {"sizes": (1, 0, 2), "axis": 0}, "", ""))
    graph = sketch.graph(sketch.add("concatenate", parts[2], parts[1], parts[0], shape=(3, 2), dimension=0))
    numbers = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(tj.compile(graph)(numbers), numbers[[1, 2, 0]])
