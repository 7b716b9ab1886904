"""The block that a layer is done in, on a part of either kind."""

from __future__ import annotations

from functools import lru_cache

from sim.cost.ethos import u55, u85
from sim.cost.ethos.parts import Choice, Layer, Part55, Part85, Shape


@lru_cache(maxsize=1 << 14)
def chosen(hardware: Part55 | Part85, layer: Layer) -> Choice:
    """The block for a layer; where no block fits, one microblock."""
    found = u85.choose(hardware, layer) if isinstance(hardware, Part85) else u55.choose(hardware, layer)
    if found is not None:
        return found
    micro = hardware.microblocks[0] if isinstance(hardware, Part85) else hardware.microblock
    return Choice(micro, Shape(*layer.needed(micro), min(layer.input.depth, 8)), micro, False)
