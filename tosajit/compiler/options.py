"""How a graph is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from tiling.records import dataclass
from tiling.target import HOST, Target
from tosajit import customs
from tosajit.errors import CompileError

if TYPE_CHECKING:
    from sim import Machine
    from tosajit.compiler.written import Written
    from tosajit.graph.binding import Use
    from tosajit.plans.plan import Plan

INTERPRETED = ("lower", "precompute", "fuse", "simplify")
"""The stages whose nests can be interpreted; later ones are for kernels alone."""

ShapeRule = Callable[..., Sequence[tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class Custom:
    """The implementation of a CUSTOM operator: a function, or a text that says what it computes.

    `function(*arrays, attributes=bytes)` gives an array or a sequence of arrays; it may be a Numba function,
    which is then called without `attributes`. `shape(*shapes)` gives the shapes of the outputs, checked when
    compiling. `nnef` is a module in SkriptND that defines an operator of this name; it is compiled, tiled and
    timed like those of TOSA.
    """

    function: Callable[..., Any] | None = None
    shape: ShapeRule | None = None
    nnef: str | None = None

    def __post_init__(self) -> None:
        if (self.function is None) == (self.nnef is None):
            raise CompileError("an implementation of CUSTOM is either a function or a text: function=, nnef=")
        _check_callable(self.function)


def _check_callable(given: object) -> None:
    if given is not None and not callable(given):
        fault = f"its function is {given!r}, but must be one that can be called"
        raise CompileError(f"an implementation of CUSTOM: {fault}")


_registered: dict[tuple[str, str], Custom] = {}


def register_custom(
    domain: str,
    operator_name: str,
    function: Callable[..., Any] | None = None,
    shape: ShapeRule | None = None,
    *,
    nnef: str | None = None,
) -> None:
    """Implement CUSTOM operators with this domain and name, for all graphs compiled from now on.

    `function`, `shape` and `nnef` are those of `tj.Custom`. Registering again replaces them.
    """
    _registered[domain, operator_name] = Custom(function, shape, nnef)


Generic = Literal["never", "meanwhile", "always"]
"""When the generic kernel runs what it can: not at all, until missing kernels are compiled, or always."""


@dataclass(frozen=True)
class Options:
    """What `compile` was asked for."""

    target: Target = HOST
    checked: bool = False
    custom: Mapping[tuple[str, str], Custom] = field(default_factory=dict)
    progress: Callable[[int, int], None] | bool | None = None
    machine: Machine | None = None
    """The modelled machine that `target` is of, if programs are to be planned for its times."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Profiles, extensions and level that the graph is held to, as `validate` takes them."""
    interpret: str = ""
    """The stage whose nests are interpreted; empty if kernels are compiled."""
    generic: Generic = "never"
    """When the generic kernel runs nests that have no array kernel."""
    once: bool = False
    """Whether the program runs once only, so that what makes it faster does not pay."""
    run: bool = True
    """Whether kernels are wanted; a graph that is only timed needs none."""
    plan: Plan | None = None
    """What is chosen already for that machine."""

    @property
    def on_host(self) -> bool:
        """Whether operands are used where they are, by kernels that need not watch anything."""
        return self.target.scratch_bytes is None and not self.checked

    def written(self, use: Use) -> Written | None:
        """What the text of a CUSTOM operator says; None if it has none."""
        from tosajit.compiler.written import written  # which needs the operators: warm starts do without

        known = {**_registered, **self.custom}
        return written(use, {name: one.nnef for name, one in known.items() if one.nnef is not None})

    def given(self, domain: str, name: str) -> Custom | None:
        """What the user says that a CUSTOM operator is."""
        return self.custom.get((domain, name)) or _registered.get((domain, name))

    def custom_operator(self, node: str, domain: str, name: str) -> Custom:
        """The registered meaning of a CUSTOM operator."""
        found = self.given(domain, name) or _own(domain, name)
        if found is None:
            raise CompileError(
                f"{node} (CUSTOM): operator {name} of domain {domain} is not registered; tj.register_custom("
                f"{domain!r}, {name!r}, function, shape) registers it [TOSA 1.0.1 section 2.15.1]"
            )
        return found


def _own(domain: str, name: str) -> Custom | None:
    """The meaning of an operator of tosajit's own domain."""
    function = customs.meaning(name) if domain == customs.DOMAIN else None
    return None if function is None else Custom(function)
