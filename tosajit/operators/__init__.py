"""The 75 operators of TOSA 1.0.1, one module for each section of the specification.

An operator is one class: operands, types, attributes, rules, and `lower`, which gives its nests in the
words of `lowering.py`. They may import `graph` and what is below. Begin with `elementwise.py`, then
`convolution.py`.
"""

from tosajit.graph.operator import OPERATORS, arrange
from tosajit.operators.activation import CLAMP, ERF, SIGMOID, TANH
from tosajit.operators.comparison import EQUAL, GREATER, GREATER_EQUAL
from tosajit.operators.control import COND_IF, WHILE_LOOP
from tosajit.operators.conversion import CAST, RESCALE
from tosajit.operators.convolution import CONV2D, CONV3D, DEPTHWISE_CONV2D, TRANSPOSE_CONV2D
from tosajit.operators.data import CONST, CONST_SHAPE, CUSTOM, IDENTITY
from tosajit.operators.elementwise import (
    ADD,
    ARITHMETIC_RIGHT_SHIFT,
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    INTDIV,
    LOGICAL_AND,
    LOGICAL_LEFT_SHIFT,
    LOGICAL_OR,
    LOGICAL_RIGHT_SHIFT,
    LOGICAL_XOR,
    MAXIMUM,
    MINIMUM,
    MUL,
    POW,
    SELECT,
    SUB,
    TABLE,
)
from tosajit.operators.fourier import FFT2D, RFFT2D
from tosajit.operators.gather import GATHER, SCATTER
from tosajit.operators.image import RESIZE
from tosajit.operators.layout import CONCAT, PAD, RESHAPE, REVERSE, SLICE, TILE, TRANSPOSE
from tosajit.operators.reduction import (
    REDUCE_ALL,
    REDUCE_ANY,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PRODUCT,
    REDUCE_SUM,
)
from tosajit.operators.tensor import ARGMAX, AVG_POOL2D, MATMUL, MAX_POOL2D
from tosajit.operators.types import AccType, NanMode, ResizeMode, RoundingMode
from tosajit.operators.unary import (
    ABS,
    BITWISE_NOT,
    CEIL,
    CLZ,
    COS,
    EXP,
    FLOOR,
    LOG,
    LOGICAL_NOT,
    NEGATE,
    RECIPROCAL,
    RSQRT,
    SIN,
)
from tosajit.operators.variable import VARIABLE, VARIABLE_READ, VARIABLE_WRITE

arrange()

__all__ = [
    "OPERATORS",
    "AccType",
    "NanMode",
    "ResizeMode",
    "RoundingMode",
    "ARGMAX",
    "AVG_POOL2D",
    "CONV2D",
    "CONV3D",
    "DEPTHWISE_CONV2D",
    "FFT2D",
    "MATMUL",
    "MAX_POOL2D",
    "RFFT2D",
    "TRANSPOSE_CONV2D",
    "CLAMP",
    "ERF",
    "SIGMOID",
    "TANH",
    "ADD",
    "ARITHMETIC_RIGHT_SHIFT",
    "BITWISE_AND",
    "BITWISE_OR",
    "BITWISE_XOR",
    "INTDIV",
    "LOGICAL_AND",
    "LOGICAL_LEFT_SHIFT",
    "LOGICAL_RIGHT_SHIFT",
    "LOGICAL_OR",
    "LOGICAL_XOR",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "POW",
    "SUB",
    "TABLE",
    "ABS",
    "BITWISE_NOT",
    "CEIL",
    "CLZ",
    "COS",
    "EXP",
    "FLOOR",
    "LOG",
    "LOGICAL_NOT",
    "NEGATE",
    "RECIPROCAL",
    "RSQRT",
    "SIN",
    "SELECT",
    "EQUAL",
    "GREATER",
    "GREATER_EQUAL",
    "REDUCE_ALL",
    "REDUCE_ANY",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_PRODUCT",
    "REDUCE_SUM",
    "CONCAT",
    "PAD",
    "RESHAPE",
    "REVERSE",
    "SLICE",
    "TILE",
    "TRANSPOSE",
    "GATHER",
    "SCATTER",
    "RESIZE",
    "CAST",
    "RESCALE",
    "CONST",
    "IDENTITY",
    "CUSTOM",
    "COND_IF",
    "WHILE_LOOP",
    "VARIABLE",
    "VARIABLE_WRITE",
    "VARIABLE_READ",
    "CONST_SHAPE",
]
