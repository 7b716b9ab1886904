"""Ethos-U: operators and networks against Arm's Vela."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

import tosajit as tj
from sim import Report
from validating import vela
from validating.causes import NETWORKS, TRAFFIC
from validating.facts import Configuration, Facts, Network, networks, rows
from validating.figures import Figure, Table
from validating.graphs import operator
from validating.predict import loaded, model_file, report
from validating.schedules import COPIES, plan_of_one

OPERATOR_BOUND, NETWORK_BOUND = 0.05, 0.1
TRAFFIC_BOUND = 0.02
"""So much more than with Vela's schedule may be moved."""
PARTS = {"MAC": ("mac_cycles", "mac_cycles"), "output": ("ao_cycles", "output_cycles")}
"""Columns of Vela's, and what our reports call them."""
SYSTEMS = {
    ("u55", "Sram_Only"): "Ethos_U55_High_End_Embedded",
    ("u55", "Shared_Sram"): "Ethos_U55_High_End_Embedded",
    ("u65", "Sram_Only"): "Ethos_U65_Embedded",
    ("u65", "Dedicated_Sram_384KB"): "Ethos_U65_High_End",
    ("u85", "Sram_Only"): "Ethos_U85_SYS_DRAM_Mid",
    ("u85", "Dedicated_Sram_384KB"): "Ethos_U85_SYS_DRAM_Mid",
}
OPERATOR_TEXT = """Every operator of two networks (a MobileNetV2, and a small one with convolutions, an
addition and pools) on every accelerator in two memory modes. Each is compiled from a graph of its own:
convolutions with their scaling by channel, the addition with its three RESCALEs. The planner has no part in
this: weights have the slices of channels and the buffers in the SRAM that Vela has for them, and all else is
one tile. The cycles of the MACs and of the output stage are compared with those that Vela counts; the table
shows the median of the differences, with the 95th percentile in brackets. Additions that Vela chains to a
convolution (U85) have no cycles of their own there and are left out; it counts their output as the
convolution's, as some percentiles show."""
NETWORK_TEXT = """Totals of whole networks, ours from the TOSA file and Vela's from the TFLite file of the
same network. If the fusion of TOSA's patterns lost anything, it would show here. Vela's count without
waiting for memory is in brackets."""
REPRODUCED_TEXT = """Vela 5.2.0, run for this page: the figures of `vela_networks.csv` that are used
above, anew. "Predicted" is this run, "reference" the file."""
LOST_TEXT = """What Vela itself loses when it is given the TOSA file in place of the TFLite file of the same
network; not judged. The ratio is of its own cycles."""


FAMILIES = {
    **dict.fromkeys(("gru", "lstm", "recurrent"), "recurrent"),
    **dict.fromkeys(("unet", "segmentation", "upsampled"), "resizing"),
    "transformer": "transformer",
}
"""Kinds of networks by how their names begin; others are CNNs."""


def kind_of(name: str) -> str:
    """What kind of network it is, and of which type, by its name."""
    family = FAMILIES.get(name.split("_")[0], "CNN")
    return f"{family}, {'i16x8' if name.endswith('i16x8') else 'int8'}"


def machine_of(configuration: Configuration) -> str:
    """What kind of machine it is: the accelerator's family, and whether the SRAM is a cache."""
    family = configuration.accelerator.split("-")[1].upper()
    return f"{family}, dedicated SRAM" if "Dedicated" in configuration.memory else family


@cache
def ours(model: str, configuration: Configuration) -> tuple[Report | None, str]:
    """Our report on a model, or why there is none."""
    return report(loaded(model), configuration.machine)


def operators(quick: bool) -> tuple[Table, dict[str, list[Figure]]]:
    """Cycles of MACs and output, by accelerator and operator; and all figures, for the picture."""
    known = chosen(rows("vela_operators"), quick)
    single: dict[tuple[str, str, str], list[Figure]] = {}
    for fact in known:
        detail = operator_detail(*_key(fact))
        for part, (column, ours) in PARTS.items():
            if fact[column] and float(fact[column]):
                case = f"{fact['accelerator']} {fact['memory_mode']} {fact['network']} {fact['name']} {part}"
                figure = Figure(case, detail.get(ours, 0), float(fact[column]))
                single.setdefault((fact["accelerator"], fact["operator"], part), []).append(figure)
    figures = [_summary(f"{a} {o}, {part}", found) for (a, o, part), found in sorted(single.items())]
    pictured: dict[str, list[Figure]] = {}
    for (accelerator, _, part), found in single.items():
        pictured.setdefault(f"{accelerator[6:9].upper()}, {part}", []).extend(found)
    table = Table(
        "Ethos-U, operator by operator",
        OPERATOR_TEXT,
        tuple(figures),
        columns=("accelerator, operator, part", "median off", "asked"),
        picture="operators",
    )
    return table, pictured


def chosen(facts: Iterable[Facts], quick: bool) -> list[Facts]:
    """All operators, or those of two accelerators."""
    return [f for f in facts if not quick or f["accelerator"] in ("ethos-u55-128", "ethos-u85-256")]


def _summary(case: str, figures: Sequence[Figure]) -> Figure:
    """The median error of many figures, in per cent."""
    errors = sorted(abs((figure.ratio or 0) - 1) * 100 for figure in figures)
    high = errors[min(len(errors) - 1, round(0.95 * (len(errors) - 1)))]
    note = f"{len(errors)}; 95 %: {high:.1f}"
    return Figure(case, round(statistics.median(errors), 2), 100 * OPERATOR_BOUND, "%", "at most", note=note)


Shape = tuple[tuple[str, str], ...]


def _key(fact: Facts) -> tuple[Configuration, Shape, int, tuple[int, ...]]:
    """What an operator's time depends on: the machine, the operator and its shape, buffers and slices."""
    memory, accelerator = fact["memory_mode"], fact["accelerator"]
    system = SYSTEMS[accelerator.split("-")[1], memory]
    kept = ("operator", "ifm_shape_", "ofm_shape_", "kernel_")
    shape = tuple((key, value) for key, value in fact.items() if key.startswith(kept))
    slices = tuple(int(channel) for channel in fact["ofm_depth_slices"].split("|"))
    return Configuration(accelerator, system, memory), shape, COPIES[fact["weight_buffering"]], slices


@cache
def operator_graph(shape: Shape) -> tj.Graph:
    """The graph of an operator."""
    return operator(dict(shape))


@cache
def operator_detail(
    configuration: Configuration, shape: Shape, copies: int, slices: tuple[int, ...]
) -> dict[str, int]:
    """The parts of our estimate of an operator, summed over what it became.

    Elementwise work is done by the output stage alone: its cycles are those of the unit.
    """
    total: Counter[str] = Counter()
    graph, machine = operator_graph(shape), tj.machine(configuration.machine)
    for part in tj.simulate(graph, machine, plan=plan_of_one(graph, machine, copies, slices)).operators:
        alone = {} if "output_cycles" in part.detail else {"output_cycles": part.busy.get("vector", 0)}
        total.update({**part.detail, **alone})
    return total


def totals() -> tuple[Table, dict[str, list[Figure]]]:
    """Networks against Vela's totals."""
    figures: list[Figure] = []
    pictured: dict[str, list[Figure]] = {}
    for known in networks("tflite"):
        found, note = ours(known.model, known.configuration)
        case = f"{known.model}, {known.configuration}"
        note = note or f"Vela's NPU alone {known.npu_cycles:,}"
        cycles = found.cycles if found else None
        kinds = kind_of(known.model), machine_of(known.configuration)
        figure = Figure(case, cycles, known.cycles, "cycles", "within", NETWORK_BOUND, note, *kinds)
        figures.append(figure)
        pictured.setdefault(known.configuration.accelerator, []).append(figure)
    table = Table(
        "Ethos-U, whole networks",
        NETWORK_TEXT,
        tuple(figures),
        columns=("network, machine", "ours (TOSA)", "Vela (TFLite)"),
        picture="networks",
        explanations=NETWORKS,
    )
    return table, pictured


def traffic() -> Table:
    """Off-chip bytes and peak scratchpad against Vela's."""
    figures = []
    for known in networks("tflite"):
        found, _ = ours(known.model, known.configuration)
        case = f"{known.model}, {known.configuration}"
        bytes_moved = found.offchip_bytes if found else None
        peak = found.peak_scratchpad_bytes if found else None
        offchip, inside = known.offchip_bytes, known.scratchpad_bytes
        figures.append(Figure(f"{case}, off-chip", bytes_moved, offchip, "bytes", "at most", TRAFFIC_BOUND))
        figures.append(Figure(f"{case}, scratchpad", peak, inside, "bytes", "at most"))
    return Table(
        "Traffic and memory",
        TRAFFIC_TEXT,
        tuple(figures),
        columns=("network, machine, what", "ours", "Vela"),
        explanations=TRAFFIC,
    )


def reproduced() -> tuple[Table, Table]:
    """Vela run anew: is the file right, and what does it lose on TOSA."""
    again, lost = [], []
    forms = {form: {(n.model, n.configuration): n for n in networks(form)} for form in ("tflite", "tosa")}
    for form, known in forms.items():
        for (model, configuration), reference in known.items():
            totals = _run(model, form, configuration)
            case = f"{model}.{form}, {configuration}"
            again.append(Figure(case, totals.cycles if totals else None, reference.cycles, relation="exact"))
            if form == "tosa" and totals:
                other = forms["tflite"][model, configuration]
                lost.append(Figure(f"{model}, {configuration}", totals.cycles, other.cycles))
    columns = ("network, machine", "this run", "file")
    return (
        Table("Vela, run again", REPRODUCED_TEXT, tuple(again), columns=columns, judged=False),
        Table(
            "What Vela loses on TOSA",
            LOST_TEXT,
            tuple(lost),
            columns=(columns[0], "TOSA", "TFLite"),
            judged=False,
        ),
    )


def _run(model: str, form: str, configuration: Configuration) -> Network | None:
    return vela.run(model_file(model, form), configuration).totals


TRAFFIC_TEXT = """Bytes transferred over the port of the second memory (DRAM or flash), and the peak use of
the scratchpad, including weights where they live there. The bound is what Vela needs, and 2 % more for
the bytes."""
