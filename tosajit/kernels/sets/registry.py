"""Which CPU kernels are for, and which instruction set they use.

`TOSAJIT_CPU` asks for others than this machine's best: words with commas between them, in any order.

* `amx`, `avx512`, `avxvnni`, `avx2`, `neon`, `portable`: a set of `SETS`; `none`: no array kernels
* `haswell`, `x86-64-v3`, `neoverse-n1`: a CPU by LLVM's name; `native`, the default, is this machine's
* `+avxvnni`, `-avx512bf16`: a feature that the CPU has or lacks, by LLVM's name
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING

from tiling.records import dataclass
from tosajit.errors import CompileError
from tosajit.kernels.sets.cpus import Cpu, cpu_with, host, known, named_features
from tosajit.kernels.sets.machine import NATIVE

if TYPE_CHECKING:
    from tosajit.kernels.sets.description import InstructionSet

VARIABLE, NONE = "TOSAJIT_CPU", "none"

Description = Callable[[Collection[str]], "InstructionSet | None"]
"""Gives the set as far as a CPU with some features has it, or None."""


def _described(name: str, features: Collection[str]) -> InstructionSet | None:
    """Ask a set, whose module is imported for that: who only loads kernels asks none."""
    describe: Description = getattr(import_module(f"tosajit.kernels.sets.{name}"), name)
    return describe(features)


SETS: Mapping[str, Description] = {
    name: functools.partial(_described, name)
    for name in ("amx", "avx512", "avxvnni", "avx2", "neon", "portable")
}
"""In order of preference."""


def cpu() -> Cpu:
    """Return the CPU to compile for."""
    return _foreign.get() or _choice(os.environ.get(VARIABLE, "")).cpu


def instruction_set() -> InstructionSet | None:
    """Return the set of the array kernels; None if there are to be none."""
    foreign = _foreign.get()
    return _set("", foreign) if foreign else _choice(os.environ.get(VARIABLE, "")).isa


@contextmanager
def compiling_for(cpu: Cpu) -> Iterator[None]:
    """Compile for a CPU of another machine; what comes out cannot be run on this one."""
    token = _foreign.set(cpu)
    try:
        yield
    finally:
        _foreign.reset(token)


_foreign: ContextVar[Cpu | None] = ContextVar("foreign", default=None)


def required(describe: Description) -> InstructionSet:
    """Return what a set has on the CPU to compile for."""
    made = describe(cpu().features)
    if made is None:
        raise CompileError(f"{VARIABLE}: {cpu().name} does not have the instructions of a kernel")
    return made


def named_set(name: str) -> InstructionSet:
    """Return a set of `SETS` for the CPU to compile for."""
    return required(SETS[name])


def available_sets() -> tuple[str, ...]:
    """Return the names of the sets that the CPU to compile for has, best first."""
    return tuple(name for name, made in SETS.items() if made(cpu().features) is not None)


@dataclass(frozen=True, slots=True)
class _Choice:
    cpu: Cpu
    isa: InstructionSet | None


@functools.cache
def _choice(text: str) -> _Choice:
    words = [word.strip() for word in text.split(",") if word.strip()]
    switches = [word for word in words if word[0] in "+-"]
    sets = [word for word in words if word in SETS or word == NONE]
    cpus = [word for word in words if word in known()]
    for word in words:
        if word not in (*switches, *sets, *cpus):
            names = ", ".join((*SETS, NONE, *known()))
            raise CompileError(f"{VARIABLE}: no CPU or instruction set is named {word!r}; there are {names}")
    if len(sets) > 1 or len(cpus) > 1:
        raise CompileError(f"{VARIABLE}: {text} names more than one {'CPU' if len(cpus) > 1 else 'set'}")
    cpu = _cpu(cpus[0] if cpus else NATIVE, switches)
    return _Choice(cpu, _set(sets[0] if sets else "", cpu))


def _cpu(name: str, switches: Collection[str]) -> Cpu:
    features = set(known()[name])
    for switch in switches:
        if switch[1:] not in named_features():
            raise CompileError(
                f"{VARIABLE}: {switch} names no feature that CPUs of this machine's kind have; "
                f"there are {', '.join(sorted(named_features()))}"
            )
        (features.add if switch[0] == "+" else features.discard)(switch[1:])
    if lacking := sorted(features - host().features):
        raise CompileError(
            f"{VARIABLE}: this machine ({host().name}) cannot run code for {name}: "
            f"it lacks {', '.join(lacking)}"
        )
    return cpu_with(name, frozenset(features))


def _set(name: str, cpu: Cpu) -> InstructionSet | None:
    if name == NONE:
        return None
    candidates = [name] if name else list(SETS)
    for candidate in candidates:
        if (made := SETS[candidate](cpu.features)) is not None:
            return made
    raise CompileError(f"{VARIABLE}: {cpu.name} does not have the instructions of {name}")
