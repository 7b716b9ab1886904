"""Rows about reading TFLite models: how long `tj.load` takes in a new process, and how much memory."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benching.client import ROOT, model_files
from benching.first import fresh, mebibytes
from benching.rows import Case, Plan, Row, duration

sys.path.insert(0, str(ROOT))

from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tosajit.frontends.tflite.options import FullyConnectedOptions
from tosajit.frontends.tflite.schema import Type

SMALL_LIMIT, LARGE_LIMIT, MEMORY_LIMIT = 0.2, 2.0, 2.2
LAYERS, WIDTH = 10, 3200
"""A model of 100 MB."""


def loading(path: Path, name: str, seconds: float, plan: Plan) -> Iterator[Row]:
    """A model that new processes load, each once."""
    with tempfile.TemporaryDirectory() as cache:
        runs = [fresh(cache, "load", str(path)) for _ in range(max(3, plan.rounds // 2))]
    middle = sorted(runs, key=lambda run: float(run["seconds"]))[len(runs) // 2]
    yield Row(
        case=f"load {name}",
        ours=duration(middle["seconds"]),
        target=f"≤ {duration(seconds)}",
        met=middle["seconds"] <= seconds,
        note=f"{duration(middle['again'])} the second time",
        detail={"runs": runs},
    )
    size, grown = path.stat().st_size, max(int(run["grown_bytes"]) for run in runs)
    if size > 50_000_000:
        yield Row(
            case=f"load {name}, memory",
            ours=mebibytes(grown),
            ratio=f"{grown / size:.2f}",
            target=f"≤ {MEMORY_LIMIT:g} × {mebibytes(size)}",
            met=grown <= MEMORY_LIMIT * size,
            detail={"grown": grown, "size": size},
        )


def small(plan: Plan) -> Iterator[Row]:
    """A network of 3.6 MB."""
    path = model_files("mobilenet_v2") / "model.tflite"
    yield from loading(path, "mobilenet_v2.tflite", SMALL_LIMIT, plan)


def large(plan: Plan) -> Iterator[Row]:
    """Matrices of bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(matrices(LAYERS, WIDTH))
        yield from loading(path, "100 MB of matrices", LARGE_LIMIT, plan)


def matrices(layers: int, width: int) -> bytes:
    """A model of fully connected layers of int8."""
    numbers = np.random.default_rng(1)
    tensors = [_tensor("x", (1, width))]
    nodes: list[RawOperator] = []
    for layer in range(layers):
        weights = numbers.integers(-127, 127, (width, width), np.int8, endpoint=True)
        tensors.append(_tensor(f"weights_{layer}", (width, width), weights.tobytes()))
        tensors.append(_tensor(f"layer_{layer}", (1, width)))
        given = 2 * layer
        nodes.append(
            RawOperator("FULLY_CONNECTED", (given, given + 1, -1), (given + 2,), FullyConnectedOptions())
        )
    return RawModel([RawSubgraph(tensors, nodes, [0], [2 * layers], "main")]).bytes()


def _tensor(name: str, shape: tuple[int, ...], data: bytes | None = None) -> RawTensor:
    return RawTensor(name, Type.INT8, shape, data, scale=(0.5,), zero_point=(0,))


LOADING: tuple[Case, ...] = (Case("load mobilenet_v2.tflite", small), Case("load 100 MB", large))
