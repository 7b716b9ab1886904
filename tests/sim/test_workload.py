"""What the closed form knows of constants: which count as large or small, to the byte."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sim.analytic.workload import SMALL, _constants, _table_of
from sim.cost.forms import form_of
from tests.planning.test_choose import operands_of
from tests.planning.test_menu import NESTS
from tiling.cascade import HELD_BYTES
from tiling.choose import LARGE
from tiling.nest import Nest
from tiling.program import Operand

PRODUCT: Nest = replace(NESTS["product"], verb="contract")


def sized(nest: Nest, bytes_: int, **more: object) -> dict[str, Operand]:
    """The operands of a nest, its second a constant of so many bytes."""
    found = {name: replace(one, kind="input", stored_bytes=None) for name, one in operands_of(nest).items()}
    found["b"] = replace(found["b"], kind="constant", elements=bytes_, **more)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("verb", ["contract", "reduce"])
@pytest.mark.parametrize("edge", [SMALL, LARGE, HELD_BYTES])
@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_constants_are_weights_large_or_small_from_a_size_on(verb: str, edge: int, beyond: int) -> None:
    size = edge + beyond
    nest = replace(PRODUCT, verb="contract" if verb == "contract" else "reduce")
    weights = verb == "contract" and size > SMALL
    expected = (
        size * weights, size * weights, size * (not weights), 1,
        int(not weights and size < HELD_BYTES), int(size >= LARGE), size * (not weights and size >= LARGE),
    )  # fmt: skip
    assert _constants(form_of(nest), nest, sized(nest, size)) == expected


def test_what_is_stored_in_less_is_weights_of_that_size() -> None:
    operands = sized(PRODUCT, 8, stored_bytes=3)
    reduced = replace(PRODUCT, verb="reduce")
    assert _constants(form_of(reduced), reduced, operands) == (8, 3, 0, 1, 0, 0, 0)
    twice = replace(PRODUCT, verb="reduce", reads=(*PRODUCT.reads, PRODUCT.reads[1]))
    assert _constants(form_of(twice), twice, operands) == (16, 6, 0, 2, 0, 0, 0)


def test_the_largest_constant_that_data_choose_from_is_the_table() -> None:
    nest = NESTS["small table"]
    operands = operands_of(nest, constant="a")
    assert _table_of(nest, operands) == (4, 16)
    assert _table_of(nest, operands_of(nest)) == (0, 0)


def test_of_a_table_that_data_choose_from_no_more_counts_than_they_choose() -> None:
    nest = NESTS["large table"]
    operands = operands_of(nest, constant="a")
    form, table = form_of(nest), nest.reads[0]
    chosen = form.traffic(nest.extents)[0]
    assert 0 < chosen < operands[table.operand].bytes
    assert _constants(form, nest, operands) == (0, 0, chosen, 0, 0, 0, 0)
