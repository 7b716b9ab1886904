"""Small valid graphs that hold every operator, control flow, variables and constants of every type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import (
    BF16,
    BOOL,
    DTYPES,
    FP8E4M3,
    FP8E5M2,
    FP16,
    FP32,
    INT4,
    INT8,
    INT16,
    INT32,
    INT48,
    SHAPE,
    DType,
)
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.operators import (
    COND_IF,
    GREATER,
    IDENTITY,
    OPERATORS,
    SUB,
    VARIABLE,
    VARIABLE_READ,
    VARIABLE_WRITE,
    WHILE_LOOP,
)

QUAD, PAIR = (0, 0, 0, 0), (1, 1)
CONV = {"pad": QUAD, "stride": PAIR, "dilation": PAIR, "acc_type": "INT32"}


@dataclass(frozen=True)
class Operand:
    """An input or output of a graph of one operator; with data it is a constant."""

    dtype: DType
    shape: tuple[int, ...]
    data: Array | None = None


def tensor(dtype: DType, *shape: int) -> Operand:
    """An operand that the graph takes or gives."""
    return Operand(dtype, shape)


def constant(dtype: DType, data: Any) -> Operand:
    """A constant operand."""
    array = np.asarray(data, np.float64 if dtype.is_float else np.int64).astype(dtype.storage)
    return Operand(dtype, array.shape, array)


def shape(*extents: int) -> Operand:
    """A constant shape."""
    return constant(SHAPE, np.asarray(extents, np.int64).reshape(-1))


def graph_of(
    opcode: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    attributes: dict[str, Any] | None = None,
) -> Graph:
    """A graph of one operator and the constants that it reads."""
    names = [f"in{i}" for i in range(len(inputs))]
    values = [Value(n, o.dtype, o.shape, o.data) for n, o in zip(names, inputs, strict=True)]
    results = [Value(f"out{i}", o.dtype, o.shape, o.data) for i, o in enumerate(outputs)]
    nodes = [_constant(value) for value in values if value.data is not None]
    operator = OPERATORS[opcode](**(attributes or {}))
    nodes.append(Node(operator, tuple(names), tuple(value.name for value in results), f'loc("{opcode}":1:2)'))
    taken = tuple(value.name for value in values if value.data is None)
    return Graph((region("main", nodes, [*values, *results], taken, [value.name for value in results]),))


def region(
    name: str, nodes: Sequence[Node], values: Sequence[Value], inputs: Sequence[str], outputs: Sequence[str]
) -> Region:
    """A region of one block."""
    block = Block(name, tuple(nodes), {value.name: value for value in values}, tuple(inputs), tuple(outputs))
    return Region(name, (block,))


def seeds() -> dict[str, Graph]:
    """Every seed by name; each operator is the name of one."""
    made = {**_elementwise(), **_tensor(), **_layout(), **_data()}
    return {
        **made,
        "COND_IF": branch(),
        "WHILE_LOOP": loop(),
        "VARIABLE": counter(),
        "constants": constants(),
    }


def branch() -> Graph:
    """COND_IF over two regions, one of which holds another COND_IF."""
    x, y = (Value(name, INT32, (2,)) for name in "xy")
    test = Value("test", BOOL, ())
    choose = Node(COND_IF(then_graph="negative", else_graph="same"), ("test", "x"), ("y",))
    inner = Node(COND_IF(then_graph="same", else_graph="same"), ("test", "x"), ("y",))
    same = Node(IDENTITY(), ("x",), ("y",))
    always = Value("test", BOOL, (), np.array(True))
    return Graph(
        (
            region("main", [choose], [test, x, y], ["test", "x"], ["y"]),
            region("negative", [_constant(always), inner], [always, x, y], ["x"], ["y"]),
            region("same", [same], [x, y], ["x"], ["y"]),
        )
    )


def loop() -> Graph:
    """WHILE_LOOP that counts down to zero."""
    n, m, more = Value("n", INT32, ()), Value("m", INT32, ()), Value("more", BOOL, ())
    zero, one = (Value(name, INT32, (), np.array(i, np.int32)) for i, name in enumerate(("zero", "one")))
    run = Node(WHILE_LOOP(cond_graph="condition", body_graph="body"), ("n",), ("m",))
    greater = Node(GREATER(), ("n", "zero"), ("more",))
    less = Node(SUB(), ("n", "one"), ("m",))
    return Graph(
        (
            region("main", [run], [n, m], ["n"], ["m"]),
            region("condition", [_constant(zero), greater], [n, zero, more], ["n"], ["more"]),
            region("body", [_constant(one), less], [n, one, m], ["n"], ["m"]),
        )
    )


def counter() -> Graph:
    """A variable that is declared, read, changed and written, also by a region."""
    state = Value("state", INT8, (4,), np.array([1, 2, 4, -128], np.int8), "counter")
    x, y, z = (Value(name, INT8, (4,)) for name in "xyz")
    test = Value("test", BOOL, ())
    read, write = VARIABLE_READ(name="counter"), VARIABLE_WRITE(name="counter")
    keep = COND_IF(then_graph="write", else_graph="read")
    nodes = [
        Node(VARIABLE(name="counter"), (), ("state",)),
        Node(read, (), ("y",)),
        Node(keep, ("test", "x"), ("z",)),
    ]
    both = region("write", [Node(write, ("x",), ()), Node(read, (), ("y",))], [x, y], ["x"], ["y"])
    only = region("read", [Node(read, (), ("y",))], [x, y], ["x"], ["y"])
    main = region("main", nodes, [state, test, x, y, z], ["test", "x"], ["y", "z"])
    return Graph((main, both, only))


def constants() -> Graph:
    """Constants of every type, with an odd number of elements, of rank 0, and shapes without components."""
    arrays: list[tuple[str, DType, tuple[int, ...]]]
    arrays = [("odd_" + name, dtype, (3, 3)) for name, dtype in DTYPES.items() if dtype is not SHAPE]
    arrays += [("rank0_" + name, dtype, ()) for name, dtype in DTYPES.items() if dtype is not SHAPE]
    arrays += [("nothing", SHAPE, (0,)), ("extents", SHAPE, (3,))]
    values = [Value(name, dtype, extents, _filled(dtype, extents)) for name, dtype, extents in arrays]
    outputs = [value.name for value in values if value.dtype is not SHAPE]
    return Graph((region("main", [_constant(value) for value in values], values, [], outputs),))


def _filled(dtype: DType, extents: tuple[int, ...]) -> Array:
    count = int(np.prod(extents))
    wide = np.resize(
        np.array([dtype.minimum, dtype.maximum, 0, 1], np.float64 if dtype.is_float else np.int64), count
    )
    return wide.astype(dtype.storage).reshape(extents)


def _constant(value: Value) -> Node:
    return Node(OPERATORS["CONST_SHAPE" if value.dtype is SHAPE else "CONST"](), (), (value.name,))


def _elementwise() -> dict[str, Graph]:
    whole, real, truth = tensor(INT32, 2, 3), tensor(FP32, 2, 3), tensor(BOOL, 2, 3)
    forms = {
        whole: "ABS ADD BITWISE_AND BITWISE_NOT BITWISE_OR BITWISE_XOR CLZ INTDIV LOGICAL_LEFT_SHIFT "
        "LOGICAL_RIGHT_SHIFT MAXIMUM MINIMUM SUB",
        real: "CEIL COS ERF EXP FLOOR LOG POW RECIPROCAL RSQRT SIGMOID SIN TANH",
        truth: "LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGICAL_XOR",
    }
    made = {
        name: graph_of(name, [operand] * len(OPERATORS[name].operands_read), [operand])
        for operand, names in forms.items()
        for name in names.split()
    }
    zero = constant(INT8, [0])
    small = tensor(INT8, 2, 3)
    made |= {name: graph_of(name, [whole, whole], [truth]) for name in ("EQUAL", "GREATER", "GREATER_EQUAL")}
    made["ARITHMETIC_RIGHT_SHIFT"] = graph_of("ARITHMETIC_RIGHT_SHIFT", [whole] * 2, [whole], {"round": True})
    made["MUL"] = graph_of("MUL", [whole, whole, constant(INT8, [3])], [whole])
    made["NEGATE"] = graph_of("NEGATE", [small, zero, zero], [small])
    made["SELECT"] = graph_of("SELECT", [truth, whole, whole], [whole])
    made["TABLE"] = graph_of("TABLE", [small, constant(INT8, range(-128, 128))], [small])
    made["CLAMP"] = graph_of("CLAMP", [small], [small], {"min_val": -3, "max_val": 5})
    for dtype in (INT16, FP16, FP32, BF16):
        bounds = (
            {"min_val": -2.5, "max_val": 0.125} if dtype.is_float else {"min_val": -999, "max_val": 30000}
        )
        made[f"CLAMP {dtype}"] = graph_of("CLAMP", [tensor(dtype, 3)], [tensor(dtype, 3)], bounds)
    made["CAST"] = graph_of("CAST", [whole], [small])
    rescale = [whole, constant(INT32, [1 << 30]), constant(INT8, [31]), constant(INT32, [0]), zero]
    made["RESCALE"] = graph_of(
        "RESCALE", rescale, [small], {"scale32": True, "rounding_mode": "SINGLE_ROUND"}
    )
    return made


def _tensor() -> dict[str, Graph]:
    zero, image = constant(INT8, [0]), tensor(INT8, 1, 4, 4, 2)
    bias = constant(INT32, [1, -2, 3])
    pool = {"kernel": (2, 2), "stride": (2, 2), "pad": QUAD}
    wave, spectrum = tensor(FP32, 1, 4, 4), tensor(FP32, 1, 4, 3)
    made = {
        "ARGMAX": graph_of("ARGMAX", [image], [tensor(INT32, 1, 4, 2)], {"axis": 2}),
        "AVG_POOL2D": graph_of(
            "AVG_POOL2D", [image, zero, zero], [tensor(INT8, 1, 2, 2, 2)], pool | {"acc_type": "INT32"}
        ),
        "MAX_POOL2D": graph_of("MAX_POOL2D", [image], [tensor(INT8, 1, 2, 2, 2)], pool),
        "MATMUL": graph_of(
            "MATMUL", [tensor(INT8, 1, 2, 3), tensor(INT8, 1, 3, 4), zero, zero], [tensor(INT32, 1, 2, 4)]
        ),
        "FFT2D": graph_of("FFT2D", [wave, wave], [wave, wave], {"inverse": True}),
        "RFFT2D": graph_of("RFFT2D", [wave], [spectrum, spectrum], {"local_bound": True}),
    }
    ones = constant(INT8, np.ones((3, 2, 2, 2)))
    made["CONV2D"] = graph_of("CONV2D", [image, ones, bias, zero, zero], [tensor(INT32, 1, 3, 3, 3)], CONV)
    packed = constant(INT4, np.arange(-7, 5).reshape(3, 1, 2, 2))
    made["CONV2D INT4"] = graph_of(
        "CONV2D", [image, packed, bias, zero, constant(INT4, [0])], [tensor(INT32, 1, 4, 3, 3)], CONV
    )
    made["CONV3D"] = graph_of(
        "CONV3D",
        [tensor(INT8, 1, 2, 3, 3, 2), constant(INT8, np.ones((3, 1, 2, 2, 2))), bias, zero, zero],
        [tensor(INT32, 1, 2, 2, 2, 3)],
        {"pad": (0,) * 6, "stride": (1,) * 3, "dilation": (1,) * 3, "acc_type": "INT32"},
    )
    made["DEPTHWISE_CONV2D"] = graph_of(
        "DEPTHWISE_CONV2D",
        [image, constant(INT8, np.ones((2, 2, 2, 1))), constant(INT32, [5]), zero, zero],
        [tensor(INT32, 1, 3, 3, 2)],
        CONV,
    )
    made["TRANSPOSE_CONV2D"] = graph_of(
        "TRANSPOSE_CONV2D",
        [image, ones, bias, zero, zero],
        [tensor(INT32, 1, 5, 5, 3)],
        {"out_pad": QUAD, "stride": PAIR, "acc_type": "INT32"},
    )
    made["CONV2D INT48"] = graph_of(
        "CONV2D",
        [tensor(INT16, 1, 4, 4, 2), ones, constant(INT48, [1 << 46, -1, 0]), constant(INT16, [0]), zero],
        [tensor(INT48, 1, 3, 3, 3)],
        CONV | {"acc_type": "INT48"},
    )
    return made


def _layout() -> dict[str, Graph]:
    grid, mask = tensor(INT16, 2, 3), tensor(BOOL, 2, 3)
    table, places = tensor(INT8, 1, 5, 2), constant(INT32, [[4, 0, 2]])
    picked = tensor(INT8, 1, 3, 2)
    zoom = [tensor(INT8, 1, 3, 3, 1), shape(4, 2, 4, 2), shape(0, 0), shape(0, 0)]
    made = {
        "CONCAT": graph_of("CONCAT", [grid, grid, grid], [tensor(INT16, 6, 3)], {"axis": 0}),
        "PAD": graph_of("PAD", [grid, shape(1, 0, 0, 2), constant(INT16, [7])], [tensor(INT16, 3, 5)]),
        "RESHAPE": graph_of("RESHAPE", [grid, shape(3, 2, 1)], [tensor(INT16, 3, 2, 1)]),
        "RESHAPE to rank 0": graph_of("RESHAPE", [tensor(INT8, 1, 1), shape()], [tensor(INT8)]),
        "REVERSE": graph_of("REVERSE", [grid], [grid], {"axis": 1}),
        "SLICE": graph_of("SLICE", [grid, shape(1, 0), shape(1, 2)], [tensor(INT16, 1, 2)]),
        "TILE": graph_of("TILE", [grid, shape(2, 1)], [tensor(INT16, 4, 3)]),
        "TRANSPOSE": graph_of("TRANSPOSE", [grid], [tensor(INT16, 3, 2)], {"perms": (1, 0)}),
        "GATHER": graph_of("GATHER", [table, places], [picked]),
        "SCATTER": graph_of("SCATTER", [table, places, picked], [table]),
        "RESIZE": graph_of("RESIZE", zoom, [tensor(INT8, 1, 5, 5, 1)], {"mode": "NEAREST"}),
    }
    for name in ("REDUCE_MAX", "REDUCE_MIN", "REDUCE_PRODUCT", "REDUCE_SUM"):
        dtype = FP32 if name == "REDUCE_PRODUCT" else INT32
        made[name] = graph_of(name, [tensor(dtype, 2, 3)], [tensor(dtype, 2, 1)], {"axis": 1})
    for name in ("REDUCE_ALL", "REDUCE_ANY"):
        made[name] = graph_of(name, [mask], [tensor(BOOL, 1, 3)], {"axis": 0})
    return made


def _data() -> dict[str, Graph]:
    tiny = tensor(FP8E4M3, 2)
    custom = {"operator_name": "double", "domain_name": "example.org", "implementation_attrs": b"\x00\xff"}
    return {
        "CONST": graph_of("CONST", [], [constant(FP8E5M2, [1.0, -2.0])]),
        "CONST_SHAPE": graph_of("RESHAPE", [tensor(BF16, 4), shape(2, 2)], [tensor(BF16, 2, 2)]),
        "IDENTITY": graph_of("IDENTITY", [tiny], [tiny]),
        "CUSTOM": graph_of("CUSTOM", [tiny, tensor(INT32, 3)], [tensor(INT32, 3)], custom),
    }
