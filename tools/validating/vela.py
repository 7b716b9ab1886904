"""Arm's Vela, run in its own environment; `$TOSAJIT_VELA` names it (default `.venv-vela`)."""

from __future__ import annotations

import csv
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from validating.facts import ROOT, Configuration, Network, network


class Unavailable(Exception):
    """Vela or a model is not there."""


@dataclass(frozen=True, slots=True)
class Run:
    """What Vela said of a network: its totals, or why there are none."""

    totals: Network | None
    fault: str = ""


def command() -> Path:
    """Vela's executable."""
    found = Path(os.environ.get("TOSAJIT_VELA", ROOT / ".venv-vela")) / "bin" / "vela"
    if not found.exists():
        raise Unavailable(f"no Vela at {found}: `make validate` installs it, or set TOSAJIT_VELA")
    return found


def arguments(file: Path, configuration: Configuration, folder: Path) -> list[str]:
    """The command line that compiles a network for a configuration."""
    return [
        *(str(command()), str(file), "--output-dir", str(folder), "--optimise", "Performance"),
        *("--accelerator-config", configuration.accelerator),
        *("--system-config", configuration.system, "--memory-mode", configuration.memory),
    ]


def fault_of(said: str) -> str:
    """Why there is no summary."""
    lines = [line for line in said.splitlines() if "rror" in line]
    return (lines or ["no summary"])[-1].strip()[:120]


def run(file: Path, configuration: Configuration) -> Run:
    """Compile a network for a configuration, and read the summary."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(arguments(file, configuration, Path(folder)), capture_output=True, text=True)
        summaries = list(Path(folder).glob("*_summary_*.csv"))
        if not summaries:
            return Run(None, fault_of(done.stdout + done.stderr))
        with summaries[0].open(newline="") as content:
            fact = next(csv.DictReader(content))
    return Run(network({**fact, "network": f"{file.parent.name}{file.suffix}"}))
