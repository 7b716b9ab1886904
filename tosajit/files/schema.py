"""The numbers and names that TOSA 1.0 files use, where the declarations of the operators do not give them.

Operators are numbered by their place in the registry, from 1; fields of attribute tables by their place among
the attributes of an operator. Types carry their number themselves.
"""

from tosajit.dtypes import DTYPES

IDENTIFIER = b"TOSA"
VERSION = (1, 0, 1, False)

NEWER_TYPES = ("FP6E2M3", "FP6E3M2", "FP4E2M1", "FP8UE8M0", "INT64", "MXINT8")
TYPES = {dtype.number: dtype for dtype in DTYPES.values()}

OPERATOR_COUNT = 75
NEWER_OPERATORS = (
    "MATMUL_T_BLOCK_SCALED",
    "CAST_FROM_BLOCK_SCALED",
    "CAST_TO_BLOCK_SCALED",
    "DIM",
    "CONCAT_SHAPE",
    "ADD_SHAPE",
    "SUB_SHAPE",
    "MUL_SHAPE",
    "SLICE_SHAPE",
    "EXP2_SHAPE",
    "LOG2_CEIL_SHAPE",
    "LOG2_FLOOR_SHAPE",
    "MAX_SHAPE",
    "MIN_SHAPE",
    "MOD_SHAPE",
    "DIV_CEIL_SHAPE",
    "DIV_FLOOR_SHAPE",
    "ASSERT_EQUAL_SHAPE",
    "CONV2D_BLOCK_SCALED",
    "MAX_POOL2D_ADAPTIVE",
    "AVG_POOL2D_ADAPTIVE",
    "RESHAPE_BLOCK_SCALED",
    "ROW_GATHER_BLOCK_SCALED",
    "ROW_GATHER",
    "MATMUL_T",
)
NEWER_FEATURES = {1: "MXFP"}

GRAPH = ("version", "regions", "software_version", "compatibility")
VERSION_FIELDS = ("major", "minor", "patch", "draft")
COMPATIBILITY = ("min_reader_version", "features")
REGION = ("name", "blocks")
BLOCK = ("name", "operators", "tensors", "inputs", "outputs", "shapes")
OPERATOR = ("op", "attribute_type", "attribute", "inputs", "outputs", "location")
LOCATION = ("text",)
SHAPE = ("name", "rank", "data")
NEWER_TENSOR_FIELDS = ("scale_type", "block_shape", "scale_offset", "scale_size")
TENSOR = (
    "name",
    "shape",
    "type",
    "data",
    "variable",
    "is_unranked",
    "variable_name",
    "offset",
    "size",
    "scale_type",
    "scale_data",
    "block_shape",
    "scale_offset",
    "scale_size",
)


def newer_type(number: int) -> str:
    """A type outside TOSA 1.0.1 in words."""
    place = number - max(TYPES) - 1
    return NEWER_TYPES[place] if 0 <= place < len(NEWER_TYPES) else f"number {number}"


def newer_operator(number: int) -> str:
    """An operator outside TOSA 1.0.1 in words."""
    place = number - OPERATOR_COUNT - 1
    return NEWER_OPERATORS[place] if 0 <= place < len(NEWER_OPERATORS) else f"number {number}"
