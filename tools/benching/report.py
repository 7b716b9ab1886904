"""How results are shown: a table as it grows, one closing line, JSON, and the page `docs/benchmarks.md`."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benching.causes import cause
from benching.client import ROOT, Unavailable, interpreter
from benching.rows import Plan, Row

COLUMNS = (("case", 40), ("ours", 22), ("peer", 30), ("ratio", 17), ("target", 21), ("", 6))
BUSY = 0.7  # load average
PACKAGES = {
    "tosajit": ("tosajit", "numba", "llvmlite", "numpy"),
    "litert": ("ai-edge-litert", "openvino", "iree-base-compiler", "scipy"),
    "onnxruntime": ("onnxruntime",),
    "arm": ("tosa-tools",),
    "zigzag": ("zigzag-dse", "scalesim"),
}


def heading() -> str:
    """The first lines of the table; before them a warning if others use the machine."""
    busy = os.getloadavg()[0]
    warning = (
        f"The machine is busy: load average {busy:.1f}. Medians will be too long.\n" if busy > BUSY else ""
    )
    return warning + line([name for name, _ in COLUMNS]) + "\n" + line(["─" * width for _, width in COLUMNS])


def row_text(row: Row) -> str:
    """A row, and its note below it."""
    text = line([row.case, row.ours, row.peer, row.ratio, row.target, verdict(row)])
    return "\n    ".join([text, *filter(None, [noted(row)])])


def noted(row: Row) -> str:
    """What is to be said about a row; if it misses its target, also why."""
    why = cause(row.case) if row.met is False else ""
    return "; ".join(filter(None, [row.note, why and f"missed because {why}"]))


def line(cells: Sequence[str]) -> str:
    """Cells in columns."""
    return "  ".join(cell.ljust(width) for cell, (_, width) in zip(cells, COLUMNS, strict=True)).rstrip()


def verdict(row: Row) -> str:
    """The last cell."""
    return {True: "pass", False: "MISS", None: ""}[row.met]


def closing(rows: Sequence[Row], seconds: float) -> str:
    """One line that sums up."""
    asked = [row for row in rows if row.met is not None]
    missed = [row.case for row in asked if not row.met]
    unmeasured = [row.case for row in rows if row.ours == "not measured"]
    text = f"bench: {len(asked) - len(missed)} of {len(asked)} targets met in {seconds:.0f} s"
    if missed:
        text += f"; missed: {'; '.join(missed)}"
    return f"{text}; not measured: {'; '.join(unmeasured)}" if unmeasured else text


def machine() -> dict[str, Any]:
    """What was measured on, and with."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.release()}",
        "load average": f"{os.getloadavg()[0]:.1f} (what runs here is one of it)",
        "python": platform.python_version(),
        "commit": _commit(),
        **{package: version for engine in PACKAGES for package, version in _versions(engine).items()},
    }


def write_json(path: Path, rows: Sequence[Row], about: dict[str, Any]) -> None:
    """All that was measured, in seconds and bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": about, "rows": [dataclasses.asdict(row) for row in rows]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_page(path: Path, rows: Sequence[Row], about: dict[str, Any], command: str, plan: Plan) -> None:
    """The page of figures; sections that it has behind what a run measured stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = path.read_text().partition(MEASURED_WITH)[2].partition("\n## ") if path.exists() else ("", "", "")
    table = [
        "| case | ours | peer | ratio | target | |",
        "|---|---|---|---|---|---|",
        *(f"| {r.case} | {r.ours} | {r.peer} | {r.ratio} | {r.target} | {verdict(r)} |" for r in rows),
    ]
    notes = [f"* {row.case}: {text}" for row in rows if (text := noted(row))]
    facts = [f"| {key} | {value} |" for key, value in about.items()]
    method = METHOD.format(command=command, rounds=plan.rounds, seconds=plan.seconds)
    method += BUSY_METHOD if plan.busy else ""
    parts = [method, *table, "", *notes, "", MEASURED_WITH, "", "| what | |", "|---|---|", *facts]
    path.write_text("\n".join(parts) + "\n" + "".join(kept[1:]))


def _versions(engine: str) -> dict[str, str]:
    """Versions of the packages in an engine's environment."""
    packages = PACKAGES[engine]
    if engine == "tosajit":
        return {package: importlib.metadata.version(package) for package in packages if package != "tosajit"}
    script = "import sys, importlib.metadata as m; print(*(m.version(p) for p in sys.argv[1:]))"
    try:
        command = [str(interpreter(engine)), "-P", "-c", script, *packages]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    except (Unavailable, subprocess.CalledProcessError):
        return {}
    return dict(zip(packages, found, strict=True))


def _cpu() -> str:
    """The processor's name, family and model as Linux tells them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    facts = dict(
        reversed([[part.strip() for part in entry.split(":", 1)] for entry in lines if ":" in entry])
    )
    name, family, model = (facts.get(key, "?") for key in ("model name", "cpu family", "model"))
    return f"{name}, family {family}, model {model}"


def _commit() -> str:
    """The commit that was measured."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


MEASURED_WITH = "## Measured with"
BUSY_METHOD = """
Others used the machine meanwhile: what runs on one thread was timed by processor time, what runs on two by
the clock. Read ratios rather than times, and those of two threads with care.
"""
METHOD = """# Benchmarks

Generated by `{command}`. Each engine runs in a process of its own, and engines take turns: {rounds} rounds
of about {seconds:g} s each. A time is the median of the rounds' medians, a ratio the median of the rounds'
ratios. One thread is used unless a row says otherwise. Times are those of calls on arrays that
are already bound (`executable.bind`, `invoke`, `infer`); what a call costs that takes and returns arrays is a
row of its own. Our results are first compared with the golden bits; XNNPACK and OpenVINO, which may choose
bf16, only approximate them. Compile latency is measured from the start of Python to the first result in a new
process.

The simulator is timed in a warm process of its own, on machines that it has not seen. Its peers are measured
in CPU seconds: Vela for a whole process, ZigZag by the mappings that its cost model evaluates, and
SCALE-Sim by the cycles of one layer that it simulates.

First results are those of a copy that `pip install` has made, with the kernels of its wheel; a warm cache is
that of a process which has waited for all kernels. `make first` has more models.
"""
