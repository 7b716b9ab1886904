"""The entry point of conformance tests: a file and its inputs in, its outputs out."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tosajit as tj

if TYPE_CHECKING:
    from tosajit.dtypes import DType

# The types that NumPy lacks, as Arm's .npy files hold them; int4 and int48 are int8 and int64 everywhere.
FILE_TYPES = {"BF16": np.dtype("V2"), "FP8E4M3": np.dtype("V1"), "FP8E5M2": np.dtype("u1")}


def run(
    tosa_path: str | PathLike[str], inputs: Mapping[str, np.ndarray], **compile_options: Any
) -> dict[str, np.ndarray]:
    """Run a graph on named inputs, in the formats of Arm's .npy files; TosaError if the graph is illegal."""
    graph = tj.load(Path(tosa_path))
    executable = tj.compile(graph, **{"generic": "never", **compile_options})
    values = graph.main.values
    outputs = executable.run({name: from_file(array, values[name].dtype) for name, array in inputs.items()})
    return {name: to_file(array, values[name].dtype) for name, array in outputs.items()}


def from_file(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Give the array of a file the type that arrays of `dtype` have in memory."""
    if array.dtype != dtype.storage and array.dtype == FILE_TYPES.get(dtype.name):
        return array.view(dtype.storage)
    return array


def to_file(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Give an array of `dtype` the type that it has in a file."""
    return array.view(FILE_TYPES.get(dtype.name, array.dtype))
