"""The rows of the table: what is timed, against whom, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benching.client import Timing, Unavailable, Worker, by_turns, model_files
from benching.graphs import CONV_MACS, DEPTHWISE_MACS, MATMUL_MACS
from benching.larger import LARGER, OF_ONNX
from tosajit.kernels.sets.cpus import host, known

AHEAD = 0.9
"""What our time is to be at most, of the better peer's."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to measure."""

    rounds: int = 9
    seconds: float = 0.15
    """Of each engine in each round."""
    cpu: int | None = None
    """The core that single-threaded engines are bound to."""
    busy: bool = False
    """Whether what runs on one thread is timed by the processor's time: for a machine that others use."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `met` is None where nothing is asked or nothing could be measured."""

    case: str
    ours: str
    peer: str = ""
    ratio: str = ""
    target: str = ""
    met: bool | None = None
    note: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """A named measurement; `--only` chooses by parts of names."""

    name: str
    measure: Callable[[Plan], Iterator[Row]]


def model_case(model: str, threads: int, peers: Sequence[str]) -> Case:
    """A model against the better of its peers, which are to take a tenth longer at least."""
    name = model if threads == 1 else f"{model}, {threads} threads"

    def measure(plan: Plan) -> Iterator[Row]:
        mine, *others = time_model(model, plan, ("tosajit", *peers), threads)
        better = min(others, key=lambda entry: entry[1].median)
        ratio = mine[1].over(better[1])
        yield Row(
            case=name,
            ours=duration(mine[1].median),
            peer=f"{duration(better[1].median)} {better[0]}",
            ratio=f"{ratio:.2f}",
            target=f"≤ {AHEAD:g} × better peer",
            met=ratio <= AHEAD,
            note=fastest([mine, *others]),
            detail={name: detail(timing) for name, timing in (mine, *others)},
        )

    return Case(model if threads == 1 else f"{model}_{threads}", measure)


def speed_case(name: str, model: str, peer: str, times: float, plan_rounds: int | None = None) -> Case:
    """A model at least `times` as fast as one peer."""

    def measure(plan: Plan) -> Iterator[Row]:
        chosen = Plan(plan_rounds or plan.rounds, plan.seconds, plan.cpu, plan.busy)
        mine, (_, other) = time_model(model, chosen, ("tosajit", peer))
        ratio = other.over(mine[1])
        yield Row(
            case=name,
            ours=duration(mine[1].median),
            peer=f"{duration(other.median)} {peer}",
            ratio=f"{ratio:.1f} × as fast",
            target=f"≥ {times:g} ×",
            met=ratio >= times,
            detail={"tosajit": detail(mine[1]), peer: detail(other)},
        )

    return Case(name, measure)


def peak_case(graph: str, macs: int, share: float | None, kind: str = "bytes", choice: str = "") -> Case:
    """A contraction's share of the peak of int8 dot products on this core, or of FMA of "floats"."""
    name = f"{graph}_{choice}" if choice else graph

    def measure(plan: Plan) -> Iterator[Row]:
        environment = forced(choice)
        workers = (Worker(engine, plan.cpu, environment) for engine in ("tosajit", "peak"))
        with next(workers) as worker, next(workers) as peak:
            about = peak.ask("load", kind=kind)
            worker.ask("load", graph=graph, threads=1)
            mine, top = by_turns((worker, peak), plan.rounds, plan.seconds, plan.busy)
        ratio = (macs / about["macs"]) / mine.over(top)
        yield Row(
            case=name,
            ours=f"{macs / mine.median / 1e9:.1f} GMAC/s",
            peer=f"{about['macs'] / top.median / 1e9:.1f} GMAC/s {about['instruction']}",
            ratio=f"{ratio:.0%}",
            target=f"≥ {share:.0%} of peak" if share else "",
            met=ratio >= share if share else None,
            note=duration(mine.median),
            detail={"tosajit": detail(mine), "peak": detail(top)},
        )

    return Case(name, measure)


LIKE = {"haswell": "AVX2", "alderlake": "AVX2_VNNI", "skylake-avx512": "AVX512_CORE"}
"""CPUs that `TOSAJIT_CPU` names, and what OpenVINO calls the instruction sets that they have."""
TORCH = {"haswell": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}
"""How PyTorch and its library are told."""


def forced(choice: str) -> Mapping[str, str]:
    """What keeps engines to an instruction set; nothing for the best there is."""
    if not choice:
        return {}
    if lacking := sorted(set(known()[choice]) - set(host().features)):
        raise Unavailable(f"this CPU lacks {', '.join(lacking)}")
    return {"TOSAJIT_CPU": choice, "ONEDNN_MAX_CPU_ISA": LIKE[choice], **TORCH.get(choice, {})}


def set_case(model: str, choice: str) -> Case:
    """A model with an instruction set, against OpenVINO with the same, which is not exact."""
    name = f"{model}_{choice}"

    def measure(plan: Plan) -> Iterator[Row]:
        engines = ("tosajit", "openvino")
        mine, (_, other) = time_model(model, plan, engines, environment=forced(choice))
        ratio = mine[1].over(other)
        yield Row(
            case=name,
            ours=duration(mine[1].median),
            peer=f"{duration(other.median)} openvino",
            ratio=f"{ratio:.2f}",
            target="≤ 1 × openvino" if choice == "haswell" else "",
            met=ratio <= 1 if choice == "haswell" else None,
            note=fastest([mine, ("openvino", other)]),
            detail={"tosajit": detail(mine[1]), "openvino": detail(other)},
        )

    return Case(name, measure)


def faster_case(graph: str, other: str, macs: int) -> Case:
    """A contraction that has to take less time than another one."""

    def measure(plan: Plan) -> Iterator[Row]:
        with Worker("tosajit", plan.cpu) as worker, Worker("tosajit", plan.cpu) as peer:
            worker.ask("load", graph=graph, threads=1)
            peer.ask("load", graph=other, threads=1)
            mine, its = by_turns((worker, peer), plan.rounds, plan.seconds, plan.busy)
        ratio = its.over(mine)
        yield Row(
            case=graph,
            ours=f"{macs / mine.median / 1e9:.1f} GMAC/s",
            peer=f"{macs / its.median / 1e9:.1f} GMAC/s {other}",
            ratio=f"{ratio:.2f} × as fast",
            target="> 1 ×",
            met=ratio > 1,
            note=duration(mine.median),
            detail={graph: detail(mine), other: detail(its)},
        )

    return Case(graph, measure)


def overhead_case() -> Case:
    """What a call costs that computes next to nothing."""

    def measure(plan: Plan) -> Iterator[Row]:
        with Worker("tosajit", plan.cpu) as worker:
            worker.ask("load", graph="clamp", threads=1, plain=True)
            (mine,) = by_turns((worker,), plan.rounds, plan.seconds, plan.busy)
            worker.ask("load", graph="clamp", threads=1)
            (bound,) = by_turns((worker,), plan.rounds, plan.seconds, plan.busy)
        note = f"CLAMP of 8 bytes; {duration(bound.median)} with bound arrays"
        yield Row("call overhead", duration(mine.median), note=note, detail=detail(mine))

    return Case("overhead", measure)


def threads_case(model: str, times: float) -> Case:
    """Two threads against one."""

    def measure(plan: Plan) -> Iterator[Row]:
        with Worker("tosajit") as one, Worker("tosajit") as two:
            load(one, model, 1)
            load(two, model, 2)
            single, double = by_turns((one, two), plan.rounds, plan.seconds, plan.busy)
        ratio = single.over(double)
        yield Row(
            case=f"{model}, 2 threads",
            ours=duration(double.median),
            peer=f"{duration(single.median)} 1 thread",
            ratio=f"{ratio:.2f} × as fast",
            target=f"≥ {times:g} ×",
            met=ratio >= times,
            detail={"two threads": detail(double), "one thread": detail(single)},
        )

    return Case(f"{model}_threads", measure)


def time_model(
    model: str,
    plan: Plan,
    engines: Sequence[str],
    threads: int = 1,
    environment: Mapping[str, str] | None = None,
) -> list[tuple[str, Timing]]:
    """Time engines on a model by turns; ours must give the golden bits first, where there are any."""
    with ExitStack() as stack:
        cpu = plan.cpu if threads == 1 else None
        workers = [stack.enter_context(Worker(engine, cpu, environment)) for engine in engines]
        for worker in workers:
            load(worker, model, threads, "f32" if environment else "")
        busy = plan.busy and threads == 1
        return list(zip(engines, by_turns(workers, plan.rounds, plan.seconds, busy), strict=True))


def load(worker: Worker, model: str, threads: int, precision: str = "") -> None:
    """Load a model and its first case into a worker; a model of float32 is computed in float32.

    OpenVINO chooses bf16 by what the CPU has, and then finds no code for it where its set was forced.
    """
    folder = model_files(model)
    inputs = [str(path) for path in sorted(folder.glob("case0_in*.npy"))]
    outputs = [str(path) for path in sorted(folder.glob("case0_out*.npy"))]
    job = {"inputs": inputs, "outputs": outputs, "threads": threads}
    with TemporaryDirectory() as place:
        file = model_file(worker.engine, folder, Path(place))
        precision = "f32" if model.endswith("_f32") else precision
        about = worker.ask("load", **job, model=str(file), precision=precision)
    if about.get("wrong"):
        raise RuntimeError(f"{model}: results differ from the golden {', '.join(about['wrong'])}")


def model_file(engine: str, folder: Path, place: Path) -> Path:
    """The model as an engine reads it."""
    match engine:
        case "litert" | "openvino":
            return folder / "model.tflite"
        case "iree":
            from benching.mlir import module_text
            from tosajit import load as graph_of

            file = place / "model.mlir"
            file.write_text(module_text(graph_of(own_file(folder))))
            return file
    return own_file(folder)


def own_file(folder: Path) -> Path:
    """The model as we read it."""
    files = (folder / f"model.{kind}" for kind in ("tosa", "onnx", "tflite"))
    return next(file for file in files if file.exists())


def fastest(timings: Sequence[tuple[str, Timing]]) -> str:
    """The fastest calls of all engines: what a busy machine disturbs least."""
    return "fastest: " + ", ".join(f"{name} {duration(timing.minimum)}" for name, timing in timings)


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.2f} µs"


def detail(timing: Timing) -> dict[str, Any]:
    """A timing for the JSON file, in seconds."""
    return {"median": timing.median, "minimum": timing.minimum, "rounds": list(timing.rounds)}


def measured(case: Case, plan: Plan) -> Iterator[Row]:
    """The rows of a case; what goes wrong becomes a row too."""
    try:
        yield from case.measure(plan)
    except Unavailable as reason:
        yield Row(case.name, "not measured", note=str(reason))
    except (RuntimeError, OSError) as error:
        yield Row(case.name, "failed", met=False, note=str(error))


KERNELS = (
    peak_case("matmul", MATMUL_MACS, 0.8),
    peak_case("matmul_packed", MATMUL_MACS, None),
    peak_case("conv", CONV_MACS, 0.8),
    peak_case("matmul_f32", MATMUL_MACS, 0.75, "floats"),
    faster_case("matmul_bf16", "matmul_f32", MATMUL_MACS),
    peak_case("conv_f32", CONV_MACS, None, "floats"),
    peak_case("conv_f32_given", CONV_MACS, None, "floats"),
    peak_case("depthwise_f32", DEPTHWISE_MACS, None, "floats"),
)
BY_SET = tuple(
    case
    for choice in LIKE
    for case in (
        peak_case("matmul", MATMUL_MACS, 0.8, choice=choice),
        peak_case("conv", CONV_MACS, 0.8, choice=choice),
        peak_case("matmul_f32", MATMUL_MACS, 0.85, "floats", choice),
        *(
            set_case(model, choice)
            for model in ("mobilenet_v2", "resnet8", "transformer_tiny", "mobilenet_v2_f32")
        ),
    )
)
"""Instruction sets side by side."""
SAMPLES = ("mobilenet_v2", "resnet8", "ds_cnn", "transformer_tiny", "transformer_tiny_f32", "autoencoder")
PEERS = ("litert", "openvino")
WITH_IREE = {"transformer_tiny_f32", "mobilenet_v2_f32", "resnet50_f32"}
"""Models that IREE takes as text of ours."""
MODELS = (
    *(model_case(name, 1, (*PEERS, "iree") if name in WITH_IREE else PEERS) for name in (*SAMPLES, *LARGER)),
    *(model_case(name, 2, PEERS) for name in (*SAMPLES, *LARGER)),
    *(model_case(name, threads, ("onnxruntime",)) for threads in (1, 2) for name in OF_ONNX),
    overhead_case(),
    speed_case("ds_cnn_i16x8", "ds_cnn_i16x8", "litert", 4.0),
    threads_case("mobilenet_v2", 1.7),
    speed_case("mobilenet_v2_arm", "mobilenet_v2", "arm", 100.0, plan_rounds=3),
)
