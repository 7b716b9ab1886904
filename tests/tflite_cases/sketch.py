"""Drawing a TFLite model: tensors with shapes, types, scales and elements that fit them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from litert import Kernels

from tests.tflite_cases.files import RawModel, RawOperator, RawSparsity, RawSubgraph, RawTensor
from tosajit.arrays import Array
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.schema import Type

STORAGE: dict[Type, Any] = {
    Type.FLOAT32: np.float32, Type.FLOAT16: np.float16, Type.INT8: np.int8, Type.UINT8: np.uint8,
    Type.INT16: np.int16, Type.INT32: np.int32, Type.INT64: np.int64, Type.BOOL: np.bool_,
    Type.COMPLEX64: np.complex64,
}  # fmt: skip
NARROW = {Type.INT4: 4, Type.INT2: 2}
QUANTIZED = (Type.INT8, Type.UINT8, Type.INT16)


class Quantized(TypedDict, total=False):
    """What a tensor says about its elements; scales and zero points are drawn where they are not given."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int


@dataclass(frozen=True)
class Case:
    """A model with the inputs of each call, and how much its results may differ from LiteRT's."""

    model: bytes
    calls: tuple[tuple[Array, ...], ...]
    steps: int = 0
    """Of integers."""
    relative: float = 1e-5
    absolute: float = 1e-6
    kernels: Kernels = Kernels.REFERENCE
    """Those of LiteRT that say what is right."""
    known: bytes | None = None
    """A model that LiteRT runs in place of this one, where it has no kernel."""
    fill: int | None = None
    """What stands behind results that are as long in LiteRT as what was found."""
    counted: int = 0
    """How many elements of results are defined for each of those that the last result counts."""


class Sketch:
    """A model that is being drawn: what is added belongs to the subgraph that is open."""

    def __init__(self, name: str, seed: object) -> None:
        self.name = name
        """The operator."""
        self.random = random.Random(str(seed))
        self.numbers = np.random.default_rng(self.random.getrandbits(64))
        self.tensors: list[RawTensor] = []
        self.operators: list[RawOperator] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.arrays: list[Array] = []
        self.subgraphs: list[RawSubgraph] = []
        """Those beside the first."""
        self.steps, self.relative, self.absolute = 0, 1e-5, 1e-6
        self.calls, self.kernels = 1, Kernels.REFERENCE
        self.known: RawSubgraph | None = None
        self.fill: int | None = None
        self.counted = 0

    def shape(self, least: int = 1, most: int = 4, extent: int = 7) -> tuple[int, ...]:
        """Extents of a random rank."""
        return tuple(self.random.randint(1, extent) for _ in range(self.random.randint(least, most)))

    def chance(self, probability: float = 0.5) -> bool:
        """True as often as the probability says."""
        return self.random.random() < probability

    def broadcast(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that can be broadcast to another one."""
        if self.chance():
            return tuple(shape)
        start = self.random.randint(0, len(shape) - 1) if shape else 0
        return tuple(1 if self.chance(0.4) else extent for extent in shape[start:])

    def scale(self, least: float = 1e-3, most: float = 0.5) -> float:
        """A scale, spread evenly by its logarithm; a float32 as a Python float."""
        return float(np.float32(np.exp(self.random.uniform(np.log(least), np.log(most)))))

    def zero_point(self, kind: Type) -> int:
        """A zero point; int16 has none."""
        bounds = {Type.INT8: (-128, 127), Type.UINT8: (0, 255)}.get(kind, (0, 0))
        return self.random.choice(
            [self.random.randint(*bounds), bounds[0], 0 if kind is Type.INT8 else bounds[1]]
        )

    def elements(self, kind: Type, shape: Sequence[int], low: float = -4.0, high: float = 4.0) -> Array:
        """Random elements: all numbers of narrow types, those from `low` to `high` of wide ones."""
        if kind is Type.BOOL:
            return self.numbers.random(shape) < 0.5
        storage = np.dtype(STORAGE[kind])
        if storage.kind == "f":
            return self.numbers.uniform(low, high, shape).astype(storage)
        if kind in QUANTIZED:
            bounds = np.iinfo(storage)
            spread = self.numbers.integers(bounds.min, bounds.max, shape, endpoint=True)
            middle, width = self.random.randint(bounds.min, bounds.max), (bounds.max - bounds.min) // 40
            near = np.clip(self.numbers.integers(-width, width, shape) + middle, bounds.min, bounds.max)
            return (spread if self.chance(0.7) else near).astype(storage)
        return self.numbers.integers(int(low * 100), int(high * 100), shape).astype(storage)

    def operand(
        self,
        kind: Type,
        shape: Sequence[int],
        *,
        constant: bool | None = None,
        low: float = -4.0,
        high: float = 4.0,
        **quantized: Unpack[Quantized],
    ) -> int:
        """An input of the model, or sometimes a constant."""
        elements = self.elements(kind, shape, low, high)
        if self.chance(0.2) and self.arrays if constant is None else constant:
            return self.constant(kind, elements, **quantized)
        place = self.tensor(kind, shape, **quantized)
        self.inputs.append(place)
        self.arrays.append(elements)
        return place

    def given(self, kind: Type, elements: Any, **quantized: Unpack[Quantized]) -> int:
        """An input of the model with these elements."""
        array = np.asarray(elements, STORAGE[kind])
        place = self.tensor(kind, array.shape, **quantized)
        self.inputs.append(place)
        self.arrays.append(array)
        return place

    def constant(self, kind: Type, elements: Any, **quantized: Unpack[Quantized]) -> int:
        """A constant of the model."""
        array = np.asarray(elements, STORAGE[kind])
        return self.tensor(kind, array.shape, array.tobytes(), **quantized)

    def packed(self, kind: Type, shape: Sequence[int], **quantized: Unpack[Quantized]) -> int:
        """A constant of random integers of 4 or 2 bits, of which a byte holds several."""
        bits = NARROW[kind]
        elements = self.numbers.integers(-(1 << bits - 1), 1 << bits - 1, shape).reshape(-1)
        whole = np.resize(elements, (-(-elements.size * bits // 8), 8 // bits)) & (1 << bits) - 1
        data = (whole << np.arange(0, 8, bits)).sum(axis=1).astype(np.uint8).tobytes()
        return self.tensor(kind, shape, data, **quantized)

    def tensor(
        self,
        kind: Type,
        shape: Sequence[int],
        data: bytes | None = None,
        *,
        sparsity: RawSparsity | None = None,
        **quantized: Unpack[Quantized],
    ) -> int:
        """A tensor; quantised types have random scales and zero points unless they are given."""
        if kind in QUANTIZED and "scale" not in quantized:
            quantized["scale"] = (self.scale(),)
        if kind in QUANTIZED and "zero_point" not in quantized:
            quantized["zero_point"] = (self.zero_point(kind),) * len(quantized["scale"])
        name = f"tensor_{len(self.tensors)}"
        self.tensors.append(
            RawTensor(name, kind, tuple(map(int, shape)), data, sparsity=sparsity, **quantized)
        )
        return len(self.tensors) - 1

    def variable(self, kind: Type, shape: Sequence[int], **quantized: Unpack[Quantized]) -> int:
        """A tensor that persists from run to run."""
        place = self.tensor(kind, shape, **quantized)
        self.tensors[place] = replace(self.tensors[place], variable=True)
        return place

    def result(self, kind: Type, shape: Sequence[int], **quantized: Unpack[Quantized]) -> int:
        """An output of the model."""
        place = self.tensor(kind, shape, **quantized)
        self.outputs.append(place)
        return place

    def add(
        self,
        inputs: Sequence[int],
        outputs: int | Sequence[int],
        options: Options | None = None,
        *,
        version: int = 1,
        name: str = "",
        custom: bytes = b"",
    ) -> None:
        """The operator, on tensors that have been drawn; LiteRT takes all types in the first version."""
        written = (outputs,) if isinstance(outputs, int) else tuple(outputs)
        self.operators.append(
            RawOperator(name or self.name, tuple(inputs), written, options, version, custom)
        )

    @contextmanager
    def subgraph(self, name: str) -> Iterator[None]:
        """Draw another subgraph inside of `with`: its number is how many there are behind that."""
        outside = self.tensors, self.operators, self.inputs, self.outputs, self.arrays
        self.tensors, self.operators, self.inputs, self.outputs, self.arrays = [], [], [], [], []
        yield
        self.subgraphs.append(self.drawn(name))
        self.tensors, self.operators, self.inputs, self.outputs, self.arrays = outside

    def drawn(self, name: str) -> RawSubgraph:
        """The subgraph that is open."""
        return RawSubgraph(self.tensors, self.operators, self.inputs, self.outputs, name)

    def case(self) -> Case:
        """The model, with its inputs; behind the first call, others have new ones."""
        calls = [tuple(self.arrays)]
        for _ in range(self.calls - 1):
            calls.append(tuple(map(self.again, self.arrays)))
        bounds = self.steps, self.relative, self.absolute
        model = RawModel([self.drawn("main"), *self.subgraphs]).bytes()
        known = None if self.known is None else RawModel([self.known, *self.subgraphs]).bytes()
        return Case(model, tuple(calls), *bounds, self.kernels, known, self.fill, self.counted)

    def again(self, array: Array) -> Array:
        """Other elements like those of an array."""
        if array.dtype == np.bool_:
            return self.elements(Type.BOOL, array.shape)
        return self.numbers.permuted(array.reshape(-1)).reshape(array.shape)
