"""Why no array kernel does a group, as values."""

from __future__ import annotations

from tiling.records import dataclass
from tosajit.kernels.sets.registry import NONE, VARIABLE


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a group has a kernel that is written for it: the rule in a word or two, and a sentence."""

    rule: str
    text: str

    def __str__(self) -> str:
        return self.text


CHECKED = Reason("checked", "a checked kernel tests every REQUIRE, which array kernels cannot")
TARGET = Reason("target", "the target has a scratchpad; array kernels work on main memory")
NO_SET = Reason("instruction set", f"{VARIABLE}={NONE} turns the array kernels off")
VERB = Reason("verb", "not a contraction, a transpose or a lookup of bytes")
FORM = Reason("form", "its products are not those of a convolution or matrix product")
ZERO_POINT = Reason("zero point", "a zero point is not a constant")
BATCH = Reason("batch", "batches over several axes, or with a window, cannot be packed")
EPILOGUE = Reason("epilogue", "an operand of the epilogue varies along neither rows nor columns")
DIMENSIONS = Reason("dimensions", "a depthwise kernel slides over two dimensions")
RUN_TIME = Reason("weights", "the weights of a depthwise convolution are not constant")
COLUMNS = Reason("columns", "weights that are not constant need output channels")
ROW = Reason("row", "packing weights that are not constant takes longer than to multiply them by one row")
DENSE = Reason("dense", "batches of weights are packed row by row, but these are not laid out in rows")
BIAS = Reason("bias", "weights that are not constant cannot be packed with the bias of a rescale")


def types(left: str, right: str) -> Reason:
    """No kernel multiplies these types."""
    return Reason("types", f"no array kernel multiplies {left} by {right}")


def weight_zero_point(left: str) -> Reason:
    """Weights less their zero point need nine bits."""
    return Reason("zero point", f"weights with a zero point are too wide for sums of {left}")


def run_time_types(left: str, right: str) -> Reason:
    """Weights that are not constant cannot be converted when they are packed."""
    return Reason("types", f"weights of {right} that are not constant are not packed for {left}")
