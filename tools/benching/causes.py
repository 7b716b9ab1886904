"""Why a target is missed, as far as profiles tell: `make roofline` shows groups, `perf` what is within them.

Shares are of a Zen 4 core. A cause is shown with its row as long as the row misses its target.
"""

from __future__ import annotations

from collections.abc import Mapping

CAUSES: Mapping[str, str] = {
    "autoencoder": (
        "266 KB of weights pass through the core in a call: 2.3 µs at the 118 GB/s that the second-level "
        "cache gives. A tenth of a call is what Python takes to call C, a tenth the kernels around the "
        "register tiles of ten groups of one row each, a tenth the driver and the arguments that it fills "
        "in"
    ),
    "resnet8": (
        "3 × 3 with 16 channels reaches 70% of the peak of products. 14% of a run gathers each line of "
        "input three times, 7% is what panels of one output row cost besides their tiles, and 10% are sums "
        "of two maps, with three exact rescales for each element; flipping the sign of A in the tiles is "
        "only 2%"
    ),
    "mobilenet_v2_f32": (
        "pointwise layers of 16 and 24 channels reach half of the peak of FMA: what surrounds so few steps "
        "takes as long, and their results of up to 5 MB leave the second-level cache. Depthwise layers, a "
        "sixth of a run, reach 10 GMAC/s"
    ),
}
"""By the case of the row, without its threads."""


def cause(case: str) -> str:
    """Why the target of a row is missed; empty if that is not known."""
    return CAUSES.get(case.partition(",")[0], "")
