"""The host's array kernels take the contractions they should, and give the oracle's bits."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tests.oracle.graphs import run_graph
from tosajit.kernels.sets.cpus import host, known
from tosajit.kernels.sets.registry import available_sets
from tosajit.operators import (
    CLAMP,
    CONV2D,
    DEPTHWISE_CONV2D,
    MATMUL,
    RESCALE,
    TRANSPOSE,
    TRANSPOSE_CONV2D,
    AccType,
    RoundingMode,
)

LIBRARIES = [*available_sets(), "none"]
CPUS = [name for name in ("haswell", "x86-64") if known().get(name, {"?"}) <= host().features]
TYPES = {"i8": (tj.INT8, AccType.INT32, np.int32), "i16": (tj.INT16, AccType.INT48, np.int64)}


class Drawn:
    """A graph under construction, with random constants."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.graph = tj.GraphBuilder()
        self.inputs: list[np.ndarray] = []

    def input(self, dtype: tj.DType, shape: tuple[int, ...]) -> str:
        self.inputs.append(self.array(dtype, shape))
        return self.graph.input(f"x{len(self.inputs)}", dtype, shape)

    def array(self, dtype: tj.DType, shape: tuple[int, ...]) -> np.ndarray:
        low, high = (-9999, 9999) if dtype.bits > 16 else (dtype.minimum, dtype.maximum)
        return self.random.integers(int(low), int(high) + 1, shape).astype(dtype.storage)

    def const(self, dtype: tj.DType, shape: tuple[int, ...]) -> str:
        return self.graph.const(self.array(dtype, shape), dtype)

    def number(self, dtype: tj.DType, value: int) -> str:
        return self.graph.const(np.array([value], dtype.storage), dtype)

    def rescaled(self, value: str, channels: int, double: bool, shift: int = 38) -> str:
        """RESCALE of int32 to int8 for each channel, and a CLAMP."""
        multiplier = self.random.integers(1 << 30, (1 << 31) - 1, channels).astype(np.int32)
        shifts = self.random.integers(shift, shift + 4, channels).astype(np.int8)
        operands = [self.graph.const(multiplier, tj.INT32), self.graph.const(shifts, tj.INT8)]
        points = [self.number(tj.INT32, 0), self.number(tj.INT8, -7)]
        operator = RESCALE(
            scale32=True,
            rounding_mode=RoundingMode.DOUBLE_ROUND if double else RoundingMode.SINGLE_ROUND,
            per_channel=True,
            input_unsigned=False,
            output_unsigned=False,
        )
        narrow = self.graph.add(operator, [value, *operands, *points], dtype=tj.INT8)
        return self.graph.add(CLAMP(min_val=-100, max_val=90), [narrow])

    def check(self, result: str, library: str, arrays: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Compile for a library; so many groups are the array kernels', and the result is the oracle's."""
        monkeypatch.setenv("TOSAJIT_CPU", library)
        self.graph.output(result)
        graph = self.graph.build()
        for threads in (1, 2):
            executable = tj.compile(graph, threads=threads)
            taken = sum(bool(section.nest.prepared) for section in executable.program.sections)
            assert taken == (0 if library == "none" else arrays)
            np.testing.assert_array_equal(executable(*self.inputs), run_graph(graph, self.inputs)[0])


CONVOLUTIONS = [
    # shape, output channels, kernel, stride, pad, dilation, zero points
    ((1, 4, 4, 4), 16, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), (3, 0)),
    ((2, 5, 3, 3), 40, (1, 1), (2, 1), (0, 0, 0, 0), (1, 1), (-128, 0)),
    ((1, 8, 8, 3), 16, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), (127, 0)),
    ((3, 7, 6, 28), 7, (1, 3), (1, 1), (0, 0, 0, 0), (1, 1), (-39, -76)),
    ((1, 9, 9, 5), 33, (3, 2), (2, 2), (1, 1, 1, 0), (1, 1), (5, 2)),
    ((1, 12, 11, 1), 8, (4, 3), (2, 2), (1, 1, 0, 2), (1, 1), (0, 0)),
    ((1, 11, 10, 6), 20, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), (1, 0)),
    ((1, 1, 1, 130), 100, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), (-1, 0)),
]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", range(len(CONVOLUTIONS)))
@pytest.mark.parametrize("form", ["i8", "i16", "rescaled", "run-time weights"])
def test_convolutions(library: str, case: int, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, channels, kernel, stride, pad, dilation, points = CONVOLUTIONS[case]
    drawn = Drawn(case)
    kind, acc, bias_type = TYPES["i16" if form == "i16" else "i8"]
    zero, weight_zero = (0, 0 if form == "i16" else points[1]) if form == "i16" else points
    operands = [
        drawn.input(kind, shape),
        (drawn.input if form == "run-time weights" else drawn.const)(tj.INT8, (channels, *kernel, shape[3])),
        drawn.graph.const(
            drawn.array(tj.INT32, (channels,)).astype(bias_type), tj.INT48 if form == "i16" else tj.INT32
        ),
        drawn.number(kind, zero),
        drawn.number(tj.INT8, weight_zero),
    ]
    result = drawn.graph.add(CONV2D(pad=pad, stride=stride, dilation=dilation, acc_type=acc), operands)
    if form == "rescaled":
        result = drawn.rescaled(result, channels, double=case % 2 == 0)
    drawn.check(result, library, 1, monkeypatch)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("form", ["i8", "rescaled"])
def test_depthwise_convolutions(library: str, case: int, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, kernel, stride, pad = [
        ((1, 9, 8, 16), (3, 3), (1, 1), (1, 1, 1, 1)),
        ((2, 7, 9, 70), (3, 3), (2, 2), (1, 1, 1, 1)),
        ((1, 5, 1, 33), (3, 1), (1, 1), (1, 1, 0, 0)),
        ((1, 6, 29, 8), (2, 5), (1, 3), (0, 1, 2, 1)),
    ][case]
    drawn = Drawn(case)
    channels = shape[3]
    operands = [
        drawn.input(tj.INT8, shape),
        drawn.const(tj.INT8, (*kernel, channels, 1)),
        drawn.const(tj.INT32, (channels,)),
        drawn.number(tj.INT8, 11),
        drawn.number(tj.INT8, 0 if case else -3),
    ]
    operator = DEPTHWISE_CONV2D(pad=pad, stride=stride, dilation=(1, 1), acc_type=AccType.INT32)
    result = drawn.graph.add(operator, operands)
    if form == "rescaled":
        result = drawn.rescaled(result, channels, double=True, shift=36)
    drawn.check(result, library, 1, monkeypatch)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", ["i8", "i16"])
@pytest.mark.parametrize(
    ("batches", "rows", "depth", "columns"), [(1, 3, 5, 7), (3, 14, 64, 70), (2, 1, 33, 16)]
)
def test_products_of_two_inputs(
    library: str,
    kind: str,
    batches: int,
    rows: int,
    depth: int,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = Drawn(rows)
    dtype = TYPES[kind][0]
    point = 0 if kind == "i16" else 1
    operands = [drawn.input(dtype, (batches, rows, depth)), drawn.input(dtype, (batches, depth, columns))]
    result = drawn.graph.add(
        MATMUL(), [*operands, drawn.number(dtype, 9 * point), drawn.number(dtype, -4 * point)]
    )
    drawn.check(result, library, 1, monkeypatch)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_transposed_convolution_is_one_array_group_for_each_residue(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Drawn(1)
    operands = [
        drawn.input(tj.INT8, (2, 3, 4, 5)),
        drawn.const(tj.INT8, (12, 4, 3, 5)),
        drawn.const(tj.INT32, (12,)),
        drawn.number(tj.INT8, -5),
        drawn.number(tj.INT8, 0),
    ]
    operator = TRANSPOSE_CONV2D(out_pad=(-1, 0, 1, 1), stride=(2, 2), acc_type=AccType.INT32)
    drawn.check(drawn.graph.add(operator, operands), library, 4, monkeypatch)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_transposed_result_stays_behind_the_array_kernel(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Drawn(2)
    operands = [
        drawn.input(tj.INT8, (10, 1, 1, 24)),
        drawn.const(tj.INT8, (20, 1, 1, 24)),
        drawn.const(tj.INT32, (20,)),
        drawn.number(tj.INT8, 1),
        drawn.number(tj.INT8, 0),
    ]
    operator = CONV2D(pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    result = drawn.rescaled(drawn.graph.add(operator, operands), 20, double=True)
    drawn.check(drawn.graph.add(TRANSPOSE(perms=(3, 1, 2, 0)), [result]), library, 1, monkeypatch)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("form", ["i8", "i16", "rescaled", "run-time weights"])
def test_other_cpus_have_the_same_sums(cpu: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in (3, 4, 6):
        test_convolutions(cpu, case, form, monkeypatch)
    if form in ("i8", "rescaled"):
        test_depthwise_convolutions(cpu, 1, form, monkeypatch)
    if form in ("i8", "i16"):
        test_products_of_two_inputs(cpu, form, 3, 14, 64, 70, monkeypatch)
