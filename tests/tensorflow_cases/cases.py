"""The cases of all operators: each module adds its own."""

from tests.tensorflow_cases import integers, shapes, volumes
from tests.tensorflow_cases.operators import CASES

MODULES = (integers, shapes, volumes)

__all__ = ["CASES", "MODULES"]
