"""Operators that make one number of many."""

from __future__ import annotations

from typing import Any

from drawing import Random, array, shape_of

from onnx_tests.cases import REAL, Drawn, case, chance, integers, one_of


@case("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
      "ReduceSumSquare")  # fmt: skip
def reduced(rng: Random, name: str) -> Drawn:
    """Along some axes, all or none."""
    kinds = ("float32", "float32", "float16", "int32") if name in ("ReduceMax", "ReduceMin") else ("float32",)
    low = 0.2 if name == "ReduceLogSum" else -2
    given = array(rng, one_of(rng, *kinds), shape_of(rng, 1), low, 2)
    attributes: dict[str, Any] = {"keepdims": int(chance(rng))} if chance(rng, 0.7) else {}
    axes = _axes(rng, given.ndim)
    if chance(rng, 0.2):
        attributes |= {"noop_with_empty_axes": 1}
    if axes is None:
        return Drawn((given,), attributes)
    if chance(rng, 0.3) and name != "ReduceSum":
        return Drawn((given,), {"keepdims": 1, "axes": list(axes)}, opsets=(13, 17))
    return Drawn((given, integers(*axes)), attributes, constant=(1,))


@case("ArgMax ArgMin")
def places(rng: Random, name: str) -> Drawn:
    """The first or the last place of the greatest."""
    given = array(rng, one_of(rng, "float32", "int32", "int8", "uint8"), shape_of(rng, 1), -2, 2)
    attributes: dict[str, Any] = {
        "axis": int(rng.integers(-given.ndim, given.ndim)),
        "keepdims": int(chance(rng)),
    }
    return Drawn((given,), attributes | ({"select_last_index": 1} if chance(rng, 0.3) else {}))


@case("TopK")
def greatest(rng: Random, name: str) -> Drawn:
    """Some of the greatest or least, and where they are."""
    given = array(rng, "float32", shape_of(rng, 1), -9, 9)
    axis = int(rng.integers(-given.ndim, given.ndim))
    count = integers(int(rng.integers(1, given.shape[axis] + 1)))
    return Drawn((given, count), {"axis": axis, "largest": int(chance(rng)), "sorted": 1}, (1,), outputs=2)


@case("Softmax LogSoftmax Hardmax")
def shares(rng: Random, name: str) -> Drawn:
    """Shares along an axis."""
    given = array(rng, "float32" if name == "Hardmax" else one_of(rng, *REAL), shape_of(rng, 1), -9, 9)
    return Drawn((given,), {"axis": int(rng.integers(-given.ndim, given.ndim))} if chance(rng, 0.8) else {})


def _axes(rng: Random, rank: int) -> list[int] | None:
    if chance(rng, 0.2):
        return None
    chosen = rng.permutation(rank)[: rng.integers(1, rank + 1)]
    return [int(one) - (rank if chance(rng, 0.3) else 0) for one in chosen]
