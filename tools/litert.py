"""Asks LiteRT's reference kernels what a TFLite model gives: they run in a process of another environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from litert_server import receive, send

from tosajit.arrays import Array


class Kernels(Enum):
    """LiteRT's kernels, by what its interpreter calls them."""

    REFERENCE = "BUILTIN_REF"
    OPTIMISED = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
    XNNPACK = "BUILTIN"


class LiteRTError(Exception):
    """LiteRT refuses a model, or dies of it."""


def interpreter() -> Path | None:
    """The Python that has LiteRT, if it is there: TOSAJIT_PEERS says where."""
    found = Path(os.environ.get("TOSAJIT_PEERS", ".venv-peers")) / "bin" / "python"
    return found if found.is_file() else None


class LiteRT:
    """A server of LiteRT's reference kernels, started when it is first asked, and again after it has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self, model: bytes, *calls: Sequence[Array], kernels: Kernels = Kernels.REFERENCE
    ) -> list[list[Array]]:
        """The outputs of a model for the inputs of each call; variables are kept between them."""
        process = self._started()
        stdin, stdout = cast("tuple[BinaryIO, BinaryIO]", (process.stdin, process.stdout))
        request: dict[str, Any] = {"model": np.frombuffer(model, np.uint8), "calls": np.array(len(calls))}
        request["kernels"] = np.array(kernels.value)
        for call, inputs in enumerate(calls):
            request |= {f"input{number}_{call}": array for number, array in enumerate(inputs)}
        try:
            send(stdin, request)
            answer = receive(stdout)
        except BrokenPipeError:
            answer = None
        if answer is None:
            self.close()
            raise LiteRTError("LiteRT has crashed")
        if "error" in answer:
            raise LiteRTError(str(answer["error"]))
        count = len([name for name in answer if name.endswith("_0")])
        return [[answer[f"output{number}_{call}"] for number in range(count)] for call in range(len(calls))]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            python = interpreter()
            if python is None:
                raise LiteRTError("there is no environment with ai-edge-litert: `make environments` makes it")
            server = Path(__file__).with_name("litert_server.py")
            self._process = subprocess.Popen(
                [python, "-W", "ignore", server], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return self._process
