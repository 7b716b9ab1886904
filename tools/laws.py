"""Check that a better machine is never slower: scratchpad, bandwidth, clock, DMA channels, requests, level 2.

Layers, networks and machines are drawn from seeds; every fifth seed is held out, and checked with
`--held-out` alone. Prints a table of laws: how many checks, how many exceptions, the worst with their seeds;
each exception also when it is found, so that a run that is stopped has told what it saw.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from holding import drawing
from holding.machines import LAWS, machine

import tosajit as tj
from sim import Machine, MachineWarning
from sim.events import seconds_of
from tosajit.errors import PlanError
from tosajit.npu.simulate import Network

MARGIN = 0.005
"""So much more time is no exception."""
HELD_OUT = 5
FACTORS = 1.1, 1.25, 1.5, 2.0, 3.0, 4.0
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: the better machine's time by the other's."""

    law: str
    case: str
    ratio: float

    @property
    def is_exception(self) -> bool:
        """Whether the better machine is slower."""
        return self.ratio > 1 + MARGIN


def main() -> int:
    """Check, print, 1 if a law has exceptions."""
    options = arguments()
    warnings.simplefilter("ignore", MachineWarning)
    checks: dict[str, list[Check]] = defaultdict(list)
    for seed in seeds(options.first, options.layers, options.held_out):
        for check in checked(seed, *drawing.layer(seed)):
            checks[check.law].append(told(check))
    for seed in seeds(options.first, options.networks, options.held_out):
        for check in checked(seed, *drawing.network(seed)):
            checks[f"{check.law}, networks"].append(told(check))
    print(table(checks, options.show))
    return int(any(check.is_exception for some in checks.values() for check in some))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--layers", type=int, default=3000, help="how many; default %(default)s")
    parser.add_argument("--networks", type=int, default=200, help="how many; default %(default)s")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="default %(default)s")
    parser.add_argument("--held-out", action="store_true", help="seeds that are otherwise left out")
    parser.add_argument("--show", type=int, default=SHOWN, help="exceptions of each law; default %(default)s")
    return parser.parse_args()


def seeds(first: int, count: int, held_out: bool) -> range | list[int]:
    """So many seeds from one on: those that are held out, or the others."""
    if held_out:
        return range(-(-first // HELD_OUT) * HELD_OUT, (-(-first // HELD_OUT) + count) * HELD_OUT, HELD_OUT)
    every = range(first, first + count * HELD_OUT // (HELD_OUT - 1) + HELD_OUT)
    return [seed for seed in every if seed % HELD_OUT][:count]


def checked(seed: int, name: str, graph: tj.Graph) -> Iterator[Check]:
    """What the laws say of a graph on the machine of its seed."""
    base, random = machine(seed), Random(seed)
    try:
        before = seconds(graph, base)
    except PlanError:
        return
    for law in LAWS:
        factor = random.choice(FACTORS)
        better = base.replace(law.changed(base, factor))
        if better != base:
            ratio = seconds(graph, better) / before
            yield Check(law.name, f"{name} on {base.name}, × {factor:g}", ratio)


def seconds(graph: tj.Graph, machine: Machine) -> float:
    """How long a graph of one part takes on a machine: reports round cycles up, of which there may be few."""
    network = Network.of(graph)
    (groups,) = network.sequence()
    return seconds_of(network.program(groups, machine), machine)


def told(check: Check) -> Check:
    """The check, which is printed if it is an exception."""
    if check.is_exception:
        print(f"{check.ratio - 1:+.1%} {check.law}: {check.case}", file=sys.stderr, flush=True)
    return check


def table(checks: dict[str, list[Check]], show: int) -> str:
    """Laws with their worst exceptions."""
    lines = [f"{'law':24} {'checks':>7} {'exceptions':>11} {'worst':>8}"]
    for law, some in sorted(checks.items()):
        broken = sorted((c for c in some if c.is_exception), key=lambda c: -c.ratio)
        worst = max(check.ratio for check in some) - 1
        lines.append(f"{law:24} {len(some):7} {len(broken):11} {worst:+8.1%}")
        lines += [f"    {check.ratio - 1:+7.1%} {check.case}" for check in broken[:show]]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
