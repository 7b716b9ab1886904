"""Cycles beside Vela's, live, on small networks of many kinds: medians by kind of network and configuration.

Beside the ratio of cycles with our planner stands that with Vela's schedule, given to the machine as a plan,
with what Vela charges beyond the hardware and what copies of its schedule take (the next columns,
`validating/charges.py` and `copies.py`), and the off-chip bytes of both. Our cycles for what Vela leaves to
the CPU, and does not count, are left out. `--only` chooses networks by parts of their names, `--objective`
says what plans make least, `--held-out` takes others.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from validating import apart, charges, copies, lowered, means, schedules, softmaxes, vela
from validating.ethos import TRAFFIC_BOUND, kind_of
from validating.facts import ROOT, Configuration

import tosajit as tj
from sim.cost.ethos.passes import Core
from sim.machine.arrays import Block

KNOWN = tuple(ROOT / "tools" / f"{name}_networks.tar.xz" for name in ("kernel", "wider"))
HELD_OUT = ROOT / "tools" / "held_out_networks.tar.xz"
CONFIGURATIONS = (
    Configuration("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    Configuration("ethos-u65-256", "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    Configuration("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only"),
    Configuration("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
)
BOUND = 0.05
PARTS = "plan", "copies", "charges", "machine"
"""What a difference is made of."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A network on a configuration: our cycles and Vela's."""

    network: str
    configuration: Configuration
    ours: int
    theirs: int
    scheduled: int | None = None
    """Ours with Vela's schedule; None if that is no plan for our groups."""
    our_bytes: int = 0
    their_bytes: int = 0
    """Of the off-chip memory."""
    scheduled_bytes: int = 0
    """Of the same, ours with Vela's schedule."""
    least_bytes: int = 0
    """Of the same, ours with plans for traffic."""
    charged: int = 0
    """What Vela would charge beyond its schedule's cycles."""
    copied: int = 0
    """What copies take that its schedule has and our programs do not."""

    @property
    def kind(self) -> str:
        """What kind of network it is: recurrent, of which type, and so on."""
        return kind_of(self.network)

    @property
    def ratio(self) -> float:
        """Ours of theirs."""
        return self.ours / self.theirs

    @property
    def judged(self) -> int | None:
        """What Vela's schedule is judged by: ours, its copies, and what Vela charges beyond the hardware."""
        return None if self.scheduled is None else self.scheduled + self.charged + self.copied

    @property
    def parts(self) -> dict[str, float]:
        """The difference of ours from theirs, as shares of theirs: of the plan, and of what it does not say.

        The plan's share is what our model of the machine says of both schedules.
        """
        if self.scheduled is None or self.judged is None:
            return {}
        cycles = (
            *(self.ours - self.scheduled, -self.copied, -self.charged),
            self.judged - self.theirs,
        )
        return {name: one / self.theirs for name, one in zip(PARTS, cycles, strict=True)}

    @property
    def sparing(self) -> bool:
        """Whether we move hardly more than Vela does."""
        return self.our_bytes <= (1 + TRAFFIC_BOUND) * self.their_bytes


def main() -> int:
    """Compare all pairs, and print medians."""
    options = arguments()
    try:
        vela.command()
    except vela.Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory() as folder:
        for file in extracted(Path(folder), options.only, (HELD_OUT,) if options.held_out else KNOWN):
            for configuration in CONFIGURATIONS:
                pair = compared(file, configuration, options.objective)
                if isinstance(pair, Pair):
                    pairs.append(pair)
                    line = f"{pair.ours:>12,}{pair.theirs:>12,}{pair.ratio:>8.3f}"
                    line += "       -" if pair.judged is None else f"{pair.judged / pair.theirs:>8.3f}"
                    line += f"{pair.charged:>9,}{pair.copied:>9,}"
                    line += f"{pair.our_bytes:>12,}{pair.their_bytes:>12,} bytes"
                else:
                    line = f"  {pair}"
                print(f"{file.stem:22}{configuration!s:62}{line}", flush=True)
    print("\n".join(summary(pairs)))
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="_i", metavar="NAMES", help="parts of names, by commas")
    parser.add_argument("--held-out", action="store_true", help="networks that nothing was changed for")
    parser.add_argument("--objective", metavar="WHAT", help="what plans make least: time, traffic, …")
    return parser.parse_args()


def extracted(folder: Path, only: str, sources: Sequence[Path] = KNOWN) -> Iterator[Path]:
    """The networks of archives as files."""
    for source in sources:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
    for file in sorted(folder.glob("*.tflite")):
        if any(part in file.stem for part in only.split(",")) and not file.stem.endswith("f32"):
            yield file


def compared(file: Path, configuration: Configuration, objective: str | None = None) -> Pair | str:
    """Both sides, or why there is one only."""
    printed = schedules.run(file, configuration)
    if isinstance(printed, str):
        return printed
    graph, machine, found = tj.load(file), tj.machine(configuration.machine), printed.operations
    try:
        report = tj.simulate(graph, machine, objective=objective)
    except tj.TosaError as error:
        return f"{type(error).__name__}: {error}"[:100]
    cycles = schedules.uncounted(report, printed.left)
    if 2 * cycles > report.cycles:
        return (
            f"of {report.cycles:,} cycles, {cycles:,} are of what Vela leaves to the CPU and does not count"
        )
    totals = printed.totals
    moved = report.offchip_bytes, totals.offchip_bytes
    pair = Pair(file.stem, configuration, report.cycles - cycles, totals.cycles, None, *moved)
    try:
        plan = schedules.plan_after(found, graph, machine)
    except tj.PlanError as error:
        print(f"    {error}"[:200], file=sys.stderr)
        return pair
    made = tj.simulate(graph, machine, plan=plan)
    charged = charges.charge(graph, machine, plan, made, schedules.plain(printed.log), found)
    copied = copies.copies(found, printed.log, graph, machine, plan, made)
    if isinstance(machine.array, Block):
        core = Core.of(machine.array, machine)
        nests = copies.nests_of(graph, machine, plan)
        log, places, stored = printed.log, schedules.areas(printed.log), copies.sizes(printed.log)
        copied += lowered.lowered(found, core, places, nests, stored)
        copied += means.means(found, log, graph, core, made)
        copied += apart.apart(found, log, graph, core, nests, made)
        copied += softmaxes.softmaxes(found, log, core, machine)
    least = tj.simulate(graph, machine, objective="traffic").offchip_bytes
    scheduled = made.cycles - schedules.uncounted(made, printed.left)
    given = replace(pair, scheduled=scheduled, scheduled_bytes=made.offchip_bytes, least_bytes=least)
    return replace(given, charged=charged, copied=copied)


def summary(pairs: list[Pair]) -> Iterator[str]:
    """The median of the differences by kind of network and configuration, and how many are near."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        for name in ("all", pair.kind, str(pair.configuration)):
            groups.setdefault(name, []).append(pair)
    for name, found in sorted(groups.items()):
        own = _near([pair.ratio for pair in found])
        theirs = [pair.judged / pair.theirs for pair in found if pair.judged is not None]
        more = f"; with Vela's schedule {_near(theirs)}" if theirs else ""
        sparing = f"; {sum(pair.sparing for pair in found)} move at most {TRAFFIC_BOUND:.0%} more than Vela"
        yield f"{name:62}{len(found):>4} pairs, median {own}{more}{_parts(found)}{sparing}"


def _parts(pairs: list[Pair]) -> str:
    """Medians of what differences are made of."""
    known = [pair.parts for pair in pairs if pair.parts]
    shares = (f"{name} {statistics.median(one[name] for one in known):+.1%}" for name in PARTS if known)
    return "".join(f"; {share}" for share in shares)


def _near(ratios: list[float]) -> str:
    off = [abs(ratio - 1) for ratio in ratios]
    return f"{100 * statistics.median(off):5.1f} % off, {sum(one <= BOUND for one in off)} within 5 %"


if __name__ == "__main__":
    sys.exit(main())
