"""Rows about the simulator: how fast programs are planned and timed, here and elsewhere."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
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


def simulator(plan: Plan) -> Iterator[Row]:
    """A network on new machines and on the same one."""
    answer = _ours("model", str(model_files(MODEL)), str(plan.rounds * plan.seconds))
    new, again, closed = (answer[key]["median"] for key in ("new", "again", "analytic"))
    vela, zigzag, scalesim = (_or_missing(peer) for peer in (_vela, _zigzag, _scalesim))
    yield _row(
        "planned and simulated", duration(new), f"≤ {duration(NEW_LIMIT)}", new <= NEW_LIMIT, answer, vela
    )
    yield _row("simulated again", duration(again), f"≤ {duration(AGAIN_LIMIT)}", again <= AGAIN_LIMIT, answer)
    rate = answer["cycles"] / again
    yield _row(
        "simulated cycles", f"{rate:.2g} a second", f"≥ {CYCLES:.0e}", rate >= CYCLES, answer, scalesim
    )
    rate = 1 / closed
    yield _row(
        "analytic, machines", f"{rate:,.0f} a second", f"≥ {MACHINES}", rate >= MACHINES, answer, zigzag
    )
    if "points" in answer:
        rate = answer["points"]
        yield _row(
            "analytic, layer points", f"{rate:.2g} a second", f"≥ {POINTS:.0e}", rate >= POINTS, answer
        )


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


def _row(
    what: str, ours: str, target: str, met: bool, detail: dict[str, Any], peer: tuple[str, str] = ("", "")
) -> Row:
    name, note = peer
    return Row(f"{MODEL}, {what}", ours, name, "", target, met, note, detail)


def _or_missing(peer: Any) -> tuple[str, str]:
    """What a peer does, or why it was not measured."""
    try:
        return peer(), ""
    except (Unavailable, OSError, RuntimeError) as reason:
        return "", f"peer not measured: {reason}"


def _vela() -> str:
    """Networks that Vela compiles in a second of CPU time, the start of its process included."""
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
    return f"{duration(seconds)} vela ({1 / seconds:.2g} a second)"


def _zigzag() -> str:
    """Mappings that ZigZag evaluates in a second."""
    answer = _peer("zigzag")
    return f"{answer['count'] / answer['seconds']:,.0f} mappings a second zigzag"


def _scalesim() -> str:
    """Cycles that SCALE-Sim simulates in a second."""
    answer = _peer("scalesim")
    return f"{answer['count'] / answer['seconds']:,.0f} scalesim"


def _peer(tool: str) -> dict[str, Any]:
    script = str(ROOT / "tools/benching/npu_peers.py")
    return _answer([str(interpreter(tool)), script, tool, str(PEER_SECONDS)], dict(os.environ))


def _ours(*arguments: str) -> dict[str, Any]:
    """Run `npu_ours.py` in a new process."""
    command = [sys.executable, str(ROOT / "tools/benching/npu_ours.py"), *arguments]
    return _answer(command, our_environment())


def _answer(command: Sequence[str], environment: dict[str, str]) -> dict[str, Any]:
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
