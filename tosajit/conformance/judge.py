"""Judges the outputs of a test: in every bit where they must be exact, with Arm's library elsewhere."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tosajit.conformance.arm import arm_tools
from tosajit.conformance.suite import Expected, Test

# The numbers of the library's interface: tosa_datatype_t.
TYPES = {
    "BOOL": 1,
    "BF16": 0,
    "FP16": 2,
    "FP32": 3,
    "INT16": 4,
    "INT32": 5,
    "INT48": 6,
    "INT4": 7,
    "INT8": 8,
    "SHAPE": 11,
    "FP8E4M3": 12,
    "FP8E5M2": 13,
}
FP64 = 99


class Tensor(ctypes.Structure):
    """tosa_tensor_t of the library."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int32)),
        ("rank", ctypes.c_int32),
        ("type", ctypes.c_int),
        ("data", ctypes.POINTER(ctypes.c_uint8)),
        ("bytes", ctypes.c_size_t),
    )


def fault(test: Test, outputs: Mapping[str, np.ndarray], expected: Mapping[str, Expected]) -> str:
    """Say what is wrong with the outputs of a positive test; empty if nothing is."""
    if outputs.keys() != expected.keys():
        return f"outputs are {sorted(outputs)}, not {sorted(expected)}"
    for name, reference in expected.items():
        ours = outputs[name]
        about = test.compliance["tensors"][name]
        if tuple(ours.shape) != tuple(about["shape"]):
            return f"{name}: shape is {list(ours.shape)}, not {about['shape']}"
        wrong = ""
        if about["mode"] == "EXACT" and reference.value.dtype == ours.dtype:
            wrong = difference(ours, reference.value)
        elif not complies(test.compliance, name, ours, reference):
            wrong = outside(ours, reference, about)
        if wrong:
            return f"{name}: {wrong}"
    return ""


def difference(ours: np.ndarray, reference: np.ndarray) -> str:
    """Describe the first element that differs; empty if all bits are equal."""
    if ours.dtype != reference.dtype or ours.shape != reference.shape:
        return f"is {ours.dtype}{list(ours.shape)}, not {reference.dtype}{list(reference.shape)}"
    if ours.tobytes() == reference.tobytes():
        return ""
    bits = [np.ascontiguousarray(array).reshape(-1).view(f"u{ours.itemsize}") for array in (ours, reference)]
    places = np.flatnonzero(bits[0] != bits[1])
    index = tuple(int(i) for i in np.unravel_index(places[0], ours.shape))
    return f"{ours[index]} at {index}, not {reference[index]} ({places.size:,} of {ours.size:,} differ)"


def outside(ours: np.ndarray, reference: Expected, about: Mapping[str, Any]) -> str:
    """Describe outputs that Arm's library refuses."""
    bounds = reference.value if reference.bounds is None else reference.bounds
    if ours.dtype.kind not in "iuf":
        return f"refused in mode {about['mode']}"
    values, first, second = (array.astype(np.float64) for array in (ours, reference.value, bounds))
    distance = np.abs(values - np.clip(values, np.minimum(first, second), np.maximum(first, second)))
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), ours.shape))
    return (
        f"{ours[index]} at {index} is refused in mode {about['mode']}: "
        f"the reference is {reference.value[index]}, its bounds {bounds[index]}"
    )


def complies(compliance: Mapping[str, Any], name: str, ours: np.ndarray, reference: Expected) -> bool:
    """Ask Arm's library whether an output is within the test's bounds."""
    kind = compliance["tensors"][name]["data_type"]
    arrays = [reference.value, reference.bounds, ours]
    kept = [None if array is None else np.ascontiguousarray(array) for array in arrays]
    tensors = [None if array is None else ctypes.byref(tensor(name, array, kind)) for array in kept]
    return bool(library(arm_tools().verify_library)(*tensors, json.dumps(compliance).encode()))


def tensor(name: str, array: np.ndarray, kind: str) -> Tensor:
    """Describe an array to the library; it must outlive the description."""
    return Tensor(
        name.encode(),
        (ctypes.c_int32 * array.ndim)(*array.shape),
        array.ndim,
        FP64 if array.dtype == np.float64 else TYPES[kind],
        array.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)),
        array.nbytes,
    )


@cache
def library(path: Path) -> Any:
    """Load the library's one function."""
    verify = ctypes.CDLL(str(path)).tvf_verify_data
    verify.argtypes = [ctypes.POINTER(Tensor)] * 3 + [ctypes.c_char_p]
    verify.restype = ctypes.c_bool
    return verify
