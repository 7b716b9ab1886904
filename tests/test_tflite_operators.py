"""Every operator that the TFLite front end lowers gives what LiteRT's reference kernels give."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from litert import LiteRT

from tests.tflite_cases import draw, drawn
from tests.tflite_cases.running import fault
from tosajit.frontends.tflite.operators import DECLARATIONS

SEEDS = range(3)
TYPED = [(name, kind) for name, one in sorted(drawn().items()) for kind in one.types]


@pytest.fixture(scope="module")
def litert() -> Iterator[LiteRT]:
    from litert import interpreter

    if interpreter() is None:
        pytest.skip(
            "there is no environment with ai-edge-litert: TOSAJIT_PEERS says where, `make test` makes it"
        )
    server = LiteRT()
    yield server
    server.close()


@pytest.mark.parametrize(("name", "kind"), TYPED, ids=lambda one: one)
def test_an_operator_gives_what_litert_gives(name: str, kind: str, litert: LiteRT) -> None:
    for seed in SEEDS:
        found = fault(draw(name, kind, seed), litert)
        assert found is None, f"seed {seed}: {found}"


def test_every_lowered_operator_is_drawn_in_every_type() -> None:
    missing = [
        f"{name} {kind}"
        for name, one in DECLARATIONS.items()
        if one.kind != "refused"
        for kind in one.types or ("",)
        if name not in drawn() or (kind and kind not in drawn()[name].types)
    ]
    assert missing == []
