"""Runs one test and says whether it passed, and if not, why."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tosajit as tj
from tosajit.conformance.entry import run
from tosajit.conformance.judge import fault
from tosajit.conformance.suite import Test, load_expected


@dataclass(frozen=True, slots=True)
class Job:
    """A test, the folder of the reference model's results, and the options to compile with."""

    test: Test
    results: Path
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test: an empty fault is a pass. A refused graph's message is kept to be read."""

    test: Test
    fault: str
    seconds: float = 0.0
    message: str = ""


def check(job: Job) -> Outcome:
    """Run a test and judge it; never raises for what the test does."""
    test, started = job.test, time.perf_counter()
    message = ""
    try:
        outputs = run(test.tosa_path, test.load_inputs(), **job.options)
    except tj.TosaError as error:
        message = str(error)
        wrong = "" if test.negative else f"refused: {message}"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        wrong = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    else:
        if test.negative:
            wrong = f"accepted, though it violates {test.fault}"
        else:
            wrong = fault(test, outputs, load_expected(test, job.results))
    return Outcome(test, wrong, time.perf_counter() - started, message)
