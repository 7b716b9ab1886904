"""What operators lower into: kernels without numbers of the graph, moves of elements of every type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.strategies import TARGETS, Drawn, assert_same, operator_graph
from tiling.nest import Nest
from tiling.normal import normalise
from tosajit import ops
from tosajit.dtypes import DTYPES, INT8, INT32
from tosajit.graph import Block, Graph, Region
from tosajit.graph.binding import use_of
from tosajit.graph.operator import Operator
from tosajit.kernels.emit import emit, strided
from tosajit.operators import (
    CLAMP,
    CONV2D,
    MATMUL,
    OPERATORS,
    RESCALE,
    RESIZE,
    TRANSPOSE_CONV2D,
    AccType,
    ResizeMode,
)
from tosajit.operators.convolution import residues
from tosajit.operators.lowering import Lowering
from tosajit.tracing.builder import GraphBuilder

MOVES = (
    "CONCAT",
    "GATHER",
    "IDENTITY",
    "PAD",
    "RESHAPE",
    "REVERSE",
    "SCATTER",
    "SELECT",
    "SLICE",
    "TILE",
    "TRANSPOSE",
)
CARRIERS = {"FP16": "INT16", "BF16": "INT16", "FP32": "INT32", "FP8E4M3": "INT8", "FP8E5M2": "INT8"}


def has_mode(operator: type[Operator], type_name: str) -> bool:
    return any(mode["in_out_t"].name == type_name for mode in operator.modes)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("operator", "type_name"), [(o, t) for o in MOVES for t in CARRIERS if has_mode(OPERATORS[o], t)]
)
def test_floating_point_elements_move_with_all_their_bits(operator: str, type_name: str, target: str) -> None:
    modes = oracle.MODES[operator]
    mode = next(mode for mode in modes if mode.outputs == (CARRIERS[type_name],))
    drawn = as_floats(operator_graph(operator, mode, 3), operator, type_name)
    executable = tj.compile(drawn.graph, target=TARGETS[target])
    result = executable(*drawn.inputs.values())
    expected = next(iter(drawn.expected.values()))
    integers = np.dtype(f"i{expected.dtype.itemsize}")
    assert result.dtype == DTYPES[type_name].storage
    assert_same(drawn, result.view(integers), what=type_name)


def as_floats(drawn: Drawn, operator: str, type_name: str) -> Drawn:
    """The same graph with its data seen as floating-point numbers; what is expected stays integers."""
    block, dtype = drawn.graph.main, DTYPES[type_name]
    node = next(node for node in block.nodes if node.operator.opcode == operator)
    read, written = OPERATORS[operator].operands_read, OPERATORS[operator].operands_written
    names = set(node.outputs if written[0].type == "in_out_t" else ())
    for position, name in enumerate(node.inputs):
        if read[min(position, len(read) - 1)].type == "in_out_t":
            names.add(name)
    values = dict(block.values)
    for name in names:
        data = values[name].data
        values[name] = replace(
            values[name], dtype=dtype, data=None if data is None else data.view(dtype.storage)
        )
    inputs = {n: array.view(dtype.storage) if n in names else array for n, array in drawn.inputs.items()}
    graph = Graph((Region("main", (replace(block, values=values),)),))
    return replace(drawn, graph=graph, inputs=inputs)


def nests_of(block: Block) -> list[Nest]:
    """The nests of the last node."""
    use = use_of(block.nodes[-1], block)
    operator: Any = use.operator
    return list(operator.lower(Lowering(use)))


def kernels_of(graph: Graph) -> list[str]:
    """The texts of the kernels of the last node."""
    texts = []
    for nest in map(normalise, nests_of(graph.main)):
        accesses = nest.accesses
        texts.append(
            emit(nest, [strided(a, a.strides, len(nest.axes)) for a in accesses], split=False).source
        )
    return texts


def clamp(low: int, high: int, *shape: int) -> Graph:
    builder = GraphBuilder()
    builder.output(builder.add(CLAMP(min_val=low, max_val=high), [builder.input("x", INT8, shape)]))
    return builder.build()


def rescale(multiplier: int, shift: int, zero_points: tuple[int, int], *shape: int) -> Graph:
    builder = GraphBuilder()
    x = builder.input("x", INT8, shape)
    scales = [builder.const(np.array([multiplier], np.int32)), builder.const(np.array([shift], np.int8))]
    points = [builder.const(np.array([point], np.int8)) for point in zero_points]
    builder.output(builder.add(RESCALE(scale32=True), [x, *scales, *points], dtype=INT8))
    return builder.build()


def convolution(
    operator: Operator,
    height: int,
    channels: int,
    kernel: int,
    zero_points: tuple[int, int],
    outputs: int = 4,
) -> Graph:
    builder = GraphBuilder()
    x = builder.input("x", INT8, (1, height, height + 1, channels))
    w = builder.const(np.ones((outputs, kernel, kernel, channels), np.int8))
    bias = builder.const(np.zeros(outputs, np.int32))
    points = [builder.const(np.array([point], np.int8)) for point in zero_points]
    builder.output(builder.add(operator, [x, w, bias, *points]))
    return builder.build()


def conv2d(height: int, channels: int, kernel: int, pad: int, zero_points: tuple[int, int]) -> Graph:
    operator = CONV2D(pad=(pad,) * 4, stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    return convolution(operator, height, channels, kernel, zero_points)


def resize(scale: int, *shape: int) -> Graph:
    builder = GraphBuilder()
    x = builder.input("x", INT8, shape)
    shapes = [builder.shape([scale, 1, scale, 1]), builder.shape([0, 0]), builder.shape([0, 0])]
    builder.output(builder.add(RESIZE(mode=ResizeMode.BILINEAR), [x, *shapes], dtype=INT32))
    return builder.build()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (clamp(-3, 7, 5), clamp(-100, 100, 70)),
        (rescale(1 << 30, 31, (0, 0), 9), rescale(12345, 20, (-7, 33), 100)),
        (conv2d(8, 16, 3, 1, (0, 0)), conv2d(15, 32, 5, 2, (-128, 3))),
        (resize(2, 2, 5, 6, 12), resize(3, 4, 9, 4, 30)),  # shorter rows have their extents in the text
    ],
    ids=["CLAMP", "RESCALE", "CONV2D", "RESIZE"],
)
def test_kernels_hold_no_numbers_of_the_graph(one: Graph, other: Graph) -> None:
    assert kernels_of(one) == kernels_of(other)


def test_a_convolution_reads_its_operands_in_order() -> None:
    graph = conv2d(8, 16, 3, 1, (0, 0))
    (nest,) = nests_of(graph.main)
    assert tuple(access.operand for access in nest.reads) == graph.main.nodes[-1].inputs
    assert [axis.name for axis in nest.axes] == ["n", "oy", "ox", "oc", "ky", "kx", "ic"]
    assert (nest.verb, nest.reads[0].fill is None) == ("contract", False)


def test_a_convolution_without_padding_has_nothing_to_fill() -> None:
    (nest,) = nests_of(conv2d(8, 16, 3, 0, (0, 0)).main)
    assert nest.reads[0].fill is None


def test_a_matrix_product_reads_its_operands_in_order() -> None:
    builder = GraphBuilder()
    operands = [builder.input("A", INT8, (1, 3, 5)), builder.input("B", INT8, (1, 5, 4))]
    operands += [builder.const(np.zeros(1, np.int8)) for _ in range(2)]
    builder.output(builder.add(MATMUL(), operands))
    (nest,) = nests_of(builder.build().main)
    assert [access.operand for access in nest.reads] == operands
    assert (nest.verb, nest.extents) == ("contract", (1, 3, 4, 5))


@pytest.mark.parametrize("stride", [1, 2, 3, 5])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("pad", [-2, -1, 0, 1, 3])
def test_every_output_of_a_transposed_convolution_has_one_residue(stride: int, kernel: int, pad: int) -> None:
    if pad <= -kernel:
        return
    inputs = 4
    outputs = (inputs - 1) * stride + pad + kernel
    found: dict[int, set[tuple[int, int]]] = {}
    for residue in residues(outputs, kernel, stride, pad):
        for step in range(residue.count):
            output = residue.first + step * stride
            assert output not in found
            taps = [(residue.source + step + k, residue.tap - k * stride) for k in range(residue.taps)]
            found[output] = {(source, tap) for source, tap in taps if 0 <= source < inputs}
    assert found == {
        output: {
            (source, tap)
            for source in range(inputs)
            for tap in range(kernel)
            if source * stride + pad + tap == output
        }
        for output in range(outputs)
    }


def test_outputs_between_the_kernels_get_the_bias_alone() -> None:
    operator = TRANSPOSE_CONV2D(out_pad=(0, 0, 0, 0), stride=(3, 3), acc_type=AccType.INT32)
    nests = nests_of(convolution(operator, 4, 2, 1, (0, 0)).main)
    assert [nest.verb for nest in nests].count("contract") == 1
    assert {nest.verb for nest in nests} == {"contract", "move"}


@pytest.mark.parametrize("machine", [None, "tiny", "ethos-u55-128", "dot-256"])
@pytest.mark.parametrize(
    ("size", "stride", "pad"),
    [
        (2, (2, 2), (0, 0, 0, 0)),
        (3, (2, 1), (-1, 0, 0, -1)),
        (3, (1, 1), (-1, -1, -1, -1)),
        (2, (3, 2), (1, 0, 0, 1)),
    ],
)
def test_work_on_the_sums_of_a_transposed_convolution_is_exact(
    size: int, stride: tuple[int, int], pad: tuple[int, int, int, int], machine: str | None
) -> None:
    """In the groups of its parts, or behind them where the kernel leaves results out."""
    random = np.random.default_rng(size)
    weight, bias = (
        random.integers(-127, 128, (5, size, size, 3)).astype(np.int8),
        np.arange(5, dtype=np.int32),
    )
    image, added = (
        random.integers(-128, 128, shape).astype(np.int8) for shape in ((2, 5, 4, 3), (1, 1, 1, 5))
    )

    def scaled(x: tj.Tensor) -> tj.Tensor:
        sums = ops.transpose_conv2d(x, weight, bias, out_pad=pad, stride=stride)
        sums = sums + ops.cast(ops.const(added), dtype=INT32)
        return ops.rescale(sums, multiplier=[1 << 30] * 5, shift=range(36, 41), dtype=INT8)

    graph = tj.trace(scaled, image)
    found = tj.compile(graph, machine=machine)(image)
    np.testing.assert_array_equal(found, tj.compile(graph, checked=True)(image))
