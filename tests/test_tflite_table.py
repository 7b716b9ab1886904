"""The table of TFLite's operators is the truth: a small model of each does what its row says."""

from __future__ import annotations

import pytest

import tosajit as tj
from tests.tflite_cases import draw, drawn
from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tosajit import customs
from tosajit.frontends.frame.declaration import UNWRITTEN
from tosajit.frontends.support import rows
from tosajit.frontends.tflite.operators import DECLARATIONS
from tosajit.frontends.tflite.operators.custom import DOMAIN
from tosajit.frontends.tflite.schema import OPERATORS, Type
from tosajit.operators import CUSTOM

BUILTIN = [name for name in OPERATORS if name != "PLACEHOLDER_FOR_GREATER_OP_CODES"]
TABLE = {row[0]: row for row in rows("tflite")}
RUN = [name for name, row in TABLE.items() if row[1] != "refused"]


def test_every_builtin_operator_has_a_row_and_a_declaration() -> None:
    assert set(BUILTIN) <= TABLE.keys()
    open_ones = [name for name in BUILTIN if name not in DECLARATIONS]
    assert all(TABLE[name][3] == UNWRITTEN and name.endswith(("RNN", "LSTM", "SVDF")) for name in open_ones)


def test_what_is_refused_says_why() -> None:
    for name, declared in DECLARATIONS.items():
        if declared.kind == "refused":
            assert len(declared.summary) > 20, name


@pytest.mark.parametrize("name", RUN)
def test_a_model_of_an_operator_becomes_what_its_row_says(name: str) -> None:
    for kind in drawn()[name].types:
        graph = tj.load(draw(name, kind, 11).model)
        assert tj.validate(graph) == ()
        found = {node.operator.domain_name for node in graph.nodes if isinstance(node.operator, CUSTOM)}
        domain = DOMAIN if name == "CUSTOM" else customs.DOMAIN
        assert found == ({domain} if TABLE[name][1] == "custom" else set())


@pytest.mark.parametrize("name", [name for name in BUILTIN if TABLE[name][1] == "refused"])
def test_a_model_of_a_refused_operator_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(tj.ModelError) as caught:
        tj.load(one_operator(name))
    (refusal,) = caught.value.refusals
    assert refusal.operator == name
    text = f"{refusal.reason}; {refusal.remedy}" if refusal.remedy else refusal.reason
    assert text == TABLE[name][3]


def one_operator(name: str) -> bytes:
    tensors = [RawTensor("x", Type.FLOAT32, (2,)), RawTensor("y", Type.FLOAT32, (2,))]
    node = RawOperator(name, (0,), (1,))
    return RawModel([RawSubgraph(tensors, [node], [0], [1])]).bytes()
