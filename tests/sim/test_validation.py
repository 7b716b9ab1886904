"""The page of figures: what it says is what the simulator says now."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import validate
from validating import facts, page
from validating.figures import Explanation, Figure, Table, closing
from validating.networks import convolutions, resnet50
from validating.silicon import halved
from validating.speedups import least_cycles
from validating.systolic import TOTALS, formula

from tosajit.operators import CONV2D

TOOLS = Path(__file__).parents[2] / "tools"

QUICK = argparse.Namespace(quick=True, only="", page=validate.PAGE)


def test_a_figure_knows_whether_it_keeps_its_bound() -> None:
    assert Figure("a", 109, 100, bound=0.1).met
    assert Figure("a", 111, 100, bound=0.1).met is False
    assert Figure("a", 99, 100, relation="at most").met
    assert Figure("a", 101, 100, relation="at most").met is False
    assert Figure("a", 102, 100, relation="at most", bound=0.02).met
    assert Figure("a", 103, 100, relation="at most", bound=0.02).met is False
    assert Figure("a", 99, 100, relation="exact").met is False
    assert Figure("a", 99, 100, relation="at least").met is False
    assert Figure("a", 101, 100, relation="at least").met
    assert Figure("a", 1, 100).met is None
    assert Figure("a", None, 100, bound=0.1).mark == "not predicted"


def test_what_is_known_is_said_of_misses_alone() -> None:
    figures = (
        Figure("near", 1, 1, bound=0.1),
        Figure("far", 2, 1, bound=0.1),
        Figure("odd", 3, 1, bound=0.1),
    )
    table = Table("title", "text", figures, explanations=(Explanation("near|far", "Because."),))
    text = page.section(table)
    assert "* far: Because." in text
    assert "* odd: Not explained yet." in text
    assert closing([table]) == "validate: 1 of 3 figures within their bounds"


def test_the_page_begins_with_medians_and_pictures() -> None:
    figures = (Figure("a", 11, 10), Figure("b", 10, 10), Figure("c", 5, 10), Figure("d", None, 1))
    table = Table("Silicon: i.MX 93", "text", figures, picture="imx-93", fitted="a launch")
    text = page.overview([table, Table("not judged", "text", figures, judged=False)])
    assert "![Silicon: i.MX 93](validation/imx-93.png)" in text
    assert text.splitlines()[-1] == "| [Silicon: i.MX 93](#silicon-imx-93) | 3 | 10.0% | 50.0% | a launch |"
    headings = [line for line in validate.PAGE.read_text().splitlines() if line.startswith("## ")]
    assert headings[0] == "## At a glance"


def test_kinds_of_networks_and_machines_have_medians_of_their_own() -> None:
    kinds = ("CNN", "array"), ("CNN", "board"), ("recurrent", "array"), ("", "")
    figures = [
        Figure(f"{number}", 10 + number, 10, network=network, machine=machine)
        for number, (network, machine) in enumerate(kinds * 2)
    ]
    own = Table("own", "text", tuple(f for f in figures if f.machine != "board"))
    fitted = Table("fitted", "text", tuple(f for f in figures if f.machine == "board"), fitted="a launch")
    assert page.kinds([own, fitted])[-4:] == [
        "| | array | board (fitted) |",
        "|---|--:|--:|",
        "| CNN | 20.0% (2) | 30.0% (2) |",
        "| recurrent | 40.0% (2) |  |",
    ]
    assert page.kinds([Table("none", "text", (Figure("a", 1, 1),))]) == []


def test_the_page_of_machines_says_how_far_to_trust_them(tmp_path: Path) -> None:
    figures = tuple(Figure("a", cycles, 10, machine="U85, dedicated SRAM") for cycles in (10, 11, 13))
    ours = (*figures, Figure("b", 90, 10, machine="U85, dedicated SRAM, Vela's schedule"))
    path = tmp_path / "machines.md"
    path.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nbehind\n")
    for _ in range(2):
        page.write_trust(path, [Table("title", "text", ours)])
    text = path.read_text()
    assert text.startswith(f"before\n{page.BEGIN}\n")
    assert text.endswith(f"{page.END}\nbehind\n")
    assert text.count("| `ethos-u85-…` | 3 | 10.0% | 30.0% |") == 1
    assert "old" not in text
    assert page.BEGIN in validate.MACHINES.read_text()


@pytest.mark.parametrize("net", TOTALS)
def test_the_closed_forms_give_the_totals_of_the_networks(net: str) -> None:
    for dataflow, total in TOTALS[net].items():
        layers = facts.layers(net)
        assert sum(formula(layer, dataflow, 32, 32) - 1 for layer in layers) == total


def test_every_row_of_the_data_has_a_machine_and_a_total() -> None:
    for form in ("tflite", "tosa"):
        assert facts.networks(form)
        assert all(known.cycles >= known.npu_cycles > 0 for known in facts.networks(form))


@pytest.mark.parametrize("part", ["systolic", "networks", "traffic", "silicon"])
def test_the_page_says_what_the_simulator_says(part: str) -> None:
    text = validate.PAGE.read_text()
    for table in validate.PARTS[part](QUICK):
        for figure in table.figures:
            if figure.predicted is None or "random" in figure.case:
                continue
            assert page.row(figure) in text, f"{figure.case}: `make validate` writes the page again"


def test_the_operators_of_two_accelerators_are_as_the_page_says() -> None:
    text = validate.PAGE.read_text()
    (table,) = validate.PARTS["operators"](QUICK)
    assert table.figures
    for figure in table.figures:
        assert page.row(figure) in text, f"{figure.case}: `make validate` writes the page again"


def test_cores_wait_for_what_does_not_fit_ahead() -> None:
    few, many = (10.0, 10), (10.0, 90)
    assert least_cycles([few, many], 0, 1.0) == 100
    assert least_cycles([few, many], 50, 1.0) == 50
    assert least_cycles([few, many], 500, 1.0) == 20
    assert least_cycles([many, few, few], 0, 1.0) == 110


def test_the_layers_of_resnet_50_are_those_of_its_graph() -> None:
    graph = resnet50()
    layers = list(convolutions(graph))
    operators = [node.operator for node in graph.nodes if isinstance(node.operator, CONV2D)]
    assert sorted(stride for _, _, stride, _, _ in layers) == sorted(one.stride[0] for one in operators)
    assert sum((side * kernel) ** 2 * read * made for side, kernel, _, read, made in layers) == 4_089_184_256


def test_no_two_layers_of_resnet_50_have_the_same_weights() -> None:
    graph = resnet50()
    convolved = [node for node in graph.nodes if isinstance(node.operator, CONV2D)]
    weights = [graph.main.values[node.inputs[1]] for node in convolved]
    assert len({one.data.tobytes() for one in weights if one.data is not None}) == len(convolved)


def test_a_buffer_in_halves_reads_what_does_not_fit_anew() -> None:
    graph = resnet50()
    roomy, tight = (halved(graph, 32, 64, size << 10, 20.0) for size in (1 << 20, 128))
    assert roomy == halved(graph, 32, 64, 2 << 30, 20.0) > tight
    assert halved(graph, 32, 64, 1 << 30, 40.0) > roomy
