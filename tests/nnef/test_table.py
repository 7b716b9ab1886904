"""The table of NNEF's operators is the truth: graphs of each are what its row says."""

from __future__ import annotations

import json

import pytest
from generate_nnef import opcodes

from tests.nnef.cases import CASES
from tosajit.cli.arguments import main
from tosajit.frontends.nnef.library import MODULES, Standard
from tosajit.frontends.support import rows

TABLE = {row[0]: row for row in rows("nnef")}


def of(kind: str) -> list[str]:
    return [name for name, row in TABLE.items() if row[1] == kind]


def test_every_standard_operator_has_one_row() -> None:
    assert list(TABLE) == [f"{module}.{name}" for module in MODULES for name in Standard().names(module)]
    assert len(TABLE) == len(list(rows("nnef"))) == 151
    assert {row[1] for row in TABLE.values()} <= {"lowered", "custom", "composed", "formula", "refused"}


@pytest.mark.parametrize("name", of("formula"))
def test_what_has_a_formula_alone_is_called_as_a_whole(name: str) -> None:
    found = {opcode for case in CASES.get(name, ()) for opcode in opcodes(case)}
    assert found <= {"CUSTOM"}


@pytest.mark.parametrize("name", of("refused"))
def test_what_is_refused_has_no_graph(name: str) -> None:
    assert not any(opcodes(case) for case in CASES.get(name, ()))
    assert len(TABLE[name][3]) > 20


@pytest.mark.parametrize("name", [*of("lowered"), *of("composed")])
def test_what_is_lowered_has_a_graph(name: str) -> None:
    assert any(map(opcodes, CASES[name]))


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operators", "--from", "nnef", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["operator"] for one in found] == list(TABLE)
    assert main(["operators", "--from", "nnef"]) == 0
    assert "nn.conv" in capsys.readouterr().out
