"""Writes `torch_kernel_networks.tar.xz`: small networks of PyTorch as exported programs, for their kernels.

`torch_kernel_networks.py`, in an environment with PyTorch. Images have their channels first, normalisations
and probabilities are those of PyTorch, and so are their kernels; those of ONNX models are mostly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import archives
import torch
from torch import Tensor, nn
from torch.nn import functional

ARCHIVE = Path(__file__).with_suffix(".tar.xz")
FOLDER = Path(__file__).parents[1] / "build" / "torch_kernel_networks"
SEED = 23


def main() -> None:
    """Write all networks, and the archive of all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (make, *shapes) in NETWORKS.items():
        torch.manual_seed(SEED)
        given = tuple(torch.randn(shape) if shape else torch.arange(12)[None] for shape in shapes)
        with torch.no_grad():
            program = torch.export.export(make().eval(), given)
        path = FOLDER / f"{name}_f32.pt2"
        torch.export.save(program, path)
        print(f"{name}: {path.stat().st_size} bytes", flush=True)
    archives.write(ARCHIVE, FOLDER, sorted(FOLDER.iterdir()))
    print(f"{ARCHIVE.name}: {ARCHIVE.stat().st_size} bytes")


class Written(nn.Module):  # type: ignore[misc]
    """A function of its parts, by their names, and of tensors."""

    def __init__(self, function: Callable[..., Any], **parts: nn.Module) -> None:
        super().__init__()
        self.function, self.parts = function, nn.ModuleDict(parts)

    def forward(self, *given: Tensor) -> Any:
        """What the function gives."""
        return self.function(self.parts, *given)


def convolved(channels: int, count: int, size: int = 3, then: nn.Module | None = None, **options: Any) -> Any:
    """A convolution, normalised by batches, with what is behind it."""
    made = nn.Conv2d(channels, count, size, padding=size // 2, bias=False, **options)
    return nn.Sequential(made, nn.BatchNorm2d(count), then or nn.ReLU())


def residual() -> nn.Module:
    """Residual blocks with and without a bottleneck and groups, and means of maps."""

    def forward(parts: Any, x: Tensor) -> Tensor:
        x = functional.max_pool2d(parts["first"](x), 3, 2, 1)
        x = functional.relu(x + parts["near"](x))
        x = functional.relu(parts["aside"](x) + parts["far"](x))
        x = functional.relu(x + parts["groups"](x))
        return parts["last"](torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))

    return Written(
        forward,
        first=convolved(3, 8, 7, stride=2),
        near=nn.Sequential(convolved(8, 8), convolved(8, 8, then=nn.Identity())),
        far=nn.Sequential(convolved(8, 8, 1), convolved(8, 8, stride=2), convolved(8, 24, 1, nn.Identity())),
        aside=convolved(8, 24, 1, nn.Identity(), stride=2),
        groups=nn.Sequential(convolved(24, 24, groups=3), convolved(24, 24, 1, nn.Identity())),
        last=nn.Linear(24, 5),
    )


def inverted() -> nn.Module:
    """Inverted residuals with excitation, whose activations are those of mobile networks."""

    def block(then: nn.Module, inner: nn.Module, gate: nn.Module, size: int) -> nn.Module:
        def forward(parts: Any, x: Tensor) -> Tensor:
            y = parts["deep"](parts["wide"](x))
            scale = functional.adaptive_avg_pool2d(y, 1)
            scale = parts["gate"](parts["up"](parts["inner"](parts["down"](scale))))
            return x + parts["back"](scale * y)

        return Written(
            forward,
            wide=convolved(8, 16, 1, then),
            deep=convolved(16, 16, size, then, groups=16),
            down=nn.Conv2d(16, 8, 1),
            inner=inner,
            up=nn.Conv2d(8, 16, 1),
            gate=gate,
            back=convolved(16, 8, 1, nn.Identity()),
        )

    return nn.Sequential(
        convolved(3, 8, 3, nn.Hardswish(), stride=2),
        block(nn.Hardswish(), nn.ReLU(), nn.Hardsigmoid(), 5),
        block(nn.ReLU(), nn.ReLU(), nn.Hardsigmoid(), 3),
        block(nn.SiLU(), nn.SiLU(), nn.Sigmoid(), 3),
        block(nn.ReLU6(), nn.ReLU(), nn.Sigmoid(), 3),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 12),
        nn.Hardswish(),
        nn.Linear(12, 4),
    )


def joined() -> nn.Module:
    """Maps that are concatenated, shuffled, normalised ahead of their convolutions, and pooled."""

    def forward(parts: Any, x: Tensor) -> Tensor:
        x = parts["first"](x)
        near, far = x.chunk(2, 1)
        y = torch.cat([near, parts["far"](far)], 1)
        y = y.reshape(1, 2, 4, *y.shape[2:]).transpose(1, 2).reshape(y.shape)
        for name in ("dense", "denser"):
            y = torch.cat([y, parts[name](y)], 1)
        y = functional.avg_pool2d(parts["between"](y), 2, 2)
        y = torch.cat([parts["small"](y), parts["large"](y), functional.max_pool2d(y, 3, 1, 1)], 1)
        y = functional.avg_pool2d(y, 3, 1, 1)
        return functional.relu(y).mean((2, 3))

    def dense(channels: int) -> nn.Module:
        return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, 4, 3, padding=1))

    return Written(
        forward,
        first=convolved(3, 8, stride=2),
        far=nn.Sequential(convolved(4, 4, 1), convolved(4, 4, 3, nn.Identity(), groups=4)),
        dense=dense(8),
        denser=dense(12),
        between=nn.Sequential(nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 8, 1, bias=False)),
        small=nn.Sequential(nn.Conv2d(8, 4, 1), nn.ReLU()),
        large=nn.Sequential(nn.Conv2d(8, 4, (1, 7), padding=(0, 3)), nn.PReLU()),
    )


def unet() -> nn.Module:
    """Down and up in several ways, normalised by instances and by groups."""

    def forward(parts: Any, x: Tensor) -> Any:
        high = parts["high"](x)
        low = parts["low"](functional.max_pool2d(high, 2))
        deep = parts["deep"](low)
        x = torch.cat([parts["up"](deep), low], 1)
        for way in ({"mode": "nearest"}, {"mode": "bilinear"}, {"mode": "bilinear", "align_corners": True}):
            x = torch.cat([functional.interpolate(x, scale_factor=2.0, **way)[:, :4, ::2, ::2], x], 1)
        x = torch.cat([functional.pixel_shuffle(x[:, :16], 2), high], 1)
        return torch.softmax(parts["last"](x), 1), torch.sigmoid(parts["mask"](x))

    return Written(
        forward,
        high=nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.InstanceNorm2d(8, affine=True), nn.LeakyReLU(0.1)
        ),
        low=nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.SiLU()),
        deep=nn.Sequential(nn.Conv2d(8, 8, 3, 2, padding=1), nn.InstanceNorm2d(8), nn.ReLU()),
        up=nn.ConvTranspose2d(8, 8, 2, 2),
        last=nn.Conv2d(12, 3, 1),
        mask=nn.Conv2d(12, 1, 1),
    )


def layered() -> nn.Module:
    """Wide depthwise convolutions, with layers that are normalised where channels are last and where not."""

    def forward(parts: Any, x: Tensor) -> Tensor:
        x = normal(parts["first"], parts["patches"](x))
        y = parts["mixed"](parts["deep"](x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        x = x + parts["scale"](y)
        x = parts["down"](normal(parts["second"], x))
        return parts["last"](x.mean((2, 3)))

    def normal(norm: Any, x: Tensor) -> Tensor:
        return norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    return Written(
        forward,
        patches=nn.Conv2d(3, 8, 4, 4),
        first=nn.LayerNorm(8, 1e-6),
        deep=nn.Conv2d(8, 8, 7, padding=3, groups=8),
        mixed=nn.Sequential(nn.LayerNorm(8, 1e-6), nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8)),
        scale=nn.BatchNorm2d(8),
        second=nn.LayerNorm(8, 1e-6),
        down=nn.Conv2d(8, 12, 2, 2),
        last=nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 5)),
    )


def _attention(x: Tensor, qkv: Any, out: Any, heads: int, mask: Tensor | None = None) -> Tensor:
    """Attention as it is mostly written: scores, what is masked, probabilities."""
    batch, tokens, width = x.shape
    q, k, v = qkv(x).view(batch, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    scores = q @ k.transpose(-2, -1) / (width // heads) ** 0.5
    scores = scores if mask is None else scores + mask
    mixed = scores.softmax(-1) @ v
    return out(mixed.transpose(1, 2).reshape(batch, tokens, width))


def encoder() -> nn.Module:
    """Embedded tokens, attention of both orders of normalisation, and scores."""

    def forward(parts: Any, tokens: Tensor) -> Any:
        x = parts["words"](tokens) + parts["places"](torch.arange(tokens.shape[1]))
        x = parts["before"](parts["norm"](x))
        x = parts["behind"](x)
        x = parts["close"](x + _attention(x, parts["qkv"], parts["out"], 2))
        return parts["scores"](x), torch.tanh(parts["pooled"](x[:, 0]))

    options: dict[str, Any] = {"dim_feedforward": 32, "batch_first": True}
    return Written(
        forward,
        words=nn.Embedding(50, 16),
        places=nn.Embedding(20, 16),
        norm=nn.LayerNorm(16),
        before=nn.TransformerEncoderLayer(16, 2, activation="gelu", norm_first=True, **options),
        behind=nn.TransformerEncoderLayer(16, 2, **options),
        qkv=nn.Linear(16, 48),
        out=nn.Linear(16, 16),
        close=nn.LayerNorm(16),
        scores=nn.Linear(16, 50),
        pooled=nn.Linear(16, 16),
    )


def decoder() -> nn.Module:
    """Attention of what came before alone, by the usual masks; root mean squares, gates, rotations."""

    def forward(parts: Any, tokens: Tensor) -> Tensor:
        count = tokens.shape[1]
        words = parts["words"](tokens)
        x = words + parts["e"](words)
        later = torch.triu(torch.ones(count, count, dtype=torch.bool), 1)
        lowest = torch.finfo(torch.float32).min
        x = x + _attention(parts["a"](words), parts["qkv"], parts["out"], 2, later * lowest)
        x = x + parts["mlp"](parts["b"](x))
        q, k, v = parts["qkv2"](parts["c"](x)).view(1, count, 3, 2, 8).permute(2, 0, 3, 1, 4)
        q, k = rotated(q), rotated(k)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        seen = ~later & (tokens != 0)
        y = y + functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        scores = (q @ k.transpose(-2, -1)).masked_fill(later, float("-inf"))
        y = y + functional.softmax(scores, -1, dtype=torch.float32) @ v
        x = x + y.transpose(1, 2).reshape(1, count, 16)
        y = parts["d"](x)
        x = x + parts["down"](functional.silu(parts["gate"](y)) * parts["up"](y))
        return functional.log_softmax(parts["scores"](parts["e"](x)), -1)

    def rotated(x: Tensor) -> Tensor:
        angles = torch.arange(x.shape[-2])[:, None] * 0.3 ** torch.arange(4).repeat(2)
        turned = torch.cat([-x[..., 4:], x[..., :4]], -1)
        return x * angles.cos() + turned * angles.sin()

    return Written(
        forward,
        words=nn.Embedding(50, 16),
        a=nn.LayerNorm(16),
        qkv=nn.Linear(16, 48),
        out=nn.Linear(16, 16),
        b=nn.LayerNorm(16),
        mlp=nn.Sequential(nn.Linear(16, 32), nn.GELU("tanh"), nn.Linear(32, 16)),
        c=nn.RMSNorm(16, 1e-6),
        qkv2=nn.Linear(16, 48, bias=False),
        d=nn.RMSNorm(16, 1e-6),
        gate=nn.Linear(16, 24, bias=False),
        up=nn.Linear(16, 24, bias=False),
        down=nn.Linear(24, 16, bias=False),
        e=nn.RMSNorm(16, 1e-5),
        scores=nn.Linear(16, 50, bias=False),
    )


def windowed() -> nn.Module:
    """Attention within windows that are shifted, with a bias of places, and merged patches."""

    def forward(parts: Any, x: Tensor) -> Tensor:
        x = parts["first"](parts["patches"](x).permute(0, 2, 3, 1))
        for shift in (0, 2):
            y = torch.roll(parts["norm"](x), (-shift, -shift), (1, 2))
            y = y.view(1, 2, 4, 2, 4, 16).permute(0, 1, 3, 2, 4, 5).reshape(4, 16, 16)
            y = _attention(y, parts["qkv"], parts["out"], 2, parts["bias"](torch.arange(16)))
            y = y.view(1, 2, 2, 4, 4, 16).permute(0, 1, 3, 2, 4, 5).reshape(1, 8, 8, 16)
            x = x + torch.roll(y, (shift, shift), (1, 2))
            x = x + parts["mlp"](x)
        x = torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1)
        x = parts["merged"](parts["wide"](x))
        return parts["last"](torch.flatten(functional.adaptive_avg_pool2d(x.permute(0, 3, 1, 2), 1), 1))

    return Written(
        forward,
        patches=nn.Conv2d(3, 16, 4, 4),
        first=nn.LayerNorm(16),
        norm=nn.LayerNorm(16),
        qkv=nn.Linear(16, 48),
        out=nn.Linear(16, 16),
        bias=nn.Embedding(16, 16),
        mlp=nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)),
        wide=nn.LayerNorm(64),
        merged=nn.Linear(64, 24, bias=False),
        last=nn.Linear(24, 5),
    )


def signals() -> nn.Module:
    """Convolutions over time, gates, transposed ones, and what is normalised along time."""

    def forward(parts: Any, x: Tensor) -> Tensor:
        x = parts["first"](x)
        y = torch.tanh(parts["left"](x)) * torch.sigmoid(parts["right"](x))
        x = x + parts["back"](y)
        z = functional.glu(parts["glu"](x), 1)
        z = parts["norm"](z.transpose(1, 2)).transpose(1, 2)
        return parts["up"](functional.gelu(z)) + parts["mean"](x.mean(-1, keepdim=True))

    return Written(
        forward,
        first=nn.Sequential(nn.Conv1d(2, 8, 8, 4, 2), nn.GroupNorm(8, 8), nn.GELU()),
        left=nn.Conv1d(8, 8, 3, padding=2, dilation=2),
        right=nn.Conv1d(8, 8, 3, padding=2, dilation=2),
        back=nn.Conv1d(8, 8, 1),
        glu=nn.Conv1d(8, 16, 1),
        norm=nn.LayerNorm(8),
        up=nn.ConvTranspose1d(8, 2, 8, 4, 2),
        mean=nn.Conv1d(8, 2, 1),
    )


def recurrent(kind: str) -> nn.Module:
    """Layers in both directions and in one, and probabilities."""

    def forward(parts: Any, x: Tensor) -> Any:
        y, _ = parts["both"](x)
        z, _ = parts["one"](y)
        return functional.log_softmax(parts["last"](z), -1), torch.softmax(parts["last"](z[:, -1]), -1)

    layer: Any = getattr(nn, kind)
    return Written(
        forward,
        both=layer(10, 8, 2, batch_first=True, bidirectional=True),
        one=layer(16, 8, batch_first=True),
        last=nn.Linear(8, 5),
    )


def activated() -> nn.Module:
    """Every activation, behind a product and on its own; inputs are apart, so that none shares its parts."""
    made = [kind() for kind in ACTIVATIONS]
    parts: dict[str, nn.Module] = {f"then{n}": one for n, one in enumerate(made)}
    parts |= {f"dense{n}": nn.Linear(12, 8) for n, _ in enumerate(made)}

    def forward(parts: Any, *given: Tensor) -> Any:
        behind = [parts[f"then{n}"](parts[f"dense{n}"](given[0])) for n, _ in enumerate(made)]
        return *behind, *(parts[f"then{n}"](x) for n, x in enumerate(given))

    return Written(forward, **parts)


def reduced() -> nn.Module:
    """Each reduction along axes of all places, and of a single row; inputs are apart as well."""

    def forward(parts: Any, *given: Tensor) -> Any:
        cases = zip(given, CASES, strict=True)
        return tuple([REDUCTIONS[number](x, axes) for x, (_, axes, number) in cases])

    return Written(forward)


def compared() -> nn.Module:
    """Sums over rows of what two tensors give; inputs are apart as well."""

    def forward(parts: Any, *given: Tensor) -> Any:
        pairs = zip(given[::2], given[1::2], PAIRS, strict=True)
        return tuple([COMPARISONS[number](x, y).sum(-1) for x, y, (_, _, number) in pairs])

    return Written(forward)


ACTIVATIONS: tuple[Callable[[], nn.Module], ...] = (
    *(nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Tanh),
    *(nn.Sigmoid, nn.Softplus, nn.Softsign, nn.LogSigmoid, nn.Hardtanh, nn.Hardswish, nn.Hardsigmoid),
)
Axes = tuple[int, ...]
REDUCTIONS: tuple[Callable[[Tensor, Axes], Tensor], ...] = (
    lambda x, axes: x.mean(axes),
    lambda x, axes: x.sum(axes),
    lambda x, axes: x.amax(axes),
    lambda x, axes: x.amin(axes),
    lambda x, axes: x.square().mean(axes).sqrt(),
    lambda x, axes: x.var(axes),
    lambda x, axes: x.std(axes, unbiased=False),
    lambda x, axes: torch.linalg.vector_norm(x, dim=axes),
    lambda x, axes: x.logsumexp(axes),
    lambda x, axes: x.abs().sum(axes),
    lambda x, axes: (x * x.sigmoid()).sum(axes),
    lambda x, axes: x - x.mean(axes, keepdim=True),
    lambda x, axes: x / x.sum(axes, keepdim=True).clamp(min=1e-6),
    lambda x, axes: x.softmax(axes[0]),
    lambda x, axes: x.log_softmax(axes[0]),
    lambda x, axes: x.argmax(axes[0]),
    lambda x, axes: x.cumsum(axes[0]),
    lambda x, axes: functional.normalize(x, dim=axes[0]),
)
SEVERAL = 13
"""How many of them take several axes."""
EVERY, ROW = (1, 4, 6, 18), (1, 18)
PLACES: tuple[tuple[Sequence[int], Axes], ...] = (
    *((EVERY, axes) for axes in ((-1,), (1,), (2,), (2, 3), (1, 2), (1, 2, 3))),
    (ROW, (-1,)),
)
CASES = [
    (shape, axes, number)
    for shape, axes in PLACES
    for number in range(len(REDUCTIONS))
    if len(axes) == 1 or number < SEVERAL
]

COMPARISONS: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    lambda x, y: x * y,
    lambda x, y: (x - y).square(),
    lambda x, y: (x - y).abs(),
)
PAIRS = [
    (first, second, number)
    for first, second in (((4, 6, 18), (4, 6, 18)), ((4, 6, 18), (18,)), (ROW, ROW))
    for number in range(len(COMPARISONS))
]


Network = tuple[Callable[[], nn.Module], *tuple[Sequence[int], ...]]
IMAGE, TOKENS = (1, 3, 32, 32), ()
NETWORKS: dict[str, Network] = {
    "residual": (residual, IMAGE),
    "inverted": (inverted, IMAGE),
    "joined": (joined, IMAGE),
    "unet": (unet, IMAGE),
    "layered": (layered, IMAGE),
    "encoder": (encoder, TOKENS),
    "decoder": (decoder, TOKENS),
    "windowed": (windowed, IMAGE),
    "signals": (signals, (1, 2, 64)),
    "lstm": (lambda: recurrent("LSTM"), (1, 6, 10)),
    "gru": (lambda: recurrent("GRU"), (1, 6, 10)),
    "rnn": (lambda: recurrent("RNN"), (1, 6, 10)),
    "activated": (activated, *((3, 12) for _ in ACTIVATIONS)),
    "reduced": (reduced, *(shape for shape, _, _ in CASES)),
    "compared": (compared, *(shape for pair in PAIRS for shape in pair[:2])),
}
"""What makes a network, and the shapes of its inputs; numbers of tokens have none."""


if __name__ == "__main__":
    main()
