"""Reports: sums that are checked, figures that follow, text, files and back."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sim.report import CAUSES, OperatorReport, Report, ReportError
from sim.report.text import WIDTH, report_text
from sim.report.words import titles
from tests.sim.reports import empty, report

ODD = ["\n", "\ud7ff", "a" * 5_000, "<b>&'\"", "🙂", "", "$x_1$", "{x}", "%s", 'a,b;"c"']


def renamed(name: str) -> Report:
    made = report(2)
    parts = tuple(replace(one, label=name, members=(name, name)) for one in made.operators)
    spans = tuple(replace(span, label=name) for span in made.timeline)
    return replace(made, program=name, machine=name, operators=parts, timeline=spans)


def test_causes_that_do_not_sum_to_the_total_are_refused() -> None:
    made = report()
    with pytest.raises(ReportError, match=f"sum to {made.cycles} cycles, the report has {made.cycles + 1}"):
        replace(made, cycles=made.cycles + 1)


def test_an_unknown_cause_is_refused() -> None:
    one = OperatorReport("conv", (), (), "array", {"coffee": 3})
    with pytest.raises(ReportError, match=r"conv: coffee: no such cause; there are compute, fill"):
        replace(empty(), cycles=3, operators=(one,))


def test_causes_and_shares_sum_to_the_total() -> None:
    made = report()
    assert sum(made.causes.values()) == made.cycles
    assert sum(made.stalls.values()) + made.causes["compute"] == made.cycles
    assert tuple(made.causes) == CAUSES


def test_what_follows_from_the_fields() -> None:
    one = OperatorReport(
        "conv", ("conv",), (0,), "array", {"compute": 60, "weights": 40}, macs=3_200,
        traffic={("offchip", "read", "weights"): 100, ("offchip", "write", "activations"): 60,
                 ("scratchpad", "read", "weights"): 7},
    )  # fmt: skip
    made = Report(
        "m", "p", "events", 1e6, 100, (one,), {"array": 60}, one.traffic,
        peak_macs_per_cycle=64, offchip_bytes_per_cycle=2.0, energy={"macs": 2e-6, "offchip": 1e-6},
    )  # fmt: skip
    assert made.latency_seconds == 1e-4
    assert made.inferences_per_second == 1e4
    assert made.utilisation == {"array": 0.6}
    assert made.mac_utilisation == 0.5
    assert made.offchip_bytes == 160
    assert made.average_watts == pytest.approx(0.03)
    place = made.roofline
    assert (place.intensity, place.attained, place.bound, place.limit) == (20.0, 32.0, 40.0, "offchip")
    assert place.share == 0.8
    assert made.roofline_of(one) == place
    free = replace(made, offchip_bytes_per_cycle=None).roofline
    assert (free.bound, free.limit) == (64, "array")


def test_what_moves_nothing_is_bound_by_the_array() -> None:
    one = replace(report(1).operators[0], traffic={})
    place = report(1).roofline_of(one)
    assert (place.intensity, place.bound, place.limit) == (None, 128.0, "array")


def test_a_program_that_does_nothing_has_a_report() -> None:
    made = empty()
    assert made.inferences_per_second == float("inf")
    assert made.average_watts == made.mac_utilisation == 0
    assert "0 cycles" in repr(made)
    assert "nothing to do" in str(made)
    assert made._repr_html_()
    assert Report.from_json(made.to_json()) == made
    assert made.trace()["traceEvents"]
    assert str(made.compare(report()))


# Joining


def test_joined_reports_add_up() -> None:
    one, two = report(3, seed=1), report(4, seed=2)
    made = Report.joined([one, (two, 5)], "loop")
    assert made.cycles == one.cycles + 5 * two.cycles
    assert made.macs == one.macs + 5 * two.macs
    assert made.offchip_bytes == one.offchip_bytes + 5 * two.offchip_bytes
    assert made.joules == pytest.approx(one.joules + 5 * two.joules)
    assert made.peak_scratchpad_bytes == max(one.peak_scratchpad_bytes, two.peak_scratchpad_bytes)
    assert (made.program, made.runs, len(made.operators)) == ("loop", 6, 7)
    assert max(span.end for span in made.timeline) <= made.cycles
    assert made.operators[-1].end == made.cycles


@pytest.mark.parametrize(("tiles", "times"), [(8, 3), (3, 8), (1, 5), (5, 1), (4, 4)])
def test_repeated_spans_are_those_of_every_repetition(tiles: int, times: int) -> None:
    one = report(2, tiles=tiles)
    made = Report.joined([one, (one, times)])

    def drawn(made: Report, offset: int) -> list[tuple[str, int, int]]:
        return [
            (span.label, offset + span.first + number * span.period, span.duration)
            for span in made.timeline
            for number in range(span.count)
        ]

    expected = [place for n in range(times + 1) for place in drawn(one, n * one.cycles)]
    assert sorted(drawn(made, 0)) == sorted(expected)


def test_occupancy_of_many_repetitions_is_their_peak() -> None:
    one = report(2)
    assert len(Report.joined([(one, 3)]).occupancy) == 3 * len(one.occupancy)
    many = Report.joined([(one, 1_000_000)])
    assert many.occupancy[-1] == (one.cycles, one.peak_scratchpad_bytes)
    assert many.cycles == 1_000_000 * one.cycles


def test_reports_that_do_not_belong_together_are_not_joined() -> None:
    with pytest.raises(ReportError, match="for different machines"):
        Report.joined([report(), report(machine="other")])
    with pytest.raises(ReportError, match="no reports"):
        Report.joined([])
    with pytest.raises(ReportError, match="-1 times"):
        Report.joined([(report(), -1)])


def test_a_loop_without_a_step_takes_nothing() -> None:
    one, two = report(2, seed=1), report(2, seed=2)
    assert Report.joined([one, (two, 0)]).cycles == one.cycles
    assert Report.joined([(one, 0)]).cycles == 0


# Text


@pytest.mark.parametrize("count", [0, 1, 3, 4, 300])
def test_the_table_has_every_operator_and_fits(count: int) -> None:
    made = report(count) if count else empty()
    lines = str(made).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.startswith("CONV2D conv") for line in lines) == count


def test_long_names_fit_too() -> None:
    made = renamed("CONV2D a/very/long/name/that/goes/on/and/on/until/somebody/stops/it")
    assert max(map(len, str(made).splitlines())) <= WIDTH
    assert "…stops/it" in str(made) or "…" in str(made)
    assert max(map(len, str(made.compare(made)).splitlines())) <= WIDTH


def test_only_the_slowest_operators_are_listed_on_request() -> None:
    made = report(9)
    text = report_text(made, 3)
    assert "6 others" in text
    assert sum(line.startswith("CONV2D conv") for line in text.splitlines()) == 3
    assert "total" not in report_text(made, 0)
    assert report_text(made, 9) == str(made)


def test_groups_are_named_in_one_way() -> None:
    groups = [
        ("CONV2D conv_1 + RESCALE r_1 + CLAMP c_1", 3),
        ("ADD a", 1),
        ("MUL m + ADD b", 2),
        ("9 others", 30),
    ]
    assert titles(groups, 60) == [label for label, _ in groups]
    assert titles(groups, 20) == ["CONV2D conv_1 +2", "ADD a", "MUL m +1", "9 others"]
    assert titles(groups, 12) == ["CONV2D…_1 +2", "ADD a", "MUL m +1", "9 others"]


def test_the_short_form_is_one_line() -> None:
    assert repr(report(300)).count("\n") == 0
    assert "300 groups" in repr(report(300))
    assert len(repr(report(300))) < 150


def test_totals_are_told_with_their_units() -> None:
    text = str(report(9))
    assert "at 500 MHz" in text
    assert "KiB read" in text
    assert "of 64.0 KiB" in text
    assert "inferences/s" in text
    assert "J," in text


@pytest.mark.parametrize("name", ODD, ids=lambda name: ascii(name)[:20])
def test_names_may_be_any_text(name: str, tmp_path: Path) -> None:
    made = renamed(name)
    assert str(made).count("\n") == str(renamed("plain")).count("\n")
    assert repr(made).count("\n") == 0
    assert str(made.compare(made))
    assert Report.from_json(made.to_json()) == made
    for write, file in ((made.to_json, "r.json"), (made.to_csv, "r.csv"), (made.to_html, "r.html")):
        write(tmp_path / file)
    made.write_trace(tmp_path / "t.json")
    assert Report.from_json(tmp_path / "r.json") == made
    assert len(list(csv.reader(io.StringIO((tmp_path / "r.csv").read_text())))) == 4
    json.loads((tmp_path / "t.json").read_text())


# HTML


class Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(text: str) -> Balanced:
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


@pytest.mark.parametrize("count", [1, 9, 40])
def test_pages_are_well_formed_and_need_nothing_else(count: int) -> None:
    made = report(count)
    for text in (made._repr_html_(), made.to_html(), made.compare(made, made).to_html()):
        assert parsed(text).links == []


def test_notebooks_show_the_slowest_operators_and_escape_names() -> None:
    assert "28 faster groups" in report(40)._repr_html_()
    assert "<script" not in renamed("<script>alert(1)</script>")._repr_html_()


# Files


def test_json_reads_back_equal(tmp_path: Path) -> None:
    made = report()
    assert Report.from_json(made.to_json()) == made
    assert Report.from_dict(made.to_dict()) == made
    assert made.to_json(tmp_path / "report.json") == (tmp_path / "report.json").read_text()
    assert Report.from_json(tmp_path / "report.json") == made
    assert Report.from_json(str(tmp_path / "report.json")) == made


def test_the_dictionary_has_what_follows_too() -> None:
    made = report()
    data = made.to_dict()
    assert data["derived"]["latency_seconds"] == made.latency_seconds
    assert data["derived"]["causes"] == made.causes
    assert data["operators"][0]["derived"]["cycles"] == made.operators[0].total
    json.dumps(data, allow_nan=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "cake"}, "not a report"),
        ({"version": 7}, "version 7"),
        ({"cycles": "many"}, "cycles: Input should be a valid integer"),
        ({"cycles": 1}, "the report has 1"),
        ({"mode": "guess"}, "mode: Input should be 'events' or 'analytic'"),
        ({"operators": 3}, "malformed"),
        ({"operators": [3]}, "malformed"),
        ({"operators": [{}]}, "malformed"),
        ({"traffic": [{"memory": "moon"}]}, "malformed"),
        ({"timeline": None}, "malformed"),
        ({"energy": {"scratchpad": float("nan")}}, r"report\.energy\.scratchpad is no finite number"),
        ({"energy": {"scratchpad": 1e308, "offchip": 1e308}}, r"derived\.joules is no finite number"),
        ({"clock_hz": 5e-324}, r"latency_seconds is no finite number"),
        ({"clock_hz": 0.0}, "malformed"),
    ],
)
def test_a_damaged_report_is_told(change: dict[str, Any], message: str) -> None:
    data = report(2).to_dict() | change
    with pytest.raises(ReportError, match=message):
        Report.from_dict(data)


@pytest.mark.parametrize("text", ["{", "{}", '{"a": 1}', "{" * 5_000])
def test_what_is_no_report_is_told(text: str) -> None:
    with pytest.raises(ReportError, match=r"^not "):
        Report.from_json(text)


def test_csv_has_a_row_for_each_operator_and_the_total() -> None:
    made = report(5)
    rows = list(csv.DictReader(io.StringIO(made.to_csv())))
    assert [row["operator"] for row in rows] == [*(one.label for one in made.operators), "total"]
    for column in ("cycles", *CAUSES, "macs", "offchip_read_bytes"):
        assert sum(int(row[column]) for row in rows[:-1]) == int(rows[-1][column])
    assert all(sum(int(row[cause]) for cause in CAUSES) == int(row["cycles"]) for row in rows)


WRITERS = ("to_json", "to_csv", "to_html", "write_trace")


@pytest.mark.parametrize("writer", WRITERS)
def test_a_report_that_cannot_be_written_leaves_no_half_file(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            super().write(data[:10])
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", Full)
    with pytest.raises(ReportError, match=r"file: No space left on device"):
        getattr(report(), writer)(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("writer", WRITERS)
def test_folders_and_missing_folders_are_told(writer: str, tmp_path: Path) -> None:
    write = getattr(report(2), writer)
    with pytest.raises(ReportError, match="expected a file, found a folder"):
        write(tmp_path)
    with pytest.raises(ReportError, match=r"no/file: No such file or directory"):
        write(tmp_path / "no" / "file")
    with pytest.raises(ReportError, match="null"):
        write("a\0b")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_permission_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = report(2)
    made.to_json(tmp_path / "before")
    tmp_path.chmod(0o500)
    monkeypatch.chdir(tmp_path)
    with as_nobody(), pytest.raises(ReportError, match="Permission denied"):
        made.to_json("file")


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root, who may write everywhere, becomes somebody else for a while."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(mine)


def test_a_full_disk_is_told() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with pytest.raises(ReportError, match="No space left"):
        report(2).to_json("/dev/full")


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for path, message in (
        (tmp_path, "folder"),
        (tmp_path / "no", "No such file"),
        (tmp_path / "bytes", "utf-8"),
    ):
        with pytest.raises(ReportError, match=message):
            Report.from_json(path)


# Comparison


def test_comparisons_show_machines_side_by_side() -> None:
    made = report().compare(report(machine="ethos-u85-256", seed=1), report(machine="systolic-16", seed=2))
    text = str(made)
    assert max(map(len, text.splitlines())) <= WIDTH
    for name in ("ethos-u55-128", "ethos-u85-256", "systolic-16", "1.00×", "CONV2D conv8"):
        assert name in text
    assert len(made.to_dict()["reports"]) == 3
    assert made.to_dict()["operators"][0]["cycles"] == [one.operators[0].total for one in made.reports]
    assert json.loads(made.to_json()) == made.to_dict()
    assert made.to_csv().count("\n") == 1 + 3 * 10


def test_comparisons_of_many_machines_are_one_table() -> None:
    made = report().compare(*(report(machine=f"machine-{n}", seed=n) for n in range(30)))
    text = str(made)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "conv8" not in text
    assert text.count("machine-29") == 2
    assert parsed(made._repr_html_())


def test_comparisons_name_programs_where_they_differ() -> None:
    one = report()
    other = replace(one, program="kws")
    assert "kws  " in str(one.compare(other))
    assert "conv8" in str(one.compare(other))
    strange = replace(one, operators=tuple(replace(o, members=(f"{o.label}b",)) for o in one.operators))
    assert "conv8" not in str(one.compare(strange))
    assert str(one.compare(replace(other, clock_hz=1e6))).count("1.00×") == 2
    long = replace(one, program="a network with a long name", machine="a machine with a longer name")
    assert max(map(len, str(long.compare(one, other)).splitlines())) <= WIDTH
    assert "kws on other" in str(one.compare(replace(other, machine="other"), replace(one, machine="other")))
