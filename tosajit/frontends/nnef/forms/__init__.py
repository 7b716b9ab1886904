"""What operators of TOSA are in SkriptND, by family: each module here declares some."""

from tosajit.frontends.nnef.forms import control, integers, standard, windows
from tosajit.frontends.nnef.forms.registry import FORMS

__all__ = ["FORMS", "control", "integers", "standard", "windows"]
