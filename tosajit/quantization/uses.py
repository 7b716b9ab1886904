"""Who makes and who uses the values of a graph: softmax as a whole, and what is held in 16 bits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tosajit.dtypes import FP32
from tosajit.graph import Block, Node

_MOVES = frozenset(
    "RESHAPE TRANSPOSE SLICE TILE REVERSE IDENTITY PAD CONCAT GATHER REDUCE_MAX REDUCE_MIN".split()
)
_SHAPED = ("RESHAPE", "TRANSPOSE", "IDENTITY")
_ARITHMETIC = frozenset("ADD SUB MUL REDUCE_SUM RSQRT RECIPROCAL LOG EXP POW".split())
"""Operators that take 16 bits as well as 8: arithmetic, and functions with few digits in bytes."""
_MADE_WIDE = frozenset("ADD SUB MUL REDUCE_SUM RSQRT RECIPROCAL LOG EXP POW GATHER".split())


@dataclass(frozen=True, slots=True)
class Softmax:
    """Exponentials over their sum, however they are written."""

    value: str
    axis: int


class Uses:
    """A block, seen from its values."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.makers = {name: node for node in block.nodes for name in node.outputs}
        self._users: defaultdict[str, list[Node]] = defaultdict(list)
        for node in block.nodes:
            for name in dict.fromkeys(node.inputs):
                self._users[name].append(node)
        self._narrow: dict[str, bool] = {}

    def opcode(self, name: str) -> str:
        """What makes a value."""
        return self.makers[name].operator.opcode if name in self.makers else ""

    def is_once(self, name: str) -> bool:
        """Whether one node alone uses a value."""
        return len(self._users[name]) == 1 and name not in self.block.outputs

    def is_real(self, name: str) -> bool:
        """Whether a value has real numbers."""
        return self.block.values[name].dtype is FP32

    def is_constant(self, name: str) -> bool:
        """Whether a value is known."""
        return self.block.values[name].data is not None

    def is_wide(self, name: str) -> bool:
        """Whether a value is between arithmetic alone, where 16 bits cost little and bytes much accuracy."""
        return self._root(name) in _MADE_WIDE and not self._is_narrow(name)

    def _root(self, name: str) -> str:
        """What makes a value, behind moves."""
        while self.opcode(name) in _SHAPED:
            name = self.makers[name].inputs[0]
        return self.opcode(name)

    def _is_narrow(self, name: str) -> bool:
        """Whether something needs the bytes of a value."""
        pending, seen = [name], {name}
        while pending:
            one = pending.pop()
            if one in self.block.outputs or one in self.softmaxes_of:
                return True
            for user in self._users[one]:
                if user.operator.opcode in _MOVES:
                    fresh = [out for out in user.outputs if out not in seen]
                    seen.update(fresh)
                    pending += fresh
                elif user.operator.opcode not in _ARITHMETIC or self._is_byte_function(user):
                    return True
        return False

    def _is_byte_function(self, user: Node) -> bool:
        """Whether a product is that of a gate: of a function that a table of bytes is for."""
        return user.operator.opcode == "MUL" and any(
            self._root(name) in ("SIGMOID", "TANH", "CLAMP", "ERF") for name in user.inputs
        )

    @cached_property
    def softmaxes(self) -> Mapping[str, Softmax]:
        """Each softmax by the name of its result."""
        found = {}
        for node in self.block.nodes:
            if node.operator.opcode == "MUL" and self.is_real(node.outputs[0]):
                for powers, inverse in (node.inputs[:2], node.inputs[1::-1]):
                    softmax = self._softmax(powers, inverse)
                    if softmax is not None:
                        found[node.outputs[0]] = softmax
        return found

    @cached_property
    def softmaxes_of(self) -> frozenset[str]:
        """What softmaxes take, also before it is moved."""
        found = set()
        for name in (one.value for one in self.softmaxes.values()):
            while name not in found:
                found.add(name)
                if self.opcode(name) in _SHAPED:
                    name = self.makers[name].inputs[0]
        return frozenset(found)

    def _softmax(self, powers: str, inverse: str) -> Softmax | None:
        total = self._argument(inverse, "RECIPROCAL")
        summed = self._argument(total, "REDUCE_SUM")
        below = self._argument(powers, "EXP")
        if summed != powers or total is None or below is None:
            return None
        axis = self._axis(total)
        if self.opcode(below) != "SUB":
            return Softmax(below, axis)
        value, most = self.makers[below].inputs[:2]
        if self._argument(most, "REDUCE_MAX") != value or self._axis(most) != axis:
            return Softmax(below, axis)
        return Softmax(value, axis)

    def _axis(self, name: str) -> int:
        """The dimension that a reduction is along."""
        return int(dict(self.makers[name].operator)["axis"])

    def _argument(self, name: str | None, opcode: str) -> str | None:
        """What an operator of this kind takes, if one makes the value."""
        if name is None or self.opcode(name) != opcode:
            return None
        return self.makers[name].inputs[0]

    @property
    def needed(self) -> list[Node]:
        """The nodes that outputs depend on, in order; what a softmax consists of is not among them."""
        wanted, pending = set(self.block.outputs), list(self.block.outputs)
        while pending:
            name = pending.pop()
            softmax = self.softmaxes.get(name)
            inputs = self.makers[name].inputs if name in self.makers else ()
            for other in inputs if softmax is None else (softmax.value,):
                if other not in wanted:
                    wanted.add(other)
                    pending.append(other)
        return [node for node in self.block.nodes if wanted.intersection(node.outputs)]
