"""Recurrent operators, called several times: what they keep goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import Quantized
from tosajit.frontends.tflite.fields import Activation, LSTMKernel
from tosajit.frontends.tflite.options import (
    BidirectionalSequenceLSTMOptions,
    BidirectionalSequenceRNNOptions,
    LSTMOptions,
    RNNOptions,
    SequenceRNNOptions,
    SVDFOptions,
    UnidirectionalSequenceLSTMOptions,
)
from tosajit.frontends.tflite.schema import Type

CALLS = 3
ACTIVATIONS = (Activation.TANH, Activation.TANH, Activation.RELU, Activation.RELU6)
"""NONE is left out: without an activation, LiteRT's LSTM gives out what is left in a buffer."""
ANY_ACTIVATION = (*ACTIVATIONS, Activation.NONE)
FLOAT = Type.FLOAT32
LEFT_OUT = -1


@dataclass(frozen=True)
class Cell:
    """The extents of a cell, and what it has of what it may have."""

    batch: int
    depth: int
    width: int
    given: int
    """How many numbers it gives out."""
    coupled: bool
    peephole: bool
    projected: bool
    normal: bool

    @property
    def gates(self) -> tuple[bool, ...]:
        return (not self.coupled, True, True, True)


def cell(sketch: Sketch, batch: int, depth: int, normal: bool = False) -> Cell:
    width, projected = sketch.random.randint(1, 6), sketch.chance(0.4)
    given = sketch.random.randint(1, 6) if projected else width
    coupled, peephole = sketch.chance(0.3), sketch.chance(0.4)
    return Cell(batch, depth, width, given, coupled, peephole, projected, normal)


@case("LSTM", "float32 int8 uint8")
def lstm(sketch: Sketch, kind: Type) -> None:
    sketch.calls = CALLS
    if kind is Type.UINT8:
        basic_of_bytes(sketch)
        return
    if kind is Type.INT8:
        batch, depth = sketch.random.randint(1, 3), sketch.random.randint(1, 6)
        value = sketch.operand(kind, (batch, depth), constant=False)
        drawn = integer_cell(sketch, batch, depth)
        options = LSTMOptions(Activation.TANH, clip(sketch), clip(sketch))
        of_integers(sketch, value, drawn, (batch, drawn.given), options)
        return
    if sketch.chance(0.3):
        basic(sketch)
        return
    batch, depth = sketch.random.randint(1, 3), sketch.random.randint(1, 6)
    drawn = cell(sketch, batch, depth, sketch.chance(0.3))
    value = sketch.operand(FLOAT, (batch, depth), constant=False, low=-1, high=1)
    operands = [value, *weights(sketch, drawn), *states(sketch, drawn), *norms(sketch, drawn)]
    options = LSTMOptions(sketch.random.choice(ACTIVATIONS), clip(sketch), clip(sketch))
    sketch.add(operands, sketch.result(FLOAT, (batch, drawn.given)), options)


def basic(sketch: Sketch) -> None:
    batch, depth, width = (sketch.random.randint(1, 6) for _ in range(3))
    kept = sketch.chance()

    def place(kind: Type, shape: tuple[int, ...]) -> int:
        return sketch.variable(kind, shape) if kept else sketch.operand(kind, shape, constant=False)

    operands = [
        sketch.operand(FLOAT, (batch, depth), constant=False),
        place(FLOAT, (batch, width)),
        numbers(sketch, (4 * width, depth + width)),
        numbers(sketch, (4 * width,)),
        place(FLOAT, (batch, width)),
    ]
    results = [sketch.result(FLOAT, (batch, width)), sketch.result(FLOAT, (batch, width))]
    scratch = [sketch.tensor(FLOAT, (batch, depth + width)), sketch.tensor(FLOAT, (batch, 4 * width))]
    options = LSTMOptions(Activation.TANH, kernel_type=LSTMKernel.BASIC)
    sketch.add(operands, [*results, *scratch], options)


def basic_of_bytes(sketch: Sketch) -> None:
    """Bytes for numbers from -1 to 1, and a state of 16 bits with 4 before the point."""
    batch, depth, width = (sketch.random.randint(1, 6) for _ in range(3))
    kept, unit, state = sketch.chance(), _fixed(1 / 128, 128), _fixed(2.0**-11, 0)

    def place(kind: Type, shape: tuple[int, ...], like: Quantized) -> int:
        return (
            sketch.variable(kind, shape, **like)
            if kept
            else sketch.operand(kind, shape, constant=False, **like)
        )

    scale = sketch.scale(0.002, 0.05)
    weights = _fixed(scale, sketch.random.randint(0, 255))
    bias = sketch.numbers.integers(-20000, 20000, 4 * width)
    operands = [
        sketch.operand(Type.UINT8, (batch, depth), constant=False, **unit),
        place(Type.UINT8, (batch, width), unit),
        sketch.operand(Type.UINT8, (4 * width, depth + width), constant=True, **weights),
        sketch.constant(Type.INT32, bias, **_fixed(scale / 128, 0)),
        place(Type.INT16, (batch, width), state),
    ]
    results = [sketch.result(Type.UINT8, (batch, width), **unit)]
    results.append(sketch.result(Type.INT16, (batch, width), **state))
    scratch = [sketch.tensor(Type.UINT8, (batch, depth + width), **unit)]
    scratch.append(sketch.tensor(Type.INT16, (batch, 4 * width), **_fixed(2.0**-12, 0)))
    options = LSTMOptions(Activation.TANH, kernel_type=LSTMKernel.BASIC)
    sketch.add(operands, [*results, *scratch], options)


def _fixed(scale: float, zero_point: int) -> Quantized:
    return {"scale": (scale,), "zero_point": (zero_point,)}


@case("UNIDIRECTIONAL_SEQUENCE_LSTM", "float32 int8")
def sequences(sketch: Sketch, kind: Type) -> None:
    sketch.calls = CALLS
    batch, steps, depth = (sketch.random.randint(1, most) for most in (3, 5, 6))
    if kind is Type.INT8:
        time_major = sketch.chance()
        value = sketch.operand(kind, rows(steps, batch, depth, time_major), constant=False)
        drawn = integer_cell(sketch, batch, depth)
        whole = UnidirectionalSequenceLSTMOptions(Activation.TANH, clip(sketch), clip(sketch), time_major)
        of_integers(sketch, value, drawn, rows(steps, batch, drawn.given, time_major), whole)
        return
    drawn, time_major = cell(sketch, batch, depth, sketch.chance(0.3)), sketch.chance()
    value = sketch.operand(FLOAT, rows(steps, batch, depth, time_major), constant=False, low=-1, high=1)
    operands = [value, *weights(sketch, drawn), *states(sketch, drawn), *norms(sketch, drawn)]
    options = UnidirectionalSequenceLSTMOptions(
        sketch.random.choice(ACTIVATIONS), clip(sketch), clip(sketch), time_major
    )
    sketch.add(operands, sketch.result(FLOAT, rows(steps, batch, drawn.given, time_major)), options)


@case("BIDIRECTIONAL_SEQUENCE_LSTM", "float32")
def both_ways(sketch: Sketch, kind: Type) -> None:
    sketch.calls = CALLS
    batch, steps, depth = (sketch.random.randint(1, most) for most in (3, 5, 6))
    time_major, merged, mode = sketch.chance(), sketch.chance(), sketch.random.choice(["", "aux", "stacked"])
    if merged and not time_major:
        batch = 1  # of several batches, LiteRT's results change from run to run
    value = sketch.operand(FLOAT, rows(steps, batch, depth, time_major), constant=False, low=-1, high=1)
    first = cell(sketch, batch, depth)
    pair = [first, replace(first, coupled=sketch.chance(0.3), peephole=sketch.chance(0.4))]
    operands = [value, *(place for one in pair for place in weights(sketch, one))]
    operands += [place for one in pair for place in states(sketch, one)]
    aux = LEFT_OUT
    if mode:
        aux = sketch.operand(FLOAT, rows(steps, batch, depth, time_major), constant=False, low=-1, high=1)
    operands.append(aux)
    for one in pair:
        operands += [
            numbers(sketch, (one.width, depth)) if mode == "aux" and there else LEFT_OUT
            for there in one.gates
        ]
    extents = [sum(one.given for one in pair)] if merged else [one.given for one in pair]
    results = [sketch.result(FLOAT, rows(steps, batch, extent, time_major)) for extent in extents]
    options = BidirectionalSequenceLSTMOptions(
        sketch.random.choice(ACTIVATIONS), clip(sketch), clip(sketch), merged, time_major
    )
    sketch.add(operands, results, options)


def rows(steps: int, batch: int, extent: int, time_major: bool) -> tuple[int, ...]:
    return (steps, batch, extent) if time_major else (batch, steps, extent)


def clip(sketch: Sketch) -> float:
    return sketch.random.uniform(0.1, 1.0) if sketch.chance(0.3) else 0.0


def numbers(sketch: Sketch, shape: tuple[int, ...], most: float = 0.8) -> int:
    return sketch.operand(FLOAT, shape, constant=True, low=-most, high=most)


def weights(sketch: Sketch, one: Cell) -> list[int]:
    """The weights and biases of a cell: 17 operands."""
    last = one.peephole and not one.coupled
    found = [numbers(sketch, (one.width, one.depth)) if there else LEFT_OUT for there in one.gates]
    found += [numbers(sketch, (one.width, one.given)) if there else LEFT_OUT for there in one.gates]
    found += [
        numbers(sketch, (one.width,)) if there else LEFT_OUT for there in (last, one.peephole, one.peephole)
    ]
    found += [numbers(sketch, (one.width,)) if there else LEFT_OUT for there in one.gates]
    found.append(numbers(sketch, (one.given, one.width)) if one.projected else LEFT_OUT)
    found.append(numbers(sketch, (one.given,)) if one.projected and sketch.chance() else LEFT_OUT)
    return found


def states(sketch: Sketch, one: Cell) -> list[int]:
    return [sketch.variable(FLOAT, (one.batch, extent)) for extent in (one.given, one.width)]


def norms(sketch: Sketch, one: Cell) -> list[int]:
    if not one.normal:
        return []
    return [numbers(sketch, (one.width,)) if there else LEFT_OUT for there in one.gates]


def layer(sketch: Sketch, depth: int, width: int, batch: int) -> list[int]:
    """The weights, recurrent weights, bias and state of a plain layer."""
    matrices = [numbers(sketch, shape, 0.3) for shape in ((width, depth), (width, width), (width,))]
    return [*matrices, sketch.variable(FLOAT, (batch, width))]


@case("RNN", "float32")
def rnn(sketch: Sketch, kind: Type) -> None:
    sketch.calls = CALLS
    batch, depth, width = (sketch.random.randint(1, 6) for _ in range(3))
    value = sketch.operand(FLOAT, (batch, depth), constant=False, low=-1, high=1)
    operands = [value, *layer(sketch, depth, width, batch)]
    options = RNNOptions(sketch.random.choice(ANY_ACTIVATION))
    sketch.add(operands, sketch.result(FLOAT, (batch, width)), options)


@case("UNIDIRECTIONAL_SEQUENCE_RNN", "float32")
def rnn_sequences(sketch: Sketch, kind: Type) -> None:
    sketch.calls = CALLS
    batch, steps, depth, width = (sketch.random.randint(1, 5) for _ in range(4))
    time_major = sketch.chance()
    value = sketch.operand(FLOAT, rows(steps, batch, depth, time_major), constant=False, low=-1, high=1)
    operands = [value, *layer(sketch, depth, width, batch)]
    options = SequenceRNNOptions(time_major, sketch.random.choice(ANY_ACTIVATION))
    sketch.add(operands, sketch.result(FLOAT, rows(steps, batch, width, time_major)), options)


@case("BIDIRECTIONAL_SEQUENCE_RNN", "float32")
def rnn_both_ways(sketch: Sketch, kind: Type) -> None:
    sketch.calls = CALLS
    batch, steps, depth, *widths = (sketch.random.randint(1, 5) for _ in range(5))
    time_major, merged, mode = sketch.chance(), sketch.chance(), sketch.random.choice(["", "aux", "stacked"])
    value = sketch.operand(FLOAT, rows(steps, batch, depth, time_major), constant=False, low=-1, high=1)
    operands = [value, *(place for width in widths for place in layer(sketch, depth, width, batch))]
    aux = LEFT_OUT
    if mode:
        aux = sketch.operand(FLOAT, rows(steps, batch, depth, time_major), constant=False, low=-1, high=1)
    operands.append(aux)
    operands += [numbers(sketch, (width, depth)) if mode == "aux" else LEFT_OUT for width in widths]
    extents = [sum(widths)] if merged else widths
    results = [sketch.result(FLOAT, rows(steps, batch, extent, time_major)) for extent in extents]
    options = BidirectionalSequenceRNNOptions(time_major, sketch.random.choice(ANY_ACTIVATION), merged)
    sketch.add(operands, results, options)


@case("SVDF", "float32 int8")
def svdf(sketch: Sketch, kind: Type) -> None:
    sketch.calls = CALLS
    batch, depth, units, rank, memory = (sketch.random.randint(1, 5) for _ in range(5))
    if kind is Type.INT8:
        integer_svdf(sketch, batch, depth, units, rank, memory)
        return
    value = sketch.operand(FLOAT, (batch, depth), constant=False, low=-1, high=1)
    count = units * rank
    operands = [
        value,
        numbers(sketch, (count, depth)),
        numbers(sketch, (count, memory)),
        numbers(sketch, (units,)) if sketch.chance() else LEFT_OUT,
        sketch.variable(FLOAT, (batch, count * memory)),
    ]
    options = SVDFOptions(rank, sketch.random.choice(ANY_ACTIVATION))
    sketch.add(operands, sketch.result(FLOAT, (batch, units)), options)


def integer_svdf(sketch: Sketch, batch: int, depth: int, units: int, rank: int, memory: int) -> None:
    count = units * rank
    state = sketch.scale(0.001, 0.02)
    operands = [
        sketch.operand(Type.INT8, (batch, depth), constant=False, scale=(sketch.scale(0.01, 0.05),)),
        integers(sketch, Type.INT8, (count, depth), sketch.scale(0.005, 0.05)),
        integers(sketch, Type.INT16, (count, memory), sketch.scale(0.0001, 0.001)),
        sketch.constant(Type.INT32, sketch.numbers.integers(-(1 << 16), 1 << 16, units)),
        sketch.variable(Type.INT16, (batch, count * memory), scale=(state,)),
    ]
    result = sketch.result(Type.INT8, (batch, units), scale=(sketch.scale(0.02, 0.2),))
    sketch.add(operands, result, SVDFOptions(rank, Activation.RELU))


def integer_cell(sketch: Sketch, batch: int, depth: int) -> Cell:
    found = cell(sketch, batch, depth, sketch.chance(0.3))
    if found.normal and sketch.chance():
        width = sketch.random.randint(7, 70)
        found = replace(found, width=width, given=found.given if found.projected else width)
    return replace(found, peephole=found.peephole and not found.projected)


def integers(sketch: Sketch, kind: Type, shape: tuple[int, ...], scale: float) -> int:
    """Weights, which have no zero points."""
    return sketch.operand(kind, shape, constant=True, scale=(scale,), zero_point=(0,))


def of_integers(
    sketch: Sketch,
    value: int,
    one: Cell,
    shape: tuple[int, ...],
    options: LSTMOptions | UnidirectionalSequenceLSTMOptions,
) -> None:
    """A cell of bytes, with a state of 16 bits."""

    def each(kind: Type, extents: tuple[int, ...], there: tuple[bool, ...], scale: float) -> list[int]:
        return [integers(sketch, kind, extents, scale) if found else LEFT_OUT for found in there]

    def bias(extent: int) -> int:
        return sketch.constant(Type.INT32, sketch.numbers.integers(-5000, 5000, extent))

    fine = sketch.scale(0.002, 0.02)
    given, hidden = (
        Quantized(scale=(sketch.scale(0.004, 0.02),), zero_point=(sketch.zero_point(Type.INT8),))
        for _ in range(2)
    )
    operands = [value, *each(Type.INT8, (one.width, one.depth), one.gates, fine)]
    operands += each(Type.INT8, (one.width, one.given), one.gates, fine)
    seen = one.peephole and not one.coupled, one.peephole, one.peephole
    operands += each(Type.INT16, (one.width,), seen, sketch.scale(1e-5, 1e-4))
    operands += [bias(one.width) if there else LEFT_OUT for there in one.gates]
    operands.append(integers(sketch, Type.INT8, (one.given, one.width), fine) if one.projected else LEFT_OUT)
    operands.append(bias(one.given) if one.projected and sketch.chance() else LEFT_OUT)
    operands.append(sketch.variable(Type.INT8, (one.batch, one.given), **given))
    state = 2.0 ** sketch.random.choice([-11, -11, -12, -10])
    operands.append(sketch.variable(Type.INT16, (one.batch, one.width), scale=(state,), zero_point=(0,)))
    if one.normal:
        operands += each(Type.INT16, (one.width,), one.gates, sketch.scale(2e-5, 2e-4))
    gate = sketch.scale(2e-4, 2e-3) if one.normal else 2.0**-12
    inner = [sketch.tensor(Type.INT16, (), scale=(gate,), zero_point=(0,)) for _ in range(4)]
    inner.append(sketch.tensor(Type.INT8, (), **(hidden if one.projected or sketch.chance() else given)))
    sketch.add(operands, sketch.result(Type.INT8, shape, **given), options)
    sketch.operators[-1] = replace(sketch.operators[-1], intermediates=tuple(inner))
