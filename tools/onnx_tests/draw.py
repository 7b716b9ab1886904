"""Draws cases of each operator and writes them: run by a Python that has ONNX Runtime.

`draw.py FOLDER [--seeds FIRST COUNT] [--only REGEX]`; cases that neither ONNX Runtime nor ONNX's own
evaluator runs are left out, and said.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from drawing import Array, options

from onnx_tests.cases import CASES, Drawn
from onnx_tests.generate import described

TOLERANCE = {"float16": 4e-3}
"""Of results that both sides may add in another order; 1e-5 for float32."""
IR_VERSIONS = {13: 7, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 24: 12}


def main() -> None:
    """Write the cases that are asked for."""
    given = options(__doc__)
    warnings.simplefilter("ignore")
    first, count = given.seeds
    left: dict[str, int] = {}
    for name in sorted(CASES):
        if re.search(given.only, name):
            for seed in range(first, first + count):
                rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
                if not write(given.folder / f"{name}-{seed}", name, CASES[name](rng), rng):
                    left[name] = left.get(name, 0) + 1
    for name, missing in left.items():
        print(f"{name}: {missing} of {count} are not drawn, as nothing here computes them")


def write(folder: Path, name: str, drawn: Drawn, rng: np.random.Generator) -> bool:
    """A case with what ONNX Runtime computes, if it does."""
    model = _model(name, drawn, int(drawn.opsets[rng.integers(len(drawn.opsets))]))
    given = {f"x{place}": one for place, one in _dynamic(drawn)}
    found = _computed(model, given)
    if found is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    near = max((TOLERANCE.get(one.dtype.name, 1e-5) for one in (*given.values(), *found)), default=1e-5)
    largest = max(
        (float(np.abs(one[np.isfinite(one)]).max(initial=0)) for one in found if one.dtype.kind == "f"),
        default=0,
    )
    outputs = {f"y{place}": one for place, one in enumerate(found)}
    sides = {"in": given, "out": outputs}
    sets = [{side: list(described(folder, f"{side}0", arrays.items())) for side, arrays in sides.items()}]
    about = {"rtol": near, "atol": near * largest, "sets": sets, "ops": [name]}
    (folder / "about.json").write_text(json.dumps(about))
    return True


def _dynamic(drawn: Drawn) -> list[tuple[int, Array]]:
    return [(p, one) for p, one in enumerate(drawn.inputs) if one is not None and p not in drawn.constant]


def _model(name: str, drawn: Drawn, opset: int) -> Any:
    from onnx import helper, numpy_helper

    inputs = [
        helper.make_tensor_value_info(f"x{place}", helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
        for place, one in _dynamic(drawn)
    ]
    held = [
        numpy_helper.from_array(np.asarray(one), f"x{place}")
        for place, one in enumerate(drawn.inputs)
        if one is not None and place in drawn.constant
    ]
    names = ["" if one is None else f"x{place}" for place, one in enumerate(drawn.inputs)]
    while names and not names[-1]:
        names.pop()
    outputs = [f"y{place}" for place in range(drawn.outputs)]
    node = helper.make_node(name, names, outputs, name="drawn", **drawn.attributes)
    results = [helper.make_empty_tensor_value_info(one) for one in outputs]
    graph = helper.make_graph([node], "drawn", inputs, results, held)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSIONS[opset]
    )


def _computed(model: Any, given: dict[str, Array]) -> list[Array] | None:
    import onnx
    import onnxruntime
    from onnx.reference import ReferenceEvaluator

    onnxruntime.set_default_logger_severity(4)
    inferred = onnx.shape_inference.infer_shapes(model)
    try:
        session = onnxruntime.InferenceSession(
            inferred.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        return [np.asarray(one) for one in session.run(None, given)]
    except Exception:  # whatever it cannot do
        try:
            return [np.asarray(one) for one in ReferenceEvaluator(model).run(None, given)]
        except Exception:
            return None


if __name__ == "__main__":
    main()
