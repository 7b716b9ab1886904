"""The machines that are known by name. They are made when first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.machine.machine import Machine

_U55 = ("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256")
_U65 = ("ethos-u65-256", "ethos-u65-512")
_U85 = ("ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048")
_OTHERS = (
    *("systolic-16", "systolic-32", "systolic-128", "dot-256", "dot-1024"),
    *("nvdla-small", "nvdla-large", "tpu-v1", "eyeriss-v1", "gemmini-16", "tiny"),
    *("imx93", "simba-4", "alif-e7"),
)


def machines() -> tuple[str, ...]:
    """The names of all machines, each in its usual configuration."""
    return (*_U55, *_U65, *_U85, *_OTHERS)


def matching(part: str) -> tuple[str, ...]:
    """The machine of a name or, if there is none, those whose names contain it."""
    wanted = part.strip().replace("_", "-").lower()
    return tuple(one for one in machines() if wanted and wanted in one and wanted not in machines()) or (
        part,
    )


def configurations(name: str | None = None) -> tuple[str, ...]:
    """Full names of a machine or of all: `ethos-u85-256/sys-dram-mid/sram-only`."""
    if name is not None:
        name = _split(name)[0]
    return tuple(full for one in ((name,) if name else machines()) for full in _full_names(one))


def known(name: str) -> Machine:
    """A machine by name; raises `UnknownMachineError` with the nearest names."""
    base, rest = _split(name)
    if base in _OTHERS:
        from sim.machine.generic import generic

        if rest:
            _unknown(name, (base,))
        return generic(base)
    return _ethos(name, base, rest)


def _full_names(name: str) -> Iterator[str]:
    if name in _OTHERS:
        yield name
        return
    from sim.machine.ethos import combinations

    for system, mode in combinations(name):
        yield f"{name}/{system}/{mode}"


def _split(name: str) -> tuple[str, list[str]]:
    """The machine of a name, and what follows it."""
    base, *rest = (part.strip().replace("_", "-").lower() for part in str(name).split("/"))
    if base not in machines():
        _unknown(str(name), machines(), base)
    return base, rest


def _ethos(name: str, base: str, rest: list[str]) -> Machine:
    from sim.machine.errors import UnknownMachineError
    from sim.machine.ethos import ACCELERATORS, MODES, SYSTEMS, combinations, ethos

    about = ACCELERATORS[base]
    systems = SYSTEMS[about.family]
    words = [word.removeprefix(f"ethos-{about.family}-") for word in rest]
    modes, chosen = [w for w in words if w in MODES], [w for w in words if w in systems]
    if len(modes) > 1 or len(chosen) > 1 or len(modes) + len(chosen) < len(words):
        _unknown(name, configurations(base))
    system = chosen[0] if chosen else about.system
    mode = modes[0] if modes else _usual_mode(base, system)
    if (system, mode) not in combinations(base):
        fitting = ", ".join(m for s, m in combinations(base) if s == system)
        fault = f"{name!r}: activations live off-chip in {mode}, but flash cannot be written"
        raise UnknownMachineError(f"{fault}; {system} has {fitting}")
    return ethos(base, system, mode)


def _usual_mode(base: str, system: str) -> str:
    """The usual mode, or shared SRAM where that needs what the system lacks."""
    from sim.machine.ethos import ACCELERATORS, combinations

    usual = ACCELERATORS[base].mode
    return usual if (system, usual) in combinations(base) else "shared-sram"


def _unknown(name: str, known: tuple[str, ...], part: str = "") -> None:
    from difflib import get_close_matches

    from sim.machine.errors import UnknownMachineError, shown

    wanted = part or name.lower().replace("_", "-")
    near = [one for one in known if wanted and wanted in one] or get_close_matches(wanted, known, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    text = f"no machine is called {shown(name)}; {hint}"
    if not near:
        text += ", and files that end with .json or .yaml"
    raise UnknownMachineError(text)
