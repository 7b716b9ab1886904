"""Rows about elementwise operators of floats: against other libraries, and narrow types against float32."""

from __future__ import annotations

from collections.abc import Iterator

from benching.client import Timing, Worker, by_turns
from benching.graphs import CACHED, ELEMENTS, TRANSCENDENTAL
from benching.rows import Case, Plan, Row, detail, duration, forced

TIMES = 1.0
"""NumPy's own vector code takes three to five times what copying takes: no function is much faster."""
SHARE = 0.5
OPERATORS = ("add", "mul", "maximum", "clamp", "exp", "sigmoid")


def function_case(operator: str, function: str) -> Case:
    """An operator on a million float32 against a function of NumPy or SciPy, and against copying them."""

    def measure(plan: Plan) -> Iterator[Row]:
        with (
            Worker("tosajit", plan.cpu) as worker,
            Worker("scipy", plan.cpu) as peer,
            Worker("scipy", plan.cpu) as copy,
        ):
            worker.ask("load", graph=f"{operator}_f32", threads=1)
            package = peer.ask("load", function=function, elements=ELEMENTS)["package"]
            copy.ask("load", function="copy", elements=ELEMENTS)
            mine, other, least = by_turns((worker, peer, copy), plan.rounds, plan.seconds, plan.busy)
        ratio = other.over(mine)
        yield Row(
            case=f"{operator} of 1M float32",
            ours=duration(mine.median),
            peer=f"{duration(other.median)} {package}.{function}",
            ratio=f"{ratio:.1f} × as fast",
            target=f"≥ {TIMES:g} ×",
            met=ratio >= TIMES,
            note=f"copying takes {duration(least.median)}, {other.over(least):.1f} × as fast as the peer",
            detail={"tosajit": detail(mine), package: detail(other), "copy": detail(least)},
        )

    return Case(f"{operator}_f32", measure)


def vector_case(operator: str, choice: str = "") -> Case:
    """An operator on float32 that a cache holds against PyTorch's, which writes to an array that is there."""
    name = f"torch_{operator}_{choice}" if choice else f"torch_{operator}"

    def measure(plan: Plan) -> Iterator[Row]:
        environment = forced(choice)
        for cache, elements in CACHED.items():
            with (
                Worker("tosajit", plan.cpu, environment) as worker,
                Worker("torch", plan.cpu, environment) as peer,
            ):
                worker.ask("load", graph=f"{operator}_f32_{cache}", threads=1)
                peer.ask("load", function=operator, elements=elements)
                mine, other = by_turns((worker, peer), plan.rounds, plan.seconds, plan.busy)
            ratio = mine.over(other)
            yield Row(
                case=f"{operator} of {elements:,} float32 in {cache}{f', {choice}' if choice else ''}",
                ours=duration(mine.median),
                peer=f"{duration(other.median)} torch.{operator}",
                ratio=f"{ratio:.2f}",
                target="≤ 1 × PyTorch",
                met=ratio <= 1,
                detail={"tosajit": detail(mine), "torch": detail(other)},
            )

    return Case(name, measure)


def narrow_case(kind: str) -> Case:
    """Elementwise operators on a narrow type: bytes a second against those of float32."""

    def measure(plan: Plan) -> Iterator[Row]:
        pairs = {name: _pair(name, kind, plan) for name in OPERATORS}
        rates = {name: wide.over(narrow) / 2 for name, (narrow, wide) in pairs.items()}
        least = min(rates, key=lambda name: rates[name])
        mine, other = pairs[least]
        yield Row(
            case=f"{kind} elementwise, {least}",
            ours=_rate(mine, 2),
            peer=f"{_rate(other, 4)} float32",
            ratio=f"{rates[least]:.0%}",
            target=f"≥ {SHARE:.0%} of its bytes a second",
            met=rates[least] >= SHARE,
            note=f"the least of {', '.join(f'{name} {rate:.0%}' for name, rate in rates.items())}",
            detail={
                name: {kind: detail(narrow), "f32": detail(wide)} for name, (narrow, wide) in pairs.items()
            },
        )

    return Case(f"elementwise_{kind}", measure)


def _pair(operator: str, kind: str, plan: Plan) -> tuple[Timing, Timing]:
    """An operator on a narrow type and on float32."""
    with Worker("tosajit", plan.cpu) as narrow, Worker("tosajit", plan.cpu) as wide:
        narrow.ask("load", graph=f"{operator}_{kind}", threads=1)
        wide.ask("load", graph=f"{operator}_f32", threads=1)
        mine, other = by_turns((narrow, wide), plan.rounds, plan.seconds, plan.busy)
        return mine, other


def _rate(timing: Timing, size: int) -> str:
    """Bytes of the result a second."""
    return f"{ELEMENTS * size / timing.median / 1e9:.1f} GB/s"


FUNCTIONS = (
    function_case("exp", "exp"),
    function_case("tanh", "tanh"),
    function_case("sigmoid", "expit"),
    function_case("erf", "erf"),
    narrow_case("f16"),
    narrow_case("bf16"),
    *(vector_case(name.lower(), choice) for choice in ("", "haswell") for name in TRANSCENDENTAL),
)
