"""Several cores: chains of convolutions, one on each core, against Stream in an environment of its own."""

from __future__ import annotations

import json
import os
import random
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import tosajit as tj
from sim.machine.arrays import DotProduct
from sim.machine.machine import Machine
from sim.machine.parts import Dma, OffChip, Scratchpad, Topology, VectorUnit
from tosajit.dtypes import INT8, INT32
from tosajit.graph import Graph
from tosajit.operators import CONV2D
from tosajit.operators.types import AccType
from tosajit.tracing.builder import GraphBuilder
from validating.facts import ROOT
from validating.figures import Figure, Table
from validating.graphs import rescaled, sums

CASES, BOUND = 8, 0.1
CLOCK = 1e9
TEXT = """Stream 0.0.8 schedules networks on several cores. Chains of convolutions are drawn, with each
layer on a core of its own in a mesh; Stream finds mappings for each core, and a schedule of whole layers. It
loads what a layer needs before the layer begins, so ours is a `pipeline` without double buffering; what other
plans take on the same cores is beside it."""
PLANS: dict[str, dict[str, Any]] = {
    "as Stream": {"planner.split": "pipeline", "planner.double_buffering": False},
    "`pipeline`": {"planner.split": "pipeline"},
    "`best`": {"planner.split": "best"},
}


class Unavailable(Exception):
    """Stream is not there."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """A layer of a chain, with a border that keeps the size."""

    filters: int
    channels: int
    height: int
    width: int
    kernel: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Layers, and the cores that do one each."""

    layers: tuple[Convolution, ...]
    columns: int
    array: tuple[int, int]
    """Filters and channels."""
    link_bytes: int
    """Bytes a cycle, of each link and of the off-chip memory."""
    offchip_bytes: int
    memory_bytes: int = field(default=1 << 20)
    """For weights, and as much for maps."""

    @property
    def name(self) -> str:
        """What it is, in a row."""
        sizes = " → ".join(str(one) for one in (self.layers[0].channels, *(s.filters for s in self.layers)))
        first, (filters, channels) = self.layers[0], self.array
        kernels = ", ".join(str(one.kernel) for one in self.layers)
        return (
            f"{len(self.layers)} cores of {filters} × {channels}, {first.height} × {first.width},"
            f" channels {sizes}, kernels {kernels}, links of {self.link_bytes} B/cycle,"
            f" memory of {self.offchip_bytes}"
        )


def tables() -> list[Table]:
    """Drawn chains."""
    figures = tuple(figure(chain) for chain in draw(CASES))
    return [Table("Several cores", TEXT, figures, ("chain", "ours", "Stream"))]


def figure(chain: Chain) -> Figure:
    """A chain by Stream, and by ours."""
    graph, machine = chain_graph(chain), machine_of(chain)
    alike, *others = (
        (name, tj.simulate(graph, machine.replace(plan)).cycles) for name, plan in PLANS.items()
    )
    return Figure(
        chain.name,
        alike[1],
        by_stream(chain),
        bound=BOUND,
        note=", ".join(f"{name} {cycles:,}" for name, cycles in others),
        network="CNN, int8",
        machine="several cores",
    )


def draw(count: int) -> list[Chain]:
    """Chains, the same ones each time."""
    generator = random.Random(7)
    found = []
    for _ in range(count):
        cores = generator.choice((2, 2, 4))
        side = generator.choice((14, 20, 28, 40))
        widths = [generator.choice((16, 32, 48, 64, 96)) for _ in range(cores + 1)]
        layers = tuple(
            Convolution(widths[n + 1], widths[n], side, side, generator.choice((1, 3, 3)))
            for n in range(cores)
        )
        array = generator.choice(((16, 16), (32, 32), (16, 32)))
        found.append(Chain(layers, 2, array, generator.choice((4, 8, 16)), generator.choice((8, 16))))
    return found


def machine_of(chain: Chain) -> Machine:
    """Cores without delays of their own, with memories as wide as their arrays need."""
    filters, channels = chain.array
    wide = filters * channels
    return Machine(
        name="stream",
        clock_hz=CLOCK,
        cores=len(chain.layers),
        topology=Topology(
            network="mesh", columns=chain.columns, bandwidth_bytes_per_second=chain.link_bytes * CLOCK
        ),
        offchip=OffChip(bandwidth_bytes_per_second=chain.offchip_bytes * CLOCK, burst_bytes=1),
        scratchpad=Scratchpad(
            bytes=2 * chain.memory_bytes, ports=8, bytes_per_cycle=3.0 * wide, burst_bytes=1
        ),
        dma=Dma(channels=2),
        array=DotProduct(filters=filters, channels=channels, stripe=1 << 16, loaded_filters=filters),
        vector=VectorUnit(lanes=dict.fromkeys(("bool", "i8", "i16", "i32", "i64"), wide)),
    )


def chain_graph(chain: Chain) -> Graph:
    """Its convolutions, each with its scaling to int8."""
    builder = GraphBuilder()
    first = chain.layers[0]
    value = builder.input("input", INT8, (1, first.height, first.width, first.channels))
    for number, layer in enumerate(chain.layers):
        border = layer.kernel // 2
        convolution = CONV2D(
            pad=(border,) * 4,
            stride=(1, 1),
            dilation=(1, 1),
            acc_type=AccType.INT32,
            local_bound=False,
        )
        filters = (layer.filters, layer.kernel, layer.kernel, layer.channels)
        total = sums(builder, convolution, value, filters, f"layer{number}")
        value = rescaled(builder, total, 1, INT32, INT8)
    builder.output(value)
    return builder.build()


def by_stream(chain: Chain) -> int:
    """What Stream says."""
    peer = Path(__file__).with_name("stream_peer.py")
    run = subprocess.run(
        [python(), "-I", peer, json.dumps(asdict(chain))], capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise RuntimeError(f"Stream on {chain.name}: {run.stderr.strip().splitlines()[-1]}")
    cycles: int = json.loads(run.stdout.splitlines()[-1])["cycles"]
    return cycles


def python() -> Path:
    """The Python that has Stream: TOSAJIT_STREAM says where."""
    found = Path(os.environ.get("TOSAJIT_STREAM", ROOT / ".venv-stream")) / "bin" / "python"
    if not found.exists():
        raise Unavailable(f"no Stream at {found}: `make validate` installs it, or set TOSAJIT_STREAM")
    return found
