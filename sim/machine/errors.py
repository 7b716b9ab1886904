"""What can be wrong with a machine, as one tree.

```
ValueError
└── MachineError            everything that this package raises on purpose; `.faults` has all that is wrong
    ├── MachineFileError    a file cannot be read or written, or is not what its name says
    └── UnknownMachineError no machine has this name
```
"""

from __future__ import annotations

from collections.abc import Iterable

from tiling.records import dataclass
from tiling.words import TextError

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one field; `path` is empty where several fields contradict each other."""

    path: str
    text: str

    def under(self, path: str) -> Fault:
        """The same fault, seen from the part that the field's part belongs to."""
        return Fault(".".join(filter(None, (path, self.path))), self.text)

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class MachineError(TextError, ValueError):
    """A machine is invalid: the message lists every fault with its field and a remedy."""

    def __init__(self, faults: Iterable[Fault] | str, where: str = "") -> None:
        self.faults = (Fault("", faults),) if isinstance(faults, str) else tuple(faults)
        self.where = where
        super().__init__(self._text())

    def __reduce__(self) -> tuple[type[MachineError], tuple[tuple[Fault, ...], str]]:
        return type(self), (self.faults, self.where)

    def _text(self) -> str:
        lines = [str(fault) for fault in self.faults[:SHOWN]]
        start = f"{self.where}: " if self.where else ""
        if len(self.faults) == 1:
            return start + lines[0]
        hidden = len(self.faults) - len(lines)
        lines += [f"and {hidden} more"] if hidden else []
        return "\n  ".join([f"{start}{len(self.faults)} faults", *lines])


class MachineFileError(MachineError):
    """The file of a machine cannot be read or written."""


class UnknownMachineError(MachineError):
    """No machine has this name; the message suggests similar ones."""


class MachineWarning(UserWarning):
    """A machine is valid, but cannot do what one of its figures says."""


def shown(value: object, limit: int = 60) -> str:
    """A value as messages show it, never long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of too many digits, a list in itself
        text = f"a {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
