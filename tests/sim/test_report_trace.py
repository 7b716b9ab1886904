"""Traces: the rules of trace events, and Perfetto's own reader."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sim.report import OperatorReport, Report, Span
from sim.report.trace import expanded, flows, trace
from tests.sim.reports import empty, report


def check(data: dict[str, Any]) -> None:
    """The trace-event format: phases, their fields, and slices of a track that nest."""
    assert isinstance(data["traceEvents"], list)
    assert data["displayTimeUnit"] in ("ns", "ms")
    slices = defaultdict(list)
    named = set()
    for event in data["traceEvents"]:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        match event["ph"]:
            case "X":
                assert event["ts"] >= 0
                assert event["dur"] >= 0
                assert isinstance(event["args"], dict)
                slices[event["tid"]].append((event["ts"], event["dur"]))
            case "C":
                assert event["ts"] >= 0
                assert event["args"]
                assert all(isinstance(value, int | float) for value in event["args"].values())
            case "M":
                assert event["name"] in ("process_name", "thread_name", "thread_sort_index")
                named |= {event["tid"]} if event["name"] == "thread_name" else set()
            case phase:
                pytest.fail(f"phase {phase}")
    assert set(slices) <= named
    for track in slices.values():
        ends = [0]
        for start, duration in sorted(track, key=lambda one: (one[0], -one[1])):
            first = round(1e3 * start)
            assert first >= ends[-1], "slices of a track overlap"
            ends.append(first + round(1e3 * duration))


def tracks(data: dict[str, Any]) -> list[str]:
    return [event["args"]["name"] for event in data["traceEvents"] if event["name"] == "thread_name"]


def slices(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in data["traceEvents"] if event["ph"] == "X"]


@pytest.mark.parametrize("clock", [1e6, 200e6, 333e6, 1e9, 1.7e9])
def test_traces_keep_the_rules(clock: float) -> None:
    check(trace(replace(report(20), clock_hz=clock)))
    check(trace(replace(report(20), clock_hz=clock), limit=30))
    check(trace(empty()))


def test_there_is_a_track_for_each_unit_and_a_counter_for_occupancy_and_bandwidth() -> None:
    data = report(20).trace()
    assert tracks(data)[0] == "operators"
    assert set(tracks(data)) == {"operators", "array", "vector", "reduction", "dma", "dma 0"}
    counters = {event["name"] for event in data["traceEvents"] if event["ph"] == "C"}
    assert counters == {"scratchpad", "off-chip bandwidth"}
    assert data["otherData"]["machine"] == "ethos-u55-128"


def test_times_are_those_of_the_clock() -> None:
    made = replace(empty(), clock_hz=1e6, timeline=(Span("array", "conv", "compute", 7, 5),))
    (one,) = slices(made.trace())
    assert (one["ts"], one["dur"], one["name"]) == (7.0, 5.0, "conv")


def test_folded_spans_are_expanded_up_to_the_limit() -> None:
    spans = (Span("array", "a", "compute", 0, 3, 5, 100), Span("dma", "b", "load", 0, 3, 500, 2))
    made = replace(empty(), timeline=spans)
    assert len(slices(trace(made))) == 102
    few = slices(trace(made, limit=50))
    assert sorted(one["name"] for one in few) == ["a × 100", "load b", "load b"]
    (folded,) = [one for one in few if one["name"] == "a × 100"]
    assert folded["args"] == {"cycles": 3, "times": 100, "period in cycles": 5, "busy cycles": 300}
    assert folded["dur"] == pytest.approx((99 * 5 + 3) / 1e3)


def test_no_more_spans_are_drawn_than_allowed() -> None:
    made = report(50, tiles=1_000)
    for limit in (100, 1_099, 1_100, 20_000, 99_999, 100_000):
        assert len(list(expanded(made.timeline, limit))) <= max(limit, 100)
    assert len(list(expanded(made.timeline, 100_000))) == 100_000


def test_a_trace_of_a_billion_tiles_is_small(tmp_path: Path) -> None:
    spans = (Span("array", "a", "compute", 0, 3, 5, 10**9), Span("array", "b", "compute", 4, 1, 5, 10**9))
    made = replace(empty(), timeline=spans)
    made.write_trace(tmp_path / "t.json")
    assert (tmp_path / "t.json").stat().st_size < 2_000
    check(json.loads((tmp_path / "t.json").read_text()))


def test_folded_spans_that_interleave_have_tracks_of_their_own() -> None:
    spans = (Span("dma", "a", "load", 0, 3, 10, 90), Span("dma", "b", "load", 5, 3, 10, 90))
    data = trace(replace(empty(), timeline=spans), limit=10)
    assert tracks(data) == ["operators", "dma", "dma"] or tracks(data) == ["dma", "dma"]
    check(data)


def test_the_bandwidth_is_that_of_the_bytes() -> None:
    spans = (Span("dma", "a", "load", 10, 10, 20, 2, bytes=40),)
    made = replace(empty(), clock_hz=1e9, timeline=spans)
    rates = [
        (event["ts"], event["args"]["GB/s"]) for event in made.trace()["traceEvents"] if event["ph"] == "C"
    ]
    assert rates == [(0.01, 4.0), (0.02, 0.0), (0.03, 4.0), (0.04, 0.0)]


def test_a_span_that_sums_up_many_events_says_how_many() -> None:
    spans = (Span("dma", "a", "load", 0, 300, bytes=64, stands_for=50), Span("dma", "a", "load", 200, 200))
    shown = slices(trace(replace(empty(), timeline=spans)))
    assert sorted(one["name"] for one in shown) == ["load a", "load a × 50"]
    assert {"times": 50, "bytes": 64} in [one["args"] for one in shown]


def test_what_units_move_themselves_is_spread_over_their_work() -> None:
    one = OperatorReport(
        "conv", (), (), "array", {"compute": 40}, traffic={("offchip", "read", "weights"): 100}
    )
    spans = (Span("array", "conv", "compute", 0, 10, 20, 2), Span("dma", "conv", "load", 5, 10, bytes=60))
    made = replace(empty(), cycles=40, operators=(one,), timeline=spans)
    assert sorted(flows(made)) == [(0, 10, 20.0), (5, 15, 60), (20, 30, 20.0)]


def test_folded_spans_of_one_operator_are_one_slice() -> None:
    spans = tuple(Span("dma", "a", "load", 7 * n, 3, 100, 1_000) for n in range(20))
    (one,) = slices(trace(replace(empty(), timeline=spans), limit=100))
    assert one["name"] == "load a × 20,000"
    assert one["args"] == {"times": 20_000, "busy cycles": 60_000}


def test_reports_beside_each_other_are_processes_of_one_trace(tmp_path: Path) -> None:
    reports = [report(3), report(4, machine="other", seed=1)]
    data = trace(*reports)
    check(data)
    assert {event["pid"] for event in data["traceEvents"]} == {1, 2}
    alone = [len(slices(trace(one))) for one in reports]
    assert len(slices(data)) == sum(alone)
    reports[0].compare(reports[1]).write_trace(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text()) == data


def test_joined_reports_can_be_traced() -> None:
    check(Report.joined([report(3), (report(2, seed=1), 40)]).trace())


def test_perfetto_reads_a_trace(tmp_path: Path) -> None:
    processor = pytest.importorskip("perfetto.trace_processor", reason="pip install '.[test]'")
    made = report(6)
    made.write_trace(tmp_path / "trace.json")
    try:
        config = processor.TraceProcessorConfig(load_timeout=30)
        reader = processor.TraceProcessor(trace=str(tmp_path / "trace.json"), config=config)
    except Exception as error:  # the package fetches its binary when it is first used
        pytest.skip(f"Perfetto's trace processor cannot be had: {error}")
    with reader:
        errors = {
            row.name: row.value
            for row in reader.query("select name, value from stats where severity = 'error' and value > 0")
        }
        assert errors == {}
        found = {(row.name, row.ts, row.dur) for row in reader.query("select name, ts, dur from slice")}
        expected = {
            (one["name"], round(1e3 * one["ts"]), round(1e3 * one["dur"])) for one in slices(made.trace())
        }
        assert found == expected
        names = {row.name for row in reader.query("select name from thread where name is not null")}
        assert set(tracks(made.trace())) <= names
        counters = {row.name for row in reader.query("select distinct name from counter_track")}
        assert len(counters) == 2
