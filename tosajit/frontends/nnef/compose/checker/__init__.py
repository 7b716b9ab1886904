"""What is wrong with the text of a model before any of it is called (NNEF 2.0 chapter 2).

`modules.py` is the place to begin; every operator is checked, called or not, and all faults are told of.
"""

from tosajit.frontends.nnef.compose.checker.modules import check

__all__ = ["check"]
