"""Worker processes from our side, and timing several of them by turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from peers import PEERS

from benching.larger import LARGER, OF_ONNX, made

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


class Unavailable(Exception):
    """A peer's environment, a model or a function of ours is missing: the row is skipped and says so."""


def interpreter(engine: str) -> Path:
    """The Python of the environment that holds an engine."""
    match engine:
        case "litert" | "openvino" | "iree" | "scipy":
            variable, default = "TOSAJIT_PEERS", ".venv-peers"
        case "zigzag" | "scalesim":
            variable, default = "TOSAJIT_NPU_PEERS", ".venv-npu-peers"
        case "torch":
            variable, default = "TOSAJIT_TORCH", ".venv-torch"
        case "tensorflow":
            variable, default = "TOSAJIT_FRAMEWORKS", ".venv-frameworks"
        case "onnxruntime":
            variable, default = "TOSAJIT_ONNX", ".venv-onnx"
        case "arm":
            variable, default = "TOSAJIT_ARM", ".venv-arm"
        case _:
            return Path(sys.executable)
    python = Path(os.environ.get(variable, ROOT / default)) / "bin" / "python"
    if not python.exists():
        raise Unavailable(f"no environment for {engine} at {python}: `make environments`, or set ${variable}")
    return python


def our_environment() -> dict[str, str]:
    """Variables for a process of ours: it finds the packages and the tools of this repository."""
    paths = [str(ROOT), str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


class Worker:
    """An engine in its own process, loaded with one network; use it in a `with` statement."""

    def __init__(
        self, engine: str, cpu: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.engine = engine
        command = [str(interpreter(engine)), str(ROOT / "tools/benching/worker.py"), engine]
        if cpu is not None:
            command.append(str(cpu))
        variables = {**(os.environ if engine in PEERS else our_environment()), **(environment or {})}
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=variables
        )

    def ask(self, do: str, **request: object) -> Any:
        """Send a request, wait for its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.log.seek(0)
            raise RuntimeError(f"{self.engine} died: {self.log.read().decode(errors='replace')[-400:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.engine}: {answer['error']}")
        return answer["ok"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.communicate()
        self.log.close()


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call of one engine: one figure per round, and the best of all calls."""

    rounds: tuple[float, ...]
    minimum: float

    @property
    def median(self) -> float:
        """Median of the rounds' medians."""
        return statistics.median(self.rounds)

    def over(self, other: Timing) -> float:
        """Ratio to another engine timed by turns with this one: the median over the rounds."""
        return statistics.median(mine / its for mine, its in zip(self.rounds, other.rounds, strict=True))


def by_turns(workers: Sequence[Worker], rounds: int, seconds: float, busy: bool = False) -> list[Timing]:
    """Time loaded workers A B C A B C …, so that a disturbance of the machine meets all of them.

    If `busy`, seconds are those of the processor: what others do in between does not count.
    """
    answers: list[list[dict[str, float]]] = [[] for _ in workers]
    for _ in range(rounds):
        for worker, mine in zip(workers, answers, strict=True):
            mine.append(worker.ask("time", seconds=seconds, busy=busy))
    return [
        Timing(tuple(answer["median"] for answer in mine), min(answer["minimum"] for answer in mine))
        for mine in answers
    ]


def model_files(model: str) -> Path:
    """The folder of a model: one of ours, or a larger one, which is made if it is not there."""
    if model in LARGER:
        return made(model, interpreter("tensorflow"), ROOT / "build/models" / model)
    if model in OF_ONNX:
        return made(model, interpreter("onnxruntime"), ROOT / "build/models" / model)
    from tests import models

    return models.folder(model)
