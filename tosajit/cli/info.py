"""`tosajit info`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict

from tiling.words import plain
from tosajit.cli.loading import loaded
from tosajit.cli.output import bytes_text, print_json
from tosajit.display.columns import aligned
from tosajit.display.screen import show
from tosajit.display.summary import Summary, Tensor, summarize


def run(options: Namespace) -> int:
    """Print what is in a model."""
    graph = loaded(options.model, options)
    summary = summarize(graph)
    if options.json:
        listed = {"graph": str(graph)} if options.graph else {}
        print_json({"model": str(options.model), **asdict(summary), **listed})
        return 0
    rows = [(name, text) for name, texts in _rows(summary) for name, text in _indented(name, texts)]
    head = f"{plain(str(options.model), None)}, TOSA {summary.version}"
    show("\n".join([head, *aligned(rows)]))
    if options.graph:
        print(f"\n{graph}")
    return 0


def _rows(summary: Summary) -> Iterator[tuple[str, list[str]]]:
    yield "inputs", [plain(f"%{one}") for one in summary.inputs]
    yield "outputs", [plain(f"%{one}") for one in summary.outputs]
    total = sum(summary.operators.values())
    yield "operators", [f"{total} of {len(summary.operators)} kinds", *_counts(summary)]
    yield "MACs", [f"{summary.macs:,}"]
    yield "parameters", [bytes_text(summary.parameter_bytes)]
    yield "needs", [", ".join(summary.needs) or "nothing"]
    if summary.variables:
        yield "variables", [plain(str(one)) for one in summary.variables]
    if scales := [text for one in (*summary.inputs, *summary.outputs) for text in _scaled(one)]:
        yield "scales", scales
    if len(summary.regions) > 1:
        yield "regions", [", ".join(map(plain, summary.regions))]
    if summary.notes:
        yield "notes", [plain(text) for text in summary.notes]
    if summary.violations:
        yield "violations", [f"{summary.violations}: `tosajit check` lists them"]


def _scaled(one: Tensor) -> Iterator[str]:
    """What integers stand for, if they do."""
    if one.scale is not None and one.zero_point is not None:
        sign = "+" if one.zero_point < 0 else "-"
        yield plain(f"%{one.name}: (integer {sign} {abs(one.zero_point)}) x {one.scale:g}")


def _counts(summary: Summary) -> list[str]:
    return [f"{count:>5} {name}" for name, count in summary.operators.items()]


def _indented(name: str, texts: list[str]) -> list[tuple[str, str]]:
    return [("" if number else name, text) for number, text in enumerate(texts or ["none"])]
