"""From parsed modules to a `Model`: names are resolved, operators are called, shapes are known (chapter 3).

`graphs.py` is the place to begin; `composer.py` makes operations, `call.py` binds them, `bodies.py` follows
`@compose`.
"""

from tosajit.frontends.nnef.compose.graphs import compose, invoke
from tosajit.frontends.nnef.compose.modules import Library

__all__ = ["Library", "compose", "invoke"]
