"""Random TFLite models of several operators: those of single ones, whose operands are earlier results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, Unpack

from litert import Kernels

from tests.tflite_cases import drawn
from tests.tflite_cases.files import RawSubgraph
from tests.tflite_cases.sketch import QUANTIZED, Case, Quantized, Sketch
from tosajit.arrays import Array
from tosajit.frontends.tflite.operators import DECLARATIONS
from tosajit.frontends.tflite.reader import read_model
from tosajit.frontends.tflite.schema import Type

KINDS = (Type.INT8, Type.UINT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOL, Type.FLOAT32)
STEADY = frozenset(
    """
    ADD SUB MUL MAXIMUM MINIMUM RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 ABS NEG SQUARED_DIFFERENCE ADD_N
    LOGISTIC TANH HARD_SWISH LEAKY_RELU ELU GELU SIN COS SOFTMAX MEAN SUM REDUCE_MAX REDUCE_MIN CUMSUM
    CONV_2D DEPTHWISE_CONV_2D TRANSPOSE_CONV FULLY_CONNECTED BATCH_MATMUL AVERAGE_POOL_2D MAX_POOL_2D
    RESHAPE TRANSPOSE PAD PADV2 MIRROR_PAD SLICE STRIDED_SLICE CONCATENATION SPLIT SPLIT_V PACK UNPACK TILE
    GATHER REVERSE_V2 SPACE_TO_DEPTH DEPTH_TO_SPACE SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND SQUEEZE EXPAND_DIMS
    """.split()
)
"""Operators of floating point that make small differences no greater than the bounds of a chain allow."""
LONGEST = 8


class _NotPlainError(Exception):
    """A drawer asks for more than operators behind each other."""


class _Inputs(list[Array]):
    """Elements of inputs, which drawers may not look at: they need not be those of their operator."""

    def __getitem__(self, place: Any) -> Any:
        raise _NotPlainError

    def __setitem__(self, place: Any, array: Any) -> None:
        raise _NotPlainError


class Chain(Sketch):
    """A model that is being drawn, whose operands may be results of operators that it has."""

    def __init__(self, seed: object) -> None:
        super().__init__("", f"chain {seed}")
        self.made: list[int] = []
        self.arrays = _Inputs()

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
        """An earlier result, where the operand may have any elements; else an input or a constant."""
        bare = quantized.get("scale") == ()
        candidates = [place for place in self.made if not bare and self._fits(place, kind, shape)]
        if constant is not True and (low, high) == (-4.0, 4.0) and candidates and self.chance(0.8):
            return self._fed(self.random.choice(candidates), shape, **quantized)
        return super().operand(kind, shape, constant=constant, low=low, high=high, **quantized)

    def grow(self) -> None:
        """Add an operator, unless its drawer asks for more than a chain has."""
        drawers = drawn()
        kind = self.random.choice([self.tensors[place].type for place in self.made] or KINDS)
        names = [name for name, one in drawers.items() if kind.label in one.types and self._exact(name, kind)]
        self.name = self.random.choice(sorted(names))
        lists: Sequence[list[Any]] = self.tensors, self.operators, self.inputs, self.outputs, self.arrays
        sizes = [len(one) for one in lists]
        before = self._asked()
        try:
            drawers[self.name].drawer(self, kind)
            plain = self._asked() == before and not any(one.variable for one in self.tensors)
        except _NotPlainError:
            plain = False
        if plain and len(self.operators) <= LONGEST:
            self.made += [place for place in self.outputs[sizes[3] :] if self.tensors[place].type in KINDS]
            return
        for one, size in zip(lists, sizes, strict=True):
            del one[size:]
        self.steps, self.calls, self.kernels, self.known, self.fill, self.counted = before

    @contextmanager
    def subgraph(self, name: str) -> Iterator[None]:
        """Chains have one subgraph."""
        self._refuse()
        yield

    def _refuse(self) -> None:
        raise _NotPlainError

    def _asked(self) -> tuple[int, int, Kernels, RawSubgraph | None, int | None, int]:
        """What a drawer may ask for beside its operator."""
        return self.steps, self.calls, self.kernels, self.known, self.fill, self.counted

    def _exact(self, name: str, kind: Type) -> bool:
        lowered = name in DECLARATIONS and DECLARATIONS[name].kind == "lowered"
        return lowered and (kind is not Type.FLOAT32 or name in STEADY)

    def _fits(self, place: int, kind: Type, shape: Sequence[int]) -> bool:
        found = self.tensors[place]
        scaled = kind not in QUANTIZED or bool(found.scale)
        return found.type is kind and scaled and prod(found.shape) >= prod(shape) > 0

    def _fed(self, place: int, shape: Sequence[int], **quantized: Unpack[Quantized]) -> int:
        """A result as an operand: cut to a shape, in the range of inputs, with the scale it must have."""
        found = self.tensors[place]
        kind, like = found.type, Quantized(scale=found.scale, zero_point=found.zero_point)
        if kind not in QUANTIZED:
            like = Quantized()
        if prod(found.shape) > prod(shape):
            place = self._moved("RESHAPE", place, (prod(found.shape),), like)
            begin, size = (self.constant(Type.INT32, [one]) for one in (0, prod(shape)))
            place = self._moved("SLICE", place, (prod(shape),), like, begin, size)
        if self.tensors[place].shape != tuple(shape):
            place = self._moved("RESHAPE", place, shape, like)
        if kind in (Type.INT32, Type.INT64, Type.FLOAT32):
            most = 4 if kind is Type.FLOAT32 else 400
            place = self._moved("MINIMUM", place, shape, like, self.constant(kind, most))
            place = self._moved("MAXIMUM", place, shape, like, self.constant(kind, -most))
        if "scale" in quantized:
            place = self._moved("QUANTIZE", place, shape, quantized)
        return place

    def _moved(self, name: str, place: int, shape: Sequence[int], like: Quantized, *others: int) -> int:
        """What an operator of our own choice makes of a tensor."""
        if name == "RESHAPE":
            others = (self.constant(Type.INT32, list(shape)),)
        result = self.tensor(self.tensors[place].type, shape, **like)
        self.add([place, *others], result, name=name)
        return result


def chain(seed: int, length: int | None = None) -> Case:
    """A random model of up to eight operators, or of one of them, counted from 1, and what it depends on."""
    sketch = Chain(seed)
    wanted = sketch.random.randint(1, 5)
    for _ in range(40):
        before = len(sketch.operators)
        if before >= LONGEST or wanted == 0:
            break
        sketch.grow()
        wanted -= len(sketch.operators) > before
    if length is not None:
        _cut(sketch, length)
    sketch.relative = sketch.absolute = 1e-5 * max(1, len(sketch.operators))
    return sketch.case()


def names(case: Case) -> list[str]:
    """The operators of a chain."""
    return [one.name for one in read_model(case.model).subgraphs[0].operators]


def shortest(seed: int, faulty: Callable[[Case], bool]) -> Case | None:
    """The first operator of a chain that is faulty with nothing but what it depends on."""
    for length in range(1, len(names(chain(seed))) + 1):
        found = chain(seed, length)
        if faulty(found):
            return found
    return None


def _cut(sketch: Chain, length: int) -> None:
    *earlier, last = sketch.operators[:length]
    kept, needed = [last], set(last.inputs)
    for one in reversed(earlier):
        if needed.intersection(one.outputs):
            kept.insert(0, one)
            needed.update(one.inputs)
    sketch.operators[:] = kept
    sketch.outputs = list(last.outputs)
