"""Networks of many kinds against Vela, run now: with our planner, and with Vela's schedule."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import vela_live

from validating.ethos import kind_of, machine_of
from validating.figures import Figure, Table

TEXT = """Vela 5.2.0, run for this page on small networks of many kinds (`tools/kernel_networks.tar.xz`,
int8 and i16x8), and ours from the same TFLite files. Nothing is fitted. Asked, as a median: 3 % for CNNs
in int8, 6 % for i16x8 and recurrent networks."""
SCHEDULED_TEXT = """The same with Vela's schedule, as it prints it, in place of our planner's
(`tools/validating/schedules.py`): what lives in the SRAM, cascades with their stripes, buffers of
weights. It tells the model of the machine from the planner. Two things are added that our programs do not
have; how much stands beside each figure. Copies: where Vela copies a map, to concatenate, pad or repeat
it, our programs mostly write or read it in place; our model times them (`tools/validating/copies.py`).
Charges (`tools/validating/charges.py`), which are Vela's estimate and no fact of the hardware, worked out
from our model and not from Vela's figures. In dedicated modes it counts an operator whose weights have a
buffer, and the waits for weights and tables, as if maps were in the DRAM where they live by default, and
the last block of a result that only goes on in a chain (U85) as if it were written there. On the U55 and
U65 it counts constants that are repeated and stay in flash or DRAM as if they were read anew for each
result. Asked, as a median: 5 %."""
COLUMNS = ("network, machine", "ours", "Vela")


def tables(only: str = "_i") -> list[Table]:
    """Both."""
    pairs = list(compared(only))
    own = [_figure(one, one.ours) for one in pairs]
    given = [
        _figure(one, one.judged, ", Vela's schedule", _added(one)) for one in pairs if one.judged is not None
    ]
    return [
        Table("Ethos-U, kinds of networks", TEXT, tuple(own), COLUMNS),
        Table("Ethos-U, as Vela schedules it", SCHEDULED_TEXT, tuple(given), COLUMNS),
    ]


def _added(pair: vela_live.Pair) -> str:
    """What is added to our cycles."""
    parts = (pair.charged, "charged"), (pair.copied, "for copies")
    return ", ".join(f"{cycles:,} {what}" for cycles, what in parts if cycles)


def compared(only: str) -> Iterator[vela_live.Pair]:
    """All networks that both sides take."""
    with tempfile.TemporaryDirectory() as folder:
        for file in vela_live.extracted(Path(folder), only):
            for configuration in vela_live.CONFIGURATIONS:
                pair = vela_live.compared(file, configuration)
                if isinstance(pair, vela_live.Pair):
                    yield pair


def _figure(pair: vela_live.Pair, cycles: int | None, way: str = "", note: str = "") -> Figure:
    machine = f"{machine_of(pair.configuration)}{way}"
    case = f"{pair.network}, {pair.configuration}"
    return Figure(case, cycles, pair.theirs, note=note, network=kind_of(pair.network), machine=machine)
