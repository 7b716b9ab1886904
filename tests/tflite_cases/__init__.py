"""Random TFLite models of one operator, by family: each module here is imported, and declares what it draws.

```python
@case("ADD SUB", "float32 int8")
def sums(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    operands = sketch.operand(kind, shape), sketch.operand(kind, shape)
    sketch.add(operands, sketch.result(kind, shape), AddOptions())
```
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from tests.tflite_cases.sketch import Case, Sketch
from tosajit.frontends.tflite.schema import Type

__all__ = ["Case", "Sketch", "case", "draw", "drawn"]

Drawer = Callable[[Sketch, Type], None]


@dataclass(frozen=True)
class Drawn:
    """What draws models of an operator, and for which types of its typed operand."""

    drawer: Drawer
    types: tuple[str, ...]


_DRAWN: dict[str, Drawn] = {}


def case(names: str, types: str) -> Callable[[Drawer], Drawer]:
    """Declare what draws models of operators."""

    def declare(drawer: Drawer) -> Drawer:
        for name in names.split():
            assert name not in _DRAWN, f"{name} is drawn twice"
            _DRAWN[name] = Drawn(drawer, tuple(types.split()))
        return drawer

    return declare


def drawn() -> dict[str, Drawn]:
    """Everything that can be drawn, by operator."""
    for module in sorted(one.name for one in pkgutil.iter_modules(__path__)):
        import_module(f"{__name__}.{module}")
    return _DRAWN


def draw(name: str, kind: str, seed: int) -> Case:
    """A random model of an operator, with inputs."""
    found = drawn()[name]
    sketch = Sketch(name, f"{name} {kind} {seed}")
    found.drawer(sketch, Type[kind.upper()])
    return sketch.case()
