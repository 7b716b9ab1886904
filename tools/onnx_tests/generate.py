"""Writes ONNX's node tests into folders: run by a Python that has the `onnx` package.

A folder has `model.onnx`, `about.json`, and the elements of inputs and outputs as bytes: NumPy's own format
lacks types that ONNX has.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np


def main(root: Path) -> None:
    """Write all tests."""
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases(None):
        folder = root / case.name
        folder.mkdir(parents=True, exist_ok=True)
        model = case.model
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        sets = []
        for number, (inputs, outputs) in enumerate(case.data_sets or []):
            named = zip(
                ("in", "out"), (inputs, outputs), (model.graph.input, model.graph.output), strict=True
            )
            sets.append(
                {
                    side: list(_written(folder, f"{side}{number}", given, values))
                    for side, given, values in named
                }
            )
        about = {"rtol": case.rtol, "atol": case.atol, "sets": sets, "ops": _operators(model.graph)}
        (folder / "about.json").write_text(json.dumps(about))


def _operators(graph: Any) -> list[str]:
    return sorted({node.op_type for node in graph.node})


def _written(
    folder: Path, name: str, given: Iterable[Any], values: Iterable[Any]
) -> Iterable[dict[str, Any]]:
    """Write arrays, and describe them."""
    from onnx import TensorProto, numpy_helper

    arrays = (numpy_helper.to_array(one) if isinstance(one, TensorProto) else one for one in given)
    return described(folder, name, ((value.name, one) for one, value in zip(arrays, values, strict=False)))


def described(folder: Path, side: str, arrays: Iterable[tuple[str, Any]]) -> Iterable[dict[str, Any]]:
    """Write arrays, and describe them; what is no array has no type."""
    for place, (name, array) in enumerate(arrays):
        if not isinstance(array, np.ndarray | np.generic) or np.asarray(array).dtype.kind in "OU":
            yield {"name": name, "type": ""}
            continue
        array = np.asarray(array)
        (folder / f"{side}_{place}.bin").write_bytes(array.tobytes())
        yield {"name": name, "type": str(array.dtype), "shape": list(array.shape)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
