"""Sums that float32 rescale have the bits of TOSA 1.0.1 section 4.5.5, each of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.plain_kernels import Kernels
from tests.summing import summed, summed_by_channel
from tests.test_contract_kernels import Guarded, arguments, guarded, integers
from tests.test_plain_kernels import SETS, SHAPES, Compiled, convolved
from tiling.expr import acc
from tosajit.arrays import Array
from tosajit.host.ranges import apply_scale
from tosajit.host.rescale import Rescale
from tosajit.kernels.contract import pack
from tosajit.kernels.contract.blocking import DepthwiseBlocking
from tosajit.kernels.contract.float_table import (
    LARGEST_STEP,
    MAGIC,
    MAGIC_BITS,
    Channels,
    FloatTable,
    _promising,
    _Search,
    float_table,
)
from tosajit.kernels.contract.geometry import DepthwiseGeometry
from tosajit.kernels.contract.slots import DepthwiseSlot
from tosajit.kernels.contract.source import contract_source, depthwise_gather_source
from tosajit.kernels.contract.spec import ContractSpec, Epilogue
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.registry import available_sets, named_set

FLOATING = [isa for isa in SETS if isa.float_rescale]
HOW = [
    *(pytest.param(isa, Kernels(isa), id=f"{isa.name}-plain") for isa in FLOATING),
    *(
        pytest.param(named_set(name), Compiled(), id=f"{name}-compiled")
        for name in available_sets()
        if named_set(name).float_rescale and not named_set(name).matrices
    ),
]
KINDS = ("any", "powers of two", "few bits", "short", "none")


def drawn(kind: str, rng: np.random.Generator, count: int) -> Array:
    """Multipliers of a kind."""
    match kind:
        case "any":
            return rng.integers(1 << 30, 1 << 31, count)
        case "powers of two":
            return np.full(count, 1 << 30)
        case "few bits":
            return rng.integers(5, 9, count) << 28
        case "short":
            return rng.integers(1, 1 << 12, count)
    return np.zeros(count, np.int64)


def every_result(
    table: FloatTable, channels: Channels, number: int, sums: Array, low: int, high: int
) -> Array:
    """What a channel's sums become, as the kernel computes it."""
    factor, offset = (int(numbers[number]) for numbers in (table.factors, table.offsets))
    signed = channels.double_round and channels.shift[0] > 31 and low < channels.output_zp
    whole = sums * factor + np.where((sums < 0) & signed, -offset, offset)
    product = whole.astype(np.float32).astype(np.longdouble) * np.longdouble(table.scales[number])
    bits = (product + (MAGIC + table.output_zp)).astype(np.float32).view(np.int32)
    result: Array = np.clip(bits - MAGIC_BITS, low, high)
    return result


def exact_results(channels: Channels, number: int, sums: Array, low: int, high: int) -> Array:
    """What the specification makes of them."""
    multiplier, shift = int(channels.multiplier[number]), int(channels.shift[number])
    scaled = [apply_scale(int(value), multiplier, shift, channels.double_round) for value in sums]
    return np.array([min(high, max(low, value + channels.output_zp)) for value in scaled])


@pytest.mark.parametrize("double_round", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("low", "high", "output_zp"), [(-128, 127, -128), (-128, 127, 3), (-5, 90, -5), (7, 7, 0)]
)
@pytest.mark.parametrize("shift", [31, 33, 37, 40])
def test_every_sum_becomes_what_it_should(
    shift: int, low: int, high: int, output_zp: int, kind: str, double_round: bool
) -> None:
    rng, count, bound = np.random.default_rng(shift), 4, 9000
    channels = Channels(
        drawn(kind, rng, count), np.full(count, shift), double_round, output_zp, np.full(count, bound)
    )
    table = float_table(channels, 1, low, high)
    sums = np.arange(-bound, bound + 1)
    for number in np.nonzero(table.there)[0].tolist() if table else ():
        assert table is not None
        np.testing.assert_array_equal(
            every_result(table, channels, number, sums, low, high),
            exact_results(channels, number, sums, low, high),
        )


@pytest.mark.parametrize("double_round", [False, True])
@pytest.mark.parametrize("output_zp", [-128, 3])
def test_most_channels_have_parameters_and_large_sums_end_at_the_limits(
    output_zp: int, double_round: bool
) -> None:
    rng, count = np.random.default_rng(3), 64
    multiplier, bound = rng.integers(1 << 30, 1 << 31, count), rng.integers(1 << 18, 1 << 21, count)
    channels = Channels(multiplier, np.full(count, 38), double_round, output_zp, bound)
    table = float_table(channels, 1, -128, 127)
    assert table is not None
    assert table.there.mean() > 0.9
    for number in np.nonzero(table.there)[0][:16].tolist():
        steps = rng.integers(-300, 300, 200) * (1 << 38) // multiplier[number]
        near = (steps[:, None] + np.arange(-2, 3)).ravel()
        sums = np.clip(np.concatenate([near, [-bound[number], bound[number]]]), -bound[number], bound[number])
        np.testing.assert_array_equal(
            every_result(table, channels, number, sums, -128, 127),
            exact_results(channels, number, sums, -128, 127),
        )


@pytest.mark.parametrize("double_round", [False, True])
@pytest.mark.parametrize("kind", KINDS[:4])
@pytest.mark.parametrize(("output_zp", "bits"), [(-128, 14), (3, 14), (-128, 21), (3, 21), (127, 24)])
def test_what_is_proved_at_a_glance_is_right_at_every_step(
    output_zp: int, bits: int, kind: str, double_round: bool
) -> None:
    rng, count = np.random.default_rng(bits), 600
    channels = Channels(
        drawn(kind, rng, count),
        rng.integers(30, 40, count),
        double_round,
        output_zp,
        rng.integers(1, 1 << bits, count),
    )
    search = _Search.of(channels, np.arange(-127, 128) - output_zp)
    found = np.zeros((3, count))
    rest = search.fill_apart(found, np.arange(count))
    proved = np.setdiff1d(np.arange(count), rest)
    assert search.some(proved).right(found[:, None, proved], np.ones(len(proved))).all()


@pytest.mark.parametrize("double_round", [False, True])
@pytest.mark.parametrize("kind", KINDS[:4])
@pytest.mark.parametrize(("output_zp", "bits"), [(-128, 14), (3, 21), (127, 24)])
@pytest.mark.parametrize("tries", [1, 16])
def test_steps_that_errors_leave_on_their_sides_need_not_be_looked_at(
    output_zp: int, bits: int, kind: str, double_round: bool, tries: int
) -> None:
    rng, count = np.random.default_rng(bits), 400
    multiplier, shift = drawn(kind, rng, count), rng.integers(30, 40, count)
    channels = Channels(multiplier, shift, double_round, output_zp, rng.integers(1, 1 << bits, count))
    search = _Search.of(channels, np.arange(-127, 128) - output_zp)
    search = search.some(np.nonzero((multiplier > 0) & (search.reach < LARGEST_STEP))[0])
    tried, errors = search.candidates(64, tries)
    np.testing.assert_array_equal(search.right(tried, errors), search.right(tried, errors + 1))


def test_channels_go_together() -> None:
    multiplier = np.full(40, 1500000000)
    multiplier[5] = 0
    channels = Channels(multiplier, np.full(40, 38), False, 0, np.full(40, 1 << 18))
    table = float_table(channels, 16, -128, 127)
    assert table is not None
    assert table.there.tolist() == [False] * 16 + [True] * 24


def test_channels_that_go_together_with_many_that_are_left_are_not_tried_again() -> None:
    rest = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 31])
    np.testing.assert_array_equal(_promising(rest, 16), [16, 31])
    np.testing.assert_array_equal(_promising(rest, 1), rest)


def rescale_by(
    multiplier: Array, shift: int, double_round: bool, bias: Array, matrix: Array, floating: bool = True
) -> Rescale:
    """The rescale of the sums of [columns][depth] weights to -100 … 90: 32 by float32, others by integers.

    All are by integers if not `floating`.
    """
    bound = pack.sum_bound(matrix, bias, 0, 0)
    shifts = np.full(len(bias), shift)
    table = pack.rescale_table(multiplier.astype(np.int32), shift, double_round, -3, len(bias), bound)
    channels = Channels(multiplier, shifts, double_round, -3, bound)
    floats = float_table(channels, 32, -100, 90)
    assert table is not None
    if not floating:
        return Rescale(acc("i32"), table, None, bias, -100, 90, True)
    assert floats is not None
    there = floats.there & (np.arange(len(bias)) // 32 != 1)
    assert there.any()
    return Rescale(acc("i32"), table, replace(floats, there=there), bias, -100, 90, True)


def exact(sums: Array, multiplier: Array, shift: int, double_round: bool) -> Array:
    rounding = (1 << (shift - 1)) + (np.where(sums < 0, -1, 1) << 30) * double_round
    result: Array = np.clip(((sums * multiplier + rounding) >> shift) - 3, -100, 90)
    return result


@pytest.mark.parametrize(("isa", "kernels"), HOW)
@pytest.mark.parametrize("double_round", [False, True])
@pytest.mark.parametrize("shape", ["segments", "direct", "deep", "lines", "narrow"])
def test_convolutions_are_rescaled_by_either_table(
    shape: str, double_round: bool, isa: InstructionSet, kernels: Kernels | Compiled
) -> None:
    g, rng, shift = SHAPES[shape], np.random.default_rng(5), 37
    x = integers(rng, np.int8, (*g.input, g.in_channels))
    weights = rng.integers(-127, 128, (g.out_channels, *g.kernel, g.in_channels), np.int8)
    bias, matrix = rng.integers(-999, 999, g.out_channels, np.int32), weights.reshape(g.out_channels, -1)
    multiplier = rng.integers(1 << 30, 1 << 31, g.out_channels, np.int64)
    scaled = rescale_by(multiplier, shift, double_round, bias, matrix)
    initial = pack.start_values(isa, matrix, bias, 0, 0, rescale=scaled.raised())
    data, out = guarded(scaled.packed(isa.lanes)), Guarded((*g.output, g.out_channels), np.int8)
    numbers = {"PARAMETERS": data.address, "SIGN": scaled.table.sign, "LOW": -100, "HIGH": 90}
    spec, packed = ContractSpec(isa, "convolution"), pack.pack_bytes(isa, matrix)
    convolved(kernels, isa, g, x, packed, initial, out, spec, Epilogue(rescale=True), **numbers)
    sums = summed(x.astype(np.int64), weights.astype(np.int64), g) + bias
    np.testing.assert_array_equal(out.array, exact(sums, multiplier, shift, double_round))


@pytest.mark.parametrize(("isa", "kernels"), HOW)
@pytest.mark.parametrize("double_round", [False, True])
@pytest.mark.parametrize("channels", [8, 37, 48])
def test_depthwise_convolutions_are_rescaled_by_either_table(
    channels: int, double_round: bool, isa: InstructionSet, kernels: Kernels | Compiled
) -> None:
    g = DepthwiseGeometry((2, 5, 13), (2, 5, 13), channels, 1, (3, 3), (1, 1), (1, 1))
    rng, shift = np.random.default_rng(7), 37
    x = integers(rng, np.int8, (*g.input, channels))
    weights = rng.integers(-127, 128, (3, 3, channels, 1), np.int8)
    matrix, bias = weights.reshape(-1, channels).T, rng.integers(-999, 999, channels, np.int32)
    multiplier = rng.integers(1 << 30, 1 << 31, channels, np.int64)
    scaled = rescale_by(multiplier, shift, double_round, bias, matrix)
    packed, _ = pack.pack_depthwise(isa.lanes, weights, 0, isa.byte_width)
    operands = [
        guarded(packed),
        guarded(pack.start_values(isa, matrix, bias, 0, 0, rescale=scaled.raised())),
        guarded(scaled.packed(isa.lanes)),
        guarded(x),
    ]
    blocking, spec = DepthwiseBlocking(g, isa), ContractSpec(isa, "depthwise")
    out, scratch = Guarded((*g.output, channels), np.int8), Guarded((blocking.scratch_bytes,), np.uint8)
    args = arguments(
        DepthwiseSlot,
        blocking,
        **dict(
            zip(("WEIGHT", "INITIAL", "PARAMETERS", "SOURCE"), (one.address for one in operands), strict=True)
        ),
        OUTPUT=out.address,
        SCRATCH=scratch.address,
        GATHER=kernels.address(depthwise_gather_source(spec)),
        SIGN=scaled.table.sign,
        LOW=-100,
        BLANK_BYTE=isa.bias,
        HIGH=90,
    )
    kernels.run(contract_source(spec, Epilogue(rescale=True)), args)
    assert out.intact()
    sums = summed_by_channel(x.astype(np.int64), weights.astype(np.int64), g) + bias
    np.testing.assert_array_equal(out.array, exact(sums, multiplier, shift, double_round))
