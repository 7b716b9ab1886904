"""What the host makes of groups stays as it is: cheaper expressions, array kernels, operands and words.

No kernel is compiled. What each set of instructions gets is golden on machines that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import tosajit as tj
from tests.golden_networks import attention, moving, recurrent, residual, resized
from tests.test_host import CONVOLUTIONS
from tiling.expr import walk
from tiling.nest import Nest, nest_exprs
from tiling.target import Target
from tosajit import ops
from tosajit.compiler.options import Options
from tosajit.compiler.planning import ROOMY
from tosajit.compiler.segment import Segment
from tosajit.compiler.stages import emit, fuse, plan, prepare, simplify
from tosajit.host.unit import Prepared
from tosajit.host.widen import widened
from tosajit.kernels.link import Unit
from tosajit.kernels.sets.cpus import host, known
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.registry import VARIABLE, available_sets
from tosajit.runtime.body import Compute
from tosajit.runtime.build import build

HOST = Options(Target("host", alignment=64, cores=2))
POINTS = tuple(range(len(CONVOLUTIONS)))


def convolutions(dtype: type[np.generic]) -> tj.Graph:
    """Convolutions of every shape with a bias and, of bytes, a rescale for each channel and a clamp."""
    random = np.random.default_rng(7)
    images = [np.zeros(shape, dtype) for shape, *_ in CONVOLUTIONS]

    def network(*values: tj.Array) -> list[tj.Array]:
        found = []
        for value, (shape, channels, kernel, stride, pad, dilation, (zero, weight_zero)) in zip(
            values, CONVOLUTIONS, strict=True
        ):
            weights = random.integers(-127, 128, (channels, *kernel, shape[3])).astype(dtype)
            steps: dict[str, Any] = {"pad": pad, "stride": stride, "dilation": dilation}
            if dtype is not np.int8:
                bias = random.standard_normal(channels).astype(dtype)
                found.append(ops.conv2d(value, weights, bias, **steps))
                continue
            sums = random.integers(-999, 999, channels).astype(np.int32)
            points: dict[str, Any] = {"input_zp": np.int8(zero), "weight_zp": np.int8(weight_zero)}
            made = ops.conv2d(value, weights, sums, **points, **steps)
            factors = random.integers(1 << 30, (1 << 31) - 1, channels).astype(np.int32)
            shifts = random.integers(36, 42, channels).astype(np.int8)
            narrow = ops.rescale(made, multiplier=factors, shift=shifts, output_zp=-7, dtype=tj.INT8)
            found.append(ops.clamp(narrow, min_val=-100, max_val=90))
        return found

    return tj.trace(network, *images)


def depthwise() -> tj.Graph:
    """Depthwise convolutions of bytes and of float32, with strides and paddings."""
    random = np.random.default_rng(8)

    def network(small: tj.Array, real: tj.Array, narrow: tj.Array) -> list[tj.Array]:
        bytes_ = random.integers(-127, 128, (3, 3, 70, 1)).astype(np.int8)
        one, many = (random.standard_normal((3, 2, 20, n)).astype(np.float32) for n in (1, 2))
        line = random.integers(-127, 128, (3, 1, 33, 1)).astype(np.int8)
        steps: dict[str, Any] = {"stride": (2, 2), "pad": (1, 1, 1, 1), "input_zp": np.int8(11)}
        return [
            ops.rescale(
                ops.depthwise_conv2d(small, bytes_, **steps), multiplier=1 << 30, shift=38, dtype=tj.INT8
            ),
            ops.depthwise_conv2d(real, one, pad=(1, 1, 0, 1)),
            ops.depthwise_conv2d(real, many),
            ops.depthwise_conv2d(narrow, line, pad=(1, 1, 0, 0)),
        ]

    return tj.trace(
        network,
        np.zeros((2, 7, 9, 70), np.int8),
        np.zeros((1, 9, 10, 20), np.float32),
        np.zeros((1, 5, 1, 33), np.int8),
    )


def mixed() -> tj.Graph:
    """Products of two inputs and of constants in all types, and elementwise chains with constants."""
    random = np.random.default_rng(9)
    matrix = random.standard_normal((1, 40, 24)).astype(np.float32)

    def network(a: tj.Array, b: tj.Array, short: tj.Array, real: tj.Array) -> list[tj.Array]:
        halves = [ops.cast(real, dtype=dtype) for dtype in (tj.FP16, tj.BF16)]
        wide = [
            ops.rescale(one, multiplier=1 << 30, shift=11, input_zp=z, dtype=tj.INT32)
            for one, z in ((a, 5), (b, -128))
        ]
        total = ops.add(wide[0], ops.rescale(wide[1], multiplier=1987654321, shift=33, dtype=tj.INT32))
        table = random.integers(-128, 128, 256).astype(np.int8)
        narrow = ops.clamp(
            ops.rescale(total, multiplier=1234567891, shift=38, output_zp=-3, dtype=tj.INT8),
            min_val=-100,
            max_val=101,
        )
        return [
            ops.matmul(a, ops.transpose(b, perms=(0, 2, 1)), A_zp=np.int8(3), B_zp=np.int8(-4)),
            ops.matmul(short, ops.transpose(short, perms=(0, 2, 1)), dtype=tj.INT48),
            ops.matmul(real, matrix),
            *(ops.matmul(half, ops.transpose(half, perms=(0, 2, 1)), dtype=tj.FP32) for half in halves),
            ops.table(narrow, table),
            ops.mul(ops.cast(short, dtype=tj.INT32), ops.cast(short, dtype=tj.INT32), shift=4),
            ops.tanh(ops.add(ops.matmul(real, matrix), np.ones((1, 1, 24), np.float32))),
        ]

    return tj.trace(
        network,
        np.zeros((3, 14, 64), np.int8),
        np.zeros((3, 14, 64), np.int8),
        np.zeros((1, 9, 33), np.int16),
        np.zeros((1, 17, 40), np.float32),
    )


MAKERS: dict[str, Callable[[], tj.Graph]] = {
    "bytes": lambda: convolutions(np.int8),
    "floats": lambda: convolutions(np.float32),
    "depthwise": depthwise,
    "mixed": mixed,
    **{maker.__name__: maker for maker in (residual, attention, moving, resized, recurrent)},
}

ARRAYS = ("bytes", "floats", "depthwise", "mixed")
"""Those whose operands and words differ from set to set."""


@cache
def segments(name: str) -> tuple[Segment, ...]:
    """The parts of a graph that compute."""
    steps = build(MAKERS[name](), Options(ROOMY, run=False)).steps
    return tuple(step.groups.segment for step in steps if isinstance(step, Compute))


@pytest.mark.parametrize(
    ("name", "library"),
    [(name, "portable") for name in MAKERS] + [(n, s) for n in ARRAYS for s in ("avx2", "avx512")],
)
def test_units_are_what_they_were(
    name: str, library: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu = {"portable": "x86-64", "avx2": "haswell", "avx512": "icelake-server"}[library]
    if library not in available_sets() or not known().get(cpu, {"?"}) <= host().features:
        pytest.skip(f"this machine has no {library} of {cpu}")
    monkeypatch.setenv(VARIABLE, f"{cpu},{library}")
    golden(f"units_{name}_{library}", "\n".join(line for one in segments(name) for line in lines(one)))


def lines(segment: Segment) -> Iterator[str]:
    """Each group and its unit, and what was made for them."""
    simple = simplify(fuse(segment, HOST), HOST)
    for nest in simple.nests:
        yield f"simplified {brief(nest)}"
    groups = prepare(simple, HOST)
    made = emit(plan(groups, HOST), HOST)
    for section, code in zip(made.planned.program.sections, made.codes, strict=True):
        loops = " ".join(f"{loop.axis}:{loop.step}×{loop.count}" for loop in section.loops)
        yield f"{brief(section.nest)}; grain {section.nest.grain}, {loops}{' shared' * section.shared}"
        if isinstance(code, Unit):
            yield f"  {code.name}, scratch {code.scratch_bytes}, words {code.words}"
            yield f"  {[word.numbers() for word in code.derived]}, helpers {list(code.helpers)}"
    for name, array in groups.added.items():
        sum_ = crc32(np.ascontiguousarray(array).tobytes())
        yield f"{name.rpartition('.')[2]}: {array.dtype}{list(array.shape)} {sum_:08x}"
    yield f"{len(groups.refused)} groups have no array kernel"


def brief(nest: Nest) -> str:
    """A nest by its extents, its accesses, and the scalars that it computes with."""
    used = [part.op for part in walk(*nest_exprs(nest)) if not part.is_leaf]
    operands = " ".join(f"{access.type}{list(access.shape)}" for access in nest.accesses)
    return f"{nest.verb} {nest.extents} of {operands}: {' '.join(used)}"


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("kind", [tj.BF16, tj.FP16], ids=str)
@pytest.mark.parametrize("depth", [1, 4, 6, 9])
def test_narrow_numbers_are_made_wide_unless_pairs_of_them_are_multiplied(
    pairs: bool, kind: tj.DType, depth: int
) -> None:
    random = np.random.default_rng(1)
    weights = random.standard_normal((1, depth, 5)).astype(kind.storage)
    zero = np.zeros(1, kind.storage)
    value = tj.Value("x", kind, (1, 3, depth))
    graph = tj.trace(
        lambda x: ops.matmul(x, ops.const(weights), ops.const(zero), ops.const(zero), dtype=tj.FP32), value
    )
    (step,) = build(graph, Options(ROOMY, run=False)).steps
    assert isinstance(step, Compute)
    groups = fuse(step.groups.segment, HOST)
    (nest,) = [one for one in groups.nests if one.verb == "contract"]
    isa = InstructionSet("drawn", 16, (1, 2), 2, (1, 2), (3, 1), 4, (2, 5), bf16_pairs=pairs)
    made = Prepared()
    found = widened(nest, made, set(groups.segment.constants), isa)
    as_it_is = pairs and kind is tj.BF16 and depth % 2 == 0
    assert (found is nest) == as_it_is
    assert [one.writes[0].access.type for one in made.groups] == ([] if as_it_is else ["f32"])
