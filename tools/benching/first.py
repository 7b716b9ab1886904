"""Rows about new processes: latency with an empty and with a warm cache, kernels compiled, memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benching.client import ROOT, Unavailable, interpreter, model_files, our_environment
from benching.installed import answer, installed
from benching.rows import Case, Plan, Row, duration

MIB = 1 << 20
COLD_LIMIT, WARM_LIMIT, FILE_LIMIT = 1.0, 0.35, 0.15
ARENA_LIMIT = 1.1
LITERT = """
import sys, numpy
from ai_edge_litert.interpreter import Interpreter
network = Interpreter(model_path=sys.argv[1], num_threads=1)
network.allocate_tensors()
network.set_tensor(network.get_input_details()[0]["index"], numpy.load(sys.argv[2]))
network.invoke()
network.get_tensor(network.get_output_details()[0]["index"])
"""


def latency(model: str, plan: Plan) -> Iterator[Row]:
    """From starting Python to the first result of an installed package."""
    folder, python = model_files(model), installed()
    peer = _litert(folder)
    cold, warm = [], []
    for _ in range(max(3, plan.rounds // 2)):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(answer(python, cache, "first", folder))
            answer(python, cache, "wait", folder)
            warm.append(answer(python, cache, "first", folder))
    for kind, runs, limit in (("empty", cold, COLD_LIMIT), ("warm", warm, WARM_LIMIT)):
        middle = sorted(runs, key=lambda run: float(run["seconds"]))[len(runs) // 2]
        phases = ", ".join(f"{name} {duration(seconds)}" for name, seconds in middle["phases"].items())
        yield Row(
            case=f"{model}, first result, {kind} cache",
            ours=duration(middle["seconds"]),
            peer=peer,
            target=f"≤ {limit:g} s",
            met=middle["seconds"] <= limit and all(run["right"] for run in runs),
            note=f"{phases}; Numba {'' if middle['numba'] else 'not '}imported",
            detail={"runs": runs},
        )


def artifact(model: str, plan: Plan) -> Iterator[Row]:
    """From starting Python to the first result of an executable in a file, in an installed package."""
    folder, python = model_files(model), installed()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "model.tjx"
        answer(python, place, "build", folder, path)
        runs = [answer(python, place, "artifact", path, folder) for _ in range(max(3, plan.rounds // 2))]
        size = path.stat().st_size
    middle = sorted(runs, key=lambda run: float(run["seconds"]))[len(runs) // 2]
    yield Row(
        case=f"{model}, first result, an executable in a file",
        ours=duration(middle["seconds"]),
        target=f"≤ {FILE_LIMIT:g} s",
        met=middle["seconds"] <= FILE_LIMIT and all(run["right"] for run in runs),
        note=", ".join(f"{name} {duration(seconds)}" for name, seconds in middle["phases"].items()),
        detail={"runs": runs, "bytes": size},
    )


def second_graph(plan: Plan) -> Iterator[Row]:
    """Kernels that a second graph of known structures compiles."""
    with tempfile.TemporaryDirectory() as cache:
        answer = fresh(cache, "second")
    one, other = answer["conv"], answer["conv_small"]
    yield Row(
        case="second graph of known structures",
        ours=f"{other['compiled']} modules to LLVM",
        peer=f"{one['compiled']} by the first graph",
        target="0",
        met=other["compiled"] == 0 < one["compiled"],
        note=f"{duration(other['seconds'])} to its result, the first {duration(one['seconds'])}",
        detail=answer,
    )


def memory(model: str, plan: Plan) -> Iterator[Row]:
    """The arena against the tensors that live at once, and the process against weights and arena."""
    folder = model_files(model)
    with tempfile.TemporaryDirectory() as cache:
        runs = {kind: fresh(cache, "first", str(folder)) for kind in ("empty", "warm")}
    run = runs["warm"]
    arena, live = run["arena_bytes"], run["live_bytes"]
    yield Row(
        case=f"{model}, arena",
        ours=mebibytes(arena),
        peer=f"{mebibytes(live)} live at once",
        ratio=f"{arena / live:.3f}",
        target=f"≤ {ARENA_LIMIT:g} ×",
        met=arena <= ARENA_LIMIT * live,
        detail={"arena": arena, "live": live},
    )
    limit = run["weight_bytes"] * 2.2 + arena + 350 * MIB
    for kind, run in runs.items():
        yield Row(
            case=f"{model}, process, {kind} cache",
            ours=mebibytes(run["peak_bytes"]),
            ratio=f"{run['peak_bytes'] / limit:.2f}",
            target=f"≤ {mebibytes(limit)}",
            met=run["peak_bytes"] <= limit,
            note=f"weights {mebibytes(run['weight_bytes'])}",
            detail=run,
        )


def fresh(cache: str, *arguments: str) -> dict[str, Any]:
    """Run `fresh.py` with a kernel cache of its own."""
    command = [sys.executable, str(ROOT / "tools/benching/fresh.py"), *arguments]
    environment = {**our_environment(), "TOSAJIT_CACHE": cache}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return answer


def _litert(folder: Path) -> str:
    """The same for LiteRT, if it is there."""
    try:
        python = interpreter("litert")
    except Unavailable:
        return ""
    return f"{duration(statistics.median(_litert_once(python, folder) for _ in range(3)))} litert"


def _litert_once(python: Path, folder: Path) -> float:
    start = time.monotonic()
    command = [
        str(python),
        "-P",
        "-c",
        LITERT,
        str(folder / "model.tflite"),
        str(folder / "case0_in0.npy"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - start


def mebibytes(count: float) -> str:
    """A number of bytes."""
    return f"{count / MIB:.2f} MiB" if count < 100 * MIB else f"{count / MIB:.0f} MiB"


PROCESSES = (
    Case("latency", partial(latency, "mobilenet_v2")),
    *(Case(f"latency_{name}", partial(latency, name)) for name in ("ds_cnn", "resnet8", "transformer_tiny")),
    Case("latency_f32", partial(latency, "transformer_tiny_f32")),
    Case("artifact", partial(artifact, "mobilenet_v2")),
    Case("second_graph", second_graph),
    Case("memory", partial(memory, "mobilenet_v2")),
    Case("memory_f32", partial(memory, "transformer_tiny_f32")),
)
