"""Every operator that the TFLite front end lowers gives what LiteRT's reference kernels give."""

from __future__ import annotations

import pytest
from litert import LiteRT

import tosajit as tj
from tests.tflite_cases import Sketch, draw, drawn
from tests.tflite_cases.chain import chain, names, shortest
from tests.tflite_cases.running import fault
from tosajit.frontends.tflite.operators import DECLARATIONS
from tosajit.frontends.tflite.options import FusedOptions
from tosajit.frontends.tflite.schema import Type

SEEDS = range(3)
TYPED = [(name, kind) for name, one in sorted(drawn().items()) for kind in one.types]


@pytest.mark.parametrize(("name", "kind"), TYPED, ids=lambda one: one)
def test_an_operator_gives_what_litert_gives(name: str, kind: str, litert: LiteRT) -> None:
    for seed in SEEDS:
        found = fault(draw(name, kind, seed), litert)
        assert found is None, f"seed {seed}: {found}"


@pytest.mark.parametrize("seed", range(100))
def test_a_chain_of_operators_gives_what_litert_gives(seed: int, litert: LiteRT) -> None:
    found = chain(seed)
    assert fault(found, litert) is None, f"{' '.join(names(found))}: tools/fuzz_tflite.py finds out where"


def test_products_that_are_far_too_great_stay_at_the_ends() -> None:
    sketch = Sketch("MUL", 1)
    factors = [[-32768, -9, 9, 32767], [32767, 32767, 32767, 32767]]
    places = [sketch.given(Type.INT16, one, scale=(8.0,), zero_point=(0,)) for one in factors]
    sketch.add(places, sketch.result(Type.INT16, (4,), scale=(0.5,), zero_point=(0,)), FusedOptions())
    case = sketch.case()
    found = tj.compile(tj.load(case.model), checked=True)(*case.calls[0])
    assert found.tolist() == [-32768, -32768, 32767, 32767]


def test_the_scale_of_a_product_is_computed_in_float32_as_litert_does(litert: LiteRT) -> None:
    """Of EfficientNetV2: in float64 the product of -27 and 129 becomes -114."""
    sketch = Sketch("MUL", 1)
    places = [
        sketch.given(Type.INT8, [-121], scale=(0.008292981423437595,), zero_point=(-94,)),
        sketch.given(Type.INT8, [1], scale=(0.00390625,), zero_point=(-128,)),
    ]
    result = sketch.result(Type.INT8, (1,), scale=(0.004606036469340324,), zero_point=(-90,))
    sketch.add(places, result, FusedOptions())
    case = sketch.case()
    assert fault(case, litert) is None
    assert tj.compile(tj.load(case.model))(*case.calls[0]).tolist() == [-115]


def test_chains_are_long_and_of_many_operators() -> None:
    drawn_names = [names(chain(seed)) for seed in range(100)]
    assert sum(len(one) >= 4 for one in drawn_names) > 40
    assert len({name for one in drawn_names for name in one}) > 60


def test_a_faulty_operator_of_a_chain_is_found_alone() -> None:
    seed = next(one for one in range(100) if "SLICE" in names(chain(one))[1:])
    found = shortest(seed, lambda case: "SLICE" in names(case))
    assert found is not None
    assert names(found)[-1] == "SLICE"
    assert len(names(found)) <= len(names(chain(seed)))


def test_every_lowered_operator_is_drawn_in_every_type() -> None:
    missing = [
        f"{name} {kind}"
        for name, one in DECLARATIONS.items()
        if one.kind != "refused"
        for kind in one.types or ("",)
        if name not in drawn() or (kind and kind not in drawn()[name].types)
    ]
    assert missing == []
