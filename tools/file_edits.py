"""Damages that leave a file readable: wrong shapes, types, attributes, operands, constants and regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import IntEnum
from math import prod
from random import Random
from typing import Any

import numpy as np

from tosajit.dtypes import DTYPES, SHAPE
from tosajit.errors import FileError
from tosajit.files import from_bytes, to_bytes
from tosajit.graph import Block, Graph, Node, Value
from tosajit.graph.attributes import AttributeFaults
from tosajit.operators import OPERATORS

EXTENTS = (0, 1, 1, 2, 3, 4, 5, 7, 16, 255, 8192, 8193, 65536, (1 << 31) - 1)
NUMBERS = (-(1 << 31), -129, -128, -1, 0, 1, 2, 3, 5, 127, 128, 8192, 8193, (1 << 31) - 1)
LARGEST = 4096


def edit(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Change one thing of the graph, and write it again."""
    try:
        graph = from_bytes(data)
        return to_bytes(_changed(random, graph))
    except FileError:
        return data


def _changed(random: Random, graph: Graph) -> Graph:
    number = random.randrange(len(graph.regions))
    region = graph.regions[number]
    place = random.randrange(len(region.blocks))
    change = random.choice((_value, _value, _operator, _operands, _lists, _order, _swap))
    blocks = list(region.blocks)
    blocks[place] = change(random, blocks[place])
    regions = list(graph.regions)
    regions[number] = replace(region, blocks=tuple(blocks))
    return replace(graph, regions=tuple(regions))


def _value(random: Random, block: Block) -> Block:
    if not block.values:
        return block
    value = random.choice(list(block.values.values()))
    change: Callable[[Random, Value], Value] = random.choice((_reshaped, _reshaped, _retyped, _refilled))
    return replace(block, values={**block.values, value.name: change(random, value)})


def _reshaped(random: Random, value: Value) -> Value:
    shape = list(value.shape or ())
    place = random.randrange(len(shape) + 1)
    match random.randrange(4) if value.dtype is not SHAPE else 0:
        case 0 if shape:
            shape[min(place, len(shape) - 1)] = random.choice(EXTENTS)
        case 1 if shape:
            del shape[min(place, len(shape) - 1)]
        case 2:
            shape = random.sample(shape, len(shape))
        case _:
            shape.insert(place, random.choice(EXTENTS))
    if value.dtype is SHAPE:
        shape = shape[:1]
    return _refilled(random, replace(value, shape=tuple(shape)))


def _retyped(random: Random, value: Value) -> Value:
    if value.dtype is SHAPE:
        return _refilled(random, value)
    dtype = random.choice([dtype for dtype in DTYPES.values() if dtype is not SHAPE])
    return _refilled(random, replace(value, dtype=dtype))


def _refilled(random: Random, value: Value) -> Value:
    if value.data is None:
        return value
    shape = value.shape if value.shape is not None and prod(value.shape) <= LARGEST else (2,)
    choices = np.array(NUMBERS, np.int64)
    if not value.dtype.is_float:
        choices = choices[(choices >= value.dtype.minimum) & (choices <= value.dtype.maximum)]
    picked = np.array([random.randrange(len(choices)) for _ in range(min(8, prod(shape)))], np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        data = np.resize(choices[picked], shape).astype(value.dtype.storage)
    return replace(value, shape=shape, data=data)


def _operator(random: Random, block: Block) -> Block:
    """Another operator, or another attribute."""
    if not block.nodes:
        return block
    place = random.randrange(len(block.nodes))
    node = block.nodes[place]
    fields = dict(node.operator)
    opcode = node.operator.opcode
    if fields and random.random() < 0.8:
        name = random.choice(list(fields))
        fields[name] = _other(random, fields[name])
    else:
        opcode = random.choice(list(OPERATORS))
    try:
        return _with_node(block, place, replace(node, operator=OPERATORS[opcode](**fields)))
    except AttributeFaults:
        return block


def _other(random: Random, value: Any) -> Any:
    match value:
        case bool():
            return not value
        case IntEnum():
            return random.choice(list(type(value)))
        case int() | float():
            return random.choice(NUMBERS)
        case tuple() if value:
            place = random.randrange(len(value))
            return (*value[:place], random.choice(NUMBERS), *value[place + 1 :])
        case str():
            return random.choice(("main", "same", "body", "counter", ""))
    return value


def _operands(random: Random, block: Block) -> Block:
    """Operands in another order, one more, one less, another one."""
    if not block.nodes:
        return block
    place = random.randrange(len(block.nodes))
    node = block.nodes[place]
    if random.random() < 0.7:
        return _with_node(block, place, replace(node, inputs=_names(random, node.inputs, block)))
    return _with_node(block, place, replace(node, outputs=_names(random, node.outputs, block)))


def _lists(random: Random, block: Block) -> Block:
    """Other inputs or outputs of the block."""
    if random.random() < 0.5:
        return replace(block, inputs=_names(random, block.inputs, block))
    return replace(block, outputs=_names(random, block.outputs, block))


def _order(random: Random, block: Block) -> Block:
    """Nodes in another order, one missing, one twice."""
    nodes = list(block.nodes)
    match random.randrange(3):
        case 0:
            random.shuffle(nodes)
        case 1 if nodes:
            del nodes[random.randrange(len(nodes))]
        case _ if nodes:
            nodes.append(random.choice(nodes))
    return replace(block, nodes=tuple(nodes))


def _swap(random: Random, block: Block) -> Block:
    """Two tensors exchange their types and shapes."""
    if len(block.values) < 2:
        return block
    one, other = random.sample(list(block.values.values()), 2)
    swapped = {one.name: replace(other, name=one.name), other.name: replace(one, name=other.name)}
    return replace(block, values={**block.values, **swapped})


def _names(random: Random, names: tuple[str, ...], block: Block) -> tuple[str, ...]:
    changed = list(names)
    known = list(block.values) or [""]
    match random.randrange(4):
        case 0:
            random.shuffle(changed)
        case 1 if changed:
            del changed[random.randrange(len(changed))]
        case 2 if changed:
            changed[random.randrange(len(changed))] = random.choice(known)
        case _:
            changed.insert(random.randrange(len(changed) + 1), random.choice(known))
    return tuple(changed)


def _with_node(block: Block, place: int, node: Node) -> Block:
    return replace(block, nodes=(*block.nodes[:place], node, *block.nodes[place + 1 :]))
