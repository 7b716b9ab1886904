"""Times `tj.from_torch`, which exports and lowers, beside `torch.export` alone: in turns, of the CPU."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from environments import with_torch

ROOT = Path(__file__).parents[1]
TIMING = ROOT / "tests" / "torch_cases" / "timing.py"


def main() -> int:
    """Print both times of each module, and one line for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each, of which the least time counts")
    parser.add_argument("names", nargs="*", help="modules; all without any")
    options = parser.parse_args()
    python = with_torch()
    if python is None:
        print("there is no torch: TOSAJIT_TORCH says where; `make .venv-torch/.ready` installs it")
        return 1
    print(f"{'module':22}{'torch.export':>14}{'from_torch':>12}{'ratio':>7}")
    command = [str(python), "-W", "ignore", str(TIMING), str(options.rounds), *options.names]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ratios = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        for row in map(json.loads, running.stdout):
            ratios.append(row["from_torch"] / row["export"])
            export, both = (f"{1e3 * row[name]:,.0f} ms" for name in ("export", "from_torch"))
            print(f"{row['name']:22}{export:>14}{both:>12}{ratios[-1]:7.2f}", flush=True)
    if running.returncode or not ratios:
        print(f"it ended with {running.returncode}: {' '.join(command)}")
        return 1
    print(f"torch times: {len(ratios)} modules, median {median(ratios):.2f}, greatest {max(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
