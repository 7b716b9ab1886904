"""Time single layers of TFLite and ONNX files against the peers, by turns and by processor time.

`tools/layers.py --only pool,resize` measures the layers whose names hold one of these; `--list` names all.
It prints a table; files are made once, in `build/layers`. A ratio is our time over that of the best peer, the
median over the rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from benching.client import ROOT, Timing, Worker, by_turns, interpreter
from benching.layer_files import NAMES
from benching.rows import forced

PEERS_OF = {"tflite": ("litert", "openvino"), "onnx": ("onnxruntime", "openvino")}
HELD = ("openvino",)
"""The peers that can be held to a set of instructions."""


def main() -> int:
    """Measure and print; 1 if a layer of ours could not be run."""
    options = arguments()
    names = [name for name in NAMES if any(part in name for part in options.only.split(","))]
    if options.list:
        print(*names, sep="\n")
        return 0
    made(options.folder, names)
    environment = forced(options.cpu_set)
    found: dict[str, dict[str, float]] = {}
    failed = False
    for source, peers in PEERS_OF.items():
        own = [name for name in names if name.startswith(source)]
        if not own:
            continue
        with ExitStack() as stack:
            engines = ("tosajit", *(HELD if options.cpu_set else peers))
            workers = [stack.enter_context(Worker(engine, options.cpu, environment)) for engine in engines]
            for name in own:
                times = timed(workers, options.folder / name, options)
                failed |= "tosajit" not in times
                found[name] = row(name, times)
    (ROOT / "build/layers.json").write_text(json.dumps(found, indent=1))
    print(closing(found))
    return int(failed)


def made(folder: Path, names: Sequence[str]) -> None:
    """Have the files written that are not there."""
    script = ROOT / "tools/benching/layer_files.py"
    for source, engine in (("tflite", "tensorflow"), ("onnx", "onnxruntime")):
        missing = [
            name for name in names if name.startswith(source) and not any((folder / name).glob("model.*"))
        ]
        if missing:
            subprocess.run([interpreter(engine), script, folder, *missing], check=True, capture_output=True)


def timed(workers: Sequence[Worker], folder: Path, options: argparse.Namespace) -> Mapping[str, Timing]:
    """The times of the engines that can run a layer."""
    model = next(folder.glob("model.*"), None)
    if model is None:
        return {}
    floating = folder.name.endswith(("_f32", "_f16"))
    precision = "f32" if floating else ""  # or OpenVINO chooses bf16 where there is
    able = []
    for worker in workers:
        inputs = sorted(map(str, folder.glob("in*.npy")))
        job = {"model": str(model), "inputs": inputs, "threads": 1, "precision": precision}
        try:
            worker.ask("load", **job)
        except RuntimeError as error:
            print(f"{folder.name}: {error}"[:160], file=sys.stderr)
            continue
        able.append(worker)
    times = by_turns(able, options.rounds, options.seconds, busy=True)
    return {worker.engine: time for worker, time in zip(able, times, strict=True)}


def row(name: str, times: Mapping[str, Timing]) -> dict[str, float]:
    """Print the line of a layer: microseconds of all, and the ratio to the best peer."""
    figures = {engine: time.median * 1e6 for engine, time in times.items()}
    peers = [engine for engine in times if engine != "tosajit"]
    if "tosajit" in times and peers:
        best = min(peers, key=lambda engine: times[engine].median)
        figures["ratio"] = times["tosajit"].over(times[best])
    print(f"{name:36}", *(f"{key} {value:8.2f}" for key, value in figures.items()), flush=True)
    return figures


def closing(found: Mapping[str, Mapping[str, float]]) -> str:
    """How many are behind, and the worst."""
    ratios = sorted(((row["ratio"], name) for name, row in found.items() if "ratio" in row), reverse=True)
    behind = [ratio for ratio, _ in ratios if ratio > 1]
    worst = ", ".join(f"{name} {ratio:.2f}" for ratio, name in ratios[:12])
    return f"{len(ratios)} layers, {len(behind)} behind the best peer; the most: {worst}"


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="parts of names, with commas")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/layers", help="where the files are")
    parser.add_argument("--rounds", type=int, default=5, help="turns")
    parser.add_argument("--seconds", type=float, default=0.05, help="of each engine and turn")
    parser.add_argument("--cpu", type=int, help="the core to run on")
    parser.add_argument("--cpu-set", default="", help="an instruction set that we and OpenVINO are held to")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
