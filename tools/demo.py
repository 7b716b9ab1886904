"""Compiles and runs a keyword-spotting network: its program, its result, and how long each step takes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import tosajit as tj

MODEL = Path(__file__).parents[1] / "tests" / "data" / "ds_cnn"
LINES = 60
RUNS = 200


def main() -> None:
    """Show what a user does first."""
    started = time.perf_counter()
    graph = tj.load(MODEL / "model.tosa")
    executable = tj.compile(graph)
    ready = time.perf_counter() - started
    sound = np.load(MODEL / "case0_in0.npy")
    outputs = executable(sound)
    program = str(executable.program).splitlines()
    print(
        *program[:LINES], f"… and {len(program) - LINES} more lines" if len(program) > LINES else "", sep="\n"
    )
    print(executable, end="\n\n")
    for index, output in enumerate(outputs):
        golden = np.load(MODEL / f"case0_out{index}.npy")
        equal = "equals" if np.array_equal(output, golden) else "DIFFERS FROM"
        print(f"output {index}: {output.tolist()} {equal} the golden bits")
    print(f"loaded and compiled in {ready:.2f} s, runs in {microseconds(executable, sound):.0f} µs")


def microseconds(executable: tj.Executable, sound: np.ndarray) -> float:
    """Median time of a run."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        executable(sound)
        times.append(time.perf_counter() - started)
    return float(np.median(times)) * 1e6


if __name__ == "__main__":
    main()
