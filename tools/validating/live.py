"""Networks of many kinds against Vela, run now: with our planner, and with Vela's schedule."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import vela_live
from held_out_networks import SEED

from validating.ethos import TRAFFIC_BOUND, kind_of, machine_of
from validating.figures import Figure, Table

TEXT = """Vela 5.2.0, run for this page on small networks of many kinds (`tools/kernel_networks.tar.xz` and
`tools/wider_networks.tar.xz`, int8 and i16x8), and ours from the same TFLite files. Nothing is fitted.
Asked, as a median: 3 % for CNNs in int8, 6 % for i16x8 and recurrent networks."""
PARTS_TEXT = """The last columns say what a difference is made of. The first is what our model of the machine
says of Vela's schedule, the others are shares of Vela's cycles that add up to the difference. *Plan*: our
planner has chosen another schedule than Vela, and by our model, which times both, it takes so much less
(−) or more. *Copies*: of maps that Vela copies, where our programs mostly write or read them in place, or
have the new scale or the table of the copy in the work on what makes the map; and operators that it takes
apart in other ways.
*Charges*: what Vela counts beyond the hardware. *Machine*: what is left, where our model of the machine
differs from Vela's; the next table is about it, and about copies and charges. By kind, *without* says how far
off we are without plan and copies, and without charges, too; the last column is about what is moved over the
port of the second memory.

Our plans are other ones where they take less by the same model of the machine. They ask for nothing that
Vela's command streams are not made of: a single DMA copies in order while the array works, and an operator is
told where its weights, its biases and scales, its tables and its maps are, in either memory, and by how many
bytes their rows and columns follow each other; loads of tables are paid for.

* recurrent networks, dedicated SRAM: ours copy the weights of each step to the SRAM with their biases and
  scales, once for all steps, as these are the same constants; Vela's read many of them in DRAM, whose latency
  holds these up (`lstm_wide_i8` on the U65 computes for 10,682 cycles in place of 21,244).
* CNNs, dedicated SRAM: ours read a map in DRAM once, with all weights, where it is large; slices of weights,
  as Vela has them, read it anew each (`vgg_i8` on the U85 waits 9,510 cycles for maps in place of 32,292).
* transformers: ours keep the maps between operators in the SRAM, of which Vela's has some in DRAM. Heads are
  read where they are, as columns that are farther apart, and what they make is multiplied by a window over
  heads; the U85 turns the values of an attention as it writes them, which it does in Vela's transpositions,
  too, and the U55 and U65 turn them by passes that our model times. Vela has an operator for each turn.
* where all lives in the SRAM, as on the U85 here, both plans take the same time."""
SCHEDULED_TEXT = """The same with Vela's schedule, as it prints it, in place of our planner's
(`tools/validating/schedules.py`): what lives in the SRAM, cascades with their stripes, buffers of
weights. It tells the model of the machine from the planner. Two things are added that our programs do not
have; how much stands beside each figure. Copies: where Vela copies a map, to concatenate, pad or repeat
it, or gives it another scale or looks it up in a pass of its own, our programs mostly write or read it in
place; our model times them (`tools/validating/copies.py`), and what Vela takes apart into other operators
than our programs do, such as squared differences in 32 bits (`tools/validating/lowered.py`) and means
(`tools/validating/means.py`); and what operators of its schedule wait for maps in DRAM that our groups have
in the SRAM or pass on: maps of 32 bits in a softmax, which have all channels of bricks besides
(`tools/validating/softmaxes.py`), and operands of additions (U85, `tools/validating/apart.py`).
Charges (`tools/validating/charges.py`), which are Vela's estimate and no fact of the hardware, worked out
from our model and not from Vela's figures. In dedicated modes it counts an operator whose weights have a
buffer, and the waits for weights and tables, as if maps were in the DRAM where they live by default, and
the last block of a result that only goes on in a chain (U85) as if it were written there; and a map that
each slice of the weights reads anew, once, which is less than the hardware takes. Maps that Vela keeps in
rows and we in bricks take the array longer to read or write. Each part of a transposed
convolution (U85) is counted as if it made all positions and not its own alone. On the U55 and
U65 it counts constants that are repeated and stay in flash or DRAM as if they were read anew for each
result. Asked, as a median: 5 %."""
HELD_OUT_TEXT = f"""The same for networks that nothing was changed for (`tools/held_out_networks.tar.xz`):
their structures and weights are drawn, with seed {SEED}."""
TURNED_TEXT = f"""{HELD_OUT_TEXT} One rule was checked on `transformer_9_i8`
and `transformer_10_i8`: what turned maps that are in rows are read for, on the U85, as no network above waits
for that."""
PLANS_TEXT = """Where our plan takes less time than Vela's schedule by the same model of the machine, the
difference is a better plan and no error. Here is how many are faster by more than 1 %, and by how much
(median), and how many are slower; the others take as long. How far the model of the machine is off is the
last column: with Vela's schedule in place of our plan, and what is added to it (below the next heading)."""
FIRST_LAYERS = """ What the others have in common are first layers, and some behind these: plans read their
weights where they are, anew for each row of blocks, which the work hides, as a copy would be waited for."""
ASKED = {"CNN, int8": 0.03, "CNN, i16x8": 0.06, "recurrent, int8": 0.06, "recurrent, i16x8": 0.06}
"""How far kinds of networks may be off."""
LONGER = 0.01
"""So much more time of a plan counts."""
PLANS = (
    *("kind of network", "pairs", "asked", "off by", "our plan is faster", "by", "slower"),
    "the model is off by",
)
COLUMNS = ("network, machine", "ours", "Vela")
MORE = ("Vela's schedule", *vela_live.PARTS)
WITHOUT = ("without plan and copies", "and charges")
BYTES = "bytes, of Vela's"
KINDS = ("kind of network, machine", "pairs", "off by", *vela_live.PARTS, *WITHOUT, BYTES)


def tables(only: str = "_i") -> list[Table]:
    """Both, for the networks that we look at and for those held out."""
    texts = (f"{TEXT}\n\n{PARTS_TEXT}", SCHEDULED_TEXT), (HELD_OUT_TEXT, TURNED_TEXT)
    found = list[Table]()
    known = (vela_live.KNOWN, ""), ((vela_live.HELD_OUT,), ", held out")
    for (text, scheduled), (sources, apart) in zip(texts, known, strict=True):
        pairs = list(compared(only, sources))
        own = [_figure(one, one.ours, apart, more=_parts(one)) for one in pairs]
        given = [
            _figure(one, one.judged, apart, ", Vela's schedule", _added(one))
            for one in pairs
            if one.judged is not None
        ]
        first, _, rest = text.partition("\n\n")
        lines = [first, "", PLANS_TEXT, "", *plans(pairs), "", *([rest, ""] if rest else [])]
        text = "\n".join([*lines, *by_kind(pairs), "", *moved(pairs)])
        found += [
            Table(f"Ethos-U, kinds of networks{apart}", text, tuple(own), COLUMNS, more=MORE),
            Table(f"Ethos-U, as Vela schedules it{apart}", scheduled, tuple(given), COLUMNS),
        ]
    return found


def plans(pairs: Sequence[vela_live.Pair]) -> Iterator[str]:
    """A table of where our plans are faster than Vela's, and how far the model of the machine is off."""
    yield f"| {' | '.join(PLANS)} |"
    yield "|---|" + "--:|" * (len(PLANS) - 1)
    groups: dict[str, list[vela_live.Pair]] = {}
    for pair in pairs:
        if pair.scheduled is not None:
            groups.setdefault(kind_of(pair.network), []).append(pair)
    for kind, some in sorted(groups.items()):
        less = [1 - one.ours / one.scheduled for one in some if one.scheduled]
        faster, slower = ([far for far in less if sign * far > LONGER] for sign in (1, -1))
        off = median(abs(one.ratio - 1) for one in some)
        model = median(abs(one.judged / one.theirs - 1) for one in some if one.judged)
        cells = (
            *(kind, str(len(some)), f"{ASKED[kind]:.0%}" if kind in ASKED else "–", f"{off:.1%}"),
            *(str(len(faster)), f"{median(faster):.1%}" if faster else "–", str(len(slower)), f"{model:.1%}"),
        )
        yield f"| {' | '.join(cells)} |"


def by_kind(pairs: Sequence[vela_live.Pair]) -> Iterator[str]:
    """A table of medians: of differences, and of what they are made of."""
    groups: dict[tuple[str, str], list[vela_live.Pair]] = {}
    for pair in pairs:
        if pair.parts:
            groups.setdefault((kind_of(pair.network), machine_of(pair.configuration)), []).append(pair)
    yield f"| {' | '.join(KINDS)} |"
    yield "|---|" + "--:|" * (len(KINDS) - 1)
    for kind, some in sorted(groups.items()):
        shares = (median(one.parts[name] for one in some) for name in vela_live.PARTS)
        off = median(abs(one.ratio - 1) for one in some)
        without = (
            median(abs(sum(one.parts[name] for name in left)) for one in some)
            for left in (("charges", "machine"), ("machine",))
        )
        cells = (
            *(", ".join(kind), str(len(some)), f"{off:.1%}"),
            *(*map(_share, shares), *(f"{one:.1%}" for one in without)),
            _bytes(some),
        )
        yield f"| {' | '.join(cells)} |"


def _bytes(pairs: Sequence[vela_live.Pair]) -> str:
    """The median of our off-chip bytes by Vela's; nothing is moved where all lives in the SRAM."""
    ratios = [one.our_bytes / one.their_bytes for one in pairs if one.their_bytes]
    return f"{median(ratios):.2f}" if ratios else "–"


def moved(pairs: Sequence[vela_live.Pair]) -> Iterator[str]:
    """How many pairs move hardly more than Vela does, and which move more."""
    more = sorted((one for one in pairs if not one.sparing), key=_more, reverse=True)
    yield (
        f"Over the port of the second memory, {len(pairs) - len(more)} of {len(pairs)} pairs move at most"
        f" {TRAFFIC_BOUND:.0%} more bytes than with Vela's schedule; plans are for time, and"
        ' `objective="traffic"` has others.'
    )
    known = [one for one in pairs if one.scheduled is not None]
    less = sum(one.our_bytes <= (1 + TRAFFIC_BOUND) * one.scheduled_bytes for one in known)
    least = sum(one.least_bytes <= (1 + TRAFFIC_BOUND) * one.scheduled_bytes for one in known)
    yield (
        f"By our own count of what both schedules move, {less} of {len(known)} do, and"
        f' {least} with `objective="traffic"`.{FIRST_LAYERS}'
    )
    if more:
        cases = (f"{one.network} on {one.configuration} {_share(_more(one))}{_time(one)}" for one in more)
        yield f"The others, with what they take of the time of Vela's schedule: {', '.join(cases)}."


def _time(pair: vela_live.Pair) -> str:
    return "" if pair.scheduled is None else f" ({pair.ours / pair.scheduled:.1%})"


def _more(pair: vela_live.Pair) -> float:
    return pair.our_bytes / max(1, pair.their_bytes) - 1


def _parts(pair: vela_live.Pair) -> tuple[str, ...]:
    """Cells: cycles with Vela's schedule, and what the difference is made of."""
    if pair.scheduled is None:
        return ("–",) * len(MORE)
    return f"{pair.scheduled:,}", *map(_share, pair.parts.values())


def _share(part: float) -> str:
    return f"{part:+.1%}".replace("-", "−") if abs(part) >= 0.0005 else "0"


def _added(pair: vela_live.Pair) -> str:
    """What is added to our cycles."""
    parts = (pair.charged, "charged"), (pair.copied, "for copies")
    return ", ".join(f"{cycles:,} {what}" for cycles, what in parts if cycles)


def compared(only: str, sources: Sequence[Path]) -> Iterator[vela_live.Pair]:
    """All networks of archives that both sides take, as many at a time as there are processors."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(mp_context=get_context("spawn")) as pool,
    ):
        files = vela_live.extracted(Path(folder), only, sources)
        pairs = product(files, vela_live.CONFIGURATIONS)
        for pair in pool.map(vela_live.compared, *zip(*pairs, strict=True)):
            if isinstance(pair, vela_live.Pair):
                yield pair


def _figure(
    pair: vela_live.Pair,
    cycles: int | None,
    apart: str,
    way: str = "",
    note: str = "",
    more: tuple[str, ...] = (),
) -> Figure:
    machine = f"{machine_of(pair.configuration)}{way}"
    case = f"{pair.network}, {pair.configuration}"
    network = f"{kind_of(pair.network)}{apart}"
    return Figure(case, cycles, pair.theirs, note=note, network=network, machine=machine, more=more)
