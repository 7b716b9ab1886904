"""Compare `tj.quantize` with LiteRT's converter: the same networks, the same samples, others to judge by.

`tools/quantization.py mobilenet_v2 transformer`. Both results run bit-exactly here; what counts is the
signal-to-noise ratio of outputs against the float network, which may be a decibel below the converter's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from environments import with_tensorflow

import tosajit as tj

ROOT = Path(__file__).parents[1]
NAMES = ("mobilenet_v2", "mobilenet_v3", "transformer", "encoder", "unet", "gru", "lstm")
ALLOWED = 1.0
"""Decibels that ours may be below the converter's."""


def main() -> int:
    """Print a row for each network and type; 1 if one misses the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME", help="networks, all by default")
    parser.add_argument("--samples", type=int, default=8, help="how many show ranges, and how many judge")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--observer", default="minmax", choices=("minmax", "percentile", "entropy"))
    options = parser.parse_args()
    print(f"{'network':14}{'type':7}{'ours dB':>9}{'converter':>11}{'seconds':>9}  real operators")
    missed = 0
    for name in options.names:
        folder = made(name, options.samples, options.seed)
        samples = np.load(folder / "samples.npz")
        for kind in ("int8", "int16"):
            missed += not row(name, kind, folder, samples, options.observer)
    print(f"{missed} of {2 * len(options.names)} are more than {ALLOWED} dB below the converter")
    return int(missed > 0)


def made(name: str, count: int, seed: int) -> Path:
    """The folder of a network, which is written if it is not there."""
    folder = ROOT / f"build/quantization/{name}_{count}_{seed}"
    if not (folder / "samples.npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        script = str(Path(__file__).parent / "quantizing/converted.py")
        python = with_tensorflow()
        if python is None:
            sys.exit("TensorFlow is not there: `make quantization` installs it")
        command = [str(python), script, name, str(folder), str(count), str(seed)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
        if run.returncode:
            sys.exit(f"{name} was not made: {run.stderr.strip()[-400:]}")
    return folder


def row(name: str, kind: Any, folder: Path, samples: Mapping[str, Any], observer: Any) -> bool:
    """Compare one network in one type; whether ours is near enough."""
    start = time.process_time()
    known = list(samples["known"])
    quantized = tj.quantize(folder / "float.tflite", known, activations=kind, observer=observer)
    spent = time.process_time() - start
    wanted = [tj.compile(quantized.source)(one) for one in samples["others"]]
    ours = decibels(wanted, (quantized(one) for one in samples["others"]))
    path = folder / f"{kind}.tflite"
    theirs = decibels(wanted, by_converter(path, samples["others"])) if path.exists() else None
    text = "refused" if theirs is None else f"{theirs:.2f}"
    print(f"{name:14}{kind:7}{ours:9.2f}{text:>11}{spent:9.2f}  {len(quantized.stayed)}", flush=True)
    return theirs is None or ours >= theirs - ALLOWED


def by_converter(path: Path, samples: Iterable[Any]) -> Iterable[Any]:
    """What the converter's network gives, as real numbers."""
    graph = tj.load(path)
    run = tj.compile(graph)
    (given,), (found,) = graph.inputs, graph.outputs
    for one in samples:
        scale, point = graph.scales[given.name]
        steps = np.clip(np.rint(one / scale) + point, given.dtype.minimum, given.dtype.maximum)
        integers = steps.astype(given.dtype.storage)
        scale, point = graph.scales[found.name]
        yield (run(integers).astype(np.float64) - point) * scale


def decibels(wanted: Iterable[Any], found: Iterable[Any]) -> float:
    """The power of all numbers over that of their errors."""
    power = noise = 0.0
    for first, second in zip(wanted, found, strict=True):
        power += float(np.square(first, dtype=np.float64).sum())
        noise += float(np.square(first - second, dtype=np.float64).sum())
    return 10 * float(np.log10(power / max(noise, 1e-300)))


if __name__ == "__main__":
    sys.exit(main())
