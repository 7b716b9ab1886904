"""One exploration in a process of its own: `explore_ours.py FOLDER POINTS WORKERS`; answers in JSON."""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim import Space
    from sim.explore.progress import Progress

clock = time.perf_counter


def space() -> Space:
    """Six fields of a systolic machine; two of them continuous."""
    import tosajit as tj

    return tj.Space(
        "systolic-16",
        {
            "array.rows": [8, 16, 24, 32, 48, 64],
            "array.columns": [8, 16, 24, 32, 48, 64],
            "array.dataflow": ["weight", "output"],
            "scratchpad.bytes": tj.Range(1 << 14, 1 << 21, scale="log", steps=15),
            "offchip.bandwidth_bytes_per_second": tj.Range(1e9, 16e9),
            "clock_hz": tj.Range(2e8, 1.2e9),
        },
    )


class Memory:
    """The most memory of this process and its children, looked at while they work."""

    def __init__(self) -> None:
        self.peaks: dict[int, int] = {}
        self.started = clock()
        self.first: float | None = None

    def __call__(self, progress: Progress) -> None:
        """Look."""
        if self.first is None and progress.done:
            self.first = clock() - self.started
        for number in (os.getpid(), *_children()):
            with suppress(OSError):
                self.peaks[number] = _peak(number)

    def result(self) -> dict[str, Any]:
        """Bytes of all together, of this process, and of each of the others on average."""
        mine = self.peaks.pop(os.getpid(), 0)
        others = list(self.peaks.values())
        each = sum(others) / len(others) if others else 0
        return {
            "peak_bytes": mine + sum(others),
            "driver_bytes": mine,
            "worker_bytes": each,
            "first": self.first,
        }


def _children() -> Iterator[int]:
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            yield from map(int, (task / "children").read_text().split())


def _peak(number: int) -> int:
    for line in Path(f"/proc/{number}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def main(folder: Path, points: int, workers: int) -> dict[str, Any]:
    """Explore, with a store as people have one."""
    import tosajit as tj

    memory = Memory()
    chosen = space()
    with tempfile.TemporaryDirectory() as place:
        start = memory.started = clock()
        found = tj.explore(
            folder / "model.tosa", chosen, strategy="random", points=points, workers=workers,
            store=place, progress=memory,
        )  # fmt: skip
        seconds = clock() - start
        size = sum(path.stat().st_size for path in Path(place).iterdir())
    return {
        "points": len(found), "seconds": seconds, "workers": workers, "cpu": os.times()[:4],
        "store_bytes": size, "infeasible": sum(map(bool, found.outcomes.reasons)),
        **memory.result(), **_sizes(folder, found),
    }  # fmt: skip


def _sizes(folder: Path, found: Any) -> dict[str, int]:
    """Bytes that go to a worker once, for a chunk, and back."""
    from sim.explore.run import CHUNK
    from sim.explore.work import Evaluator
    from sim.explore.workers import packed
    from tosajit.npu.explore import works_of

    works, _ = works_of(folder / "model.tosa")
    for work in works:
        work.prepare(found.space.bases)
    evaluator = Evaluator(found.space, works, found.objectives)
    chunk = found.candidates[:CHUNK]
    answer = evaluator(chunk, "analytic")
    return {
        "chunk": CHUNK,
        "sent_once": len(packed(evaluator)),
        "sent": len(pickle.dumps((chunk, "analytic"))),
        "returned": len(pickle.dumps((True, answer))),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
