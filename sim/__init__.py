"""A simulator of NPUs: machines, the time that programs take on them, and reports.

Begin with `machine`, which says what a machine is. `cost` is what a unit of it takes for a tile; `events` and
`analytic` time whole programs, and `report` presents the result; `planning` estimates for the planner, and
`explore` searches spaces of machines. It may import `tiling`, never `tosajit`: nothing here knows TOSA.

```python
import sim

npu = sim.machine("ethos-u85-256/sys-dram-mid/sram-only")
larger = npu.replace({"scratchpad.bytes": 1 << 20, "name": "larger"})
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sim.machine.catalog import configurations, machines
from sim.machine.finding import machine

if TYPE_CHECKING:
    from sim.explore.errors import SpaceError
    from sim.explore.space import Space
    from sim.explore.values import Range
    from sim.machine.arrays import Block, DotProduct, MacArray, RowStationary, Systolic
    from sim.machine.errors import MachineError, MachineFileError, MachineWarning, UnknownMachineError
    from sim.machine.files import load_machine
    from sim.machine.machine import Machine
    from sim.machine.parts import (
        Dma,
        Energy,
        Level2,
        MemoryMode,
        OffChip,
        OperatingPoint,
        Pages,
        Planner,
        ReductionUnit,
        Scratchpad,
        Topology,
        VectorUnit,
    )
    from sim.report import CoresReport, Report, ReportError
    from sim.streams import Stream

_WHERE = {
    "sim.explore.errors": "SpaceError",
    "sim.explore.space": "Space",
    "sim.explore.values": "Range",
    "sim.machine.arrays": "Block DotProduct MacArray RowStationary Systolic",
    "sim.machine.errors": "MachineError MachineFileError MachineWarning UnknownMachineError",
    "sim.machine.files": "load_machine",
    "sim.machine.machine": "Machine",
    "sim.machine.parts": (
        "Dma Energy Level2 MemoryMode OffChip OperatingPoint Pages Planner ReductionUnit Scratchpad Topology"
        " VectorUnit"
    ),
    "sim.report": "CoresReport Report ReportError",
    "sim.streams": "Stream",
}
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = [
    "Machine", "machine", "machines", "configurations", "load_machine",
    "OffChip", "Level2", "Scratchpad", "Dma", "MemoryMode", "VectorUnit", "ReductionUnit",
    "Topology",
    "MacArray", "Systolic", "Block", "RowStationary", "DotProduct",
    "Planner", "Energy", "OperatingPoint", "Pages",
    "CoresReport", "Report", "Stream",
    "Space", "Range",
    "MachineError", "MachineFileError", "MachineWarning", "ReportError", "SpaceError", "UnknownMachineError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what a name needs when it is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
