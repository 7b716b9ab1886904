"""The messages of an ONNX model, by the numbers of their fields, and the types of ONNX.

Only what a lowering can need is declared. Numbers are those of ONNX's `.proto` file.
"""

from __future__ import annotations

from enum import IntEnum

import ml_dtypes
import numpy as np

MODEL = {"ir_version": 1, "graph": 7, "opset_import": 8, "functions": 25}
OPSET = {"domain": 1, "version": 2}
GRAPH = {"node": 1, "name": 2, "initializer": 5, "input": 11, "output": 12, "sparse_initializer": 15}
NODE = {"input": 1, "output": 2, "name": 3, "op_type": 4, "attribute": 5, "domain": 7}
ATTRIBUTE = {
    "name": 1, "f": 2, "i": 3, "s": 4, "t": 5, "g": 6, "floats": 7, "ints": 8, "strings": 9,
    "tensors": 10, "graphs": 11, "type": 20, "ref_attr_name": 21,
}  # fmt: skip
TENSOR = {
    "dims": 1, "data_type": 2, "segment": 3, "float_data": 4, "int32_data": 5, "int64_data": 7, "name": 8,
    "raw_data": 9, "double_data": 10, "uint64_data": 11, "external_data": 13, "data_location": 14,
}  # fmt: skip
ENTRY = {"key": 1, "value": 2}
VALUE = {"name": 1, "type": 2}
TYPE = {"tensor_type": 1}
TENSOR_TYPE = {"elem_type": 1, "shape": 2}
SHAPE = {"dim": 1}
DIMENSION = {"dim_value": 1, "dim_param": 2}
FUNCTION = {
    "name": 1, "input": 4, "output": 5, "attribute": 6, "node": 7, "opset_import": 9, "domain": 10,
    "attribute_proto": 11,
}  # fmt: skip

EXTERNAL = 1
"""The location of elements that are in a file of their own."""


class Kind(IntEnum):
    """The kinds of values that an attribute has; each is in a field of its own."""

    F = 1
    I = 2  # noqa: E741
    S = 3
    T = 4
    G = 5
    FLOATS = 6
    INTS = 7
    STRINGS = 8
    TENSORS = 9
    GRAPHS = 10


class Type(IntEnum):
    """The types of elements."""

    UNDEFINED = 0
    FLOAT32 = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    FLOAT64 = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26

    @property
    def label(self) -> str:
        """What users call it."""
        return self.name.lower()


STORAGE: dict[Type, np.dtype[np.generic]] = {
    Type.FLOAT32: np.dtype("<f4"), Type.FLOAT64: np.dtype("<f8"), Type.FLOAT16: np.dtype("<f2"),
    Type.BFLOAT16: np.dtype(ml_dtypes.bfloat16), Type.FLOAT8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    Type.FLOAT8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn), Type.INT8: np.dtype("i1"),
    Type.INT16: np.dtype("<i2"), Type.INT32: np.dtype("<i4"), Type.INT64: np.dtype("<i8"),
    Type.UINT8: np.dtype("u1"), Type.UINT16: np.dtype("<u2"), Type.UINT32: np.dtype("<u4"),
    Type.UINT64: np.dtype("<u8"), Type.BOOL: np.dtype("?"), Type.INT4: np.dtype(ml_dtypes.int4),
    Type.UINT4: np.dtype(ml_dtypes.uint4), Type.INT2: np.dtype(ml_dtypes.int2),
    Type.UINT2: np.dtype(ml_dtypes.uint2), Type.FLOAT4E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    Type.FLOAT8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    Type.FLOAT8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
}  # fmt: skip
"""How NumPy has the types."""
PACKED = {Type.INT4: 4, Type.UINT4: 4, Type.FLOAT4E2M1: 4, Type.INT2: 2, Type.UINT2: 2}
"""How many bits elements have of which several are in a byte, the first one in its low bits."""
BOUNDS = {
    Type.INT8: (-128, 127), Type.UINT8: (0, 255), Type.INT16: (-32768, 32767), Type.UINT16: (0, 65535),
    Type.INT4: (-8, 7), Type.UINT4: (0, 15), Type.INT2: (-2, 1), Type.UINT2: (0, 3),
    Type.INT32: (-(1 << 31), (1 << 31) - 1),
}  # fmt: skip
"""The least and the greatest number of each type that grids of integers have."""

OLDEST, NEWEST = 1, 28
"""The operator sets that are known."""
