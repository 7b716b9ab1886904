"""What TOSA cannot say: CUSTOM operators, of tosajit's own and of others."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit import customs, ops
from tosajit.arrays import Array
from tosajit.customs.attributes import written
from tosajit.dtypes import FP32, INT32, DType
from tosajit.tracing.tensor import Tensor

Result = tuple[DType, tuple[int, ...]]


def custom(
    name: str,
    operands: Sequence[Tensor | Array],
    results: Sequence[Result],
    attributes: bytes,
    domain: str = customs.DOMAIN,
) -> tuple[Tensor, ...]:
    """The results of an operator: one of tosajit's own, if no other domain is said."""
    found = ops.custom(
        *operands, operator_name=name, domain_name=domain, outputs=list(results),
        implementation_attrs=attributes,
    )  # fmt: skip
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def cut(whole: Tensor, extents: Tensor) -> Tensor:
    """A tensor cut to its extents, where it leaves a graph; it is declared as large as it can be."""
    return custom(customs.CUT, [whole, extents], [(whole.dtype, whole.shape)], b"{}")[0]


def suppressed(operands: Sequence[Tensor | Array], most: int) -> tuple[Tensor, ...]:
    """Places and scores of boxes that overlap no better one too much, and how many there are.

    The operands are boxes, scores, both thresholds and what overlaps lower scores by.
    """
    results = [(INT32, (most,)), (FP32, (most,)), (INT32, ())]
    return custom("NON_MAX_SUPPRESSION", operands, results, written(max_output_size=most))
