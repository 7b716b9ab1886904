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
(table 1), not shapes, so that ours are square and alike: MLP0 has five of 2000 × 2000. Known besides:
LSTM1's matrices have 600 × 600 weights (section 7); CNN0 uses the whole array, and its 2,888 operations
for a byte of weights at batch 8 are 19 × 19 positions. Nothing is fitted. Of CNN1 no shapes are known;
the other five have no vector layers here, of which the paper says only how many there are."""


@dataclass(frozen=True, slots=True)
class Published:
    """A network of the paper."""

    batch: int
    teraops: float
    make: Callable[[int], Network] | None
    note: str = ""
    kind: str = "fully connected, int8"


def dense(layers: int, size: int) -> Callable[[int], Network]:
    """Layers of size × size weights."""

    def made(batch: int) -> Network:
        network = Network(1, size, batch)
        for _ in range(layers):
            network.convolution(size, 1)
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
    "MLP1": Published(168, 9.7, dense(4, 1118), "5 M weights, batch 168"),
    "LSTM0": Published(64, 3.7, dense(24, 1472), "52 M weights, batch 64", "recurrent, int8"),
    "LSTM1": Published(96, 2.8, dense(94, 600), "34 M weights, batch 96", "recurrent, int8"),
    "CNN0": Published(8, 86.0, board, "8 M weights, batch 8", "CNN, int8"),
    "CNN1": Published(32, 14.1, None),
}

CAUSES = (
    Explanation(
        "LSTM1",
        """weights come in whole tiles of 256 × 256, and 600 × 600 take nine, 1.64 times their size,
        which ours do not; and each step of an LSTM waits for the one before, where our layers do not
        wait.""",
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
