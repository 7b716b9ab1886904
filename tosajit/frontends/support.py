"""What each front end takes: the tables of source operators, made of their declarations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tosajit.frontends.frame.declaration import columns

HEAD = ("operator", "becomes", "types", "summary")


def rows(source: str) -> Iterator[tuple[str, str, str, str]]:
    """Operator, what becomes of it, its types, and what it does or why it is refused."""
    match source:
        case "tflite":
            from tosajit.frontends.tflite.operators import DECLARATIONS
            from tosajit.frontends.tflite.schema import OPERATORS

            names = [name for name in OPERATORS if not name.startswith("PLACEHOLDER")]
            custom = [name for name in DECLARATIONS if name not in OPERATORS]
            return columns(DECLARATIONS, names + custom)
        case "tensorflow":
            from tosajit.frontends.tensorflow.operators import DECLARATIONS as TENSORFLOW

            return columns(TENSORFLOW, sorted(TENSORFLOW))
        case "nnef":
            return _of_nnef()
        case "onnx":
            from tosajit.frontends.onnx.operators import DECLARATIONS as ONNX

            return columns(ONNX, sorted(ONNX))
        case "torch":
            from tosajit.frontends.torch.operators import DECLARATIONS as TORCH

            return columns(TORCH, sorted(TORCH))
        case "jax":
            from tosajit.frontends.jax.operators import DECLARATIONS as JAX

            return columns(JAX, sorted(JAX))
    raise ValueError(f"no front end is called {source!r}")


def _of_nnef() -> Iterator[tuple[str, str, str, str]]:
    """Standard operators: those that are declared, and those whose own texts say what they become."""
    from tosajit.frontends.nnef.library import MODULES, Standard
    from tosajit.frontends.nnef.operators import DECLARATIONS

    standard = Standard()
    for module in MODULES:
        for name in standard.names(module):
            called, definition = f"{module}.{name}", standard.find(module, name)
            if called in DECLARATIONS or definition is None:
                yield from columns(DECLARATIONS, [called])
            elif definition.operator.components is not None:
                yield called, "composed", "", "the operators that its `@compose` block calls"
            else:
                yield called, "formula", "", "its own formula: loop nests, or one point after another"


def markdown(source: str) -> str:
    """The table as Markdown, with how many operators become what."""
    found = tuple(rows(source))
    counts = ", ".join(f"{count} {kind}" for kind, count in Counter(row[1] for row in found).most_common())
    lines = [f"{len(found)} operators: {counts}.", "", f"| {' | '.join(HEAD)} |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in found)])
