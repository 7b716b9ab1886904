"""Where the time of a run goes: speeds, and what bounds them. Times here are given, not measured."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tests.building import while_loop
from tosajit import ops
from tosajit.cli import main
from tosajit.kernels.peaks import MEMORY, SIZES, Level, Peaks, cache_sizes
from tosajit.operators import ADD, GREATER
from tosajit.runtime.profile import PRODUCTS, Bound, GroupTime, Profile, bytes_of, macs_of, profile_of
from tosajit.tracing.builder import GraphBuilder

ROWS, DEPTH, COLUMNS = 40, 64, 48
PEAKS = Peaks(
    lambda left, right: {("i8", "i8"): 1e11, ("f32", "f32"): 2e10}.get((left, right)),
    (Level("L1", 1 << 15, 1e11), Level("L2", 1 << 20, 5e10), Level(MEMORY, None, 1e10)),
)


def product() -> tj.Executable:
    """A product with constant weights, and the greatest number of each row of it."""
    weights = np.ones((1, DEPTH, COLUMNS), np.float32)
    zero = np.zeros(1, np.float32)
    left = np.zeros((1, ROWS, DEPTH), np.float32)
    return tj.compile(tj.trace(lambda x: ops.reduce_max(ops.matmul(x, weights, zero, zero), axis=2), left))


@pytest.fixture(scope="module")
def made() -> tj.Executable:
    return product()


def fixed(speed: float, left: str, right: str) -> float:
    """Products of all types are as fast."""
    return speed


def profiled(made: tj.Executable, times: list[list[float]], peaks: Peaks = PEAKS) -> Profile:
    return profile_of(made.graph, made.program, made.explain(), times, peaks)


def test_products_and_bytes_are_counted_once(made: tj.Executable) -> None:
    contraction, reduction = (section.nest for section in made.program.sections)
    operands = made.program.operands
    assert macs_of(contraction) == ROWS * DEPTH * COLUMNS
    assert macs_of(reduction) == 0
    sizes = sorted(bytes_of(contraction, operands, by_array=True).values())
    assert sizes == sorted([4 * ROWS * DEPTH, 4 * ROWS * COLUMNS, 4 * DEPTH * COLUMNS])
    assert sorted(bytes_of(reduction, operands, by_array=False).values()) == [4 * ROWS, 4 * ROWS * COLUMNS]


def test_the_median_of_the_runs_counts_and_shares_add_up(made: tj.Executable) -> None:
    found = profiled(made, [[9e-6, 3e-6, 1e-6], [1e-6, 1e-6, 1e-6]])
    assert [group.seconds for group in found] == [3e-6, 1e-6]
    assert [found.share(group) for group in found] == [0.75, 0.25]
    assert found.seconds == 4e-6
    assert [group.operators for group in found] == [("MATMUL",), ("REDUCE_MAX",)]


def test_a_contraction_is_bound_by_its_products_and_a_reduction_by_its_bytes(made: tj.Executable) -> None:
    contraction, reduction = profiled(made, [[2e-5], [1e-6]])
    least = ROWS * DEPTH * COLUMNS / 2e10
    assert contraction.bound.name == PRODUCTS
    assert contraction.bound.seconds == pytest.approx(least)
    assert contraction.of_bound == pytest.approx(least / 2e-5)
    size = 4 * ROWS * (COLUMNS + 1)
    assert reduction.bound.name == "L1"
    assert reduction.bound.seconds == pytest.approx(size / 1e11)


def test_constants_come_from_where_the_whole_program_has_room(made: tj.Executable) -> None:
    levels = (Level("L1", 1 << 15, 1e12), Level(MEMORY, None, 1e6))
    contraction, _ = profiled(made, [[1.0], [1.0]], Peaks(PEAKS.macs_per_second, levels))
    near, far = 4 * ROWS * (DEPTH + COLUMNS), 4 * DEPTH * COLUMNS
    assert near + far <= 1 << 15 < sum(operand.bytes for operand in made.program.operands.values())
    assert contraction.bound.name == MEMORY
    assert contraction.bound.seconds == pytest.approx(near / 1e12 + far / 1e6)


@pytest.mark.parametrize(
    ("channels", "kernel", "share"), [(16, "winograd i8", 2), (32, "winograd squares", 4)]
)
def test_a_convolution_by_winograd_is_bound_by_a_part_of_its_products(
    channels: int, kernel: str, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "avx2")
    weights, zero = np.ones((channels, 3, 3, channels), np.int8), np.zeros(1, np.int8)
    image, start = np.zeros((1, 16, 16, channels), np.int8), np.zeros(channels, np.int32)
    convolved = tj.trace(lambda x: ops.conv2d(x, weights, start, zero, zero, pad=(1, 1, 1, 1)), image)
    (found,) = profiled(tj.compile(convolved), [[1.0]])
    assert found.kernel.startswith(kernel)
    assert found.bound.seconds == pytest.approx(16**2 * channels**2 * 9 / share / 1e11)


def test_products_that_no_array_kernel_does_are_bound_by_bytes(made: tj.Executable) -> None:
    contraction, _ = profiled(made, [[1.0], [1.0]], Peaks(lambda left, right: None, PEAKS.levels))
    assert contraction.bound.name == "L2"


def test_a_profile_is_a_table_a_page_and_json(made: tj.Executable) -> None:
    found = profiled(made, [[1e-6], [3e-6]])
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["group", "name", "operators", "result"]
    assert [line.split()[0] for line in lines[1:3]] == ["1", "0"]
    assert [line.split()[0] for line in found.table(in_order=True).splitlines()[1:3]] == ["0", "1"]
    assert len(found.table(top=1).splitlines()) == len(lines) - 1
    assert lines[-1] == found.summary
    assert found.summary.startswith("Profile: 2 groups in 4.0 µs, where their bounds allow ")
    assert repr(found) == str(found)
    assert found._repr_html_().count("<tr>") == 3
    assert json.loads(found.to_json())[1]["share"] == 0.75


def test_a_run_is_profiled_group_by_group(made: tj.Executable) -> None:
    left = np.ones((1, ROWS, DEPTH), np.float32)
    found = made.profile(left, runs=3)
    assert [group.kernel for group in found] == [group.kernel for group in made.explain()]
    assert all(group.seconds >= 0 and group.bound.seconds > 0 for group in found)
    with pytest.raises(tj.InputError, match="runs is 0, but must be at least 1"):
        made.profile(left, runs=0)


def test_control_flow_has_the_groups_of_all_programs_as_often_as_they_run() -> None:
    def above(block: GraphBuilder, x: str) -> str:
        return block.add(GREATER(), [x, block.const(np.zeros(1, np.int32), tj.INT32)])

    def less(block: GraphBuilder, x: str) -> str:
        return block.add(ADD(), [x, block.const(np.full(1, -1, np.int32), tj.INT32)])

    builder = GraphBuilder()
    builder.output(*while_loop(builder, [builder.input("n", tj.INT32, (1,))], above, less))
    made = tj.compile(builder.build())
    made.wait()
    groups = made.profile(np.array([5], np.int32), runs=2).groups
    calls = {group.operators: group.bytes for group in groups}
    assert calls == {("GREATER",): 6 * 9, ("ADD",): 5 * 12}
    assert [one.operators for one in made.profile(np.array([0], np.int32), runs=2)] == [("GREATER",)]


def test_the_sizes_of_caches_are_those_that_the_system_tells(tmp_path: Path) -> None:
    assert cache_sizes(tmp_path) == SIZES
    for number, (level, kind, size) in enumerate(
        [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K"), ("4", "Unified", "1K")]
    ):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(text + "\n")
    assert cache_sizes(tmp_path) == {**SIZES, "L1": 48 << 10, "L2": 2 << 20}


def test_a_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tj.samples.path("autoencoder"))
    assert main(["profile", model, "--runs", "2", "--top", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 3 + 2
    assert lines[-1].startswith("Profile: 10 groups in ")
    assert main(["profile", model, "--runs", "1", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 10


TABLE = """\
group  name  operators        result   kernel         µs  share  GMAC/s  GB/s  bound  of bound
    0  n     CONV2D           INT8[1]  a library's  3.00  75.0%     0.2   3.0  MACs        33%
    1  n     ADD SUB MUL      INT8[1]  written      1.00  25.0%                L1          50%
   12  n     ADD SUB MUL + 2  INT8[1]  written      0.00   0.0%                L2         100%

Profile: 3 groups in 4.0 µs, where their bounds allow 1.5 µs"""


def test_a_table_has_its_numbers_below_each_other() -> None:
    groups = (
        group(0, "CONV2D", 3e-6, 600, 9000, Bound("MACs", 1e-6), "a library's"),
        group(1, "ADD SUB MUL", 1e-6, 0, 0, Bound("L1", 5e-7)),
        group(12, "ADD SUB MUL ABS NEG", 0.0, 7, 7, Bound("L2", 0.0)),
    )
    assert str(Profile(groups)) == TABLE
    assert Profile(groups[2:]).share(groups[2]) == 0.0


def group(
    number: int, names: str, seconds: float, macs: int, size: int, bound: Bound, kernel: str = "written"
) -> GroupTime:
    """The time of a group of these operators."""
    return GroupTime(number, ("n",), tuple(names.split()), "INT8[1]", kernel, seconds, macs, size, bound)


def test_json_has_letters_as_they_are(made: tj.Executable) -> None:
    found = profiled(made, [[1e-6], [3e-6]])
    for told in (found, made.explain()):
        assert "×" in told.to_json()
        assert told.to_json() == json.dumps(told.to_dict(), indent=2, ensure_ascii=False)


def test_most_of_the_time_of_bytes_names_the_bound_and_products_win_a_tie(made: tj.Executable) -> None:
    nest, operands = made.program.sections[0].nest, made.program.operands
    inputs = {name for name, operand in operands.items() if operand.kind != "constant"}
    sizes = bytes_of(nest, operands, by_array=True)
    near = sum(size for name, size in sizes.items() if name in inputs)
    levels = (Level("L1", 1 << 15, 2.0**30), Level(MEMORY, None, 2.0**30))
    whole = sum(sizes.values()) / 2.0**30
    assert near > sum(sizes.values()) / 2
    for speed, name in ((nest.points / whole, PRODUCTS), (nest.points / whole * 1.01, "L1")):
        contraction, _ = profiled(made, [[1.0], [1.0]], Peaks(partial(fixed, speed), levels))
        assert contraction.bound.name == name
        assert contraction.bound.seconds == pytest.approx(whole)
