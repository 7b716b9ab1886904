"""A JAX function's graph, and the executable that takes and gives arrays as the function does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from tosajit.compiling import compile
from tosajit.errors import InputError
from tosajit.frontends.jax.loading import Traced, traced
from tosajit.frontends.jax.lowering import lowered
from tosajit.graph import Graph
from tosajit.runtime.executable import Executable


@dataclass(frozen=True)
class FunctionGraph(Graph):
    """The graph of a JAX function; `compile` gives what is called as the function is."""

    traced: Traced | None = field(default=None, compare=False, repr=False)

    def compile(self, **options: Any) -> CompiledFunction:
        """Compile it; the options are those of `tosajit.compile`."""
        assert self.traced is not None
        return CompiledFunction(compile(self, **options), self.traced.takes, self.traced.gives)


@dataclass(frozen=True)
class CompiledFunction:
    """An executable that takes arrays of JAX or NumPy, and gives NumPy's, nested as its function has them.

    Arrays of JAX are seen where they are if they are in this computer's memory. There are no gradients.
    """

    executable: Executable
    takes: Any
    gives: Any
    """How arguments and results are nested, as `jax.tree` has it."""

    def __call__(self, *arguments: Any) -> Any:
        """Run on what the function takes."""
        import jax

        leaves, nested = jax.tree.flatten(arguments)
        if nested != self.takes:
            raise InputError(
                f"its arguments are nested as {self.takes}, but those that are given as {nested}"
            )
        found = self.executable(*leaves)
        return jax.tree.unflatten(self.gives, found if isinstance(found, tuple) else (found,))


def from_jax(function: Callable[..., Any], *example_arguments: Any) -> FunctionGraph:
    """Make a graph of a function of JAX, by its jaxpr for arguments of such types and shapes.

    Arguments are arrays of JAX or NumPy, `jax.ShapeDtypeStruct`, or dictionaries, lists and tuples of them;
    each leaf is an input, called by its argument and its keys (`params/dense/kernel`), and results are called
    by their keys or places. What the function closes over is a constant: `tj.from_jax(lambda x:
    model.apply(params, x), x)`. `compile()` of the graph gives what is called as the function is.

    Needs JAX (`pip install tosajit[jax]`). Raises `ModelError` with everything that has no form in TOSA.
    """
    found = traced(function, example_arguments)
    graph = lowered(found.function)
    values = {one.name: getattr(graph, one.name) for one in fields(graph)}
    return FunctionGraph(**values, traced=found)
