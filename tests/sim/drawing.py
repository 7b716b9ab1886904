"""Random machines, and random layers for them: chains of nests with contractions between them."""

from __future__ import annotations

from math import prod
from typing import Any

from hypothesis import strategies as st

import sim
from tests.planning.drawing import Chain, axes, chains, whole
from tiling.expr import acc, call, const, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write, identity
from tiling.program import Operand, OperandKind

Layers = tuple[list[Nest], dict[str, Operand]]

RATES = {"8x8": 1.0, "16x8": 0.5, "16x16": 0.25}
LANES = {"i8": 8, "i16": 4, "i32": 4, "i64": 2}

arrays = st.one_of(
    st.builds(
        lambda rows, columns, dataflow: sim.Systolic(
            rows=rows, columns=columns, dataflow=dataflow, rates=RATES
        ),
        st.sampled_from([1, 2, 4, 16]),
        st.sampled_from([1, 2, 8, 16]),
        st.sampled_from(["output", "weight", "input"]),
    ),
    st.builds(
        lambda pair: sim.Block(family=pair[0], macs_per_cycle=pair[1], rates=RATES),
        st.sampled_from([("u55", 32), ("u55", 128), ("u65", 256), ("u85", 128), ("u85", 1024)]),
    ),
    st.builds(
        lambda rows, columns: sim.RowStationary(rows=rows, columns=columns, rates=RATES),
        st.sampled_from([3, 12]),
        st.sampled_from([2, 14]),
    ),
    st.builds(
        lambda filters, channels, stripe, depthwise: sim.DotProduct(
            filters=filters, channels=channels, stripe=stripe, depthwise=depthwise, rates=RATES
        ),
        st.sampled_from([1, 8, 32]),
        st.sampled_from([3, 16]),
        st.sampled_from([5, 32]),
        st.sampled_from(["single", "cells"]),
    ),
)

MODES: list[dict[str, Any]] = [
    {},
    {"direct": True},
    {"activations": "scratchpad"},
    {"activations": "scratchpad", "direct": True},
    {"activations": "scratchpad", "weights": "scratchpad", "constants": "scratchpad"},
]


@st.composite
def machines(draw: st.DrawFn) -> sim.Machine:
    """Machines of all kinds, most of them small enough that tiles and transfers matter."""
    mode = draw(st.sampled_from(MODES))
    sizes = [1 << 16, 1 << 20] if "activations" in mode else [256, 512, 2048, 8192, 1 << 16]
    return sim.Machine(
        name="drawn",
        clock_hz=1e9,
        offchip=sim.OffChip(
            bandwidth_bytes_per_second=draw(st.sampled_from([None, 1e8, 1e9, 3e9, 16e9])),
            read_latency_cycles=draw(st.sampled_from([0, 7, 100])),
            write_latency_cycles=draw(st.sampled_from([0, 5, 50])),
            burst_bytes=draw(st.sampled_from([4, 16, 64])),
        ),
        scratchpad=sim.Scratchpad(
            bytes=draw(st.sampled_from(sizes)),
            banks=draw(st.sampled_from([1, 2, 4])),
            ports=draw(st.sampled_from([1, 2])),
            bytes_per_cycle=draw(st.sampled_from([None, 1.5, 8.0, 64.0])),
            read_latency_cycles=draw(st.sampled_from([0, 3])),
            alignment_bytes=draw(st.sampled_from([4, 16])),
        ),
        dma=sim.Dma(
            channels=draw(st.sampled_from([1, 2])),
            setup_cycles=draw(st.sampled_from([0, 9])),
            outstanding_requests=draw(st.sampled_from([1, 8])),
            strided=draw(st.booleans()),
        ),
        array=draw(arrays),
        vector=sim.VectorUnit(
            lanes=LANES, stages=draw(st.sampled_from([1, 3])), fill_cycles=draw(st.sampled_from([0, 2]))
        ),
        reduction=sim.ReductionUnit(lanes=LANES, fill_cycles=draw(st.sampled_from([0, 2]))),
        memory=sim.MemoryMode(**mode),
        launch_overhead_cycles=draw(st.sampled_from([0, 1000])),
    )


@st.composite
def layers(draw: st.DrawFn, most: int = 9) -> Layers:
    """Either a chain of nests, or up to four convolutions and sums one after another, `most` points wide."""
    if draw(st.integers(0, 2)) == 0:
        chain = draw(chains())
        return chain.nests, _operands(chain)
    return draw(networks(most))


def _operands(chain: Chain) -> dict[str, Operand]:
    read_later = {access.operand for nest in chain.nests for access in nest.reads}
    kinds: dict[str, OperandKind] = dict.fromkeys(chain.inputs, "input")
    return {
        name: Operand(
            name, "i32", prod(shape), kinds.get(name, "temporary" if name in read_later else "output")
        )
        for name, shape in chain.shapes.items()
    }


@st.composite
def networks(draw: st.DrawFn, most: int) -> Layers:
    """Convolutions, depthwise convolutions and sums of int8 feature maps."""
    sides = st.sampled_from([most, most - 1, most // 2, 3, 1])
    shape = (draw(sides), draw(sides), draw(st.sampled_from([8, 17, 3, 1])))
    nests: list[Nest] = []
    operands = {"x": Operand("x", "i8", prod(shape), "input")}
    name, count = "x", draw(st.integers(1, 4))
    for number in range(count):
        kind = draw(st.sampled_from(["dense", "depthwise", "sum"]))
        kernel, stride = draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from([1, 2]))
        filters = shape[2] if kind != "dense" else draw(st.sampled_from([1, 4, 10, 24]))
        result = f"y{number}"
        if kind == "sum":
            nests.append(_sum(name, result, shape))
        else:
            size = (-(-shape[0] // stride), -(-shape[1] // stride), filters)
            weights = (filters, kernel, kernel, shape[2] if kind == "dense" else 1)
            operands[f"w{number}"] = Operand(f"w{number}", "i8", prod(weights), "constant")
            nests.append(_convolution(name, f"w{number}", result, shape, size, weights, stride))
            shape = size
        last = number == count - 1
        operands[result] = Operand(result, "i8", prod(shape), "output" if last else "temporary")
        name = result
    return nests, operands


def _sum(source: str, result: str, shape: tuple[int, ...]) -> Nest:
    """A feature map with itself."""
    access = Access(source, "i8", shape, identity(3, 0, 3))
    value = call("add_i8", read(0, "i8"), read(0, "i8"), type="i8")
    write = Write(Access(result, "i8", shape, identity(3, 0, 3)), value)
    return Nest("map", axes(shape), (access,), (write,), None, (result,))


def _convolution(
    source: str,
    weight: str,
    result: str,
    shape: tuple[int, ...],
    size: tuple[int, ...],
    weights: tuple[int, ...],
    stride: int,
) -> Nest:
    """With as many rows of padding as the result needs; depthwise where filters see one channel."""
    kernel, depthwise = weights[1], weights[3] == 1 and shape[2] == size[2]
    extents = (*size, kernel, kernel) if depthwise else (*size, kernel, kernel, weights[3])
    count, before = len(extents), (kernel - 1) // 2

    def along(offset: int = 0, **steps: int) -> Affine:
        names = ("y", "x", "o", "v", "u", "i")[:count]
        return Affine(tuple(steps.get(name, 0) for name in names), offset)

    channel = along(o=1) if depthwise else along(i=1)
    data = Access(
        source,
        "i8",
        shape,
        (along(-before, y=stride, v=1), along(-before, x=stride, u=1), channel),
        const(0, "i8"),
    )
    last = along() if depthwise else along(i=1)
    factor = Access(weight, "i8", weights, (along(o=1), along(v=1), along(u=1), last))
    product = call(
        "mul_i32",
        call("to_i32", read(0, "i8"), type="i32"),
        call("to_i32", read(1, "i8"), type="i32"),
        type="i32",
    )
    write = Write(
        Access(result, "i8", size, (along(y=1), along(x=1), along(o=1))),
        call("to_i8", acc("i32"), type="i8"),
    )
    every = tuple(Axis(name, e, name in "vui") for name, e in zip("yxovui", extents, strict=False))
    return Nest("contract", every, (data, factor), (write,), Reduction("add", 0, "i32", product), (result,))


__all__ = ["Layers", "layers", "machines", "networks", "whole"]
