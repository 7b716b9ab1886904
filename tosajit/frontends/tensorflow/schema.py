"""The messages of a GraphDef, by the numbers of their fields, and the types of TensorFlow.

Only what a lowering can need is declared. Numbers are those of TensorFlow's `.proto` files.
"""

from __future__ import annotations

from enum import IntEnum

GRAPH = {"node": 1, "library": 2}
LIBRARY = {"function": 1}
FUNCTION = {"signature": 1, "node_def": 3, "ret": 4, "control_ret": 6}
SIGNATURE = {"name": 1, "input_arg": 2, "output_arg": 3}
ARGUMENT = {"name": 1, "type": 3}
NODE = {"name": 1, "op": 2, "input": 3, "attr": 5}
ENTRY = {"key": 1, "value": 2}
ATTRIBUTE = {
    "list": 1, "s": 2, "i": 3, "f": 4, "b": 5, "type": 6, "shape": 7, "tensor": 8, "func": 10,
}  # fmt: skip
LIST = {name: number for name, number in ATTRIBUTE.items() if name not in ("list", "func")} | {"func": 9}
SHAPE = {"dim": 2, "unknown_rank": 3}
DIMENSION = {"size": 1}
TENSOR = {
    "dtype": 1, "tensor_shape": 2, "tensor_content": 4, "float_val": 5, "double_val": 6, "int_val": 7,
    "string_val": 8, "scomplex_val": 9, "int64_val": 10, "bool_val": 11, "half_val": 13,
    "uint32_val": 16, "uint64_val": 17,
}  # fmt: skip
CALLED = {"name": 1}

MESSAGES = {
    "node": NODE, "node_def": NODE, "library": LIBRARY, "function": FUNCTION, "signature": SIGNATURE,
    "input_arg": ARGUMENT, "output_arg": ARGUMENT, "ret": ENTRY, "control_ret": ENTRY, "attr": ENTRY,
    "value": ATTRIBUTE, "list": LIST, "shape": SHAPE, "tensor_shape": SHAPE, "dim": DIMENSION,
    "tensor": TENSOR, "func": CALLED,
}  # fmt: skip
"""The messages that fields hold."""
REALS = {"f": "<f4", "float_val": "<f4", "double_val": "<f8", "scomplex_val": "<f4"}


class Type(IntEnum):
    """The types of elements."""

    INVALID = 0
    FLOAT32 = 1
    FLOAT64 = 2
    INT32 = 3
    UINT8 = 4
    INT16 = 5
    INT8 = 6
    STRING = 7
    COMPLEX64 = 8
    INT64 = 9
    BOOL = 10
    QINT8 = 11
    QUINT8 = 12
    QINT32 = 13
    BFLOAT16 = 14
    QINT16 = 15
    QUINT16 = 16
    UINT16 = 17
    COMPLEX128 = 18
    FLOAT16 = 19
    RESOURCE = 20
    VARIANT = 21
    UINT32 = 22
    UINT64 = 23
    FLOAT8_E5M2 = 24
    FLOAT8_E4M3FN = 25
    FLOAT8_E4M3FNUZ = 26
    FLOAT8_E4M3B11FNUZ = 27
    FLOAT8_E5M2FNUZ = 28
    INT4 = 29
    UINT4 = 30
    INT2 = 31
    UINT2 = 32

    @property
    def label(self) -> str:
        """What users call it."""
        return self.name.lower()


_NAMES = {"FLOAT32": "FLOAT", "FLOAT64": "DOUBLE", "FLOAT16": "HALF"}
ENUMERATORS = {f"DT_{_NAMES.get(one.name, one.name)}": one.value for one in Type}
"""The types as texts have them."""

REFERENCE = 100
"""What is added to the type of a variable of TensorFlow 1."""

RESULTS: dict[str, tuple[str, ...]] = {
    "FusedBatchNorm": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormV2": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormV3": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "MaxPoolWithArgmax": ("output", "argmax"),
    "Merge": ("output", "value_index"),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "Switch": ("output_false", "output_true"),
    "TensorListPopBack": ("output_handle", "tensor"),
    "TopKV2": ("values", "indices"),
    "Unique": ("y", "idx"),
}  # fmt: skip
"""The names of results, by which the nodes of functions refer to them, where there are several."""
