"""Real numbers that are not written yet, but known by integers: what quantised networks become.

A front end gets such a value where its model dequantizes. Sums of products, sums, functions and moves of such
values are others; where the model quantizes again, `onto` writes integers, and where anything else needs the
numbers, `real` writes them. Begin with `value.py`. It knows no format.
"""

from tosajit.frontends.scaled.affine import Affine
from tosajit.frontends.scaled.unsigned import Unsigned
from tosajit.frontends.scaled.value import Function, Held, Joined, Scaled, Sum, Weights

__all__ = ["Affine", "Function", "Held", "Joined", "Scaled", "Sum", "Unsigned", "Weights"]
