"""The first TPU: what its paper publishes of six networks, and layers with as many weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sim import machine
from tosajit.graph import Graph
from validating.figures import Explanation, Figure, Table
from validating.networks import Network
from validating.predict import report

MACHINE, BOUND = "tpu-v1", 0.15
TEXT = """Six networks on the first Tensor Processing Unit: trillions of operations a second, from table
3 of its paper (Jouppi et al., ISCA 2017). Of the layers it publishes kinds, numbers, weights and batches
(table 1), not shapes. Known besides: MLP0 has five of 2000 × 2000; LSTM1's matrices have 600 × 600 weights
(section 7); of the array, table 3 says how much has work while products are made, which is how much of
whole tiles of 256 × 256 is weights: 89 % of MLP1's, as with 964 × 1205, and all of LSTM0's, as with
1024 × 2048; CNN0 uses the whole array, and its 2,888 operations for a byte of weights at batch 8 are
19 × 19 positions. No time is used for that, and nothing is fitted. Of CNN1 no shapes are known; the other
five have no vector layers here, of which the paper says only how many there are."""


@dataclass(frozen=True, slots=True)
class Published:
    """A network of the paper."""

    batch: int
    teraops: float
    make: Callable[[int], Network] | None
    note: str = ""
    kind: str = "fully connected, int8"


def dense(layers: int, size: int, other: int = 0) -> Callable[[int], Network]:
    """Layers of size × size weights, or of size × other and other × size in turn."""

    def made(batch: int) -> Network:
        network = Network(1, size, batch)
        for number in range(layers):
            network.convolution(size if number % 2 else other or size, 1)
        return network

    return made


def board(batch: int) -> Network:
    """Convolutions of 3 × 3 over a board of 19 × 19 with 256 channels."""
    network = Network(19, 256, batch)
    for _ in range(14):
        network.convolution(256, 3)
    return network


NETWORKS = {
    "MLP0": Published(200, 12.3, dense(5, 2000), "20 M weights, batch 200"),
    "MLP1": Published(168, 9.7, dense(4, 964, 1205), "5 M weights, batch 168"),
    "LSTM0": Published(64, 3.7, dense(24, 1024, 2048), "52 M weights, batch 64", "recurrent, int8"),
    "LSTM1": Published(96, 2.8, dense(94, 600), "34 M weights, batch 96", "recurrent, int8"),
    "CNN0": Published(8, 86.0, board, "8 M weights, batch 8", "CNN, int8"),
    "CNN1": Published(32, 14.1, None),
}

CAUSES = (
    Explanation(
        "LSTM1",
        """ours is bound by its weights, which come in whole tiles of 256 × 256: nine for 600 × 600, so that
        1.6 times as many bytes are read. The chip's rate leaves a fourth of the time for what the paper has
        of this network and our layers have not: gates and states by the vector unit, on which the next step
        waits, and sums that are read before they are there.""",
    ),
)


def table() -> Table:
    """All six."""
    figures = [figure(name, one) for name, one in NETWORKS.items()]
    columns = ("what", "ours", "published")
    return Table("Published: TPU", TEXT, tuple(figures), columns, "tpu", explanations=CAUSES)


def figure(name: str, one: Published) -> Figure:
    """Operations a second, an addition and a product each one."""
    graph: Graph | None = None if one.make is None else one.make(one.batch).graph()
    found, note = report(graph, machine(MACHINE))
    if graph is None:
        note = "its shapes are not published"
    rate = None if found is None else 2 * found.macs / found.seconds / 1e12
    note = note or one.note
    return Figure(name, rate, one.teraops, "Tops/s", "within", BOUND, note, one.kind, "systolic, TPU v1")
