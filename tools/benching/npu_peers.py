"""Other tools that time NPUs, in their environment: `npu_peers.py zigzag|scalesim SECONDS`; a line of JSON.

ZigZag evaluates mappings of the MobileNetV2 that it ships on the TPU that it ships, as many as it can in so
much CPU time; SCALE-Sim walks through one convolution on a 32 × 32 array.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CONFIGURATION = """[general]
run_name = layer
[architecture_presets]
ArrayHeight: 32
ArrayWidth: 32
IfmapSramSzkB: 64
FilterSramSzkB: 64
OfmapSramSzkB: 64
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Dataflow: os
Bandwidth: 10
ReadRequestBuffer: 32
WriteRequestBuffer: 32
[layout]
IfmapCustomLayout: False
IfmapSRAMBankBandwidth: 10
IfmapSRAMBankNum: 10
IfmapSRAMBankPort: 2
FilterCustomLayout: False
FilterSRAMBankBandwidth: 10
FilterSRAMBankNum: 10
FilterSRAMBankPort: 2
[sparsity]
SparsitySupport: false
SparseRep: ellpack_block
OptimizedMapping: false
BlockSize: 8
RandomNumberGeneratorSeed: 40
[run_presets]
InterfaceBandwidth: CALC
UseRamulatorTrace: False
"""
TOPOLOGY = """Name, Height, Width, Filter Height, Filter Width, Channels, Filters, Strides,
layer, 15, 15, 3, 3, 64, 64, 1,
"""
LAYOUT = "Layer name,\nlayer,\n"
CYCLES = 6 * 2 * (9 * 64 + 62) - 1


class Enough(Exception):
    """The time is over."""


def zigzag(seconds: float) -> dict[str, Any]:
    """Count the mappings that its cost model evaluates."""
    stage: Any = importlib.import_module("zigzag.stages.evaluation.cost_model_evaluation")
    api = importlib.import_module("zigzag.api")
    folder = Path(importlib.import_module("zigzag").__file__ or "").parent / "inputs"
    count, start, evaluate = 0, 0.0, stage.CostModelEvaluation

    def counted(**arguments: Any) -> Any:
        nonlocal count, start
        start = start or time.process_time()
        if time.process_time() - start > seconds:
            raise Enough
        count += 1
        return evaluate(**arguments)

    stage.CostModelEvaluation = counted
    logging.disable(logging.CRITICAL)
    try:
        api.get_hardware_performance_zigzag(
            str(folder / "workload/mobilenetv2.onnx"),
            str(folder / "hardware/tpu_like.yaml"),
            str(folder / "mapping/tpu_like.yaml"),
            loma_show_progress_bar=False,
        )
    except Enough:
        pass
    version = importlib.metadata.version("zigzag-dse")
    return {"seconds": time.process_time() - start, "count": count, "version": version}


def scalesim(seconds: float) -> dict[str, Any]:
    """Walk through a convolution, again and again until the time is over."""
    simulator = importlib.import_module("scalesim.scale_sim").scalesim
    for name, text in (("run.cfg", CONFIGURATION), ("layer.csv", TOPOLOGY), ("layout.csv", LAYOUT)):
        Path(name).write_text(text)
    count, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        files = {"config": "run.cfg", "topology": "layer.csv", "layout": "layout.csv"}
        runner = simulator(save_disk_space=True, verbose=False, **files)
        runner.run_scale(top_path=".")
        count += CYCLES
    version = importlib.metadata.version("scalesim")
    return {"seconds": time.process_time() - start, "count": count, "version": version}


def main(tool: str, seconds: float) -> None:
    """Measure one of them in a folder that is thrown away; what they print is no answer."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        answer = {"zigzag": zigzag, "scalesim": scalesim}[tool](seconds)
        os.chdir("/")
    print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
