"""Functions of tensors that `torch` and tosajit compute, one for each operator; numbers are drawn by a seed.

This runs in the environment that has `torch`: `python cases.py` prints what differs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Case = tuple[Callable[..., Any], tuple[Any, ...]]


def real(*shape: int) -> Any:
    return torch.randn(shape)


def positive(*shape: int) -> Any:
    return torch.rand(shape) + 0.1


def whole(*shape: int, low: int = -9, high: int = 9, dtype: Any = torch.int64) -> Any:
    return torch.randint(low, high, shape, dtype=dtype)


def truths(*shape: int) -> Any:
    return torch.rand(shape) > 0.5


def cases() -> dict[str, Case]:
    """All of them, by name."""
    return {
        **arithmetic(),
        **functions(),
        **comparisons(),
        **shapes(),
        **indices(),
        **reductions(),
        **windows(),
        **layers(),
        **places(),
        **decomposed(),
        **core(),
        **sampled(),
        **losses(),
        **complexes(),
        **spectra(),
        **bags(),
    }


def complexes() -> dict[str, Case]:
    """Complex numbers inside, pairs of real ones outside."""
    x, y, pairs = real(3, 4), real(3, 4), real(3, 4, 2)
    made, seen, of = torch.complex, torch.view_as_real, torch.view_as_complex
    turns = torch.polar(torch.ones(3, 4), 0.3 * torch.arange(12.0).reshape(3, 4))
    return {
        "complex_pairs": (lambda a: seen(of(a) * of(a.flip(0))), (pairs,)),
        "complex_turns": (lambda a: seen(of(a) * turns[None, :, None][0]).flatten(1), (real(3, 3, 4, 2),)),
        "complex_polar": (lambda a, b: seen(torch.polar(a.abs(), b)), (x, y)),
        "complex_parts": (lambda a, b: (made(a, b).real, made(a, b).imag, made(a, b).abs()), (x, y)),
        "complex_angle": (lambda a, b: made(a, b).angle(), (x, y)),
        "complex_conj": (lambda a, b: seen((made(a, b).conj() * 2j).clone()), (x, y)),
        "complex_div": (lambda a, b: seen(made(a, b) / made(b + 3, a) + 1 / made(a + 3, b) / 2), (x, y)),
        "complex_real": (lambda a, b: seen(made(a, b) * a + b - 1j), (x, y)),
        "complex_exp": (lambda a, b: seen(made(a, b).exp() + made(a, b).log()), (x, y)),
        "complex_mm": (lambda a, b: seen(made(a, b) @ made(b, a).mT), (x, y)),
        "complex_einsum": (lambda a, b: seen(torch.einsum("ij,kj->ik", made(a, b), made(b, a))), (x, y)),
        "complex_moved": (
            lambda a, b: seen(torch.cat([made(a, b)[1:].T.reshape(2, 4), made(b, a).roll(1, 0)[:2]]).sum(0)),
            (x, y)),
        "complex_cast": (lambda a: seen(a.to(torch.complex64) + made(a, a)), (x,)),
        "complex_log": (lambda a, b: (made(a, b) * made(a, b)).log().imag, (positive(3), positive(3))),
    }  # fmt: skip


def spectra() -> dict[str, Case]:
    x, image, fft, seen = real(3, 8), real(2, 6, 5), torch.fft, torch.view_as_real
    window = torch.hann_window(16)
    return {
        "fft": (lambda a: seen(fft.fft(a)), (x,)),
        "fft_ortho": (lambda a: seen(fft.ifft(fft.fft(a, n=11, norm="ortho"))), (x,)),
        "fft_mixed": (lambda a: fft.fft(fft.fft(a, dim=-1), dim=-2).real, (image,)),
        "fft2": (lambda a: fft.fft2(a).abs(), (image,)),
        "fftn": (lambda a: seen(fft.fftshift(fft.fftn(a))), (image,)),
        "rfft": (lambda a: seen(fft.rfft(a)), (x,)),
        "rfft_odd": (lambda a: fft.rfft(a, n=7, dim=0, norm="forward").abs(), (x,)),
        "irfft": (lambda a: fft.irfft(fft.rfft(a) * 2j), (x,)),
        "irfft_odd": (lambda a: fft.irfft(fft.rfft(a), n=5, norm="ortho"), (x,)),
        "rfft2": (lambda a: fft.irfft2(fft.rfft2(a), s=(6, 5)), (image,)),
        "hfft": (lambda a: fft.hfft(fft.rfft(a)), (x,)),
        "fft_long": (lambda a: seen(fft.rfft(a)) + seen(fft.fft(a))[:, :1025], (real(1, 2048),)),
        "stft": (lambda a: torch.stft(a, 16, 4, window=window, return_complex=True).abs(), (real(2, 64),)),
    }


def bags() -> dict[str, Case]:
    """Rows that are looked up together, and elements in order."""
    ids, x, places = whole(3, 5, low=0, high=9), real(3, 4), whole(3, 4, low=0, high=3)
    found: dict[str, Case] = {
        f"bag_{mode}": (nn.EmbeddingBag(9, 4, mode=mode), (ids,)) for mode in ("sum", "mean", "max")
    }
    ranges, bag = torch.tensor([0, 2, 2, 6]), nn.EmbeddingBag(9, 4, mode="mean")
    last = nn.EmbeddingBag(9, 4, mode="sum", include_last_offset=True)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for own in (True, False):
            function = partial(torch.scatter_reduce, dim=0, reduce=reduce, include_self=own)
            combined = partial(lambda f, a, b, c: f(a, index=b, src=c), function)
            found[f"scatter_{reduce}_{own}"] = combined, (x, places, real(3, 4))
    return found | {
        "bag_ranges": (lambda a: bag(a, ranges), (whole(8, low=0, high=9),)),
        "bag_last": (lambda a: last(a, ranges), (whole(8, low=0, high=9),)),
        "bag_weights": (
            lambda a, b: F.embedding_bag(a, bag.weight, per_sample_weights=b, mode="sum"), (ids, real(3, 5))),
        "kth": (lambda a: tuple(a.kthvalue(2)) + tuple(a.kthvalue(1, 0, True)), (x,)),
        "median_all": (torch.median, (real(3, 5),)),
        "log_cumsum": (lambda a: a.logcumsumexp(1), (x,)),
        "sort_half": (lambda a: tuple(a.sort(-1, descending=True)) + tuple(a.topk(2)), (x.half(),)),
        "fmax": (torch.fmax, (torch.where(x > 0, real(3, 4), torch.nan), x)),
        "fmin": (torch.fmin, (x, torch.where(x > 0, real(3, 4), torch.nan))),
        "ldexp": (torch.ldexp, (x, whole(3, 4, low=-3, high=4))),
        "triangles": (
            lambda a: a[torch.tril_indices(3, 4, -1)[1]] + a[torch.triu_indices(3, 2)[0][:3]], (real(4, 2),)),
        "strided": (lambda a: a.as_strided((3, 2), (1, 2), 1), (x,)),
        "three": (lambda a, b: (torch.atleast_3d(a), torch.atleast_2d(b)), (x, real(3))),
        "autocast": (Lowered(), (x,)),
    }  # fmt: skip


class Lowered(nn.Module):  # type: ignore[misc]
    """Layers whose operands are converted without saying so."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

    def forward(self, value: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.norm(self.first(value)) @ value.T


def losses() -> dict[str, Case]:
    scores, image, one = real(5, 4), real(2, 4, 3, 2), real(4)
    classes, places = whole(5, low=0, high=4), whole(2, 3, 2, low=0, high=4)
    some = classes.clone()
    some[1] = -100
    shares = positive(4)
    found: dict[str, Case] = {}
    for reduction in ("none", "mean", "sum"):
        entropy = partial(F.cross_entropy, reduction=reduction)
        found |= {
            f"entropy_{reduction}": (entropy, (scores, classes)),
            f"entropy_weights_{reduction}": (partial(entropy, label_smoothing=0.3), (scores, some, shares)),
            f"entropy_image_{reduction}": (partial(entropy, ignore_index=2), (image, places)),
            f"entropy_shares_{reduction}": (
                partial(entropy, label_smoothing=0.2), (image, torch.softmax(real(2, 4, 3, 2), 1), shares),
            ),
            f"likelihood_{reduction}": (partial(F.nll_loss, reduction=reduction), (image, places, shares)),
        }  # fmt: skip
    forward = torch.ops.aten.nll_loss_forward.default
    return found | {
        "entropy_one": (F.cross_entropy, (one, torch.tensor(2))),
        "likelihood_forward": (lambda a, b, c: forward(a, b, c, 1, -100), (scores, some, shares)),
        "likelihood_forward_none": (lambda a, b: forward(a, b, None, 0, -100), (scores, classes)),
        "likelihood_forward_images": (
            lambda a, b: torch.ops.aten.nll_loss2d_forward.default(a, b, None, 2, 1), (image, places)),
    }  # fmt: skip


def arithmetic() -> dict[str, Case]:
    x, y, row = real(2, 3, 4), positive(2, 3, 4), real(4)
    i, j = whole(3, 4), whole(3, 4, low=1)
    small, byte = whole(5, low=-128, high=127, dtype=torch.int8), whole(5, low=0, high=255, dtype=torch.uint8)
    pairs: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "floor_div": lambda a, b: a // b,
        "mod": lambda a, b: a % b,
        "fmod": torch.fmod,
        "trunc_div": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        "maximum": torch.maximum,
        "minimum": torch.minimum,
    }
    found: dict[str, Case] = {f"{name}_real": (one, (x, y)) for name, one in pairs.items()}
    found |= {f"{name}_whole": (one, (i, j)) for name, one in pairs.items()}
    found |= {f"{name}_mixed": (one, (i, y[0])) for name, one in pairs.items() if name not in ("mod", "fmod")}
    found |= {f"{name}_int8": (one, (small, small)) for name, one in list(pairs.items())[:3]}
    found |= {f"{name}_uint8": (one, (byte, byte)) for name, one in list(pairs.items())[:3]}
    return found | {
        "add_alpha": (lambda a, b: torch.add(a, b, alpha=3), (x, row)),
        "sub_alpha": (lambda a, b: torch.sub(a, b, alpha=0.5), (x, row)),
        "rsub": (lambda a: 2 - a, (x,)),
        "radd_int": (lambda a: a + 2.5, (i,)),
        "rdiv": (lambda a: 1 / a, (y,)),
        "bool_add": (lambda a: a + 1, (truths(3),)),
        "bool_mul": (lambda a, b: a * b, (truths(3, 4), x)),
        "pow_2": (lambda a: a**2, (x,)),
        "pow_half": (lambda a: a**0.5, (y,)),
        "pow_3": (lambda a: a**3, (x,)),
        "pow_minus": (lambda a: a**-1.5, (y,)),
        "pow_base": (lambda a: 2**a, (x,)),
        "pow_tensor": (torch.pow, (y, row)),
        "pow_whole": (lambda a: a**3, (i,)),
        "clamp": (lambda a: a.clamp(-0.5, 0.7), (x,)),
        "clamp_min": (lambda a: a.clamp(min=0.1), (x,)),
        "clamp_whole": (lambda a: a.clamp(-3, 3), (i,)),
        "clamp_tensor": (lambda a, b: torch.clamp(a, min=b), (x, row)),
        "abs": (torch.abs, (x,)),
        "neg": (torch.neg, (i,)),
        "sign": (torch.sign, (x,)),
        "square": (torch.square, (x,)),
        "addcmul": (lambda a, b: torch.addcmul(a, a, b, value=2), (x, y)),
        "addcdiv": (lambda a, b: torch.addcdiv(a, a, b, value=2), (x, y)),
        "lerp": (lambda a, b: torch.lerp(a, b, 0.3), (x, y)),
        "half": (lambda a: a + a * 2, (x.half(),)),
        "bfloat": (lambda a: a + a * 2, (x.bfloat16(),)),
        "scalar_tensor": (lambda a, b: a * b, (x, real())),
    }


def functions() -> dict[str, Case]:
    x, y, unit = 3 * real(3, 5), positive(3, 5), torch.rand(3, 5) * 1.8 - 0.9
    plain = "exp expm1 log1p_ sin cos tan sinh cosh tanh atan asinh sigmoid erf erfc floor ceil round trunc"
    found: dict[str, Case] = {
        one: (getattr(torch, one.strip("_")), (y if one.endswith("_") else x / 2,)) for one in plain.split()
    }
    found |= {one: (getattr(torch, one), (y,)) for one in "log log2 log10 sqrt rsqrt reciprocal".split()}
    found |= {one: (getattr(torch, one), (unit,)) for one in "asin acos atanh".split()}
    names = (
        "relu relu6 silu mish logsigmoid hardsigmoid hardswish hardtanh gelu elu selu celu softplus softsign "
        "leaky_relu hardshrink softshrink tanhshrink"
    )
    found |= {one: (getattr(F, one), (x,)) for one in names.split()}
    return found | {
        "acosh": (torch.acosh, (y + 1,)),
        "gelu_tanh": (lambda a: F.gelu(a, approximate="tanh"), (x,)),
        "elu_alpha": (lambda a: F.elu(a, 0.4), (x,)),
        "celu_alpha": (lambda a: F.celu(a, 0.4), (x,)),
        "softplus_beta": (lambda a: F.softplus(a, 2, 1), (x,)),
        "glu": (lambda a: F.glu(a, 0), (real(4, 3),)),
        "threshold": (lambda a: F.threshold(a, 0.2, 7.0), (x,)),
        "prelu": (nn.PReLU(3), (real(2, 3, 4),)),
        "rrelu": (nn.RReLU(), (x,)),
        "logit": (lambda a: torch.logit(a, 1e-3), (torch.rand(4),)),
        "atan2": (torch.atan2, (x, real(3, 5))),
        "dropout": (nn.Dropout(0.5), (x,)),
        "relu_whole": (F.relu, (whole(5),)),
        "floor_whole": (torch.floor, (whole(5),)),
        "exp_whole": (torch.exp, (whole(5),)),
    }


def comparisons() -> dict[str, Case]:
    x, y, i, b, c = real(3, 4), real(4), whole(3, 4), truths(3, 4), truths(3, 4)
    found: dict[str, Case] = {}
    for name in "eq ne gt ge lt le".split():
        found[name] = getattr(torch, name), (x, y)
        found[f"{name}_scalar"] = (lambda a, one=name: getattr(torch, one)(a, 2)), (i,)
        found[f"{name}_mixed"] = getattr(torch, name), (i, x)
    for name in "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split():
        found[name] = getattr(torch, name), (b, c)
        if "bitwise" in name:
            found[f"{name}_whole"] = getattr(torch, name), (i, i + 5)
    return found | {
        "not": (torch.logical_not, (b,)),
        "bitwise_not": (torch.bitwise_not, (i,)),
        "logical_and_whole": (torch.logical_and, (i, i - 1)),
        "where": (torch.where, (b, x, y)),
        "where_scalar": (lambda a, b: torch.where(a, b, 2.0), (b, x)),
        "masked_fill": (lambda a, b: a.masked_fill(b, -1e9), (x, b)),
        "masked_fill_row": (lambda a, b: a.masked_fill(b, float("-inf")), (x, truths(4))),
        "isnan": (lambda a: torch.isnan(a / a.round()), (x,)),
        "isinf": (lambda a: torch.isinf(a / 0), (x,)),
        "isfinite": (lambda a: torch.isfinite(a / a.round()), (x,)),
        "any": (lambda a: a.any(1), (b,)),
        "all": (lambda a: a.all(0, keepdim=True), (b,)),
        "any_all": (lambda a: a.any(), (i,)),
        "to_whole": (lambda a: (a * 9).to(torch.int32), (x,)),
        "to_bool": (lambda a: a.to(torch.bool), (i,)),
        "to_real": (lambda a: a.float(), (b,)),
        "to_half": (lambda a: a.half(), (x,)),
        "type_as": (lambda a, b: a.type_as(b), (i, x)),
        "to_int8": (lambda a: (a * 100).to(torch.int8), (i,)),
        "shift": (lambda a: (a << 2) + (a >> 1), (whole(5, low=0),)),
    }


def shapes() -> dict[str, Case]:
    x = real(2, 3, 4)
    return {
        "view": (lambda a: a.view(4, -1), (x,)),
        "reshape": (lambda a: a.transpose(0, 1).reshape(6, 4), (x,)),
        "flatten": (lambda a: a.flatten(1), (x,)),
        "unflatten": (lambda a: a.unflatten(2, (2, 2)), (x,)),
        "unsqueeze": (lambda a: a.unsqueeze(-1), (x,)),
        "squeeze": (lambda a: a[:1].squeeze(0), (x,)),
        "permute": (lambda a: a.permute(2, 0, 1), (x,)),
        "transpose": (lambda a: a.transpose(-1, 0), (x,)),
        "t": (lambda a: a.t(), (real(2, 3),)),
        "mT": (lambda a: a.mT, (x,)),
        "movedim": (lambda a: a.movedim(0, -1), (x,)),
        "expand": (lambda a: a.expand(2, 3, 4), (real(3, 1),)),
        "repeat": (lambda a: a.repeat(2, 1, 3), (real(3, 2),)),
        "tile": (lambda a: a.tile(2), (x,)),
        "repeat_interleave": (lambda a: a.repeat_interleave(2, dim=1), (x,)),
        "cat": (lambda a, b: torch.cat([a, b], -1), (x, real(2, 3, 1))),
        "cat_mixed": (lambda a, b: torch.cat([a, b], 0), (x, whole(1, 3, 4))),
        "stack": (lambda a: torch.stack([a, a * 2], 1), (x,)),
        "hstack": (lambda a: torch.hstack([a, a]), (x,)),
        "vstack": (lambda a: torch.vstack([a, a]), (real(3),)),
        "split": (lambda a: a.split(2, 2), (x,)),
        "split_uneven": (lambda a: a.split(3, -1), (x,)),
        "split_sizes": (lambda a: a.split([1, 3], 2), (x,)),
        "chunk": (lambda a: a.chunk(3, 2), (x,)),
        "unbind": (lambda a: a.unbind(1), (x,)),
        "tensor_split": (lambda a: a.tensor_split(3, 2), (x,)),
        "slice": (lambda a: a[:, 1:, :-1], (x,)),
        "slice_step": (lambda a: a[..., ::2], (x,)),
        "slice_step_odd": (lambda a: a[..., 1::3], (real(2, 11),)),
        "select": (lambda a: a[:, -1], (x,)),
        "narrow": (lambda a: a.narrow(2, 1, 2), (x,)),
        "flip": (lambda a: a.flip(0, -1), (x,)),
        "roll": (lambda a: a.roll((1, -2), (1, 2)), (x,)),
        "roll_flat": (lambda a: a.roll(3), (x,)),
        "meshgrid": (lambda a, b: torch.meshgrid(a, b, indexing="ij"), (real(2), real(3))),
        "meshgrid_xy": (lambda a, b: torch.meshgrid(a, b, indexing="xy"), (real(2), real(3))),
        "unfold": (lambda a: a.unfold(2, 2, 1), (x,)),
        "im2col": (nn.Unfold((2, 3), (1, 2), (1, 0), (2, 1)), (real(2, 3, 5, 7),)),
        "im2col_single": (nn.Unfold(2), (real(3, 4, 3),)),
        "col2im": (nn.Fold((5, 7), (2, 3), (1, 2), (1, 0), (2, 1)), (real(2, 18, 9),)),
        "col2im_single": (nn.Fold((4, 3), 2), (real(12, 6),)),
        "pixel_shuffle": (nn.PixelShuffle(2), (real(1, 8, 2, 3),)),
        "pixel_unshuffle": (nn.PixelUnshuffle(2), (real(1, 2, 4, 6),)),
        "channel_shuffle": (nn.ChannelShuffle(2), (real(1, 4, 2, 3),)),
        "diagonal": (lambda a: a.diagonal(1, 1, 2), (x,)),
        "tril": (lambda a: a.tril(-1), (x,)),
        "triu": (lambda a: a.triu(1), (x,)),
        "contiguous": (lambda a: a.transpose(0, 1).contiguous(), (x,)),
        "pad": (lambda a: F.pad(a, (1, 2, -1, 0), value=3.0), (x,)),
        "pad_reflect": (lambda a: F.pad(a, (2, 1), mode="reflect"), (x,)),
        "pad_replicate": (lambda a: F.pad(a, (2, 1), mode="replicate"), (x,)),
        "pad_circular": (lambda a: F.pad(a, (2, 1), mode="circular"), (x,)),
        "in_place_slice": (in_place_slice, (x,)),
        "in_place_view": (in_place_view, (x,)),
        "in_place_select": (in_place_select, (x,)),
        "in_place_chunk": (in_place_chunk, (x,)),
    }


def in_place_slice(a: Any) -> Any:
    b = a * 1
    b[:, 1:] += 2
    b[..., ::2] = 0
    return b


def in_place_view(a: Any) -> Any:
    b = a * 1
    c = b.permute(2, 0, 1)
    b.view(-1).mul_(2)
    c.add_(1)
    return b, c, b.t() if b.ndim < 3 else b.sum()


def in_place_select(a: Any) -> Any:
    b = a.clone()
    b[0] = b[1]
    b[:, 2].zero_()
    return b


def in_place_chunk(a: Any) -> Any:
    b = a * 1
    first, second = b.chunk(2, -1)
    first.exp_()
    one, _, _ = second.unbind(1)
    one.fill_(7)
    return b


def indices() -> dict[str, Case]:
    x, i = real(4, 3, 5), whole(2, 2, low=0, high=4)
    along = whole(4, 2, 5, low=0, high=3)
    return {
        "embedding": (nn.Embedding(7, 3), (whole(2, 4, low=0, high=7),)),
        "embedding_padded": (nn.Embedding(7, 3, padding_idx=0), (whole(2, 4, low=0, high=7),)),
        "index": (lambda a, b: a[b], (x, i)),
        "index_middle": (lambda a, b: a[:, b % 3], (x, i)),
        "index_two": (lambda a, b: a[b, b % 3], (x, i)),
        "index_apart": (lambda a, b: a[b, :, b], (x, i)),
        "index_broadcast": (lambda a, b: a[b[:, :1], b[:1] % 3], (x, i)),
        "index_negative": (lambda a, b: a[b - 2], (x, i)),
        "index_constant": (lambda a: a[:, torch.tensor([2, 0])], (x,)),
        "index_mask_constant": (lambda a: a[:, torch.tensor([True, False, True])], (x,)),
        "index_select": (lambda a, b: a.index_select(1, b), (x, whole(2, low=0, high=3))),
        "gather": (lambda a, b: a.gather(1, b), (x, along)),
        "take_along": (lambda a, b: a.take_along_dim(b, 1), (x, along)),
        "scatter": (lambda a, b: torch.zeros_like(a).scatter(1, b[:, :1], a), (x, along)),
        "scatter_value": (lambda a, b: a.scatter(1, b[:, :1], 2.5), (x, along)),
        "scatter_add": (lambda a, b: a.scatter_add(1, b, a), (x, along)),
        "index_put": (index_put, (x, torch.tensor([0, 2]))),
        "index_put_mask": (index_put_mask, (x,)),
        "index_add": (lambda a, b, c: a.index_add(0, b, c), (x, torch.tensor([1, 3, 1]), real(3, 3, 5))),
        "index_copy": (lambda a, b, c: a.index_copy(1, b, c), (x, torch.tensor([2, 0]), real(4, 2, 5))),
        "one_hot": (lambda a: F.one_hot(a, 5), (i,)),
        "topk": (lambda a: a.topk(2, dim=-1), (x,)),
        "topk_least": (lambda a: a.topk(2, dim=1, largest=False), (x,)),
        "sort": (lambda a: a.sort(-1), (x,)),
        "argsort": (lambda a: a.argsort(0, descending=True), (x,)),
    }


def index_put(a: Any, b: Any) -> Any:
    c = a * 1
    c[:, b] = a[:, b] * 2
    c[b, b] += 5
    return c


def index_put_mask(a: Any) -> Any:
    c = a * 1
    c[c < 0] = 0
    return c


def reductions() -> dict[str, Case]:
    x, i = real(2, 3, 4), whole(3, 4)
    return {
        "sum": (lambda a: a.sum((0, 2)), (x,)),
        "sum_all": (lambda a: a.sum(), (x,)),
        "sum_whole": (lambda a: a.sum(1), (i,)),
        "sum_bool": (lambda a: a.sum(-1), (truths(3, 4),)),
        "mean": (lambda a: a.mean(-1, keepdim=True), (x,)),
        "mean_all": (torch.mean, (x,)),
        "prod": (lambda a: a.prod(1), (x,)),
        "amax": (lambda a: a.amax((0, 1)), (x,)),
        "amin": (lambda a: a.amin(-1), (x,)),
        "max": (torch.max, (x,)),
        "min": (torch.min, (i,)),
        "max_dim": (lambda a: a.max(1), (x,)),
        "min_dim": (lambda a: a.min(-1, keepdim=True), (x,)),
        "argmax": (lambda a: a.argmax(1), (x,)),
        "argmin": (lambda a: a.argmin(), (x,)),
        "cumsum": (lambda a: a.cumsum(1), (x,)),
        "cumprod": (lambda a: a.cumprod(1), (x,)),
        "cumsum_bool": (lambda a: a.cumsum(1), (truths(2, 5),)),
        "var": (lambda a: a.var(1), (x,)),
        "var_all": (lambda a: a.var(unbiased=False), (x,)),
        "std": (lambda a: a.std((0, 2)), (x,)),
        "var_mean": (lambda a: torch.var_mean(a, 1), (x,)),
        "norm": (lambda a: a.norm(), (x,)),
        "norm_dim": (lambda a: a.norm(dim=-1, keepdim=True), (x,)),
        "norm_1": (lambda a: torch.linalg.vector_norm(a, 1, 1), (x,)),
        "norm_3": (lambda a: torch.linalg.vector_norm(a, 3, (0, 1)), (x,)),
        "norm_inf": (lambda a: torch.linalg.vector_norm(a, float("inf")), (x,)),
        "normalize": (lambda a: F.normalize(a, dim=1), (x,)),
        "logsumexp": (lambda a: a.logsumexp((1, 2)), (x,)),
        "softmax": (lambda a: a.softmax(1), (x,)),
        "log_softmax": (lambda a: a.log_softmax(-1), (x,)),
        "softmin": (lambda a: F.softmin(a, 0), (x,)),
        "cosine": (lambda a, b: F.cosine_similarity(a, b), (x, real(2, 3, 4))),
    }


def windows() -> dict[str, Case]:
    row, image, volume = real(2, 3, 17), real(2, 3, 13, 15), real(1, 2, 5, 6, 7)
    found: dict[str, Case] = {
        "avg_pool_ceil": (nn.AvgPool2d(3, 2, 1, ceil_mode=True), (image,)),
        "avg_pool_uncounted": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (image,)),
        "avg_pool_divisor": (nn.AvgPool2d(3, 2, divisor_override=5), (image,)),
        "avg_pool_1d": (nn.AvgPool1d(3, 2), (row,)),
        "avg_pool_3d": (nn.AvgPool3d(2), (volume,)),
        "max_pool_1d": (nn.MaxPool1d(3, 2, 1), (row,)),
        "max_pool_3d": (nn.MaxPool3d(2, 1), (volume,)),
        "max_pool_ceil": (nn.MaxPool2d(3, 2, ceil_mode=True), (image,)),
        "max_pool_gaps": (nn.MaxPool2d(3, 2, 1, dilation=2), (image,)),
        "max_pool_unbatched": (nn.MaxPool2d(2), (image[0],)),
        "adaptive_avg": (nn.AdaptiveAvgPool2d((5, 4)), (image,)),
        "adaptive_one": (nn.AdaptiveAvgPool2d(1), (image,)),
        "adaptive_wide": (nn.AdaptiveAvgPool2d((20, 15)), (image,)),
        "adaptive_max": (nn.AdaptiveMaxPool2d((5, 5)), (image,)),
        "adaptive_1d": (nn.AdaptiveAvgPool1d(4), (row,)),
        "conv1d": (nn.Conv1d(3, 4, 3, 2, 1), (row,)),
        "conv3d": (nn.Conv3d(2, 3, 2, padding=1), (volume,)),
        "conv2d": (nn.Conv2d(3, 4, (3, 2), (2, 1), (1, 0), dilation=2), (image,)),
        "conv2d_groups": (nn.Conv2d(4, 6, 3, groups=2), (real(1, 4, 8, 8),)),
        "conv2d_depthwise": (nn.Conv2d(4, 8, 3, 2, 1, groups=4, bias=False), (real(1, 4, 8, 8),)),
        "conv2d_same": (nn.Conv2d(3, 4, 4, padding="same"), (image,)),
        "conv2d_valid": (nn.Conv2d(3, 4, 3, padding="valid"), (image,)),
        "conv2d_reflect": (nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), (image,)),
        "conv2d_unbatched": (nn.Conv2d(3, 4, 3), (image[0],)),
        "conv2d_weights": (lambda a, b: F.conv2d(a, b, padding=1), (image, real(4, 3, 3, 3))),
        "conv_transpose1d": (nn.ConvTranspose1d(3, 2, 3, 2, 1), (row,)),
        "conv_transpose2d": (nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), (image,)),
        "conv_transpose2d_groups": (
            nn.ConvTranspose2d(4, 4, 2, 2, groups=2, bias=False),
            (real(1, 4, 5, 5),),
        ),
        "conv_transpose2d_gaps": (nn.ConvTranspose2d(3, 4, 3, dilation=2), (image,)),
        "conv_transpose3d": (nn.ConvTranspose3d(2, 2, 2, 2), (volume,)),
    }
    for mode, given in (("nearest", image), ("bilinear", image), ("bicubic", image), ("nearest-exact", image),
                        ("linear", row), ("trilinear", volume)):  # fmt: skip
        for factor in (2, 0.6, 1.7):
            found[f"{mode}_{factor}"] = (
                (lambda a, mode=mode, factor=factor: F.interpolate(a, scale_factor=factor, mode=mode)),
                (given,),
            )
    for mode in ("bilinear", "bicubic"):
        found[f"{mode}_corners"] = (
            (lambda a, mode=mode: F.interpolate(a, (20, 9), mode=mode, align_corners=True)),
            (image,),
        )
        found[f"{mode}_size"] = (lambda a, mode=mode: F.interpolate(a, (26, 40), mode=mode)), (image,)
    return found


def sampled() -> dict[str, Case]:
    """Images at places inside and outside of them."""
    image, places = real(2, 3, 5, 7), torch.rand(2, 4, 6, 2) * 3 - 1.5
    volume, spots = real(1, 2, 3, 4, 5), torch.rand(1, 2, 3, 4, 3) * 3 - 1.5
    found: dict[str, Case] = {}
    for outside, aligned in product(("zeros", "border", "reflection"), (False, True)):
        for mode in ("bilinear", "nearest") if outside == "border" else ("bilinear", "nearest", "bicubic"):
            one = partial(F.grid_sample, mode=mode, padding_mode=outside, align_corners=aligned)
            found[f"grid_{mode}_{outside}_{aligned}"] = one, (image, places)
        one = partial(F.grid_sample, padding_mode=outside, align_corners=aligned)
        found[f"grid_volume_{outside}_{aligned}"] = one, (volume, spots)
    return found


def layers() -> dict[str, Case]:
    image, rows = real(2, 4, 5, 6), real(2, 5, 8)
    norm = nn.BatchNorm2d(4)
    norm.running_mean, norm.running_var = real(4), positive(4)
    known = nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
    heads = real(2, 2, 5, 4), real(2, 2, 7, 4), real(2, 2, 7, 4)
    attend = F.scaled_dot_product_attention
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    blind = truths(2, 1, 5, 7)
    blind[0, 0, 1] = False
    return {
        "linear": (nn.Linear(8, 3), (rows,)),
        "linear_plain": (nn.Linear(8, 3, bias=False), (real(8),)),
        "linear_weights": (F.linear, (rows, real(3, 8), real(3))),
        "bilinear": (nn.Bilinear(3, 4, 5), (real(2, 3), real(2, 4))),
        "matmul": (torch.matmul, (real(2, 1, 3, 4), real(5, 4, 2))),
        "mm": (torch.mm, (real(2, 3), real(3, 4))),
        "bmm": (torch.bmm, (real(2, 3, 4), real(2, 4, 5))),
        "mv": (torch.mv, (real(2, 3), real(3))),
        "dot": (torch.dot, (real(4), real(4))),
        "vector_matrix": (torch.matmul, (real(3), real(2, 3, 4))),
        "addmm": (lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2), (real(4), real(2, 3), real(3, 4))),
        "baddbmm": (torch.baddbmm, (real(2, 3, 5), real(2, 3, 4), real(2, 4, 5))),
        "einsum": (lambda a, b: torch.einsum("bij,bkj->bik", a, b), (rows, rows)),
        "outer": (torch.outer, (real(3), real(4))),
        "batch_norm": (norm, (image,)),
        "batch_norm_plain": (nn.BatchNorm2d(4, affine=False), (image,)),
        "layer_norm": (nn.LayerNorm(8), (rows,)),
        "layer_norm_two": (nn.LayerNorm((5, 8), elementwise_affine=False), (rows,)),
        "group_norm": (nn.GroupNorm(2, 4), (image,)),
        "instance_norm": (nn.InstanceNorm2d(4), (image,)),
        "instance_norm_known": (known, (image,)),
        "rms_norm": (nn.RMSNorm(8), (rows,)),
        "local_response": (nn.LocalResponseNorm(3), (image,)),
        "attention": (attend, heads),
        "attention_causal": (lambda a, b, c: attend(a, b, c, is_causal=True), heads),
        "attention_mask": (lambda a, b, c, m: attend(a, b, c, attn_mask=m), (*heads, real(5, 7))),
        "attention_truths": (lambda a, b, c, m: attend(a, b, c, attn_mask=m), (*heads, blind)),
        "attention_shared": (
            lambda a, b, c: attend(a, b[:1], c[:1], enable_gqa=True, scale=0.3),
            (real(1, 4, 5, 4), *heads[1:]),
        ),
        "multihead": (nn.MultiheadAttention(8, 2, batch_first=True), (rows, rows, rows)),
        "encoder": (encoder, (rows,)),
        "encoder_masked": (encoder, (rows, torch.zeros(5, 5).masked_fill(truths(5, 5).tril(-1), -1e4))),
        "lstm": (nn.LSTM(8, 3, 2, bidirectional=True), (rows,)),
        "lstm_projected": (nn.LSTM(8, 6, 2, bidirectional=True, proj_size=3), (rows,)),
        "lstm_projected_plain": (nn.LSTM(8, 6, proj_size=3, bias=False, batch_first=True), (rows,)),
        "lstm_first": (nn.LSTM(8, 3, batch_first=True, bias=False), (rows,)),
        "gru": (nn.GRU(8, 3, bidirectional=True), (rows,)),
        "rnn": (nn.RNN(8, 3), (rows,)),
        "rnn_relu": (nn.RNN(8, 3, nonlinearity="relu"), (rows[0],)),
        "lstm_cell": (nn.LSTMCell(8, 3), (rows[0],)),
        "gru_cell": (nn.GRUCell(8, 3), (rows[0],)),
        "rnn_cell": (nn.RNNCell(8, 3), (rows[0],)),
        "weight_norm": (nn.utils.parametrizations.weight_norm(nn.Linear(8, 3)), (rows,)),
    }


def places() -> dict[str, Case]:
    x = real(3, 4)
    return {
        "arange": (lambda a: a + torch.arange(4), (x,)),
        "arange_step": (lambda a: a * torch.arange(1, 2.9, 0.5), (x,)),
        "zeros": (lambda a: torch.zeros(3, 4) + a, (x,)),
        "ones_like": (lambda a: torch.ones_like(a) - a, (x,)),
        "full": (lambda a: a + torch.full((4,), 2.5), (x,)),
        "full_like": (lambda a: a + torch.full_like(a, 2), (x,)),
        "new_zeros": (lambda a: torch.cat([a, a.new_zeros(1, 4)]), (x,)),
        "eye": (lambda a: a + torch.eye(3, 4), (x,)),
        "linspace": (lambda a: a + torch.linspace(0, 1, 4), (x,)),
        "outer_sum": (lambda a: a + torch.arange(3)[:, None], (x,)),
        "causal": (lambda a: a.masked_fill(torch.ones(3, 4).triu(1).bool(), 0.0), (x,)),
        "tensor": (lambda a: a * torch.tensor([1.0, 2, 3, 4]), (x,)),
        "fill": (lambda a: (a * 1).fill_(3.0) + a, (x,)),
    }


def decomposed() -> dict[str, Case]:
    """Operators without lowerings of their own, which `torch` takes apart."""
    x, y, image = real(3, 4), real(3, 4), real(1, 2, 6, 6)
    return {
        "huber": (F.huber_loss, (x, y)),
        "mse": (F.mse_loss, (x, y)),
        "logaddexp": (torch.logaddexp, (x, y)),
        "nan_to_num": (lambda a: torch.nan_to_num(a / (a > 0), 1.0, 2.0, 3.0), (x,)),
        "addr": (torch.addr, (real(3, 4), real(3), real(4))),
        "im2col": (nn.Unfold(3, padding=1), (image,)),
        "affine_grid": (lambda a: F.affine_grid(a, [1, 2, 4, 5], align_corners=False), (real(1, 2, 3),)),
        "cdist": (torch.cdist, (x, real(5, 4))),
        "cross": (torch.linalg.cross, (real(4, 3), real(4, 3))),
        "heaviside": (torch.heaviside, (x, y)),
        "frac": (torch.frac, (x,)),
        "hypot": (torch.hypot, (x, y)),
        "xlogy": (torch.xlogy, (x, positive(3, 4))),
        "median": (lambda a: a.median(1), (x,)),
        "renorm": (lambda a: torch.renorm(a, 2, 0, 1.0), (x,)),
        "std_mean": (lambda a: torch.std_mean(a, 1), (x,)),
        "rot90": (lambda a: torch.rot90(a), (x,)),
        "kron": (torch.kron, (real(2, 2), real(2, 3))),
        "block_diag": (torch.block_diag, (x, y)),
        "bucketize": (lambda a: torch.bucketize(a, torch.tensor([-1.0, 0.0, 1.0])), (x,)),
        "tensordot": (lambda a, b: torch.tensordot(a, b, dims=([1], [1])), (x, y)),
        "flatten_all": (lambda a: a.ravel(), (x,)),
        "square_sum": (lambda a: a.square().sum(-1).sqrt(), (x,)),
        "fold": (nn.Fold((6, 6), 3, padding=1), (real(1, 18, 36),)),
        "adaptive_pairs": (lambda a: F.adaptive_max_pool1d(a, 3), (real(2, 3, 7),)),
    }


def core() -> dict[str, Case]:
    """Operators that `torch` itself calls, as programs have them that were taken apart."""
    aten = torch.ops.aten
    x, row, image, volume, i = real(3, 4), real(2, 3, 7), real(1, 4, 5, 6), real(1, 2, 3, 4, 3), whole(3, 4)
    scale, offset, mean, variance = real(4), real(4), real(4), positive(4)
    along = whole(3, 4, low=0, high=3)
    return {
        "clamp_max": (lambda a: a.clamp_max(0.3), (x,)),
        "diff": (lambda a, b: torch.diff(a, dim=0, prepend=b), (x, real(1, 4))),
        "aminmax": (lambda a: torch.aminmax(a, dim=1), (x,)),
        "count_nonzero": (lambda a: torch.count_nonzero(a, 1), (whole(3, 4, low=-1, high=2),)),
        "and": (lambda a: (a > 0) & (a < 1), (x,)),
        "or": (lambda a: (a < 0) | (a > 1), (x,)),
        "and_whole": (lambda a: a & 5, (i,)),
        "exp2": (torch.exp2, (x,)),
        "nearest_row": (lambda a: F.interpolate(a, 10, mode="nearest"), (row,)),
        "nearest_exact_row": (lambda a: F.interpolate(a, 10, mode="nearest-exact"), (row,)),
        "nearest_volume": (lambda a: F.interpolate(a, scale_factor=2, mode="nearest"), (volume,)),
        "nearest_exact_volume": (lambda a: F.interpolate(a, (2, 5, 4), mode="nearest-exact"), (volume,)),
        "scatter_reduce": (lambda a, b: a.scatter_reduce(0, b, a * 2, "amax"), (x, along)),
        "index_fill": (lambda a, b: a.index_fill(1, b, 2.5), (x, torch.tensor([3, 0]))),
        "rnn_relu_cell": (nn.RNNCell(4, 3, nonlinearity="relu"), (x,)),
        "core_softmax": (lambda a: aten._softmax.default(a, 1, False), (x,)),
        "core_log_softmax": (lambda a: aten._log_softmax.default(a, 0, False), (x,)),
        "core_layer_norm": (
            lambda a, b: aten.native_layer_norm.default(a, [4], b, None, 1e-5)[0],
            (x, scale),
        ),
        "core_group_norm": (
            lambda a: aten.native_group_norm.default(a, None, None, 1, 4, 30, 2, 1e-5)[0],
            (image,),
        ),
        "core_batch_norm": (normalized, (image, scale, offset, mean, variance)),
        "core_pad": (lambda a: aten.constant_pad_nd.default(a, [1, 2, 0, -1], 2.5), (x,)),
        "core_reflection": (lambda a: aten.reflection_pad2d.default(a, [1, 2, 0, 1]), (image,)),
        "core_replication": (lambda a: aten.replication_pad2d.default(a, [1, 2, 0, 1]), (image,)),
        "core_convolution": (convolved, (image, real(2, 4, 3, 3))),
        "core_transposed": (lambda a, b: convolved(a, b, True), (image, real(4, 2, 3, 3))),
        "core_scalar": (lambda a: a + aten.scalar_tensor.default(2.5), (x,)),
    }


def normalized(image: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    function = torch.ops.aten._native_batch_norm_legit_no_training.default
    return function(image, scale, offset, mean, variance, 0.1, 1e-5)[0]


def convolved(image: Any, kernels: Any, is_transposed: bool = False) -> Any:
    function = torch.ops.aten.convolution.default
    return function(image, kernels, None, [2, 1], [1, 0], [1, 1], is_transposed, [0, 0], 1)
