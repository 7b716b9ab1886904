"""Variables (TOSA 1.0.1 section 2.17): tensors that persist from run to run."""

from __future__ import annotations

from tosajit.graph.operator import Operator, read, table, write

_ROWS = """
    EXT-VARIABLE and PRO-FP  | fp16     | fp16
    EXT-VARIABLE and PRO-FP  | fp32     | fp32
    EXT-VARIABLE and PRO-INT | signed 8 | i8
    """


class VARIABLE(Operator):
    """Declares a variable: type, shape and the initial value (its data) are those of the output."""

    section, modes = "2.17.1", table("in_t", _ROWS)
    not_in_file = frozenset({"name"})

    output = write("in_t", "shape")

    name: str


class VARIABLE_WRITE(Operator):
    """Stores a tensor in a variable."""

    section, modes = "2.17.2", table("in_t", _ROWS)
    not_in_file = frozenset({"name"})

    input1 = read("in_t", "shape")

    name: str


class VARIABLE_READ(Operator):
    """The tensor that a variable holds."""

    section, modes = "2.17.3", table("out_t", _ROWS)
    not_in_file = frozenset({"name"})

    output1 = write("out_t", "shape")

    name: str
