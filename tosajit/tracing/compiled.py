"""Python functions as graphs: `jit` compiles them for the shapes and types that they are called with."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, ParamSpec, cast, overload

import numpy as np

from tiling.target import Target
from tosajit.arrays import Array
from tosajit.compiler.options import Custom
from tosajit.dtypes import DType
from tosajit.errors import CompileError, TraceError
from tosajit.graph import Graph, Value
from tosajit.runtime.context import Context
from tosajit.runtime.executable import Executable
from tosajit.runtime.making import executable_of, machine_of
from tosajit.tracing.numbers import typed, untyped
from tosajit.tracing.recorder import Trace, current_trace, recording
from tosajit.tracing.structured import placed
from tosajit.tracing.tensor import Tensor
from tosajit.tracing.tree import Tree, flatten

if TYPE_CHECKING:
    from sim import Machine, Report
    from tiling.program import Program
    from tosajit.runtime.profile import Profile

P = ParamSpec("P")
KEPT = 128
"""For how many types and shapes of its arguments a function keeps what it has compiled."""


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


@dataclass(slots=True)
class Kept:
    """What is kept for arguments of certain types and shapes."""

    traced: Traced
    used: int
    """The number of the call that used it last."""
    runner: Runner | None = None
    report: Report | None = None
    plain: list[object] = field(default_factory=list)
    """Where quick calls find it."""


class CacheInfo(NamedTuple):
    """How a jitted function has used what it keeps, in the words of `functools.lru_cache`."""

    hits: int
    misses: int
    maxsize: int | None
    currsize: int


@dataclass(frozen=True, slots=True)
class Settings:
    """How `jit` compiles, and for how many types and shapes it keeps what it has compiled."""

    threads: int = 1
    target: Target | None = None
    machine: Machine | str | Path | None = None
    checked: bool = False
    custom: Mapping[tuple[str, str], Custom] | None = None
    level: str = "8K"
    cache_size: int | None = KEPT

    def __post_init__(self) -> None:
        size = self.cache_size
        if size is not None and (not isinstance(size, int) or size < 1):
            raise CompileError(f"cache_size is {size!r}, but must be at least 1, or None for no bound")


def trace(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Graph:
    """The graph that a function records when it is called with these arguments.

    Arrays, also in tuples, lists and dictionaries, become inputs, and so does `tj.Value(name, dtype, shape)`.
    All other arguments are constants of the trace. Raises `TraceError` if the function does something that
    a graph cannot record, such as `if` on a tensor.
    """
    tree, leaves = _flattened(inspect.signature(function), args, kwargs)
    return _traced(function, tree, leaves).graph


class Jitted(Generic[P]):
    """A function that is compiled for the shapes and types of its arguments, once for each that it keeps."""

    def __init__(self, function: Callable[P, Any], settings: Settings) -> None:
        functools.update_wrapper(self, function)
        self.function, self.settings = function, settings
        self.context = Context()
        """The function's variables."""
        self._signature = inspect.signature(function)
        self._lock = threading.RLock()
        """Held while something is traced or compiled."""
        self._counting = threading.Lock()
        self._kept: dict[object, Kept] = {}
        self._quick: dict[object, Kept] = {}
        """What runs for arrays that need no conversion, by their types and shapes."""
        self._uses = self._misses = 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run on arrays; inside of another traced function, become a part of its graph."""
        if current_trace() is not None:
            return self.function(*args, **kwargs)
        plain = _plain(args) if not kwargs else None
        found = self._quick.get(plain)
        if found is not None and found.runner is not None:
            self._note(found)
            return found.runner.run(args, self.context)
        key, tree, leaves = self._key(args, kwargs)
        missing = [leaf.name for leaf in leaves if leaf.array is None]
        if missing:
            raise TraceError(f"{', '.join(missing)}: a type is given, but running needs an array")
        with self._lock:
            kept = self._looked_up(key, tree, leaves)
            runner = self._runner(kept)
            as_given = len(leaves) == len(args) and all(map(_is, leaves, args))
            if plain is not None and as_given:
                self._quick[plain] = kept
                kept.plain.append(plain)
        return runner.run([leaf.array for leaf in leaves], self.context)

    def graph(self, *args: P.args, **kwargs: P.kwargs) -> Graph:
        """The graph for these arguments."""
        with self._lock:
            return self._looked_up(*self._key(args, kwargs)).traced.graph

    def executable(self, *args: P.args, **kwargs: P.kwargs) -> Executable:
        """What runs for these arguments; its inputs are the arrays among them in order."""
        with self._lock:
            return self._runner(self._looked_up(*self._key(args, kwargs))).executable

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs that are kept, one for each types and shapes of arguments."""
        with self._lock:
            return tuple(kept.traced.graph for kept in self._kept.values())

    def program(self, *args: P.args, **kwargs: P.kwargs) -> Program:
        """The program for these arguments, for the machine or the target of the settings."""
        return self.executable(*args, **kwargs).program

    def profile(self, *args: P.args, **kwargs: P.kwargs) -> Profile:
        """How long each group takes on one thread for these arguments, and what bounds it."""
        _, _, leaves = self._key(args, kwargs)
        return self.executable(*args, **kwargs).profile(*(leaf.array for leaf in leaves))

    @property
    def report(self) -> Report:
        """What the last call takes on the machine (`tj.jit(machine=…)`), as `tj.simulate` tells it."""
        from tosajit.runtime.timing import report_of

        name = getattr(self.function, "__name__", "function")
        if self.settings.machine is None:
            raise CompileError(f"{name} runs on no machine: give one, as in @tj.jit(machine='ethos-u55-128')")
        with self._lock:
            if not self._kept:
                raise CompileError(f"{name} has not been called, so there is nothing to report")
            kept = max(self._kept.values(), key=lambda one: one.used)
            if kept.report is None:
                kept.report = report_of(
                    self._runner(kept).executable, machine_of(self.settings.machine), name
                )
            return kept.report

    def cache_info(self) -> CacheInfo:
        """How often something kept was there, how often it was not, how much is kept at most, and now."""
        with self._lock, self._counting:
            hits = self._uses - self._misses
            return CacheInfo(hits, self._misses, self.settings.cache_size, len(self._kept))

    def cache_clear(self) -> None:
        """Forget all graphs and executables, so that captured arrays are read again; variables stay."""
        with self._lock, self._counting:
            self._quick.clear()
            self._kept.clear()
            self._uses = self._misses = 0

    def clear(self) -> None:
        """Begin anew: forget graphs and executables, and the contents of variables."""
        self.cache_clear()
        self.context = Context()

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

    def __reduce__(self) -> NoReturn:
        text = "a jitted function holds addresses of this process, and cannot be pickled or copied"
        raise TraceError(f"{text}: send the function itself (jitted.function), and jit it there")

    def __repr__(self) -> str:
        count = sum(kept.runner is not None for kept in list(self._kept.values()))
        return f"<jit of {self.function!r}: {count} executable{'' if count == 1 else 's'}>"

    def _key(self, args: Any, kwargs: Any) -> tuple[object, Tree, list[Leaf]]:
        tree, leaves = _flattened(self._signature, args, kwargs)
        return (tree, *((leaf.name, leaf.dtype, leaf.shape) for leaf in leaves)), tree, leaves

    def _looked_up(self, key: object, tree: Tree, leaves: list[Leaf]) -> Kept:
        """What is kept for a key, traced if nothing is; what was used longest ago goes in its place."""
        found = self._kept.get(key)
        if found is not None:
            self._note(found)
            return found
        found = Kept(_traced(self.function, tree, leaves), 0)
        with self._counting:
            self._misses += 1
        self._note(found)
        self._kept[key] = found
        size = self.settings.cache_size
        while size is not None and len(self._kept) > size:
            self._forget(min(self._kept, key=lambda one: self._kept[one].used))
        return found

    def _forget(self, key: object) -> None:
        for plain in self._kept.pop(key).plain:
            self._quick.pop(plain, None)

    def _note(self, kept: Kept) -> None:
        """It is used now. Quick calls note that as well, without waiting for what is being compiled."""
        with self._counting:
            self._uses += 1
            kept.used = self._uses

    def _runner(self, kept: Kept) -> Runner:
        if kept.runner is None:
            settings = self.settings
            made = executable_of(
                kept.traced.graph,
                threads=settings.threads,
                target=settings.target,
                machine=settings.machine,
                checked=settings.checked,
                custom=settings.custom,
                limits={"level": settings.level},
            )
            kept.runner = Runner(made, kept.traced)
        return kept.runner


@overload
def jit(function: Callable[P, Any], /) -> Jitted[P]: ...
@overload
def jit(
    *,
    threads: int = 1,
    target: Target | None = None,
    machine: Machine | str | Path | None = None,
    checked: bool = False,
    custom: Mapping[tuple[str, str], Custom] | None = None,
    level: str = "8K",
    cache_size: int | None = KEPT,
) -> Callable[[Callable[P, Any]], Jitted[P]]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    threads: int = 1,
    target: Target | None = None,
    machine: Machine | str | Path | None = None,
    checked: bool = False,
    custom: Mapping[tuple[str, str], Custom] | None = None,
    level: str = "8K",
    cache_size: int | None = KEPT,
) -> Any:
    """Compile a Python function that calls `tosajit.ops`.

    The first call with arrays of certain shapes and types traces the function into a graph and compiles it;
    later calls run the result. Arrays that the function captures become constants, and so do defaults of its
    parameters and values that `functools.partial` binds, which can be Python values. Settings are those of
    `tj.compile`: `@tj.jit(threads=2, checked=True)`. `cache_size` combinations of types and shapes are kept
    (None: all); the least recently used one is dropped first, and compiled again when needed.

    Call the result like the function. `.graph(*args)` and `.executable(*args)` give the graph and the
    executable for these arguments, `.program(*args)` and `.profile(*args)` its program and its times,
    `.cache_info()` the size of the cache, and `.cache_clear()` empties it; `.clear()` resets variables, too.
    With `machine`, calls run its program in the bytes of its scratchpad, and `.report` is what the last one
    would take there. A call raises `TraceError` if the function does something that a graph cannot record,
    and what `tj.compile` raises.
    """
    chosen = Settings(threads, target, machine, checked, custom, level, cache_size)
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
            raise TraceError(f"argument {name}: {leaf!r} is used outside its trace")
        case bool() | int() | float():
            text = f"{untyped(leaf)}, or bind it with functools.partial"
            raise TraceError(f"argument {name}: {text}")
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
