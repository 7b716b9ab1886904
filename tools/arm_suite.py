"""Makes Arm's conformance suite and the reference model's results for it, and keeps both under `build/`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from math import prod
from pathlib import Path

from tosajit.conformance import sample
from tosajit.conformance.arm import ArmTools
from tosajit.conformance.suite import Test, has_results, pack

OFFICIAL_SEED = 42
VALID, ERROR = 0, 2
REFERENCE_SECONDS = 3600.0
"""How long the reference model may take for a test; its FFT2D takes time with the square of the size."""
OPERATIONS_PER_SECOND = 1e7
START_SECONDS = 0.03


def generate(
    arm: ArmTools, folder: Path, seed: int, profiles: Iterable[str], extensions: Iterable[str]
) -> None:
    """Generate the suite into a new folder; a few minutes for integers, half an hour for everything."""
    started = time.perf_counter()
    work = folder.parent.absolute() / f"{folder.name}-work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    configuration = []
    if seed != OFFICIAL_SEED:
        configuration = ["--cts-config", str(configuration_of_any_seed(arm, work / "configuration.json"))]
    print(f"generating {folder} with seed {seed}", flush=True)
    arguments = [
        *("--tosa-version", "1.0.2", "--output-type", "binary", "-j", str(os.cpu_count() or 1)),
        *("--profile", *sorted(profiles), "--extension", *sorted(extensions)),
        *("--seed", str(seed), *configuration),
        *("--build-directory", str(work / "build"), "--output-directory", str(work / "suite")),
    ]
    try:
        arm.call("tosa_verif_conformance_generator", arguments)
    except subprocess.CalledProcessError as error:
        fault = f"Arm's generator stopped at seed {seed}, for the reason above: take another SEED"
        raise SystemExit(fault) from error
    (work / "suite").rename(folder)
    shutil.rmtree(work)
    print(f"generated in {time.perf_counter() - started:.0f} s", flush=True)


def configuration_of_any_seed(arm: ArmTools, path: Path) -> Path:
    """Copy the generator's configuration without the names of negative tests: they hold for one seed only."""
    configuration = json.loads(arm.suite_configuration.read_text())
    for operator in configuration.values():
        if isinstance(operator, dict):
            for criteria in operator["selection"].values():
                criteria.pop("errorifs", None)
    path.write_text(json.dumps(configuration, indent=1))
    return path


def evaluate(arm: ArmTools, test: Test, place: Path) -> str:
    """Run the reference model on a test; say what is not as expected. Results are there as a whole or not.

    Large ones are packed: those of the whole suite are 35 GB otherwise.
    """
    part = place.with_name(f"{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        status, messages = arm.evaluate(test.description, part, seconds=REFERENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"the reference model took more than {REFERENCE_SECONDS:.0f} s"
    if status != (ERROR if test.negative else VALID):
        return f"the reference model ends with code {status}: {messages[-300:]}"
    for file in part.glob("*.npy"):
        if file.stat().st_size > sample.LIMIT:
            pack(file)
    shutil.rmtree(place, ignore_errors=True)
    part.rename(place)
    return ""


def evaluated(test: Test, place: Path) -> bool:
    """Whether the reference model has been run on a test: a negative one leaves an empty folder."""
    return place.is_dir() and (test.negative or has_results(test, place))


def reference_seconds(test: Test) -> float:
    """Estimate from a test's name and shapes how long the reference model takes."""
    shapes = [tensor["shape"] for tensor in test.compliance.get("tensors", {}).values()]
    sizes = [
        [int(n) for n in word.split("x")] for word in test.name.split("_") if re.match(r"\d+(x\d+)*$", word)
    ]
    if test.negative or not sizes:
        return START_SECONDS
    elements = sum(map(prod, shapes))
    match test.operator:
        case "CONV2D" | "CONV3D" | "TRANSPOSE_CONV2D" if len(sizes) > 1:
            operations = elements * prod(sizes[0]) * sizes[1][-1]
        case "DEPTHWISE_CONV2D":
            operations = elements * prod(sizes[0])
        case "MATMUL":
            operations = elements * sizes[0][-1]
        case "FFT2D" | "RFFT2D":
            operations = elements * prod(sizes[0][1:])
        case "AVG_POOL2D" | "MAX_POOL2D":
            kernel = re.findall(r"\d+" if re.search(r"kern\d+x", test.name) else r"\d", window_of(test.name))
            operations = elements * prod(map(int, kernel))
        case _:
            operations = elements + prod(sizes[0])
    return START_SECONDS + (1 + test.bounds) * operations / OPERATIONS_PER_SECOND


def window_of(name: str) -> str:
    """The part of a pooling test's name that tells its window: digits, or numbers with x between."""
    found = re.search(r"kern([\dx]+)", name)
    return found[1] if found else ""
