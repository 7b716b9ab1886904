"""Executables: what `compile` gives, called with arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tiling.words import listed
from tosajit.arrays import Array
from tosajit.errors import CompileError, InputError
from tosajit.garbage import keeps_garbage
from tosajit.graph import Graph, Value
from tosajit.kernels.runner import Runner
from tosajit.runtime.body import Body
from tosajit.runtime.bound import Bound, apart, results_in, taken
from tosajit.runtime.chain import Chain
from tosajit.runtime.context import Call, Context, check_context
from tosajit.runtime.interface import Interface
from tosajit.runtime.outside import UINT8, entering, leaving

if TYPE_CHECKING:
    from tiling.program import Program
    from tosajit.compiler.explain import Explanation
    from tosajit.compiler.journal import Journal
    from tosajit.runtime.meanwhile import Meanwhile
    from tosajit.runtime.profile import Profile


@keeps_garbage
def load_executable(path: str | Path) -> Executable:
    """Load an executable that `executable.save` or `tosajit build` has written; it runs at once.

    The file contains machine code: load only what you, or those you trust with your computer, have written.
    Raises `FileError` if it is damaged, or for another version, system or CPU. The executable has no graph,
    so it can neither be printed as a program nor explained.
    """
    from tosajit.runtime.artifact import read

    return Executable(*read(path), None, _no_stages)


_ARRAYS = (np.ndarray, list, tuple)
_FILLABLE = 0x401
"""The flags of NumPy that an array for a result has: it is contiguous, and may be written to."""


def _no_stages() -> NoReturn:
    raise InputError(
        "an executable loaded from a file has no stages or programs; compile the model for those"
    )


class Executable:
    """A built graph: call it with arrays in the order of the graph's inputs.

    It can be called by several Python threads at once. Variables live in a `Context`; without one, every call
    uses the executable's own.
    """

    def __init__(
        self,
        interface: Interface,
        body: Body,
        graph: Graph | None,
        journal: Callable[[], Journal],
        meanwhile: Meanwhile | None = None,
    ) -> None:
        self.interface, self.body = interface, body
        self.own_context = Context()
        self._graph, self._journal, self.meanwhile = graph, journal, meanwhile
        self._whole = body.chain if body.whole is None else body.whole
        self._stateful = body.stateful
        self._inputs = tuple((v.name, v.dtype.storage, v.shape) for v in interface.inputs)
        self._outside = dict(interface.outside)
        self._outputs = tuple(
            (UINT8 if self._outside.get(v.name) == "uint8" else v.dtype.storage, v.shape or ())
            for v in interface.outputs
        )
        names = (value.name for value in interface.outputs)
        self._leaving = tuple(map(self._outside.get, names)) if self._outside else ()

    @property
    def graph(self) -> Graph:
        """The graph that it was compiled from; raises `InputError` if it was loaded from a file."""
        if self._graph is None:
            raise InputError("an executable loaded from a file has no graph; compile the model for that")
        return self._graph

    @cached_property
    def stages(self) -> Journal:
        """What each stage of the pipeline has made, by its name; each value prints."""
        return self._journal()

    def __call__(self, *arrays: Any, context: Context | None = None, out: Any = None) -> Any:
        """Run on the inputs in order; an array, or a tuple of arrays if the graph has several outputs.

        The results are new arrays, or those given as `out`: one, or a sequence if there are several outputs.
        `context` has the variables to use. Raises `InputError` for arrays of other types or shapes than the
        inputs have, `RequireError` if data break a rule that is watched.
        """
        if context is not None:
            check_context(context)
        if out is not None:
            self._run_into(arrays, context, out)
            return out
        results = self._run(arrays, context)
        return results[0] if len(results) == 1 else tuple(results)

    def bind(self, *inputs: Any, outputs: Any = None, context: Context | None = None) -> Bound:
        """Bind arrays to the inputs, and to the outputs: calling what this gives then costs least.

        The arrays have the stored types and are contiguous; without `outputs`, new ones are made.
        """
        if context is not None:
            check_context(context)
        values = self.interface.inputs
        outside = [self._outside.get(value.name) for value in values]
        if len(inputs) != len(values):
            raise InputError(f"{len(inputs)} arrays given, but the graph has {len(values)} inputs")
        arrays = taken(values, inputs, outside)
        if outputs is None:
            results = [np.empty(one.shape or (), one.dtype.storage) for one in self.interface.outputs]
        else:
            results = self._results(outputs, arrays)
        if isinstance(self._whole, Runner | Chain):
            return Bound(arrays, results, self._whole.bind(arrays, results))
        if self._stateful is not None:
            from tosajit.runtime.turns import Turns

            used = self.own_context if context is None else context
            return Bound(arrays, results, Turns(self._stateful, arrays, used, results).run)
        return Bound(arrays, results, lambda: self._copy_results(arrays, context, results))

    def run(self, inputs: Mapping[str, Any], context: Context | None = None) -> dict[str, Array]:
        """Run on inputs by name, and return the outputs by name; otherwise like a call."""
        if context is not None:
            check_context(context)
        names = [name for name, _, _ in self._inputs]
        if unknown := sorted(set(inputs) - set(names)):
            there = listed(names) or "none"
            raise InputError(f"there is no input {listed(unknown)}; the inputs are {there}")
        if missing := [name for name in names if name not in inputs]:
            raise InputError(f"input {listed(missing)} is missing")
        results = self._run([inputs[name] for name in names], context)
        return dict(zip((value.name for value in self.interface.outputs), results, strict=True))

    @property
    def program(self) -> Program:
        """The program of a graph without control flow; the first program of other graphs."""
        return self.programs[0]

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs of the main block, in order."""
        if self.interface.interpret:
            raise InputError("an interpreted executable has no program")
        made = self.stages["link"].values if self.body.runners else {}
        return tuple(made[runner.program.name].program for runner in self.body.runners)

    @property
    def arena_bytes(self) -> int:
        """Memory for intermediate results."""
        return self.body.arena_bytes

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until kernels that are compiled in the background run the groups; return whether they do.

        Until then, the generic kernel runs some of them. If kernels cannot be compiled, it stays.
        """
        return self.meanwhile is None or self.meanwhile.wait(seconds)

    def explain(self) -> Explanation:
        """Which kernel runs each group, from which library, and why it is not an array kernel."""
        from tosajit.compiler.explain import explain

        if self.interface.interpret:
            raise InputError("an interpreted executable has no kernels to explain")
        return explain(self.stages)

    def save(self, path: str | Path) -> None:
        """Write the executable as it is, kernels and packed weights, for `tj.load_executable`.

        The file is for this version and for CPUs that have all instructions of the one it was compiled for.
        It has no graph. Raises `FileError` if it cannot be written, `CompileError` if a CUSTOM operator or a
        check that waits for data is run by Python.
        """
        from tosajit.runtime.artifact import write

        self.wait()
        write(self.interface, self.body, path)

    def context(self) -> Context:
        """A new context, with variables of its own."""
        return Context()

    def profile(self, *arrays: Any, runs: int = 21) -> Profile:
        """How long each group takes on one thread, and what bounds it; the median of some runs.

        Of a graph with control flow, the groups of all programs that these inputs lead to, as often as they
        run; what Python does between programs does not count. Variables are those of the executable's own
        context, and stay as they are. Raises `InputError` for interpreted executables.
        """
        from tosajit.runtime.profile import Profile, profile_of

        if self.interface.interpret:
            raise InputError("an interpreted executable has no profile")
        if runs < 1:
            raise InputError(f"runs is {runs}, but must be at least 1")
        context, given = self.own_context.recording(), self._checked(arrays)
        self.body.run(given, context)
        calls: dict[Runner, Call] = context.log or {}
        while True:
            programs = {runner: runner.program for runner in calls}
            times = {runner: runner.profile(call.arrays, runs) for runner, call in calls.items()}
            explained = self.explain()
            if all(runner.program is program for runner, program in programs.items()):
                break  # else other kernels have taken their places meanwhile
        linked = self.stages["link"].values if calls else {}
        return Profile(
            tuple(
                group
                for runner, call in calls.items()
                for group in profile_of(
                    self.graph,
                    linked[runner.program.name].program,
                    explained.of(runner.program.name),
                    times[runner],
                    calls=call.times,
                )
            )
        )

    def __reduce__(self) -> NoReturn:
        text = "an executable holds addresses of this process, and cannot be pickled or copied"
        raise CompileError(f"{text}: send its graph (tj.to_bytes(executable.graph)), and compile that there")

    def __repr__(self) -> str:
        inputs = ", ".join(value.type for value in self.interface.inputs)
        outputs = ", ".join(value.type for value in self.interface.outputs)
        if self.interface.interpret:
            return f"<Executable ({inputs}) -> ({outputs}): interpreted after {self.interface.interpret}>"
        groups = sum(runner.program.image.sections for runner in self.body.runners)
        target = self.interface.target
        return (
            f"<Executable ({inputs}) -> ({outputs}): {groups} groups on {target.name}, "
            f"{target.cores} thread{'s' if target.cores > 1 else ''}, arena {self.arena_bytes} bytes>"
        )

    def __str__(self) -> str:
        from tosajit.runtime.text import executable_text

        return executable_text(repr(self).strip("<>"), self.interface, self._printed)

    def _repr_html_(self) -> str:
        from tosajit.runtime.text import executable_html

        return executable_html(repr(self).strip("<>"), self.interface, self._printed)

    @property
    def _printed(self) -> tuple[Program, ...]:
        """The programs, where there are any to be shown."""
        return () if self._graph is None or self.interface.interpret else self.programs

    def _run(self, arrays: Sequence[Any], context: Context | None) -> list[Array]:
        results = self._stored_results(self._checked(arrays), context)
        if not self._leaving:
            return results
        return leaving(results, self._leaving)

    def _stored_results(self, arrays: Sequence[Array], context: Context | None) -> list[Array]:
        """Results in the types that the graph stores."""
        if self._whole is not None:
            return self._whole.run(arrays)
        used = self.own_context if context is None else context
        if self._stateful is not None:
            return self._stateful.call(arrays, used)
        return self.body.run(arrays, used.execution())

    def _run_into(self, arrays: Sequence[Any], context: Context | None, out: Any) -> None:
        checked = self._checked(arrays)
        results = self._results(out, checked)
        if isinstance(self._whole, Runner | Chain):
            self._whole.run(checked, results)
        elif self._stateful is not None:
            self._stateful.call(checked, self.own_context if context is None else context, results)
        else:
            self._copy_results(checked, context, results)

    def _copy_results(
        self, arrays: Sequence[Array], context: Context | None, results: Sequence[Array]
    ) -> None:
        for target, made in zip(results, self._stored_results(arrays, context), strict=True):
            target[...] = made

    def _results(self, given: Any, inputs: Sequence[Array]) -> list[Array]:
        """The arrays that the caller gives for results."""
        if isinstance(given, _ARRAYS) and (found := self._plain_results(given, inputs)):
            return found
        outputs = self.interface.outputs
        return results_in(outputs, given, self._leaving or (None,) * len(outputs), inputs)

    def _plain_results(self, given: Any, inputs: Sequence[Array]) -> list[Array]:
        """The same at once, where it is plain that they do; nothing if more has to be looked at."""
        arrays = [given] if type(given) is np.ndarray else list(given)
        if len(arrays) != len(self._outputs):
            return []
        for array, (storage, shape) in zip(arrays, self._outputs):  # noqa: B905  (as in `_checked`)
            if type(array) is not np.ndarray or array.dtype is not storage or array.shape != shape:
                return []
            if array.flags.num & _FILLABLE != _FILLABLE:
                return []
        if not apart(arrays, inputs):
            return []
        if not self._leaving:
            return arrays
        return [
            array.view(value.dtype.storage)
            for array, value in zip(arrays, self.interface.outputs, strict=True)
        ]

    def _checked(self, arrays: Sequence[Any]) -> Sequence[Array]:
        """The arrays as dense ones of the right types and shapes."""
        if len(arrays) != len(self._inputs):
            raise InputError(f"{len(arrays)} arrays given, but the graph has {len(self._inputs)} inputs")
        for array, (_, storage, shape) in zip(arrays, self._inputs):  # noqa: B905  (strict= costs a call its time)
            if type(array) is not np.ndarray or array.dtype is not storage or array.shape != shape:
                break
            if not array.flags.c_contiguous:
                break
        else:
            return arrays
        return [
            _dense(value, entering(value, _array(array), self._outside.get(value.name)))
            for array, value in zip(arrays, self.interface.inputs, strict=True)
        ]


def _array(given: Any) -> Any:
    """An array of another package, such as JAX's, as one of NumPy: a view, where it lies in this memory."""
    is_other = hasattr(given, "__array__") and not isinstance(given, np.ndarray | np.generic)
    return np.asarray(given) if is_other else given


def _dense(value: Value, given: Any) -> Array:
    """The array as the graph wants it, or why it cannot be."""
    if not isinstance(given, np.ndarray | np.generic):
        kind = type(given).__name__
        raise InputError(f"{value}: expected an array, got {kind}; use np.asarray(…, {value.dtype.storage})")
    array = np.asarray(given)
    if array.dtype != value.dtype.storage:
        if array.dtype.newbyteorder("=") != value.dtype.storage:
            stored = value.dtype.storage
            raise InputError(
                f"{value}: the array has type {array.dtype}, but the input is stored as {stored}"
            )
        array = array.astype(value.dtype.storage)
    if array.shape != value.shape:
        raise InputError(f"{value}: the array has shape {list(array.shape)}")
    return np.ascontiguousarray(array).reshape(array.shape)
