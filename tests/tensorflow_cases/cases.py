"""The cases of all operators: each module adds its own."""

from tests.tensorflow_cases import integers, shapes, spectra, volumes
from tests.tensorflow_cases.operators import CASES

MODULES = (integers, shapes, spectra, volumes)

__all__ = ["CASES", "MODULES"]
