"""Runs torchvision's networks, as they are and quantised by PT2E, each against what PyTorch gives."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from environments import with_torch

ROOT = Path(__file__).parents[1]
RUNNING = ROOT / "tests" / "torch_cases" / "running.py"
BOUND = 1e-4
"""Of real numbers, as a share of the greatest one."""
KINDS = ("xnnpack", "inductor")
_EACH = f"{'integer':>10}{'off/10^6':>10}{'step':>6}{'whole':>8}"
HEAD = f"{'':39}{'by the quantizer of XNNPACK':>34}{'by that of Inductor':>34}\n"
HEAD += f"{'network':30}{'float32':>9}{2 * _EACH}"


def main() -> int:
    """Run the networks, print how each compares, and one line for all; 1 if anything is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*", help="networks; all without any")
    options = parser.parse_args()
    python = with_torch()
    if python is None:
        print("there is no torch: TOSAJIT_TORCH says where; `make .venv-torch/.ready` installs it")
        return 1
    print(HEAD)
    rows = []
    for row in compared(python, options.seed, options.names):
        print(line(row), flush=True)
        rows.append(row)
    print(summary(rows))
    return int(not rows or not all(is_good(row) for row in rows))


def compared(python: Path, seed: int, names: list[str]) -> Iterator[dict[str, Any]]:
    """How each network compares; generic kernels do, as lowerings are judged."""
    command = [str(python), "-W", "ignore", str(RUNNING), "networks", str(seed), *names]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOSAJIT_GENERIC": "always"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        for text in running.stdout:
            if text.startswith("{"):
                yield json.loads(text)
    if running.returncode:
        print(f"the process that runs them ended with {running.returncode}: {' '.join(command)}")


def line(row: dict[str, Any]) -> str:
    """What is printed of a network."""
    real, *others = (row[kind] for kind in ("float", *KINDS))
    error = f"{real['error']:9.1e}" if "error" in real else f"{'-':>9}"
    faults = [
        f"\n    {kind}: {reason}"
        for kind in ("float", *KINDS)
        if (reason := row[kind].get("fault") or row[kind].get("cannot"))
    ]
    return f"{row['name']:30}{error}{''.join(map(_quantized, others))}{''.join(faults)}"


def _quantized(found: dict[str, Any]) -> str:
    if "grids" not in found:
        return f"{'-':>34}"
    share = f"{found['integer']}/{found['sums']}"
    return f"{share:>10}{1e6 * found['off'] / found['elements']:10.1f}{found['step']:6}{found['whole']:8.2f}"


def is_good(row: dict[str, Any]) -> bool:
    """Whether real numbers are within the bound, and integers within a step on each grid."""
    quantised = [row[kind] for kind in KINDS if "cannot" not in row[kind]]
    return row["float"].get("error", 1) <= BOUND and all(
        "fault" not in one and one["step"] <= 1 and one["end"] <= 1 for one in quantised
    )


def summary(rows: list[dict[str, Any]]) -> str:
    """One line for all."""
    real = sum(row["float"].get("error", 1) <= BOUND for row in rows)
    told = [f"torch networks: {real} of {len(rows)} within {BOUND:g} in float32"]
    for kind in KINDS:
        made = [row[kind] for row in rows if "cannot" not in row[kind]]
        good = [one for one in made if "fault" not in one and one["step"] <= 1 and one["end"] <= 1]
        exact = sum(one["off"] == 0 for one in good)
        told.append(f"{kind}: {len(good)} of {len(made)} within a step on every grid, {exact} exact")
        if len(made) < len(rows):
            told[-1] += f" (torchao quantises no other {len(rows) - len(made)})"
    return "; ".join(told)


if __name__ == "__main__":
    sys.exit(main())
