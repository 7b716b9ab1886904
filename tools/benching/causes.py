"""Why a target is missed, as far as profiles tell: `make roofline` shows groups, `perf` what is within them.

Shares are of a Zen 4 core, those of residual networks of one of Sapphire Rapids. A cause is shown with its
row as long as the row misses its target.
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
        "by AVX-512, 3 × 3 with 16 channels reaches 40% of the peak of products where vpdpbusd takes two "
        "ports: each product of a single panel needs a load of its own, and 36 rows are computed of 32. "
        "Gathering is 6% of such a layer; sums of two maps, with three exact rescales for each element, are "
        "10% of a run"
    ),
    "resnet50_i8": (
        "with AMX, sums of two maps with their exact rescales are 15% of a run, and pointwise layers from 64 "
        "to 256 channels reach a quarter of the rate of products that other layers do: making bytes of the "
        "sums takes most of their time"
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
