"""Recurrent operators of TFLite models: weights once, steps that are recognised, state that goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases import Sketch, draw, drawn, gemmlowp
from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tosajit.frontends.tflite import words
from tosajit.frontends.tflite.fields import Activation, LSTMKernel
from tosajit.frontends.tflite.options import (
    LSTMOptions,
    SequenceRNNOptions,
    UnidirectionalSequenceLSTMOptions,
)
from tosajit.frontends.tflite.schema import Type
from tosajit.frontends.tflite.words import sigmoids, tangents

DEPTH, WIDTH, STEPS = 32, 48, 12
NUMBERS = np.random.default_rng(5)


def constant(name: str, *shape: int) -> RawTensor:
    data = np.random.default_rng([*name.encode()]).uniform(-0.2, 0.2, shape).astype(np.float32)
    return RawTensor(name, Type.FLOAT32, shape, data.tobytes())


def lstm(steps: int) -> bytes:
    tensors = [
        RawTensor("x", Type.FLOAT32, (1, steps, DEPTH)),
        *(constant(f"input_{gate}", WIDTH, DEPTH) for gate in range(4)),
        *(constant(f"recurrent_{gate}", WIDTH, WIDTH) for gate in range(4)),
        *(constant(f"bias_{gate}", WIDTH) for gate in range(4)),
        RawTensor("given", Type.FLOAT32, (1, WIDTH), variable=True),
        RawTensor("state", Type.FLOAT32, (1, WIDTH), variable=True),
        RawTensor("lstm/y", Type.FLOAT32, (1, steps, WIDTH)),
    ]
    inputs = (*range(9), -1, -1, -1, *range(9, 13), -1, -1, 13, 14)
    node = RawOperator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, (15,), UnidirectionalSequenceLSTMOptions(Activation.TANH)
    )
    return RawModel([RawSubgraph(tensors, [node], [0], [15], "main")]).bytes()


def bytes_of(arrays: list[np.ndarray]) -> int:
    return sum(array.nbytes for array in arrays)


WEIGHTS = 4 * 4 * WIDTH * (DEPTH + WIDTH + 1)


def test_weights_that_steps_share_are_there_once() -> None:
    graph = tj.load(lstm(STEPS))
    constants = [value.data for value in graph.main.values.values() if value.data is not None]
    assert WEIGHTS <= bytes_of(constants) <= WEIGHTS + 4 * 2 * WIDTH + 64 * STEPS  # first states, shapes


def test_weights_that_steps_share_are_once_in_what_runs() -> None:
    def held(steps: int) -> int:
        prepared = tj.compile(tj.load(lstm(steps))).stages["prepare"]
        return bytes_of([array for part in prepared.values.values() for array in part.constants.values()])

    assert held(STEPS) <= held(2) + 1024
    assert held(STEPS) <= 2 * WEIGHTS + 4096  # as the kernels have them, and as the graph has them


def test_nodes_of_steps_say_which() -> None:
    names = [node.name for node in tj.load(lstm(3)).main.nodes if node.inputs]
    for step in range(3):
        assert sum(name.startswith(f"lstm/y/step_{step}/") for name in names) > 10
    assert not any("/step_3/" in name for name in names)


def rnn(steps: int, numbers: np.random.Generator) -> bytes:
    """A layer without activation, so that expected results are simple."""

    def weights(name: str, *shape: int) -> RawTensor:
        data = numbers.uniform(-0.3, 0.3, shape).astype(np.float32)
        return RawTensor(name, Type.FLOAT32, shape, data.tobytes())

    tensors = [
        RawTensor("x", Type.FLOAT32, (1, steps, 2)),
        weights("w", 3, 2),
        weights("r", 3, 3),
        weights("b", 3),
        RawTensor("state", Type.FLOAT32, (1, 3), variable=True),
        RawTensor("y", Type.FLOAT32, (1, steps, 3)),
    ]
    node = RawOperator("UNIDIRECTIONAL_SEQUENCE_RNN", (0, 1, 2, 3, 4), (5,), SequenceRNNOptions())
    return RawModel([RawSubgraph(tensors, [node], [0], [5], "main")]).bytes()


def test_a_layer_goes_on_where_the_last_call_has_ended() -> None:
    whole, half = (tj.compile(tj.load(rnn(steps, np.random.default_rng(3)))) for steps in (6, 3))
    x = NUMBERS.normal(size=(1, 6, 2)).astype(np.float32)
    found = np.concatenate([half(x[:, :3]), half(x[:, 3:])], axis=1)
    np.testing.assert_allclose(found, whole(x), rtol=1e-6)
    np.testing.assert_allclose(half(x[:, :3], context=half.context()), found[:, :3], rtol=1e-6)
    assert not np.allclose(half(x[:, :3]), found[:, :3])


def test_a_sequence_that_is_too_long_is_refused() -> None:
    with pytest.raises(tj.ModelError, match="its input has 5000 steps, but must have 1 to 4096"):
        tj.load(rnn(5000, np.random.default_rng(3)))


def test_an_integer_cell_without_inner_scales_is_refused() -> None:
    assert tj.validate(tj.load(draw("LSTM", "int8", 1).model)) == ()
    sketch = drawn_cell()
    with pytest.raises(tj.ModelError, match="it has 0 intermediate scales, but must have 5"):
        tj.load(sketch.case().model)


def test_gates_whose_normal_numbers_leave_32_bits_are_refused() -> None:
    cells = (drawn_cell(bare=False, seed=seed) for seed in range(99))
    sketch = next(one for one in cells if len(one.operators[0].inputs) == 24)
    place = sketch.operators[0].inputs[13]
    tensor = sketch.tensors[place]
    sketch.tensors[place] = replace(tensor, data=b"\xff\xff\xff\x7f" * tensor.shape[0])
    with pytest.raises(tj.ModelError, match=r"made normal may be 2\d{9}, which does not fit in 32 bits"):
        tj.load(sketch.case().model)


def test_a_basic_cell_of_bytes_with_sign_is_refused() -> None:
    sketch = drawn_cell()
    basic = LSTMOptions(Activation.TANH, kernel_type=LSTMKernel.BASIC)
    sketch.operators[0] = replace(sketch.operators[0], options=basic)
    with pytest.raises(tj.ModelError, match="the basic kernel, which takes float32 and uint8, but not int8"):
        tj.load(sketch.case().model)


def drawn_cell(*, bare: bool = True, seed: int = 0) -> Sketch:
    """A cell of bytes; if bare, its file does not say the scales inside."""
    sketch = Sketch("LSTM", f"bare {seed}")
    drawn()["LSTM"].drawer(sketch, Type.INT8)
    if bare:
        sketch.operators[0] = replace(sketch.operators[0], intermediates=())
    return sketch


@pytest.mark.parametrize("integer_bits", [0, 3, 4, 5, 6])
def test_tangents_are_near_the_real_ones(integer_bits: int) -> None:
    table = tangents(integer_bits)
    places = np.arange(len(table)) / 2.0 ** (15 - integer_bits)
    assert np.abs(table - 32768 * np.tanh(places)).max() < 16
    assert table[-1] == table.max()


def test_sigmoids_are_near_the_real_ones() -> None:
    table = sigmoids()
    assert np.abs(table - 32768 / (1 + np.exp(-np.arange(len(table)) / 4096))).max() < 8


SIZES = [*range(64), *range(64, 32768, 37), 32767, 32768]


@pytest.mark.parametrize("integer_bits", range(7))
def test_tangents_are_those_of_gemmlowp(integer_bits: int) -> None:
    table = tangents(integer_bits)
    assert [int(table[min(one, len(table) - 1)]) for one in SIZES] == [
        gemmlowp.tangent(one, integer_bits) for one in SIZES
    ]
    assert len(table) == 1 or table[-2] != table[-1]


def test_sigmoids_are_those_of_gemmlowp() -> None:
    table = sigmoids()
    expected = [gemmlowp.logistic(one) for one in SIZES]
    assert [int(table[min(one, len(table) - 1)]) for one in SIZES] == expected
    assert table[-2] != table[-1]


def test_functions_of_words_are_even_or_odd() -> None:
    given = np.array([*range(-5, 6), -32768, -32767, -32581, 32580, 32767, 4096, -4096], np.int16).reshape(
        2, 9
    )
    sizes = np.abs(given.astype(np.int32)).reshape(-1).tolist()
    below = (given < 0).reshape(-1)
    for function, above in (
        (words.sigmoid, [gemmlowp.logistic(one) for one in sizes]),
        (lambda value: words.tangent(value, 3), [gemmlowp.tangent(one, 3) for one in sizes]),
    ):
        opposite = 32767 if function is words.sigmoid else 0
        expected = np.where(below, opposite - np.array(above), above).reshape(given.shape)
        found = tj.compile(tj.trace(function, given))(given)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, expected)
