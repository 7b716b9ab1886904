"""Has Stream schedule a chain of convolutions on cores in a mesh, each on one: run by a Python that has it.

`stream_peer.py CASE`, with a case as JSON; the cycles come on standard output.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from stream.classes.hardware.architecture.accelerator import Accelerator
from stream.classes.stages import (
    GenerateCNWorkloadHybridStage,
    InterCoreMappingStage,
    IntraCoreMappingStage,
    UserDefinedModelParserStage,
)
from stream.inputs.examples.hardware.nocs.mesh_2d import get_2d_mesh
from zigzag.classes.hardware.architecture.core import Core
from zigzag.classes.hardware.architecture.memory_hierarchy import MemoryHierarchy
from zigzag.classes.hardware.architecture.memory_instance import MemoryInstance
from zigzag.classes.hardware.architecture.operational_array import MultiplierArray
from zigzag.classes.hardware.architecture.operational_unit import Multiplier
from zigzag.classes.stages import AcceleratorParserStage, MainStage

Case = dict[str, Any]
OPERANDS = ("I1", "I2", "O")
READ = {"fh": "w_port_1", "tl": "r_port_1", "fl": None, "th": None}
BOTH = {"fh": "w_port_1", "tl": "r_port_1", "fl": "w_port_1", "th": "r_port_1"}
SUMS = {"fh": "w_port_1", "tl": "r_port_1", "fl": "w_port_2", "th": "r_port_2"}


def main() -> None:
    """Print the cycles of a case."""
    logging.disable(logging.WARNING)
    case = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        stages = MainStage(
            [
                AcceleratorParserStage,
                UserDefinedModelParserStage,
                GenerateCNWorkloadHybridStage,
                IntraCoreMappingStage,
                InterCoreMappingStage,
            ],
            accelerator=_module("accelerator", accelerator(case)),
            workload_path=_module("workload", workload(case)),
            mapping_path=_module("mapping", mapping(case)),
            loma_lpf_limit=6,
            nb_ga_individuals=4,
            nb_ga_generations=1,
            node_hw_performances_path=str(Path(folder) / "costs.pickle"),
            plot_hof=False,
            plot_file_name=False,
            plot_full_schedule=False,
            plot_data_transfer=False,
            cn_define_mode=1,
            hint_loops=[],
            scheduler_candidate_selection="latency",
            operands_to_prefetch=[],
        )
        answers, _ = stages.run()
    print(json.dumps({"cycles": int(answers[0].latency)}))


def accelerator(case: Case) -> Accelerator:
    """Cores of filters × channels in a mesh, and a memory that all ask."""
    cores = [_core(number, case) for number in range(len(case["layers"]))]
    memory = _offchip(len(cores), case["offchip_bytes"])
    columns = case["columns"]
    mesh = get_2d_mesh(cores, len(cores) // columns, columns, 8 * case["link_bytes"], 0, offchip_core=memory)
    return Accelerator("cores", mesh, offchip_core_id=len(cores))


def workload(case: Case) -> dict[int, dict[str, Any]]:
    """A chain of convolutions whose results are bytes."""
    layers = {}
    for number, layer in enumerate(case["layers"]):
        kernel = layer["kernel"]
        sizes = {"B": 1, "K": layer["filters"], "C": layer["channels"]}
        source = {"I": [number - 1] if number else []}
        layers[number] = {
            "operator_type": f"layer{number}",
            "equation": "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
            "dimension_relations": ["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
            "loop_dim_size": {
                **sizes,
                "OY": layer["height"],
                "OX": layer["width"],
                "FY": kernel,
                "FX": kernel,
            },
            "operand_precision": {"O": 8, "O_final": 8, "W": 8, "I": 8},
            "operand_source": {"W": [], **source},
            "constant_operands": ["W"] if number else ["W", "I"],
            "operand_source_dimension_mapping": {"I": {"IX": "OX", "IY": "OY", "C": "K"}} if number else {},
            "memory_operand_links": {"O": "O", "W": "I2", "I": "I1"},
            "padding": {"IY": (kernel // 2, kernel // 2), "IX": (kernel // 2, kernel // 2)},
        }
    return layers


def mapping(case: Case) -> dict[str, dict[str, list[int]]]:
    """Each layer on a core of its own."""
    named = {f"layer{number}": {"core_allocation": [number]} for number in range(len(case["layers"]))}
    return {**named, "default": {"core_allocation": [0]}}


def _core(number: int, case: Case) -> Core:
    filters, channels = case["array"]
    array = MultiplierArray(Multiplier([8, 8], 0.0, 1), {"D1": filters, "D2": channels})
    memories = MemoryHierarchy(operational_array=array)
    element = _memory("element", 8, 8)
    for operand, port, served in (("I1", READ, {(1, 0)}), ("I2", READ, {(0, 0)})):
        memories.add_memory(element, (operand,), (port,), served)
    memories.add_memory(_memory("sums", 8, 8, ports=2), ("O",), (SUMS,), {(0, 1)})
    wide, size = 8 * filters * channels, 8 * case["memory_bytes"]
    memories.add_memory(_memory("weights", size, wide), ("I2",), (READ,), "all")
    memories.add_memory(_memory("maps", size, wide), ("I1", "O"), (READ, BOTH), "all")
    flow = {"D1": ("K", filters), "D2": ("C", channels)}
    return Core(number, array, memories, [flow])


def _offchip(number: int, bytes_per_cycle: int) -> Core:
    array = MultiplierArray(Multiplier([8, 8], float("inf"), 0), {"D1": 1, "D2": 1})
    memories = MemoryHierarchy(operational_array=array)
    memory = _memory("offchip", 10**10, 8 * bytes_per_cycle)
    memories.add_memory(memory, OPERANDS, (READ, READ, BOTH), "all")
    return Core(number, array, memories)


def _memory(name: str, bits: int, width: int, ports: int = 1) -> MemoryInstance:
    return MemoryInstance(
        name=name,
        size=bits,
        r_bw=width,
        w_bw=width,
        r_cost=1,
        w_cost=1,
        area=0,
        r_port=ports,
        w_port=ports,
        rw_port=0,
        latency=1,
    )


def _module(attribute: str, value: object) -> str:
    """Stream imports what it is given."""
    name = f"given_{attribute}"
    sys.modules[name] = ModuleType(name)
    setattr(sys.modules[name], attribute, value)
    return name


if __name__ == "__main__":
    main()
