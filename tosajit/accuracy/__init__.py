"""The specification's accuracy rules: whether floating-point results are near enough to a reference.

```python
from tosajit import accuracy

found = accuracy.check_operator("EXP", result, np.exp(x.astype(np.float64)), "FP16", x)
assert found, str(found)
```

`check` and `check_bound` compare with a reference in fp64, `check_operator` with the bound that the
specification gives for an operator, `check_dot_product` whole tensors of sums of products; `data_set` makes
the operands that such sums are tested with. All rules are those of TOSA 1.0.1. Arm's conformance suite is
looser in two places, where this module holds to the text: it lets sums in FP32 be off by 6 instead of 2
roundings a product, and ADD, SUB and MUL in BF16 by a whole unit.
"""

from tosajit.accuracy.checks import absolute_bound, check, check_bound, reference_ulp
from tosajit.accuracy.data import MIN_DOT_PRODUCTS, SETS, data_set
from tosajit.accuracy.dot_product import check_dot_product, kernel_size_bound, magnitudes
from tosajit.accuracy.formats import FORMATS, Format, format_of
from tosajit.accuracy.operators import BOUNDS, bound, check_operator, product_bound
from tosajit.accuracy.result import Result

__all__ = [
    "BOUNDS",
    "FORMATS",
    "MIN_DOT_PRODUCTS",
    "SETS",
    "Format",
    "Result",
    "absolute_bound",
    "bound",
    "check",
    "check_bound",
    "check_dot_product",
    "check_operator",
    "data_set",
    "format_of",
    "kernel_size_bound",
    "magnitudes",
    "product_bound",
    "reference_ulp",
]
