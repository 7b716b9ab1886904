"""What the tensors of a quantised model are while it is written: integers, or results whose scale follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from tosajit import ops
from tosajit.dtypes import DType
from tosajit.frontends.common.quantized import moved
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.integers.form import Form
from tosajit.frontends.nnef.model import Operation, Tensor
from tosajit.operators import RoundingMode
from tosajit.tracing import tensor as tracing

_STEEPEST = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """A tensor of integers."""

    tensor: tracing.Tensor
    form: Form

    @property
    def dtype(self) -> DType:
        """Their type."""
        return self.form.dtype

    @property
    def scale(self) -> float:
        """The real number that one more stands for."""
        return self.form.scale

    @property
    def zero_point(self) -> int:
        """The integer that stands for 0."""
        return self.form.zero_point

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest of them."""
        return self.form.bounds

    @property
    def rounding(self) -> RoundingMode:
        """How numbers are rounded to them."""
        return self.form.rounding

    def at(self, form: Form) -> Integers:
        """The same numbers in another form."""
        if self.form == form:
            return self
        gentle(self, form)
        return Integers(fitted(moved(self, form), self.form, form), form)


def gentle(value: Integers, form: Form) -> None:
    """Refuse what would be far beyond a form, of which RESCALE knows no scale."""
    if value.scale > _STEEPEST * form.scale:
        raise Refused(f"its operand has the scale {value.scale:g}, but its result {form.scale:g}")


def fitted(value: tracing.Tensor, before: Form | None, form: Form) -> tracing.Tensor:
    """Integers within the bounds of their form, which are those of a type already."""
    least, most = form.bounds
    if before is not None and before.dtype is form.dtype:
        same = (before.scales, before.zero_points) == (form.scales, form.zero_points)
        if same and least <= before.bounds[0] and before.bounds[1] <= most:
            return value
    if (least, most) == (form.dtype.minimum, form.dtype.maximum):
        return value
    return ops.clamp(value, min_val=least, max_val=most)


class Owner(Protocol):
    """What writes deferred results."""

    def written(self, deferred: Deferred, form: Form, /) -> Integers:
        """A deferred result in a form."""


@dataclass(slots=True, eq=False)
class Deferred:
    """A result of integers, written once what quantises it, or what is made of it, tells its form."""

    owner: Owner
    operation: Operation
    result: Tensor
    write: Callable[[Form], tracing.Tensor]
    made: dict[Form, Integers] = field(default_factory=dict)

    def at(self, form: Form) -> Integers:
        """The result in a form."""
        if form not in self.made:
            self.made[form] = self.owner.written(self, form)
        return self.made[form]


Whole: TypeAlias = Integers | Deferred
"""A tensor that needs no floating point."""
