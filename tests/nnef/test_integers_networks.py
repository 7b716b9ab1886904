"""AlexNet, quantised by NNEF, is the network of integers that one writes in TOSA: in bits and in cycles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import tosajit as tj
from tests.nnef.quantizing import Array, Q
from tosajit import nnef, ops
from tosajit.graph import Graph

CONVOLUTIONS = ((96, 11, 4, 0, True), (256, 5, 1, 2, True), (384, 3, 1, 1, False), (384, 3, 1, 1, False),
                (256, 3, 1, 1, True))  # fmt: skip
"""Channels, size of windows, stride, border, and whether a pool follows; without response normalisation."""
DENSE = (4096, 4096, 1000)
UNIT, WEIGHTS = 0.0625, 2.0**-10


@dataclass(frozen=True)
class AlexNet:
    """The network with a part of its channels."""

    part: int
    last: bool
    """Whether channels are last."""

    @cached_property
    def layers(self) -> list[tuple[int, int, int, int, bool]]:
        """Convolutions."""
        return [(count // self.part, *rest) for count, *rest in CONVOLUTIONS]  # type: ignore[misc]

    def kernels(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Weights as TOSA has them, with their shapes."""
        depth = 3
        for place, (count, size, *_) in enumerate(self.layers):
            yield f"k{place}", (count, size, size, depth)
            depth = count
        depth *= 36
        for place, count in enumerate(DENSE):
            yield f"d{place}", (count // self.part, depth)
            depth = count // self.part

    @cached_property
    def weights(self) -> dict[str, Array]:
        """Integers for all of them."""
        random = np.random.default_rng(0)
        return {name: random.integers(-127, 128, shape, np.int8) for name, shape in self.kernels()}

    def given(self) -> dict[str, Array]:
        """The same in the order that NNEF has for them."""
        if self.last:
            return self.weights
        found = {
            name: one.transpose(0, 3, 1, 2) if one.ndim == 4 else one for name, one in self.weights.items()
        }
        first = found["d0"]
        found["d0"] = first.reshape(len(first), 6, 6, -1).transpose(0, 3, 1, 2).reshape(first.shape)
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an image."""
        return (1, 227, 227, 3) if self.last else (1, 3, 227, 227)

    @property
    def text(self) -> str:
        """The network in SkriptND."""
        compose, said = zip(*self.lines(), strict=True)
        variables = " ".join(f"{name}: real{list(one.shape)};" for name, one in self.given().items())
        return (
            "import layout, math, nn, quant;\n"
            f"graph alexnet {{ @input {{ x: real{list(self.shape)}; }} @output {{ y: real; }}\n"
            f"@variable {{ {variables} }}\n@compose {{ {' '.join(compose)} }}\n"
            f"@quantize {{ x: {Q(UNIT).text}; {' '.join(said)} }} }}"
        )

    def lines(self) -> Iterator[tuple[str, str]]:
        """What is composed, and what is quantised."""
        formats = ", data_format='NXC', filter_format='NXC'" if self.last else ""
        pool = f"axes={[1, 2] if self.last else [2, 3]}, size=[3, 3], stride=[2, 2], padding=0"
        weights, value = Q(WEIGHTS, symmetric=True).text, "x"
        for n, (_, _, stride, border, pools) in enumerate(self.layers):
            attributes = f"stride={stride}, padding={[border] * 4}{formats}"
            yield f"c{n} = nn.conv{{{attributes}}}({value}, k{n}); r{n} = nn.relu(c{n});", f"k{n}: {weights};"
            yield f"p{n} = nn.max_pool{{{pool}}}(r{n});" if pools else "", f"r{n}: {Q(UNIT, -128).text};"
            value = f"p{n}" if pools else f"r{n}"
        yield f"flat = layout.flatten{{axis=1}}({value});", ""
        for n, (before, behind) in enumerate((("flat", "a0"), ("a0", "a1"), ("a1", "y"))):
            function, zero = ("math.iden", 0) if behind == "y" else ("nn.relu", -128)
            yield f"l{n} = nn.linear({before}, d{n});", f"d{n}: {weights};"
            yield f"{behind} = {function}(l{n});", f"{behind}: {Q(UNIT, zero).text};"

    def composed(self) -> Graph:
        """The graph of the text."""
        return nnef.parse(self.text, weights=self.given(), quantized=True)

    def written(self) -> Graph:
        """The graph that one writes in TOSA for the same images."""
        dense = self.given()

        def network(x: tj.Tensor) -> tj.Tensor:
            point, x = 0, x if self.last else ops.transpose(x, perms=[0, 2, 3, 1])
            for place, (_, _, stride, border, pools) in enumerate(self.layers):
                x = _sums(x, self.weights[f"k{place}"], point, -128, stride, border)
                x = ops.max_pool2d(x, kernel=(3, 3), stride=(2, 2)) if pools else x
                point = -128
            x = x if self.last else ops.transpose(x, perms=[0, 3, 1, 2])
            x = ops.reshape(x, (1, 1, 1, dense["d0"].shape[1]))
            for place in range(3):
                kernel = dense[f"d{place}"]
                rows = kernel.reshape(len(kernel), 1, 1, -1)
                x = _sums(x, rows, -128, 0 if place == 2 else -128, 1, 0)
            return ops.reshape(x, (1, x.shape[-1]))

        return tj.jit(network).graph(np.zeros(self.shape, np.int8))


def _sums(x: tj.Tensor, kernel: Array, before: int, behind: int, stride: int, border: int) -> tj.Tensor:
    total = ops.conv2d(x, kernel, None, np.array([before], np.int8), np.array([0], np.int8),
                       pad=[border] * 4, stride=[stride] * 2)  # fmt: skip
    return ops.rescale(total, multiplier=1 << 30, shift=40, output_zp=behind, dtype=tj.INT8)


@pytest.mark.parametrize("last", [True, False], ids=["channels last", "channels first"])
def test_a_part_of_alexnet_has_the_bits_and_the_cycles_of_that_in_tosa(last: bool) -> None:
    network = AlexNet(8, last)
    composed, written = network.composed(), network.written()
    image = np.random.default_rng(1).integers(-128, 128, network.shape, np.int8)
    np.testing.assert_array_equal(tj.compile(composed)(image), tj.compile(written)(image))
    for machine in ("systolic-32", "ethos-u65-256"):
        assert tj.simulate(composed, machine).cycles == tj.simulate(written, machine).cycles


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["systolic-32", "ethos-u65-256"])
@pytest.mark.parametrize("last", [True, False], ids=["channels last", "channels first"])
def test_alexnet_takes_the_cycles_of_that_in_tosa(machine: str, last: bool) -> None:
    network = AlexNet(1, last)
    found, expected = (tj.simulate(one, machine).cycles for one in (network.composed(), network.written()))
    assert abs(found / expected - 1) <= 0.02, (found, expected)
