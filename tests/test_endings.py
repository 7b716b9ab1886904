"""What follows sums of float32 in registers has the bits of what follows them as text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import tosajit as tj
from tests.test_contract_kernels import (
    Guarded,
    address,
    arguments,
    guarded,
    libraries,
    run,
)
from tests.test_float_contractions import STORE, numbers
from tiling.nest import Nest
from tosajit import ops
from tosajit.arrays import Array
from tosajit.host import unit
from tosajit.host.ending import Ending, ending_of
from tosajit.host.match import Match
from tosajit.kernels.contract import pack
from tosajit.kernels.contract.blocking import Blocking, DepthwiseBlocking
from tosajit.kernels.contract.geometry import DepthwiseGeometry, Geometry
from tosajit.kernels.contract.slots import (
    BIASED,
    BOUNDED,
    ENDED,
    FAR,
    GATED,
    JOINED,
    SCALED,
    DepthwiseSlot,
    Slot,
)
from tosajit.kernels.contract.source import (
    contract_source,
    depthwise_gather_source,
    gather_source,
    tile_source,
)
from tosajit.kernels.contract.spec import ContractSpec, Epilogue
from tosajit.kernels.sets.registry import named_set

LOW, HIGH, SHIFT, SCALE = (np.float32(number) for number in (-0.5, 6, 3, 1 / 6))
KINDS = [
    ENDED + BIASED * bias + JOINED * other + ends
    for bias, other in np.ndindex(2, 2)
    for ends in (0, BOUNDED, GATED + SCALED)
]
KINDS += [ENDED + BIASED + GATED, ENDED + BIASED + BOUNDED + SCALED, ENDED + FAR, ENDED + JOINED + FAR]
kinds = pytest.mark.parametrize("kind", KINDS)
SHAPES = {
    "direct": Geometry((1, 1, 1, 19), (1, 1, 1, 19), 17, 72, element_bytes=4),
    "a panel and a half": Geometry((1, 1, 1, 33), (1, 1, 1, 33), 9, 24, element_bytes=4),
    "few columns": Geometry((1, 1, 1, 33), (1, 1, 1, 33), 5, 21, element_bytes=4),
    "segments": Geometry(
        (1, 1, 4, 28), (1, 1, 4, 28), 3, 40, (1, 3, 3), (1, 1, 1), (0, 1, 1), element_bytes=4
    ),
    "deep": Geometry((1, 1, 1, 19), (1, 1, 1, 19), 1300, 72, element_bytes=4),
}
CHANNELS = {
    "wide": DepthwiseGeometry((1, 6, 40), (1, 6, 40), 72, 1, (3, 3), (1, 1), (1, 1), element_bytes=4),
    "narrow": DepthwiseGeometry((2, 7, 11), (2, 4, 6), 21, 1, (3, 3), (2, 2), (1, 1), element_bytes=4),
}


BODY = f"""
value = acc
if kind & {BIASED} != 0:
    value = np.float32(value + load_f32(bias, channel))
if kind & {JOINED} != 0:
    value = np.float32(value + load_f32(output, index))
if kind & {BOUNDED + GATED} != 0:
    before = value
    value = np.float32(value + np.float32({SHIFT})) if kind & {GATED} != 0 else value
    value = np.float32({LOW}) if value < np.float32({LOW}) else value
    value = np.float32({HIGH}) if value > np.float32({HIGH}) else value
    value = np.float32(before * value) if kind & {GATED} != 0 else value
if kind & {SCALED} != 0:
    value = np.float32(value * np.float32({SCALE}))
store_f32(output, index, value)
"""


def text(slots: type[Slot] | type[DepthwiseSlot]) -> Epilogue:
    """The same as text, for parts of registers where the set stores none."""
    loaded = {"output": slots.OUTPUT, "bias": slots.PARAMETERS, "kind": slots.SIGN}
    setup = [f"{name} = load_i64(args, {int(slot)})" for name, slot in loaded.items()]
    return Epilogue(BODY, "\n".join(setup), in_registers=True)


@np.errstate(invalid="ignore")
def expected(sums: Array, kind: int, bias: Array, other: Array) -> Array:
    """What follows the sums."""
    if kind & BIASED:
        sums = sums + bias
    if kind & JOINED:
        sums = sums + other
    if kind & (BOUNDED | GATED):
        bounded = sums + SHIFT if kind & GATED else sums
        bounded = np.where(bounded < LOW, LOW, bounded)
        bounded = np.where(bounded > HIGH, HIGH, bounded)
        sums = sums * bounded if kind & GATED else bounded
    return sums * SCALE if kind & SCALED else sums


NUMBERS = {
    name: int(number.view(np.int32))
    for name, number in (("LOW", LOW), ("HIGH", HIGH), ("SHIFT", SHIFT), ("SCALE", SCALE))
}
"""Their bits, by slot."""


def assert_same_bits(found: Array, wanted: Array) -> None:
    """The same numbers, with the same signs of zeros."""
    np.testing.assert_array_equal(found, wanted)
    there = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[there]), np.signbit(wanted[there]))


def special(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers with NaN, infinities and zeros of both signs among them."""
    found = numbers(rng, shape)
    places = rng.random(shape)
    for number, (low, high) in zip(
        (np.nan, np.inf, -np.inf, -0.0), np.arange(8).reshape(4, 2) / 200, strict=True
    ):
        found[(places >= low) & (places < high)] = number
    return found


@libraries
@kinds
@pytest.mark.parametrize("shape", SHAPES)
def test_what_follows_sums_of_a_convolution(library: str, shape: str, kind: int) -> None:
    g, isa, rng = SHAPES[shape], named_set(library), np.random.default_rng(kind)
    x, weights = numbers(rng, (*g.input, g.in_channels)), numbers(rng, (g.out_channels, g.depth))
    x.flat[:: g.in_channels * 5] = np.nan
    weights[::3] = 0
    packed, bias = guarded(pack.pack_weights(isa.lanes, weights, 1)), guarded(special(rng, (g.out_channels,)))
    other = special(rng, (*g.output, g.out_channels))
    spec = ContractSpec(isa, "convolution", "f32", "f32")

    def convolved(end: Epilogue, kind: int, initial: Array) -> Array:
        out, source = guarded(initial), guarded(x)
        scratch = Guarded((Blocking(g, isa).scratch_bytes + 64,), np.uint8)
        addresses = {"SOURCE": source.address, "WEIGHT": packed.address, "SCRATCH": scratch.address}
        addresses |= {"OUTPUT": out.address, "OTHER": out.address, "PARAMETERS": bias.address, "SIGN": kind}
        args = arguments(Slot, Blocking(g, isa), **addresses, **NUMBERS)
        args[Slot.GATHER], args[Slot.TILE] = address(gather_source(isa)), address(tile_source(spec))
        run(contract_source(spec, end), args)
        assert out.intact()
        assert scratch.intact()
        return out.array

    sums = convolved(STORE, 0, np.zeros_like(other))
    found = convolved(text(Slot), kind, other)
    assert_same_bits(found, expected(sums, kind, bias.array, other))


@libraries
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind & JOINED])
@pytest.mark.parametrize("shape", CHANNELS)
def test_what_follows_sums_of_a_depthwise_convolution(library: str, shape: str, kind: int) -> None:
    g, isa, rng = CHANNELS[shape], named_set(library), np.random.default_rng(kind)
    x, weights = special(rng, (*g.input, g.in_channels)), numbers(rng, (*g.kernel, g.in_channels, 1))
    packed, _ = pack.pack_depthwise(isa.lanes, weights, 0, 4)
    matrix, bias = guarded(packed), guarded(special(rng, (g.out_channels,)))
    spec = ContractSpec(isa, "depthwise", "f32", "f32")

    def convolved(end: Epilogue, kind: int) -> Array:
        out, source = Guarded((*g.output, g.out_channels), np.float32), guarded(x)
        scratch = Guarded((DepthwiseBlocking(g, isa).scratch_bytes + 64,), np.uint8)
        addresses = {"SOURCE": source.address, "WEIGHT": matrix.address, "SCRATCH": scratch.address}
        addresses |= {"OUTPUT": out.address, "PARAMETERS": bias.address, "SIGN": kind}
        args = arguments(DepthwiseSlot, DepthwiseBlocking(g, isa), **addresses, **NUMBERS)
        args[DepthwiseSlot.GATHER] = address(depthwise_gather_source(spec))
        run(contract_source(spec, end), args)
        assert out.intact()
        assert scratch.intact()
        return out.array

    sums = convolved(STORE_PIXELS, 0)
    assert_same_bits(convolved(text(DepthwiseSlot), kind), expected(sums, kind, bias.array, sums))


STORE_PIXELS = Epilogue(
    "store_f32(output, index, acc)", f"output = load_i64(args, {int(DepthwiseSlot.OUTPUT)})"
)


def gated(x: tj.Tensor) -> tj.Tensor:
    """The hard swish."""
    shift, scale = (np.full((1, 1, 1, 1), number, np.float32) for number in (3, 1 / 6))
    return ops.mul(ops.mul(ops.clamp(ops.add(x, shift), 0.0, 6.0), x), scale)


def block(x: tj.Tensor) -> tj.Tensor:
    """Convolutions with all that may follow."""
    rng = np.random.default_rng(3)
    first, last = (numbers(rng, (24, 1, 1, 24)) for _ in range(2))
    taps, bias = numbers(rng, (3, 3, 24, 1)), numbers(rng, (24,))
    y = ops.clamp(ops.conv2d(x, first, bias), 0.0, 6.0)
    y = gated(ops.depthwise_conv2d(y, taps, bias, pad=(1, 1, 1, 1)))
    y = ops.clamp(ops.depthwise_conv2d(y, taps, bias, pad=(1, 1, 1, 1)), -1.0, 2.0)
    y = gated(ops.conv2d(y, first, bias))
    return ops.clamp(ops.add(x, ops.conv2d(y, last, bias)), -3.0, 3.0)


def test_graphs_have_them_in_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    x = special(np.random.default_rng(4), (1, 9, 20, 24))
    found = tj.compile(tj.trace(block, x), generic="never")(x)
    seen = []

    def never(*known: object) -> None:
        seen.append(ENDED)

    monkeypatch.setattr(unit, "ending_of", never)
    assert_same_bits(np.asarray(found), np.asarray(tj.compile(tj.trace(block, x), generic="never")(x)))
    assert len(seen) == 5


@pytest.mark.parametrize(("width", "is_far"), [(64, 0), (256, FAR)])
def test_lines_of_large_maps_are_fetched_ahead(
    monkeypatch: pytest.MonkeyPatch, width: int, is_far: int
) -> None:
    kinds = []

    def noted(nest: Nest, match: Match, constants: Mapping[str, Array]) -> Ending | None:
        found = ending_of(nest, match, constants)
        kinds.append(found and found.kind & FAR)
        return found

    monkeypatch.setattr(unit, "ending_of", noted)
    weights, bias = np.ones((48, 1, 1, 16), np.float32), np.ones(48, np.float32)
    tj.compile(tj.trace(lambda x: ops.conv2d(x, weights, bias), np.ones((1, 64, width, 16), np.float32)))
    assert kinds == [is_far]
