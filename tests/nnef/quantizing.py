"""Texts whose tensors are quantised, and both ways to run them: rounded real numbers, and integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tosajit as tj
from tosajit import nnef
from tosajit.graph import Graph

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Q:
    """A linear quantisation, as the tests say it."""

    scale: float | tuple[float, ...]
    zero: int = 0
    bits: int = 8
    signed: bool = True
    symmetric: bool = False
    axis: int = 0

    @property
    def text(self) -> str:
        """As SkriptND has it."""
        scales = self.scale if isinstance(self.scale, float) else list(self.scale)
        return (
            f"quant.zero_point_linear_quantize{{zero_point={self.zero}, scale={scales}, bits={self.bits}, "
            f"signed={str(self.signed).lower()}, symmetric={str(self.symmetric).lower()}, "
            f"channel_axis={self.axis}}}"
        )

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest integer."""
        most = 2 ** (self.bits - 1) - 1 if self.signed else 2**self.bits - 1
        return (-most if self.symmetric else -most - 1) if self.signed else 0, most

    @property
    def dtype(self) -> Any:
        """The type of NumPy for callers."""
        if self.signed:
            return np.int8 if self.bits <= 8 else np.int16 if self.bits <= 16 else np.int32
        return np.uint8 if self.bits == 8 else np.int8 if self.bits < 8 else np.int16

    def along(self, rank: int) -> Any:
        """The scales beside a tensor."""
        if isinstance(self.scale, float):
            return self.scale
        return np.array(self.scale).reshape([-1 if one == self.axis else 1 for one in range(rank)])

    def integers(self, value: Array) -> Array:
        """The integers next to real numbers, halves away from zero (NNEF 2.0 section 4.6)."""
        places = value.astype(np.float64) / self.along(value.ndim)
        whole = np.copysign(np.floor(np.abs(places) + 0.5), places) + self.zero
        found: Array = np.clip(whole, *self.ends).astype(self.dtype)
        return found

    def reals(self, value: Array) -> Array:
        """What integers stand for."""
        found: Array = (value.astype(np.float64) - self.zero) * self.along(value.ndim)
        return found


@dataclass(frozen=True)
class Model:
    """A graph of a few lines: tensors by name with their shapes, and how they are quantised."""

    compose: str
    inputs: Mapping[str, Sequence[int]]
    said: Mapping[str, Q | str]
    output: Sequence[int]
    variables: Mapping[str, Sequence[int]] = field(default_factory=dict)
    seed: int = 0

    @property
    def text(self) -> str:
        """The text."""
        said = {name: one if isinstance(one, str) else one.text for name, one in self.said.items()}

        def declared(shapes: Mapping[str, Sequence[int]]) -> str:
            return " ".join(f"{name}: real{list(shape)};" for name, shape in shapes.items())

        variables = f"@variable {{ {declared(self.variables)} }}" if self.variables else ""
        lines = " ".join(f"{name}: {one};" for name, one in said.items())
        outputs = declared({"y": self.output})
        return (
            "import layout, math, linalg, nn, image, quant;\n"
            f"graph main {{ @input {{ {declared(self.inputs)} }} @output {{ {outputs} }}\n"
            f"{variables}\n@compose {{ {self.compose} }}\n@quantize {{ {lines} }} }}"
        )

    def drawn(self, name: str, shape: Sequence[int]) -> Array:
        """Real numbers over all that a quantisation holds, and some beyond."""
        random = np.random.default_rng([self.seed, *name.encode()])
        said = self.said.get(name)
        if not isinstance(said, Q):
            return random.standard_normal(tuple(shape)).astype(np.float32)
        low, high = (said.reals(np.full((1,) * len(shape), one)) for one in said.ends)
        return random.uniform(1.02 * low, 1.02 * high, tuple(shape)).astype(np.float32)

    @property
    def weights(self) -> dict[str, Array]:
        """The elements of variables."""
        return {name: self.drawn(name, shape) for name, shape in self.variables.items()}

    @property
    def feeds(self) -> list[Array]:
        """Real inputs."""
        return [self.drawn(name, shape) for name, shape in self.inputs.items()]

    def graph(self, weights: Any = None) -> Graph:
        """The graph in integers."""
        return nnef.parse(self.text, weights=self.weights if weights is None else weights, quantized=True)

    def rounded(self) -> Array:
        """What the graph of rounded real numbers gives, as integers."""
        found: Array = tj.compile(nnef.parse(self.text, weights=self.weights))(*self.feeds)
        said = self.said["y"]
        assert isinstance(said, Q)
        return said.integers(found)

    @property
    def integers(self) -> list[Array]:
        """Inputs as integers."""
        given = zip(self.inputs, self.feeds, strict=True)
        return [one.integers(value) if isinstance(one := self.said.get(name), Q) else value
                for name, value in given]  # fmt: skip

    def run(self) -> Array:
        """What the graph of integers gives."""
        found: Array = tj.compile(self.graph(), checked=True)(*self.integers)
        return found


def steps_apart(model: Model) -> Array:
    """How many steps integers are from rounded real numbers."""
    found, expected = model.run(), model.rounded()
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    return np.abs(found.astype(np.int64) - expected)
