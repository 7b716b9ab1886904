"""Plans of reference networks stay as good as they are: cost and traffic on every machine are golden."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import tosajit as tj
from sim.report.values import DIRECTIONS, moved
from tests.golden_networks import networks
from tiling.target import Target
from tosajit.compiler.options import Options
from tosajit.compiler.stages import fuse, plan
from tosajit.npu.simulate import Network
from tosajit.runtime.body import Compute

TARGETS = (
    Target("2 cores", alignment=64, cores=2),
    Target("3 cores, 20 KiB", 20 << 10, cores=3),
    Target("6 KiB in place", 6 << 10, direct=True, strided=True, double_buffering=False),
)
"""Targets that are planned for without times, so that only bytes count."""
SYSTEMS = ("imx93", "simba-4", "alif-e7")
"""An Ethos-U65 with a host, several cores, which have no closed form, and an Ethos-U55 with a level 2."""


@pytest.mark.parametrize("name", networks())
def test_plans_are_as_good_as_they_were(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"plans_{name}", "\n".join(lines(networks()[name]())))


def lines(graph: tj.Graph) -> Iterator[str]:
    """A line for each machine: cycles, those of the closed form, bytes off-chip, scratchpad in use."""
    yield f"{'machine':14}{'cycles':>12}{'closed form':>12}{'read':>10}{'written':>10}{'peak':>9}"
    for machine in tj.machines():
        if machine in SYSTEMS:
            continue
        try:
            report = tj.simulate(graph, machine)
        except tj.TosaError as error:
            yield f"{machine:14}{type(error).__name__}: {error}"
            continue
        closed = tj.simulate(graph, machine, mode="analytic").cycles
        groups = report.operators
        read, written = (sum(moved(one.traffic, "offchip", way) for one in groups) for way in DIRECTIONS)
        peak = report.peak_scratchpad_bytes
        yield f"{machine:14}{report.cycles:>12}{closed:>12}{read:>10}{written:>10}{peak:>9}"


@pytest.mark.parametrize("name", networks())
def test_programs_are_cut_and_shared_as_they_were(name: str, golden: Callable[[str, str], None]) -> None:
    body = Network.of(networks()[name]()).body
    golden(f"programs_{name}", "\n".join(cuts(step) for step in body.steps if isinstance(step, Compute)))


def cuts(step: Compute) -> str:
    """Each section of a part of a graph: its verb, its points, its loops, and where its operands are."""
    found = []
    for target in TARGETS:
        groups = fuse(step.groups.segment, Options(target))
        program = plan(groups, Options(target)).program
        found.append(f"{target.name}: arena {program.arena_bytes}, scratchpad {program.scratch_bytes}")
        for section in program.sections:
            nest, cores = section.nest, " shared" if section.shared else ""
            loops = " ".join(
                f"{nest.axes[loop.axis].name}:{loop.step}×{loop.count}" for loop in section.loops
            )
            places = " ".join(
                "-" if image is None else f"{image.address}+{image.bytes}×{image.copies}"
                for image in (*section.images, *filter(None, [section.accumulator]))
            )
            found.append(f"  {nest.verb} {nest.extents} of {len(nest.members)}: {loops}{cores}; {places}")
    return "\n".join(found)
