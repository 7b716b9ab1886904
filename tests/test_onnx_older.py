"""Operator sets before 7: operands are broadcast from a dimension on, and attributes are called otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import single

Array = np.ndarray[Any, Any]
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def run(op: str, given: dict[str, Array], opset: int, **attributes: Any) -> Any:
    graph = tj.load(single(op, given, 1, opset, **attributes))
    assert tj.validate(graph) == ()
    return tj.compile(graph)(*(one for name, one in given.items() if name[0] != "_"))


@pytest.mark.parametrize("name", ["y", "_y"])
@pytest.mark.parametrize("axis", [1, -2])
def test_the_second_operand_is_beside_dimensions_from_one_on(name: str, axis: int) -> None:
    y = np.array([1, 2, 4], np.float32)
    found = run("Mul", {"x": X, name: y}, 6, broadcast=1, axis=axis)
    np.testing.assert_array_equal(found, X * y.reshape(3, 1))


def test_the_second_operand_is_beside_the_last_dimensions_without_one() -> None:
    y = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run("Sub", {"x": X, "y": y}, 6, broadcast=1), X - y)


def test_slopes_are_those_of_channels() -> None:
    slopes = np.array([0.5, 0.25, 0.125], np.float32)
    found = run("PRelu", {"x": -X, "_slopes": slopes}, 6)
    np.testing.assert_array_equal(found, -X * slopes.reshape(3, 1))


def test_attributes_that_were_called_otherwise() -> None:
    np.testing.assert_array_equal(run("Reshape", {"x": X}, 1, shape=[4, -1]), X.reshape(4, 6))
    np.testing.assert_array_equal(run("Cast", {"x": X}, 1, to="INT32"), X.astype(np.int32))
    np.testing.assert_array_equal(run("Concat", {"x": X, "y": X}, 3), np.concatenate([X, X], 1))
    found = run("Pad", {"x": X}, 1, paddings=[0, 0, 1, 0, 0, 2], value=7.0)
    np.testing.assert_array_equal(found, np.pad(X, [(0, 0), (0, 0), (1, 2)], constant_values=7))


@pytest.mark.parametrize(
    ("op", "attributes", "reason"),
    [
        ("Tile", {}, "others before set 6"),
        ("Upsample", {}, "others before set 7"),
        ("Mul", {"axis": 2}, "does not fit"),
    ],
)
def test_what_was_something_else_is_refused(op: str, attributes: dict[str, int], reason: str) -> None:
    given = {"x": X, "_y": np.ones((3, 4), np.float32)}
    with pytest.raises(tj.ModelError, match=reason):
        tj.load(single(op, given, 1, 5, **attributes))


@pytest.mark.parametrize("is_test", [0, 1])
def test_normalisation_is_that_of_inference(is_test: int) -> None:
    numbers = {
        f"_{name}": np.arange(1, 4, dtype=np.float32) for name in ("scale", "bias", "mean", "variance")
    }
    given = {"x": X, **numbers}
    if not is_test:
        with pytest.raises(tj.ModelError, match="for training"):
            tj.load(single("BatchNormalization", given, 1, 6))
        return
    row = np.arange(1, 4, dtype=np.float32).reshape(3, 1)
    wanted = (X - row) / np.sqrt(row + np.float32(1e-5)) * row + row
    np.testing.assert_allclose(run("BatchNormalization", given, 6, is_test=1), wanted, atol=1e-5)
