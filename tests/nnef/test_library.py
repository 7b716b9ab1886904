"""The standard library: which operators it has, and how they are read (NNEF 2.0 chapter 4)."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tosajit.errors import ScriptError
from tosajit.frontends.nnef.compose import Library, compose
from tosajit.frontends.nnef.library import MODULES, Standard, text_of
from tosajit.frontends.nnef.model import operations
from tosajit.frontends.nnef.syntax.parser import parse
from tosajit.frontends.nnef.syntax.source import Source

OPERATORS = {"layout": 29, "math": 71, "linalg": 4, "nn": 28, "image": 15, "quant": 2, "algo": 2}
NEITHER = {"max_roi_pool", "avg_roi_pool", "top_k", "nonmax_suppress"}
"""Operators that the specification defines by words alone."""
EVERY = [(module, name) for module in MODULES for name in Standard().names(module)]


def test_all_151_operators_are_there() -> None:
    assert Counter(module for module, _ in EVERY) == OPERATORS
    assert sum(OPERATORS.values()) == 151


@pytest.mark.parametrize("module", MODULES)
def test_an_operator_read_alone_is_that_of_its_module(module: str) -> None:
    whole = parse(Source(module, text_of(module)))
    assert [one.name for one in whole.operators] == list(Standard().names(module))
    for operator in whole.operators:
        alone = Standard().find(module, operator.name)
        assert alone is not None
        assert alone.standard
        assert alone.name == f"{module}.{operator.name}"
        lines = [source.text.count("\n", 0, one.span.start) for source, one in
                 ((Source(module, text_of(module)), operator), (alone.source, alone.operator))]  # fmt: skip
        assert lines[0] == lines[1]
        assert [one.name for one in alone.operator.attributes] == [one.name for one in operator.attributes]
        assert [one.type.name for one in alone.operator.outputs] == [
            one.type.name for one in operator.outputs
        ]


@pytest.mark.parametrize(("module", "name"), EVERY)
def test_an_operator_says_what_it_computes_in_one_way(module: str, name: str) -> None:
    found = Standard().find(module, name)
    assert found is not None
    ways = (found.operator.components is not None) + (found.operator.lowerings is not None)
    assert ways == (name not in NEITHER)
    assert found.operator.outputs


@pytest.mark.parametrize(("module", "name"), EVERY)
def test_every_assertion_has_a_message(module: str, name: str) -> None:
    found = Standard().find(module, name)
    assert found is not None
    assert all(one.message is not None for one in found.operator.assertions)


@pytest.mark.slow
def test_the_table_of_operators_is_up_to_date() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, str(root / "tools" / "generate_nnef.py"), "--check"]
    assert subprocess.run(command, check=False, cwd=root).returncode == 0, "run tools/generate_nnef.py"


def test_unknown_names_are_not_found() -> None:
    assert Standard().find("nn", "konv") is None
    assert Standard().find("main", "conv") is None
    assert not Standard().has("main")


def test_a_folder_takes_the_place_of_our_library(tmp_path: Path) -> None:
    (tmp_path / "nn.sknd").write_text("operator relu { @input { x: real[n]; } @output { y: real[n]; } }\n")
    library = Standard(tmp_path)
    assert library.names("nn") == ("relu",)
    found = library.find("nn", "relu")
    assert found is not None
    assert not found.standard
    assert library.find("nn", "conv") is None
    assert not library.has("math")


def test_a_fault_in_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "nn.sknd").write_text("operator relu { @inputs { } }\n")
    with pytest.raises(ScriptError, match="@input"):
        Standard(tmp_path).find("nn", "relu")


def test_modules_say_which_others_they_call(tmp_path: Path) -> None:
    assert Standard().imports("nn") == ("layout", "math")
    assert Standard().imports("layout") == ()
    (tmp_path / "nn.sknd").write_text("import math;\noperator relu { @input { x: real[]; } }\n")
    assert Standard(tmp_path).imports("nn") == ("math",)


def test_a_model_calls_standard_operators() -> None:
    text = (
        "import nn; graph g { @input { x: real[2]; } @output { y: real[2]; } @compose { y = nn.relu(x); } }"
    )
    model = compose(Library({"main": text}, Standard()))
    (relu,) = operations(model.root.body)
    assert (relu.name, relu.definition.standard) == ("nn.relu", True)


def test_modules_of_a_model_come_before_standard_ones() -> None:
    text = (
        "import nn; graph g { @input { x: real[2]; } @output { y: real[2]; } @compose { y = nn.relu(x); } }"
    )
    own = "operator relu { @input { x: real[n]; } @output { y: real[n]; } @lower { y[i] = -x[i], i < n; } }"
    model = compose(Library({"main": text, "nn": own}, Standard()))
    (relu,) = operations(model.root.body)
    assert not relu.definition.standard
