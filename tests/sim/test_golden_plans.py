"""Plans of reference networks stay as good as they are: cost and traffic on every machine are golden."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import tosajit as tj


@pytest.mark.parametrize("name", tj.samples.names())
def test_plans_are_as_good_as_they_were(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"plans_{name}", "\n".join(lines(name)))


def lines(name: str) -> Iterator[str]:
    """A line for each machine: cycles, those of the closed form, bytes off-chip, scratchpad in use."""
    graph = tj.samples.load(name)
    yield f"{'machine':14}{'cycles':>12}{'closed form':>12}{'read':>10}{'written':>10}{'peak':>9}"
    for machine in tj.machines():
        try:
            report = tj.simulate(graph, machine)
        except tj.TosaError as error:
            yield f"{machine:14}{type(error).__name__}: {error}"
            continue
        closed = tj.simulate(graph, machine, mode="analytic").cycles
        sizes = {
            direction: sum(
                size
                for one in report.operators
                for (memory, way, _), size in one.traffic.items()
                if (memory, way) == ("offchip", direction)
            )
            for direction in ("read", "write")
        }
        figures = f"{sizes['read']:>10}{sizes['write']:>10}{report.peak_scratchpad_bytes:>9}"
        yield f"{machine:14}{report.cycles:>12}{closed:>12}{figures}"
