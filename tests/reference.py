"""Arm's reference model as a function: the bytes of a .tosa file and named arrays in, named arrays out.

Each run is a process of its own: it starts in 5 ms, takes every type, and a crash of it is one more error.
"""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tosajit.conformance.arm import ArmTools, ArmToolsMissing, arm_tools
from tosajit.files.npy import save_npy

VALID, UNPREDICTABLE, ERROR = 0, 1, 2
KINDS = {UNPREDICTABLE: "unpredictable", ERROR: "error"}
BF16, FP8E4M3, FP8E5M2 = 9, 11, 12
# How arrays of the types that NumPy lacks, which are bytes in .npy files, appear in memory.
MEMORY_TYPES = {BF16: ml_dtypes.bfloat16, FP8E4M3: ml_dtypes.float8_e4m3fn, FP8E5M2: ml_dtypes.float8_e5m2}
FAST = Path("/dev/shm")


class ReferenceError(Exception):
    """The model did not evaluate the graph: `kind` is error, unpredictable or crash."""

    def __init__(self, kind: str, messages: str) -> None:
        super().__init__(f"{kind}: {messages.strip()[-2000:]}")
        self.kind = kind
        self.messages = messages


def run(
    graph: bytes, inputs: Mapping[str, np.ndarray], *, seconds: float = 60, precise: bool = False
) -> dict[str, np.ndarray]:
    """Evaluate a graph; outputs in the block's order, int4 in int8, int48 in int64, bf16 in ml_dtypes.

    A precise run calculates floating-point numbers in float64, and returns them so.
    """
    types, names = interface(graph)
    arm = tools()
    if arm is None:
        pytest.skip("Arm's reference model is missing: `make test` installs it, or set TOSAJIT_ARM")
    with tempfile.TemporaryDirectory(dir=FAST if FAST.is_dir() else None) as place:
        folder = Path(place)
        (folder / "test.tosa").write_bytes(graph)
        for place_of_input, array in enumerate(inputs.values()):
            save_npy(folder / f"in{place_of_input}.npy", array)
        description = {
            "tosa_file": "test.tosa",
            "ifm_name": list(inputs),
            "ifm_file": [f"in{index}.npy" for index in range(len(inputs))],
            "ofm_name": names,
            "ofm_file": [f"out{index}.npy" for index in range(len(names))],
            "expected_failure": False,
        }
        (folder / "desc.json").write_text(json.dumps(description))
        status, messages = arm.evaluate(folder / "desc.json", folder, seconds=seconds, precise=precise)
        if status != VALID:
            raise ReferenceError(KINDS.get(status, f"crash with code {status}"), messages)
        arrays = {name: np.load(folder / f"out{index}.npy") for index, name in enumerate(names)}
    return {
        name: array if array.dtype == np.float64 else array.view(MEMORY_TYPES.get(types[name], array.dtype))
        for name, array in arrays.items()
    }


@cache
def tools() -> ArmTools | None:
    """Find Arm's tools once."""
    try:
        return arm_tools()
    except ArmToolsMissing:
        return None


def interface(graph: bytes) -> tuple[dict[str, int], list[str]]:
    """Read the first block's types and outputs, without the reader that is under test."""
    root = struct.unpack_from("<I", graph)[0]
    region = next(vector(graph, root, 1))
    block = next(vector(graph, region, 1))
    types = {text(graph, tensor, 0): number(graph, tensor, 2) for tensor in vector(graph, block, 2)}
    return types, [string(graph, place) for place in vector(graph, block, 4)]


def field(graph: bytes, table: int, index: int) -> int:
    """Find a table's field in a flatbuffer; 0 if it has its default."""
    layout = table - struct.unpack_from("<i", graph, table)[0]
    size = struct.unpack_from("<H", graph, layout)[0]
    place = 4 + 2 * index
    offset = struct.unpack_from("<H", graph, layout + place)[0] if place < size else 0
    return table + offset if offset else 0


def vector(graph: bytes, table: int, index: int) -> Iterator[int]:
    """Yield where the elements of a vector of tables or strings begin."""
    place = field(graph, table, index)
    if not place:
        return
    start = place + struct.unpack_from("<I", graph, place)[0]
    for element in range(struct.unpack_from("<I", graph, start)[0]):
        at = start + 4 + 4 * element
        yield at + struct.unpack_from("<I", graph, at)[0]


def text(graph: bytes, table: int, index: int) -> str:
    """Read a field that is a string."""
    place = field(graph, table, index)
    return string(graph, place + struct.unpack_from("<I", graph, place)[0]) if place else ""


def number(graph: bytes, table: int, index: int) -> int:
    """Read a field that is a 32-bit enumeration."""
    place = field(graph, table, index)
    return int(struct.unpack_from("<I", graph, place)[0]) if place else 0


def string(graph: bytes, place: int) -> str:
    """Read a string."""
    length = struct.unpack_from("<I", graph, place)[0]
    return graph[place + 4 : place + 4 + length].decode()
