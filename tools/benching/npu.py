"""Rows about the simulator: how fast programs are planned and timed, here and elsewhere."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benching.client import ROOT, Unavailable, interpreter, model_files, our_environment
from benching.rows import Case, Plan, Row, duration

MODEL = "mobilenet_v2"
NEW_LIMIT, AGAIN_LIMIT = 0.25, 0.010
CYCLES, MACHINES, POINTS = 1e8, 500, 1e6
OPERATORS, LARGE_SECONDS, LARGE_BYTES = 10_000, 60.0, 2 << 30
GROWTH = 1.5
"""How much more an operator of a graph ten times as long may take: more would not be linear."""
PEER_SECONDS = 4.0
VELA = ("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram")
VELA_RUNS = 3


@dataclass(frozen=True, slots=True)
class Peer:
    """What another tool does in a second of CPU time, or why that is not known."""

    text: str = ""
    rate: float | None = None
    note: str = ""

    def ratio(self, rate: float) -> str:
        """How many times as fast we are."""
        return "" if self.rate is None else f"{rate / self.rate:,.0f} × as fast"


def simulator(plan: Plan) -> Iterator[Row]:
    """A network on new machines and on the same one."""
    answer = _ours("model", str(model_files(MODEL)), str(plan.rounds * plan.seconds))
    new, again, planned, fleet = (answer[key]["median"] for key in ("new", "again", "planned", "fleet"))
    each = f"one planned program: {_rate(1 / planned)} a second"
    yield _slow("planned and simulated", new, NEW_LIMIT, answer, known(_vela))
    yield _slow("simulated again", again, AGAIN_LIMIT, answer)
    yield _fast("simulated cycles", answer["cycles"] / again, CYCLES, answer, known(_scalesim))
    rate = answer["machines"] / fleet
    yield _fast("analytic, machines", rate, MACHINES, answer, Peer(note=each))
    yield _fast("analytic, layer points", rate * answer["layers"], POINTS, answer, known(_zigzag))


def large(plan: Plan) -> Iterator[Row]:
    """A long graph, and whether its operators take longer than those of a short one."""
    short, long = (_ours("large", str(count)) for count in (OPERATORS // 10, OPERATORS))
    seconds, size = long["seconds"], long["peak_bytes"]
    growth = (seconds / long["operators"]) / (short["seconds"] / short["operators"])
    detail = {"short": short, "long": long}
    name = f"{long['operators']:,} operators"
    yield Row(
        case=f"{name}, planned and simulated",
        ours=duration(seconds),
        peer=f"{duration(short['seconds'])} {short['operators']:,} operators",
        ratio=f"{growth:.2f} an operator",
        target=f"≤ {LARGE_SECONDS:g} s, ≤ {GROWTH:g} ×",
        met=seconds <= LARGE_SECONDS and growth <= GROWTH,
        note=f"{long['groups']:,} groups",
        detail=detail,
    )
    yield Row(
        case=f"{name}, memory of the process",
        ours=f"{size / (1 << 20):.0f} MiB",
        target="≤ 2 GiB",
        met=size <= LARGE_BYTES,
        detail=detail,
    )


def _slow(what: str, seconds: float, limit: float, detail: dict[str, Any], peer: Peer = Peer()) -> Row:
    """A row of a time, at most a limit."""
    target, name = f"≤ {duration(limit)}", f"{MODEL}, {what}"
    ratio = peer.ratio(1 / seconds)
    return Row(name, duration(seconds), peer.text, ratio, target, seconds <= limit, peer.note, detail)


def _fast(what: str, rate: float, least: float, detail: dict[str, Any], peer: Peer = Peer()) -> Row:
    """A row of a rate, at least a limit."""
    target, name = f"≥ {_rate(least)}", f"{MODEL}, {what}"
    ratio = peer.ratio(rate)
    return Row(name, f"{_rate(rate)} a second", peer.text, ratio, target, rate >= least, peer.note, detail)


def _rate(rate: float) -> str:
    if rate < 1e5:
        return f"{rate:,.0f}"
    return f"{rate / 1e6:.3g} million" if rate < 1e9 else f"{rate / 1e9:.3g} billion"


def known(peer: Callable[[], Peer]) -> Peer:
    """What a peer does, or why it was not measured."""
    try:
        return peer()
    except (Unavailable, OSError, RuntimeError) as reason:
        return Peer(note=f"peer not measured: {reason}")


def _vela() -> Peer:
    """Networks that Vela compiles, the start of its process included."""
    program = Path(os.environ.get("TOSAJIT_VELA", ROOT / ".venv-vela")) / "bin" / "vela"
    if not program.exists():
        raise Unavailable(f"no Vela at {program}: `make environments`, or set $TOSAJIT_VELA")
    names = zip(("--accelerator-config", "--system-config", "--memory-mode"), VELA, strict=True)
    options = [part for pair in names for part in pair]
    before = _children()
    for _ in range(VELA_RUNS):
        with tempfile.TemporaryDirectory() as folder:
            command = [
                str(program),
                str(model_files(MODEL) / "model.tflite"),
                "--output-dir",
                folder,
                *options,
            ]
            subprocess.run(command, check=True, capture_output=True)
    seconds = (_children() - before) / VELA_RUNS
    return Peer(f"{duration(seconds)} vela", 1 / seconds)


def _zigzag() -> Peer:
    """Mappings of layers that ZigZag evaluates."""
    return _counted("zigzag", "mappings a second zigzag")


def _scalesim() -> Peer:
    """Cycles that SCALE-Sim simulates."""
    return _counted("scalesim", "scalesim")


def _counted(tool: str, words: str) -> Peer:
    answer = _peer(tool)
    rate = answer["count"] / answer["seconds"]
    return Peer(f"{rate:,.0f} {words}", rate)


def _peer(tool: str) -> dict[str, Any]:
    script = str(ROOT / "tools/benching/npu_peers.py")
    return answer_of([str(interpreter(tool)), script, tool, str(PEER_SECONDS)], dict(os.environ))


def _ours(*arguments: str) -> dict[str, Any]:
    """Run `npu_ours.py` in a new process."""
    command = [sys.executable, str(ROOT / "tools/benching/npu_ours.py"), *arguments]
    return answer_of(command, our_environment())


def answer_of(command: Sequence[str], environment: dict[str, str]) -> dict[str, Any]:
    """What a process says in its last line."""
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return answer


def _children() -> float:
    """CPU time of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


SIMULATOR = (Case("simulator", simulator), Case("large_graph", large))
