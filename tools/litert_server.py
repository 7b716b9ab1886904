"""LiteRT's reference kernels as a server: runs in an environment that has `ai-edge-litert`, not tosajit.

Each request on standard input, and each answer on standard output, is a length of eight bytes and an `.npz`
archive. A request has `model` and `input0`, `input1`, …, perhaps with a first dimension of calls; an answer
`output0`, …, or `error`.
"""

from __future__ import annotations

import io
import os
import struct
import sys
from typing import Any, BinaryIO

import numpy as np


def main() -> None:
    """Answer until the input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what LiteRT prints does not belong to the answers
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    while (request := receive(sys.stdin.buffer)) is not None:
        try:
            interpreter = Interpreter(
                model_content=request.pop("model").tobytes(),
                experimental_op_resolver_type=OpResolverType[str(request.pop("kernels"))],
                num_threads=1,
            )
            answer = run(interpreter, request)
        except (RuntimeError, ValueError) as error:
            answer = {"error": np.array(str(error))}
        send(replies, answer)


def run(interpreter: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Run a model, once for each of the calls."""
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    calls = int(arrays.get("calls", np.array(1)))
    results: list[list[np.ndarray[Any, Any]]] = []
    for call in range(calls):
        for number, detail in enumerate(inputs):
            interpreter.set_tensor(detail["index"], arrays[f"input{number}_{call}"])
        interpreter.invoke()
        results.append([interpreter.get_tensor(detail["index"]) for detail in outputs])
    return {f"output{number}_{call}": array for call, ones in enumerate(results)
            for number, array in enumerate(ones)}  # fmt: skip


def send(stream: BinaryIO, arrays: dict[str, Any]) -> None:
    """Write one archive."""
    archive = io.BytesIO()
    np.savez(archive, **arrays)
    data = archive.getvalue()
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def receive(stream: BinaryIO) -> dict[str, np.ndarray[Any, Any]] | None:
    """Read one archive; None where the stream ends."""
    header = stream.read(8)
    if len(header) < 8:
        return None
    data = stream.read(struct.unpack("<Q", header)[0])
    with np.load(io.BytesIO(data)) as archive:
        return {name: archive[name] for name in archive.files}


if __name__ == "__main__":
    main()
