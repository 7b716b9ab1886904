"""A result of another node of a model that may be quantised: its real numbers need not be written yet."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.frontends.common.bounded import Bounded
from tosajit.frontends.common.complex import Complex
from tosajit.frontends.frame import Refused, operand
from tosajit.frontends.scaled.unsigned import Unsigned
from tosajit.frontends.scaled.value import Scaled, Weights
from tosajit.tracing.tensor import Tensor

Value: TypeAlias = "Tensor | Array | Scaled | Unsigned | Bounded | Complex"


@dataclass(frozen=True, slots=True, eq=False)
class Operand(operand.Operand):
    """A result of another node."""

    value: Value

    @property
    def scaled(self) -> Scaled | None:
        """What its real numbers are known by, if they are not written."""
        return self.value if isinstance(self.value, Scaled) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.value.shape

    @property
    def _known(self) -> Array | None:
        if isinstance(self.value, Weights):
            return self.value.reals
        return self.value if isinstance(self.value, np.ndarray) else None

    @property
    def _dense(self) -> Tensor | Array:
        match self.value:
            case Weights() as known:
                return known.reals
            case Scaled() as lazy:
                return lazy.real()
            case Unsigned() as narrow:
                return narrow.numbers()
            case Bounded() as open:
                raise open.refused()
            case Complex():
                raise Refused(f"{self.name} has complex numbers, and the operator no form for them")
            case value:
                return value
