"""Formulas drawn by chance give what the interpreter of the language gives, also in tiles."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tosajit as tj
from tests.nnef.interpreter import run
from tosajit import nnef
from tosajit.arrays import Array
from tosajit.errors import CompileError, ScriptError
from tosajit.frontends.nnef.compose import Library
from tosajit.frontends.nnef.nests.bound import operation_of
from tosajit.frontends.nnef.nests.text import Written

OPERATORS = ("+=", "*=", "<?=", ">?=")


class Drawn:
    """An operator by chance, with linear indices that may leave their tensors."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        draw = self.chance.randint
        self.loops = {name: draw(1, 6) for name in "ijkl"[: draw(2, 4)]}
        self.shapes = {name: [draw(1, 7) for _ in range(draw(1, 3))] for name in "xw"}
        self.output = [draw(2, 8) for _ in range(draw(1, 3))]
        self.operator = self.chance.choice(OPERATORS)
        start = f"y[{self.walked()}] = {self.chance.choice(['0.5', f'u[{self.walked()}]'])}, {self.over()};"
        update = f"y[{self.places()}] {self.operator} {self.value()}, {self.bounds()}{self.condition()};"
        formulas = f"{start if draw(0, 1) else ''} {update}"
        inputs = " ".join(
            f"{name}: real{shape};" for name, shape in {**self.shapes, "u": self.output}.items()
        )
        self.text = f"""
            operator f {{
                @input {{ {inputs} }}
                @output {{ y: real{self.output}; }}
                @lower {{ {formulas} }}
            }}
        """

    def linear(self, names: list[str]) -> str:
        """An index over some loops."""
        terms = [f"{self.chance.choice([1, 1, 1, 2, 3])} * {name}" for name in names]
        return f"|{' + '.join(terms) or '0'} - {self.chance.randint(0, 2)}|"

    def places(self) -> str:
        """Where results go: each loop is in one index at most."""
        names = list(self.loops)
        self.chance.shuffle(names)
        found = []
        for _ in self.output:
            found.append(
                self.linear([names.pop() for _ in range(min(len(names), self.chance.randint(0, 2)))])
            )
        return ", ".join(found) + ","

    def element(self, name: str) -> str:
        """An element of an input."""
        loops = sorted(self.loops)
        few = [self.chance.sample(loops, self.chance.randint(0, 2)) for _ in self.shapes[name]]
        return f"{name}[{', '.join(map(self.linear, few))},]"

    def value(self) -> str:
        """What is accumulated."""
        form = self.chance.choice(["{}", "{} * {}", "{} * {} + 0.25", "0.5 * {} * {}", "abs({}) - {}"])
        return form.replace("{}", self.element("x"), 1).replace("{}", self.element("w"))

    def condition(self) -> str:
        """Sometimes a condition."""
        one, other = self.chance.choices(sorted(self.loops), k=2)
        return self.chance.choice(["", "", f" | {one} + 1 >= {other}", f" | {self.element('x')} > 0.0"])

    def walked(self) -> str:
        """The indices of all elements of the output."""
        return ", ".join(f"d{place}" for place in range(len(self.output))) + ","

    def over(self) -> str:
        """The loops over all elements of the output."""
        return ", ".join(f"d{place} < {extent}" for place, extent in enumerate(self.output))

    def bounds(self) -> str:
        """The loops."""
        return ", ".join(f"{name} < {extent}" for name, extent in self.loops.items())

    @property
    def arrays(self) -> list[Array]:
        """Inputs."""
        generator = np.random.default_rng(self.chance.randint(0, 1 << 30))
        shapes = [*self.shapes.values(), self.output]
        return [generator.normal(size=shape).astype(np.float32) for shape in shapes]

    def expected(self, arrays: list[Array]) -> Array:
        """What the interpreter gives."""
        operation = operation_of(Written(self.text, "f"), [("real", one.shape) for one in arrays])
        given = run(operation, Library({"main": self.text}), dict(zip("xwu", arrays, strict=True)))
        found = given["y"]
        assert isinstance(found, np.ndarray)
        return found


def judge(seed: int, target: tj.Target, interpret: bool) -> None:
    """One operator."""
    drawn = Drawn(seed)
    arrays = drawn.arrays
    expected = drawn.expected(arrays)
    graph = tj.trace(nnef.operator(drawn.text), *arrays)
    executable = tj.compile(graph, target=target, interpret=interpret)
    found = executable(*arrays)
    finite = np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=2e-5, atol=2e-5, err_msg=drawn.text)


@pytest.mark.parametrize("seed", range(60))
def test_nests_are_what_the_interpreter_says(seed: int) -> None:
    judge(seed, tj.HOST, interpret=True)


@pytest.mark.parametrize("seed", range(100, 108))
def test_kernels_in_tiles_are_what_the_interpreter_says(seed: int) -> None:
    judge(seed, tj.TINY, interpret=False)


X = np.ones((4, 4), np.float32)
REFUSED = {
    "unroll..(k -> 1000000000) y[i..] = x[i..], i < s | false;": "more than 4096 loops come of this",
    "y[i,j] += x[i,j], i < 4, j < 4, k < 2000000000, l < 2000000000;": "but may have 1099511627776",
    "y[i,j] += x[i,j], i < 4, j < 4, k < 9000000000000000000;": "`k` has 9000000000000000000 steps",
    "y[i,j] += x[|i * 4611686018427387904|,j], i < 4, j < 4;": "has more than 32 bits",
    "y[i,j] = x[i,j] * real(j * ([0:100000]) + ..), i < 4, j < 4;": "100000 values .* are folded",
    "with v0 = x[i,j], " + ", ".join(f"v{n + 1} = v{n} + x[i,j]" for n in range(3000))
    + ": y[i,j] = v3000, i < 4, j < 4;": "the formula computes 6003 values at a point",
}  # fmt: skip


def alone(formula: str) -> Array:
    """What a formula gives."""
    operands = "@input { x: real[s..]; } @output { y: real[s..]; }"
    operator = nnef.operator(f"operator f {{ {operands} @lower {{ {formula} }} }}")
    found: Array = tj.compile(tj.trace(operator, X))(X)
    return found


@pytest.mark.parametrize(("formula", "fault"), REFUSED.items(), ids=range(len(REFUSED)))
def test_what_a_text_asks_for_is_bounded(formula: str, fault: str) -> None:
    with pytest.raises((CompileError, ScriptError), match=fault):
        alone(formula)


def test_a_value_that_is_used_twice_is_computed_once() -> None:
    doubled = ", ".join(f"v{n + 1} = v{n} + v{n}" for n in range(100))
    found = alone(f"with v0 = x[i,j], {doubled}: y[i,j] = v100, i < 4, j < 4;")
    np.testing.assert_array_equal(found, np.full((4, 4), 2.0**100, np.float32))


def test_formulas_that_are_nested_deeply_are_computed_all_the_same() -> None:
    deep = "sin(" * 60 + "x[i,j]" + ")" * 60
    found = alone(f"y[i,j] = atan({deep}), i < 4, j < 4;")
    expected = X
    for _ in range(60):
        expected = np.sin(expected)
    np.testing.assert_allclose(found, np.arctan(expected), rtol=1e-5)


def test_numbers_beyond_float32_are_infinite() -> None:
    assert np.isposinf(alone("y[i..] = x[i..] * 1e300, i < s;")).all()
