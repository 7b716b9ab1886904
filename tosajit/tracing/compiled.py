"""Python functions as graphs: `jit` compiles them for the shapes and types that they are called with."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, cast, overload

import numpy as np

from tiling.target import Target
from tosajit.compiler.options import Custom
from tosajit.dtypes import DType
from tosajit.errors import TraceError
from tosajit.graph import Array, Graph, Value
from tosajit.runtime.context import Context
from tosajit.runtime.executable import Executable, compile
from tosajit.tracing.recorder import Trace, current_trace, recording, typed
from tosajit.tracing.structured import placed
from tosajit.tracing.tensor import Tensor
from tosajit.tracing.tree import Tree, flatten

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array among the arguments: its name, type and shape, and the array if there is one."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    array: Array | None


@dataclass(frozen=True, slots=True)
class Traced:
    """What tracing gives: the graph, and where its outputs go in what the function returns."""

    graph: Graph
    structure: Tree
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Runner:
    """An executable, and where its outputs go."""

    executable: Executable
    traced: Traced

    def run(self, arrays: Sequence[Any], context: Context) -> Any:
        """What the function returns for these arrays."""
        given = self.executable(*arrays, context=context)
        outputs = given if isinstance(given, tuple) else (given,)
        return self.traced.structure.build(outputs[place] for place in self.traced.order)


@dataclass(frozen=True, slots=True)
class Settings:
    """How `jit` compiles."""

    threads: int = 1
    target: Target | None = None
    checked: bool = False
    custom: Mapping[tuple[str, str], Custom] | None = None
    level: str = "8K"


def trace(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Graph:
    """The graph that a function records when it is called with these arguments.

    Arrays, also inside of tuples, lists and dictionaries, become inputs; `tj.Value(name, dtype, shape)`
    stands for one as well. All other arguments are constants of the trace. Raises `TraceError` if the
    function does what a graph cannot record, such as `if` on a tensor.
    """
    tree, leaves = _flattened(inspect.signature(function), args, kwargs)
    return _traced(function, tree, leaves).graph


class Jitted(Generic[P]):
    """A function that is compiled for the shapes and types of its arguments, once for each."""

    def __init__(self, function: Callable[P, Any], settings: Settings) -> None:
        functools.update_wrapper(self, function)
        self.function, self.settings = function, settings
        self.context = Context()
        """The function's variables."""
        self._signature = inspect.signature(function)
        self._lock = threading.RLock()
        self._graphs: dict[object, Traced] = {}
        self._executables: dict[object, Executable] = {}
        self._quick: dict[object, Runner] = {}
        """What runs for arrays that need no conversion, by their types and shapes."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run on arrays; inside of another traced function, become a part of its graph."""
        if current_trace() is not None:
            return self.function(*args, **kwargs)
        plain = _plain(args) if not kwargs else None
        found = self._quick.get(plain)
        if found is not None:
            return found.run(args, self.context)
        key, tree, leaves = self._key(args, kwargs)
        missing = [leaf.name for leaf in leaves if leaf.array is None]
        if missing:
            raise TraceError(f"{', '.join(missing)}: there is a type, but no array to run on")
        with self._lock:
            runner = Runner(self._compiled(key, tree, leaves), self._graphs[key])
            as_given = len(leaves) == len(args) and all(map(_is, leaves, args))
            if plain is not None and as_given:
                self._quick[plain] = runner
        return runner.run([leaf.array for leaf in leaves], self.context)

    def graph(self, *args: P.args, **kwargs: P.kwargs) -> Graph:
        """The graph for these arguments."""
        return self._traced(*self._key(args, kwargs)).graph

    def executable(self, *args: P.args, **kwargs: P.kwargs) -> Executable:
        """What runs for these arguments; its inputs are the arrays among them in order."""
        key, tree, leaves = self._key(args, kwargs)
        return self._executables.get(key) or self._compiled(key, tree, leaves)

    def clear(self) -> None:
        """Forget all graphs and executables, so that captured arrays are read again; variables stay."""
        with self._lock:
            self._quick.clear()
            self._executables.clear()
            self._graphs.clear()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """A method: its own specialisations for each instance, kept with it."""
        if instance is None:
            return self
        function = cast("Callable[..., Any]", self.function)
        bound: Jitted[Any] = Jitted(functools.partial(function, instance), self.settings)
        functools.update_wrapper(bound, self.function)
        try:
            vars(instance)[self.function.__name__] = bound
        except TypeError:  # there is no place for it: slots
            pass
        return bound

    def __repr__(self) -> str:
        count = len(self._executables)
        return f"<jit of {self.function!r}: {count} executable{'' if count == 1 else 's'}>"

    def _key(self, args: Any, kwargs: Any) -> tuple[object, Tree, list[Leaf]]:
        tree, leaves = _flattened(self._signature, args, kwargs)
        return (tree, *((leaf.name, leaf.dtype, leaf.shape) for leaf in leaves)), tree, leaves

    def _traced(self, key: object, tree: Tree, leaves: list[Leaf]) -> Traced:
        with self._lock:
            if key not in self._graphs:
                self._graphs[key] = _traced(self.function, tree, leaves)
            return self._graphs[key]

    def _compiled(self, key: object, tree: Tree, leaves: list[Leaf]) -> Executable:
        with self._lock:
            if key not in self._executables:
                settings = self.settings
                self._executables[key] = compile(
                    self._traced(key, tree, leaves).graph,
                    threads=settings.threads,
                    target=settings.target,
                    checked=settings.checked,
                    custom=settings.custom,
                    level=settings.level,
                )
            return self._executables[key]


@overload
def jit(function: Callable[P, Any], /) -> Jitted[P]: ...
@overload
def jit(
    *,
    threads: int = 1,
    target: Target | None = None,
    checked: bool = False,
    custom: Mapping[tuple[str, str], Custom] | None = None,
    level: str = "8K",
) -> Callable[[Callable[P, Any]], Jitted[P]]: ...
def jit(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Compile a Python function that calls `tosajit.ops`.

    The first call with arrays of certain shapes and types traces the function into a graph and compiles it;
    later calls run what was compiled. Arrays that the function captures become constants, as do defaults of
    its parameters and what `functools.partial` binds, which may be Python values. Settings are those of
    `tj.compile`: `@tj.jit(threads=2, checked=True)`.

    What it gives is called like the function; `.graph(*args)` and `.executable(*args)` show what these
    arguments lead to, `.clear()` forgets it. Raises `TraceError` at a call if the function does what a graph
    cannot record, and what `tj.compile` raises.
    """
    chosen = Settings(**settings)
    if function is None:
        return lambda decorated: Jitted(decorated, chosen)
    return Jitted(function, chosen)


def _flattened(signature: inspect.Signature, args: Any, kwargs: Any) -> tuple[Tree, list[Leaf]]:
    bound = signature.bind(*args, **kwargs)
    leaves: list[Leaf] = []

    def collect(name: str, leaf: Any) -> None:
        leaves.append(_leaf(name.removeprefix("_"), leaf))

    tree = flatten(dict(bound.arguments), "", collect)
    return tree, leaves


def _plain(args: Sequence[Any]) -> object | None:
    """Types and shapes of arguments that are all arrays, one after the other."""
    if any(type(argument) is not np.ndarray for argument in args):
        return None
    return tuple((argument.dtype, argument.shape) for argument in args)


def _is(leaf: Leaf, argument: object) -> bool:
    return leaf.array is argument


def _leaf(name: str, leaf: Any) -> Leaf:
    match leaf:
        case np.ndarray() | np.generic():
            array, dtype = typed(leaf)
            return Leaf(name, dtype, array.shape, array)
        case Value(shape=tuple(shape)):
            return Leaf(name, leaf.dtype, shape, None)
        case Tensor():
            raise TraceError(f"argument {name}: {leaf!r} is used outside of its trace")
        case bool() | int() | float():
            kind = "bool_" if isinstance(leaf, bool) else "int32"
            text = f"the Python number {leaf!r} has no TOSA type: write np.{kind}({leaf!r})"
            raise TraceError(f"argument {name}: {text}, or bind it with functools.partial")
    raise TraceError(f"argument {name}: expected an array, got {type(leaf).__name__}")


def _traced(function: Callable[..., Any], tree: Tree, leaves: list[Leaf]) -> Traced:
    trace = Trace()
    tensors = [trace.input(leaf.name, leaf.dtype, leaf.shape) for leaf in leaves]
    signature = inspect.signature(function)
    bound = inspect.BoundArguments(signature, tree.build(iter(tensors)))
    results: list[str] = []
    name = getattr(function, "__name__", "the function")

    def collect(where: str, leaf: Any) -> None:
        results.append(placed(trace, leaf, f"{name} returns {where}").name)

    with recording(trace):
        structure = flatten(function(*bound.args, **bound.kwargs), "result", collect)
    if not results:
        raise TraceError(f"{name} returns no tensor")
    distinct = list(dict.fromkeys(results))
    trace.builder.output(*distinct)
    return Traced(trace.builder.build(), structure, tuple(map(distinct.index, results)))
