"""Makes Arm's conformance suite and the reference model's results for it, and keeps both under `build/`."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tosajit.conformance.arm import ArmTools
from tosajit.conformance.suite import Test, has_results

OFFICIAL_SEED = 42
VALID, ERROR = 0, 2


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
    arm.call(
        "tosa_verif_conformance_generator",
        [
            *("--tosa-version", "1.0.2", "--output-type", "binary", "-j", str(os.cpu_count() or 1)),
            *("--profile", *sorted(profiles), "--extension", *sorted(extensions)),
            *("--seed", str(seed), *configuration),
            *("--build-directory", str(work / "build"), "--output-directory", str(work / "suite")),
        ],
    )
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


def evaluate(arm: ArmTools, tests: Iterable[Test], root: Path, results: Path) -> None:
    """Run the reference model on the tests without results; what it says of each must be as expected."""

    def evaluate_one(test: Test) -> str:
        place = results / test.folder.relative_to(root)
        place.mkdir(parents=True, exist_ok=True)
        status, messages = arm.evaluate(test.description, place)
        wanted = ERROR if test.negative else VALID
        return "" if status == wanted else f"{test.name}: {status} {messages[-300:]}"

    missing = [test for test in tests if not done(test, results / test.folder.relative_to(root))]
    if not missing:
        return
    started = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        surprises = [said for said in pool.map(evaluate_one, missing) if said]
    print(f"reference model: {len(missing):,} tests in {time.perf_counter() - started:.0f} s", flush=True)
    if surprises:
        raise SystemExit("the reference model disagrees with the suite:\n" + "\n".join(surprises))


def done(test: Test, place: Path) -> bool:
    """Whether the reference model has been run on a test: a negative one leaves an empty folder."""
    return place.is_dir() and (test.negative or has_results(test, place))
