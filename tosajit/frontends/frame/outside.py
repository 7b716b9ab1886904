"""Which types inputs and outputs have in the source model, where TOSA lacks them."""

from __future__ import annotations

_LACKING = frozenset({"uint8", "uint32", "int64"})


class Outside:
    """Notes for `Graph.outside`, made while a model is lowered."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}

    def note(self, name: str, type: str) -> None:
        """Keep the type of an input or output, if TOSA lacks it."""
        if type in _LACKING:
            self.types[name] = type
