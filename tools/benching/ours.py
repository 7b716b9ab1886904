"""Our side of the benchmark: an executable of ours, and the peak of this core, as engines of a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from peers import Array, Engine, loaded

from benching.graphs import GRAPHS
from benching.peak import build_peak


class Tosajit:
    """An executable of ours; a call runs on bound arrays, as those of the peers do, or as users write it."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Compile a file (`model`, `inputs`) or one of our graphs (`graph`) with `job["threads"]` threads."""
        import tosajit

        if "graph" in job:
            graph, self.inputs = GRAPHS[job["graph"]]()
        else:
            graph, self.inputs = tosajit.load(job["model"]), tuple(map(loaded, job["inputs"]))
        self.executable = tosajit.compile(graph, threads=job["threads"], generic="never")
        self.results, self.plain = as_tuple(self.executable(*self.inputs)), bool(job.get("plain"))
        return {"version": tosajit.__version__, "wrong": self._wrong(job.get("outputs", ()))}

    @property
    def call(self) -> Callable[[], object]:
        """A call of the executable on bound arrays, or "plain": it takes arrays and returns new ones."""
        executable, inputs = self.executable, self.inputs
        if not self.plain:
            bound: Callable[[], object] = executable.bind(*inputs)
            return bound
        if len(inputs) == 1:
            (only,) = inputs
            return lambda: executable(only)
        return lambda: executable(*inputs)

    def outputs(self) -> Sequence[Array]:
        """The results of the first call: they do not change."""
        return self.results

    def _wrong(self, paths: Sequence[str]) -> list[str]:
        """The golden outputs that the results differ from."""
        if not paths:
            return []
        pairs = zip(paths, self.results, strict=True)
        return [Path(path).name for path, result in pairs if not same(np.load(path), result)]


def same(golden: Array, result: Array) -> bool:
    """Whether a result is right: integers to the bit, floating-point numbers within 1e-5 of the largest."""
    if golden.dtype.kind != "f":
        return np.array_equal(golden, result)
    return bool(golden.shape == result.shape and abs(golden - result).max() <= 1e-5 * abs(golden).max())


def as_tuple(results: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    """An executable with one output returns it bare."""
    return results if isinstance(results, tuple) else (results,)


class Peak:
    """Products in registers alone; nothing faster can be had of one core."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Compile the loop of the widest instruction there is for `job["kind"]`."""
        self.peak = build_peak(job.get("kind", "bytes"))
        return {"instruction": self.peak.instruction, "macs": self.peak.macs}

    @property
    def call(self) -> Callable[[], object]:
        """A quarter of a millisecond of the loop."""
        return self.peak.call

    def outputs(self) -> Sequence[Array]:
        """Nothing."""
        return ()


ENGINES: dict[str, type[Engine]] = {"tosajit": Tosajit, "peak": Peak}
