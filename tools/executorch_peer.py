"""Compares graphs of modules with those that ExecuTorch's Arm backend writes of the same programs.

Operators are counted without constants, cycles are simulated, and results of both compared with PyTorch's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from environments import with_executorch

import tosajit as tj
from tosajit.arrays import Array
from tosajit.graph import Graph

ROOT = Path(__file__).parents[1]
EXPORTING = ROOT / "tests" / "torch_cases" / "exporting.py"
_COLUMNS = (("operators", 10), ("cycles", 12), ("off", 9))
HEAD = f"{'module':22}{'type':9}" + "".join(f"{name:>{wide}}{'theirs':>{wide}}" for name, wide in _COLUMNS)


@dataclass(frozen=True, slots=True)
class Side:
    """A module as one of both has it."""

    operators: int
    cycles: float | None
    """None for real numbers, which the machine does not compute."""
    off: float
    """How far its result is from PyTorch's: in steps, or as a share of the greatest number."""

    @classmethod
    def of(cls, graph: Graph, machine: str, given: Array, wanted: Array) -> Side:
        """How large a graph is, how long it takes, and what it gives."""
        count = sum(not one.operator.opcode.startswith("CONST") for one in graph.nodes)
        found = np.asarray(tj.compile(graph)(given)).reshape(wanted.shape)
        off = np.abs(found.astype(np.float64) - wanted)
        if wanted.dtype.kind == "f":
            return cls(count, None, float(off.max() / np.abs(wanted).max()))
        return cls(count, tj.simulate(graph, machine).cycles, float(off.max()))


@dataclass(frozen=True, slots=True)
class Row:
    """A module, as both have it; theirs is None where they could not write it in one graph."""

    name: str
    kind: str
    ours: Side
    theirs: Side | None
    note: str = ""

    @property
    def is_good(self) -> bool:
        """Whether ours is no greater and no slower."""
        bound = 1 if self.kind == "int8" else 1e-4
        if self.theirs is None:
            return self.ours.off <= bound
        pairs = ((self.ours.operators, self.theirs.operators), (self.ours.cycles, self.theirs.cycles))
        no_more = all(own is None or other is None or own <= other for own, other in pairs)
        return no_more and self.ours.off <= max(bound, self.theirs.off)

    def __str__(self) -> str:
        texts = ""
        for name, wide in _COLUMNS:
            for side in (self.ours, self.theirs):
                number = getattr(side, name, None)
                form = ".2g" if name == "off" else ",.0f"
                texts += f"{'-' if number is None else format(number, form):>{wide}}"
        return f"{self.name:22}{self.kind:9}{texts}{self.note and '  ' + self.note}"


def main() -> int:
    """Print how each module compares, and one line for all; 1 if one of ours is greater, slower or off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default="ethos-u85-256")
    parser.add_argument("--folder", type=Path, default=Path("build") / "executorch", help="where files go")
    parser.add_argument("--keep", action="store_true", help="compare the files of an earlier run")
    parser.add_argument("names", nargs="*", help="modules; all without any")
    options = parser.parse_args()
    if not options.keep and not _exported(options.folder, options.seed, options.names):
        return 1
    print(HEAD)
    rows = []
    for path in sorted(options.folder.glob("*.pt2")):
        name, kind = path.name.split(".")[:2]
        if not options.names or name in options.names:
            rows.append(compared(options.folder, name, kind, options.machine))
            print(rows[-1], flush=True)
    both = [row for row in rows if row.theirs is not None]
    print(
        f"executorch: {len(both)} of {len(rows)} programs in one graph by both, "
        f"{sum(row.is_good for row in rows)} of {len(rows)} with ours no greater, no slower and right"
    )
    return int(not rows or not all(row.is_good for row in rows))


def _exported(folder: Path, seed: int, names: list[str]) -> bool:
    """Let ExecuTorch write the modules; whether it is there."""
    python = with_executorch()
    if python is None:
        print("there is no executorch: TOSAJIT_EXECUTORCH says where; `make executorch` installs it")
        return False
    command = [str(python), "-W", "ignore", str(EXPORTING), str(folder), str(seed), *names]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    for row in map(json.loads, done.stdout.splitlines()):
        if row["fault"]:
            print(f"{row['name']} {row['kind']}: {row['fault']}")
    if done.returncode:
        print(f"it ended with {done.returncode}: {' '.join(command)}\n{done.stderr[-1000:]}")
    return done.returncode == 0


def compared(folder: Path, name: str, kind: str, machine: str) -> Row:
    """How a module compares."""
    with np.load(folder / f"{name}.{kind}.npz") as arrays:
        given, wanted = arrays["given"], arrays["result"]
    ours = Side.of(tj.load(folder / f"{name}.{kind}.pt2"), machine, given, wanted)
    parts = sorted(folder.glob(f"{name}.{kind}*.tosa"))
    if len(parts) != 1:
        return Row(name, kind, ours, None, f"theirs is {len(parts)} graphs" if parts else "theirs failed")
    return _with_theirs(name, kind, ours, parts[0], (machine, given, wanted))


def _with_theirs(name: str, kind: str, ours: Side, path: Path, case: Any) -> Row:
    machine, given, wanted = case
    try:
        graph = tj.load(path)
        (place,) = graph.inputs
        moved = given if place.shape == given.shape else given.reshape(place.shape)
        return Row(name, kind, ours, Side.of(graph, machine, moved, wanted))
    except tj.TosaError as error:
        return Row(name, kind, ours, None, f"theirs: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    sys.exit(main())
