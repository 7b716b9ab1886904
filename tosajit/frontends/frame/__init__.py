"""What all front ends are made of: declarations of source operators, refusals, and tables of both.

A front end has a reader, which turns a file into frozen records and knows no TOSA; one declaration for each
operator of the source, in files by family; and a walk that lowers the nodes of a model in order. Begin with
`declaration.py`; `ends.py` has the inputs and outputs of a walk, `proportion.py` its bounds. It may import
what `ops` may, and knows no format.
"""

from tosajit.frontends.frame.declaration import Declaration, Declarations
from tosajit.frontends.frame.refusal import Refusals, Refused

__all__ = ["Declaration", "Declarations", "Refusals", "Refused"]
