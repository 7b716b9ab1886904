"""What tests of the kernels of single rows and of single pixels have in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.plain_kernels import Kernels
from tests.test_contract_kernels import Guarded, arguments, guarded, integers
from tests.test_float_table import exact, rescale_by
from tests.test_plain_kernels import SETS, Compiled
from tosajit.arrays import Array
from tosajit.kernels.contract import pack
from tosajit.kernels.contract.blocking import PixelBlocking, RowBlocking
from tosajit.kernels.contract.slots import PixelSlot, RowSlot
from tosajit.kernels.contract.source import contract_source
from tosajit.kernels.contract.spec import ContractSpec, Epilogue
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.registry import available_sets, named_set

HOW: list[tuple[InstructionSet, Kernels | Compiled]] = [
    *((isa, Kernels(isa)) for isa in SETS),
    *((named_set(name), Compiled()) for name in available_sets()),
]
how = pytest.mark.parametrize(("isa", "kernels"), [one for one in HOW if one[0].matrices is None])
rescales = pytest.mark.parametrize("is_more", [False, True], ids=["alone", "and more"])


def with_channels(slots: type[RowSlot | PixelSlot], rescale: bool) -> Epilogue:
    """Store sums with the numbers of their channels added or, as bytes, without these."""
    sign = "-" if rescale else "+"
    output = f"output = load_i64(args, {int(slots['OUTPUT'])})"
    return Epilogue(f"store_i32(output, index, np.int32(acc {sign} channel))", output, rescale=rescale)


def weights_of(isa: InstructionSet, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Weights that the set multiplies exactly."""
    least = -127 if isa.name.endswith("_bytes") else -128
    return np.maximum(integers(rng, np.int8, shape), np.int8(least))


def ran(
    kernels: Kernels | Compiled,
    kind: str,
    blocking: RowBlocking | PixelBlocking,
    operands: tuple[Array, Array, Array],
    out: Guarded,
    epilogue: Epilogue,
    **numbers: int,
) -> None:
    """Run a kernel on its input, packed weights and what sums begin with."""
    slots = RowSlot if isinstance(blocking, RowBlocking) else PixelSlot
    kept = [guarded(one) for one in operands]
    scratch = Guarded((blocking.scratch_bytes,), np.uint8)
    places = zip(("SOURCE", "WEIGHT", "INITIAL"), (one.address for one in kept), strict=True)
    args = arguments(slots, blocking, OUTPUT=out.address, SCRATCH=scratch.address, **dict(places), **numbers)
    kernels.run(contract_source(ContractSpec(blocking.isa, kind), epilogue), args)
    assert out.intact()
    assert scratch.intact()


def rescaled(
    isa: InstructionSet,
    slots: type[RowSlot | PixelSlot],
    matrix: Array,
    bias: Array,
    sums: Array,
    double_round: bool,
    is_more: bool,
    run: Callable[..., None],
) -> None:
    """Check what `run(initial, out, epilogue, **numbers)` makes of these sums without the bias."""
    columns = len(bias)
    multiplier = np.random.default_rng(columns).integers(1 << 30, 1 << 31, columns, np.int64)
    scaled = rescale_by(multiplier, 37, double_round, bias, matrix, isa.float_rescale)
    initial = pack.start_values(isa, matrix, bias, 0, 0, rescale=scaled.raised())
    data = guarded(scaled.packed(isa.lanes))
    out = Guarded((columns,), np.int32 if is_more else np.int8)
    epilogue = with_channels(slots, True) if is_more else Epilogue(rescale=True)
    numbers = {"PARAMETERS": data.address, "SIGN": scaled.table.sign, "LOW": -100, "HIGH": 90}
    run(initial, out, epilogue, **numbers)
    results = exact(sums + bias, multiplier, 37, double_round)
    np.testing.assert_array_equal(out.array, results - np.arange(columns) * is_more)
