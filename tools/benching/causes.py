"""Why a target is missed, as far as profiles tell: `make roofline` shows groups, `perf` what is within them.

Shares are of a Zen 5 core with AVX-512 VNNI, those of the autoencoder of a Zen 4 core, those with AMX of
a Sapphire Rapids, those with AVX2 of a Zen 3. A cause is shown with its row as long as the row misses its
target.
"""

from __future__ import annotations

from collections.abc import Mapping

CAUSES: Mapping[str, str] = {
    "autoencoder": (
        "266 KB of weights pass through the core in a call: 2.3 µs at the 118 GB/s that the second-level "
        "cache gives, which is what loops over them take in C, too, three quarters of a call; on a Zen 5 "
        "core 2.0 of 2.5 µs at 134 GB/s, whether lines are fetched ahead or not. A twelfth is "
        "what Python takes to call C, the rest the beginnings and ends of ten kernels"
    ),
    "resnet8": (
        "3 × 3 with 16 channels, two fifths of a run, reaches 66% of the peak of products: a fifth is "
        "around the tiles of a line, and each product of a single panel needs a load of its own, so that a "
        "step of 16 rows takes 8.4 cycles where products need 8, and the end of a tile 40. To store "
        "registers of bytes one by one (vpmovdb), without shuffles, gained nothing, nor did several steps "
        "at a time. Layers of 32 and 64 channels without strides, a quarter of a run, take a quarter of the "
        "products: the last one's 295 KB of transformed weights come from the second-level cache at 134 "
        "GB/s at most, half of its 4.7 µs. The first layer, of three channels, reaches 30%: nine steps take "
        "less time than what is around them. On a Zen 4 core, products of 16 channels are at 70%: a fifth "
        "is for making bytes. AMX does not help with so few channels: a row of A has 64 bytes, so vectors "
        "multiply, and 3 × 3 layers of 16 channels are 45% of a run"
    ),
    "resnet50_i8": (
        "pointwise layers are 56% of a run on a Zen 4 core, where 3 × 3 layers but those of 7 × 7 "
        "take a quarter of the products. Those from 64 to 256 channels are at 71% to 79% of the peak: making "
        "bytes of the sums takes 6 cycles a register, of which shuffles need 5, as 9 of 10 channels have "
        "sums that are too large for float32; beside the products of the next tile it took longer, since no "
        "registers are left for both. Layers of 2048 channels are at 77%: their weights come from behind "
        "the second-level cache, and are not fetched ahead. Residual sums are 3% of a run. With AMX, "
        "residual sums are 9%, and making bytes takes most of pointwise "
        "layers from 64 to 256 channels, 10% of a run: 8 cycles a register, of which its two vector units "
        "need 4. 15 MB of weights of the last nine layers, a quarter of a run, come at 8 to 12 GB/s; to "
        "fetch 16 or 32 KB ahead in place of 4 gains nothing. With AVX2 exact products reach 80.6 GMAC/s, "
        "those of bytes that saturate, as the peer's do, 98: pointwise layers, two thirds of a run, are at "
        "65 to 72, 3 × 3 layers take a quarter of the products; those of 7 × 7 × 512 wait for 9.4 MB of "
        "transformed weights each"
    ),
    "resnet50_f32": (
        "3 × 3 layers, now a quarter of a run, take four ninths of their products by Winograd's algorithm, "
        "at 73% to 89% of the peak of FMA. The pointwise layers of the peer are as fast as ours: those "
        "from 64 to 256 channels are at 64% to 72%, others at 80% to 99%. Sums of two maps are 4% of a run: "
        "as part of the convolution before them they took 1% less on AVX-512 at first, nothing less on a "
        "loaded Zen 5 (21 rounds in turns), 2% more on AVX2"
    ),
    "onnx_resnet18_f32": "as in ResNet-50, 3 × 3 layers of 512 channels wait for their weights",
    "onnx_mobilenet_v2_qdq": (
        "it takes what mobilenet_v2 of TFLite takes, and 0.1 ms for making bytes of the input. With AVX2 "
        "the peer's products are of bytes and saturate; weights of seven bits (reduce_range) let ours be, "
        "which is 0.85 of the peer's time"
    ),
    "mobilenet_v2": (
        "with AVX2 vpmaddwd and the additions that go with it share four units: twelve of each take 7.2 "
        "cycles, where multiplications alone need 6, which is the 80.6 GMAC/s of exact products (97 for "
        "bytes that saturate). Loops of pointwise layers, 58% of a run, are at that; what is around their "
        "tiles is 14%, more than half of it in layers of 16 to 32 channels at 112 x 112 and 56 x 56, "
        "which are at 43 to 58 GMAC/s: a tile is 500 instructions, 320 of them its steps, in 110 cycles. "
        "Depthwise layers are a fifth of a run: 60% of their tiles is for making bytes, and a fifth of "
        "their time for interleaving rows. Taps side by side that share loads gained nothing there, nor "
        "did lines fetched into the first-level cache by pointwise layers; without fetching those of 7 x "
        "7 take a tenth to a sixth longer. Groups of two threads take 1.3% more work than those of one"
    ),
    "unet_i8": (
        "3 × 3 layers of 16 channels, a quarter of a run, are at 67% to 76% of the peak, and too thin for a "
        "quarter of the products, which others take; concatenating and repeating are 3% of a run"
    ),
    "gru_i8": (
        "two thirds of a run are what is done with the sums of each step, in two or three groups of 48 "
        "elements whose tables are looked up one by one"
    ),
    "encoder_f32": (
        "products are 92% of a run on a Zen 5 core: dense layers from 512 channels are at 95% of the peak of "
        "FMA, those of 128 at 86% to 90%, and those whose sums go through GELU at 78%; softmaxes and "
        "normalisations are 8%. The peers' products are about as fast. On a Zen 3 core with AVX2 they are at "
        "95% and more, and GELU is a quarter of the four layers that it follows, 9% of a run, at 22 cycles a "
        "register; by itself it takes 14"
    ),
    "transformer_f32": (
        "dense layers are nearly all of a run, at 88% of the peak of FMA on a Zen 5 core: their 4 MB of "
        "weights each come from behind the second-level cache, at 4.7 GB/s. On a Zen 3 core with AVX2 a "
        "layer alone is at the peak, and 24 in turns, with 100 MB of weights, take 2% longer; 128, 256 or "
        "384 steps at a time in place of 512 took as long"
    ),
    "mobilenet_v2_f32": (
        "pointwise layers of 16 to 24 channels reach 77% to 83% of the peak of FMA, as bias, bounds and "
        "stores hardly overlap with so few steps; those to 24 channels reach 72%, as a quarter of their "
        "registers is empty. Layers of 7 x 7 take a seventh longer in a run than alone, where their weights "
        "stay near. Depthwise layers are at 37 to 62 GMAC/s; to fetch their next row ahead, into either "
        "cache, or 12 to 16 pixels in place of 8 gained nothing. "
        "Chains of layers of 112 x 112 to 28 x 28 go through the second-level cache in bands: that took "
        "8% to 10% less on a Sapphire Rapids, 0% to 1% less on a Zen 4. On a Zen 3 core with AVX2, whose "
        "sums of few rows would be rounded otherwise in bands, it took 3% more to 5% less, in runs of much "
        "noise. There pointwise layers are at 90% of the peak in all; depthwise layers, a sixth of a run, "
        "are at 11 to 21 GMAC/s: to read all of their input in place, with zeros for padding, took 3% less "
        "at 28 x 28 and 0% to 8% more at 14 x 14, fewer channels at a time and huge pages for values and "
        "weights nothing less. "
        "Followed group by group on cores 300 ns apart, two threads took 3.75 ms at best, 0.4 ms more than "
        "half of one thread's groups: 0.15 for the two groups that store or load the most, 0.1 for those of "
        "7 x 7 maps, where each core finds lines of the other's, 0.07 for meeting after each group"
    ),
}
"""By the case of the row, without its threads."""


def cause(case: str) -> str:
    """Why the target of a row is missed; empty if that is not known."""
    name, _, way = case.partition(", ")
    return CAUSES.get(name, "") if not way or way.endswith("threads") else ""
