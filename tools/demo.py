"""Simulates, compiles and runs a keyword-spotting network: its time on an NPU, its program, its result."""

from __future__ import annotations

import sys
import time

import numpy as np

import tosajit as tj
from tosajit.cli import main as tosajit

MODEL = tj.samples.path("ds_cnn")
NPU = "ethos-u55-128"
GROUPS = 3
RUNS = 200


def main() -> int:
    """Show what a user does first; 1 if the bits are not the golden ones."""
    title("What is in the model")
    tosajit(["info", str(MODEL)])
    title(f"What it takes on an {NPU}")
    tosajit(["simulate", str(MODEL), "--machine", NPU, "--operators", str(GROUPS)])
    started = time.perf_counter()
    graph = tj.load(MODEL)
    executable = tj.compile(graph)
    ready = time.perf_counter() - started
    title("Its groups on this machine")
    print(executable)
    title(f"The first {GROUPS} groups of its program, on this machine")
    print(beginning(executable.program))
    title("The first group on an NPU with 2 KiB of scratchpad")
    tiny = tj.compile(graph, target=tj.TINY)
    print(beginning(tiny.program, 1))
    title("Its result for a second of sound")
    (sound,), golden = tj.samples.cases("ds_cnn")[0]
    exact = [compared(*outputs) for outputs in zip(executable(sound), golden, strict=True)]
    exact += [np.array_equal(*pair) for pair in zip(executable(sound), tiny(sound), strict=True)]
    print(f"loaded and compiled in {ready:.2f} s, runs in {microseconds(executable, sound):.0f} µs")
    return 0 if all(exact) else 1


def title(text: str) -> None:
    """A heading."""
    print(f"\n{text}\n{'─' * len(text)}")


def beginning(program: object, groups: int = GROUPS) -> str:
    """The first groups of a program, without its memory."""
    _, *parts = str(program).split("\n\n")
    return "\n\n".join([*parts[:groups], f"… and {len(parts) - groups} more groups"])


def compared(output: np.ndarray, golden: np.ndarray) -> bool:
    """Print an output, and whether it is the one that Arm's reference model gives."""
    equal = np.array_equal(output, golden)
    print(f"{output.tolist()} {'equals' if equal else 'DIFFERS FROM'} the golden bits")
    return equal


def microseconds(executable: tj.Executable, sound: np.ndarray) -> float:
    """Median time of a run."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        executable(sound)
        times.append(time.perf_counter() - started)
    return float(np.median(times)) * 1e6


if __name__ == "__main__":
    sys.exit(main())
