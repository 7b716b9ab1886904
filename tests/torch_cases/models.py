"""Whole networks with random weights: torchvision's and Hugging Face's, narrow or on small inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

_ADDING = {torch.add, torch.Tensor.add, torch.Tensor.add_, torch.Tensor.__add__, torch.Tensor.__iadd__}
_BRANCH = 0.1
"""The share of a branch in its sum."""
_LIBRARIES: list[Any] = []
"""Definitions of operators, which are there as long as these are."""
Made = Callable[[], tuple[Any, tuple[Any, ...]]]

CLASSIFIERS = {
    "alexnet": 96, "convnext_tiny": 64, "densenet121": 64, "efficientnet_b0": 64, "efficientnet_v2_s": 64,
    "googlenet": 64, "inception_v3": 96, "maxvit_t": 224, "mnasnet0_5": 64, "mnasnet1_0": 64,
    "mobilenet_v2": 64, "mobilenet_v3_large": 64, "mobilenet_v3_small": 64, "regnet_x_400mf": 64,
    "regnet_y_400mf": 64, "regnet_y_800mf": 64, "resnet18": 64, "resnet34": 64, "resnet50": 64,
    "resnext50_32x4d": 64, "shufflenet_v2_x0_5": 64, "shufflenet_v2_x1_0": 64, "squeezenet1_0": 64,
    "squeezenet1_1": 64, "swin_t": 64, "swin_v2_t": 64, "vgg11": 48, "vgg11_bn": 48, "vgg13": 48,
    "vit_b_32": 224, "wide_resnet50_2": 64, "efficientnet_b1": 64, "convnext_small": 64, "resnet101": 64,
    "regnet_x_800mf": 64, "mnasnet0_75": 64, "shufflenet_v2_x1_5": 64, "densenet169": 64,
}  # fmt: skip
"""Networks with the extent of their images."""
SEGMENTERS = (
    "fcn_resnet50", "deeplabv3_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large",
)  # fmt: skip
BACKBONES = ("fpn_resnet50", "fpn_mobilenet", "ssd_vgg16", "retinanet_head", "keypoint_features")


def vision() -> Any:
    """torchvision, also where its own operators are built for another `torch`."""
    with suppress(RuntimeError):
        return import_module("torchvision")
    for name in [one for one in sys.modules if one.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _LIBRARIES.append(library)
    return import_module("torchvision")


def networks() -> dict[str, Made]:
    """What makes each of torchvision's networks, with inputs for it."""
    found: dict[str, Made] = {name: partial(classifier, name, size) for name, size in CLASSIFIERS.items()}
    found |= {name: partial(segmenter, name) for name in SEGMENTERS}
    return found | {name: partial(backbone, name) for name in BACKBONES}


def models() -> dict[str, Made]:
    """What makes each network, with inputs for it."""
    return networks() | {
        "bert": bert, "distilbert": distilbert, "vit": vit, "whisper_encoder": whisper, "llama": llama,
        "llama_cached": llama_cached, "transformer": transformer, "lstm": lstm, "gru": gru, "cache": cache,
    }  # fmt: skip


def settled(module: Any, *inputs: Any) -> Any:
    """Weights and statistics for which no activation vanishes: each layer gives numbers of about one."""
    norms = [one for one in module.modules() if isinstance(one, nn.BatchNorm2d)]
    for one in norms:
        nn.init.uniform_(one.weight, 0.5, 1.5)
        nn.init.normal_(one.bias, 0, 0.3)
        one.momentum = None
    layers = [one for one in module.modules() if isinstance(one, nn.Conv2d | nn.Linear)]
    hooks = [one.register_forward_hook(_scaled) for one in layers]
    hooks += [one.register_forward_hook(_named) for one in norms]
    module.eval()
    for one in norms:
        one.train()
    with torch.no_grad(), Branching():
        module(*inputs)
    for hook in hooks:
        hook.remove()
    return module.eval()


def _scaled(layer: Any, given: Any, found: Any) -> Any:
    """Scale the weights of a layer at its first use."""
    if hasattr(layer, "_settled"):
        return found
    layer._settled = True
    spread = found.std() or 1.0  # behind what is 0 all numbers are one
    layer.weight.data /= spread
    if layer.bias is None:
        return found / spread
    nn.init.normal_(layer.bias, 0, 0.3)
    return layer(*given)


def _named(norm: Any, given: Any, found: Any) -> None:
    """Let what a normalisation gives tell who has made it, until it is written to."""
    found._made = norm, found._version


class Branching(TorchFunctionMode):  # type: ignore[misc]
    """Makes branches small that end in a normalisation, as each of them adds to errors."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Scale what is added to what is no normalisation, in place, and its normalisation with it."""
        ends = [one for one in args[:2] if _is_made(one)] if function in _ADDING else []
        if len(ends) == 1:
            norm, _ = ends[0]._made
            for one in (norm.weight.data, norm.bias.data, ends[0]):
                one.mul_(_BRANCH)
        return function(*args, **(kwargs or {}))


def _is_made(value: Any) -> bool:
    return hasattr(value, "_made") and value._made[1] == value._version


def classifier(name: str, size: int) -> tuple[Any, tuple[Any, ...]]:
    given = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    module = getattr(vision().models, name)(weights=None, num_classes=10, **given)
    return settled(module, torch.randn(8, 3, size, size)), (torch.randn(1, 3, size, size),)


def segmenter(name: str) -> tuple[Any, tuple[Any, ...]]:
    make = getattr(vision().models.segmentation, name)
    module = make(weights=None, weights_backbone=None, num_classes=5)
    return settled(module, torch.randn(4, 3, 64, 64)), (torch.randn(1, 3, 64, 64),)


def backbone(name: str) -> tuple[Any, tuple[Any, ...]]:
    torchvision = vision()
    utilities = torchvision.models.detection.backbone_utils
    many, image = torch.randn(4, 3, 64, 64), torch.randn(1, 3, 64, 64)
    if name == "fpn_resnet50":
        made = utilities.resnet_fpn_backbone(backbone_name="resnet50", weights=None)
        return settled(made, many), (image,)
    if name == "fpn_mobilenet":
        made = utilities.mobilenet_backbone(backbone_name="mobilenet_v3_large", weights=None, fpn=True)
        return settled(made, many), (image,)
    if name == "ssd_vgg16":
        made = torchvision.models.detection.ssd300_vgg16(weights=None, weights_backbone=None, num_classes=5)
        large = torch.randn(1, 3, 300, 300)
        return settled(made.backbone, large), (large,)
    if name == "retinanet_head":
        made = torchvision.models.detection.retinanet_resnet50_fpn(
            weights=None, weights_backbone=None, num_classes=5
        )
        features = [torch.randn(1, 256, 8, 8), torch.randn(1, 256, 4, 4)]
        return settled(made.head, features), (features,)
    heads = torchvision.models.detection.keypoint_rcnn.KeypointRCNNHeads(64, (32, 32))
    regions = torch.randn(2, 64, 7, 7)
    return settled(heads, regions), (regions,)


def bert() -> tuple[Any, tuple[Any, ...]]:
    vision()  # which they import
    from transformers import BertConfig, BertModel

    made = BertModel(BertConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
    ))  # fmt: skip
    mask = torch.ones(2, 9, dtype=torch.int64)
    mask[1, 6:] = 0
    return made.eval(), (torch.randint(0, 100, (2, 9)), mask)


def distilbert() -> tuple[Any, tuple[Any, ...]]:
    vision()  # which they import
    from transformers import DistilBertConfig, DistilBertModel

    made = DistilBertModel(DistilBertConfig(vocab_size=100, dim=32, n_layers=2, n_heads=4, hidden_dim=64))
    return made.eval(), (torch.randint(0, 100, (2, 9)), torch.ones(2, 9, dtype=torch.int64))


def vit() -> tuple[Any, tuple[Any, ...]]:
    vision()  # which they import
    from transformers import ViTConfig, ViTModel

    made = ViTModel(ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32,
        patch_size=8,
    ))  # fmt: skip
    return made.eval(), (torch.randn(1, 3, 32, 32),)


def whisper() -> tuple[Any, tuple[Any, ...]]:
    vision()  # which they import
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    made = WhisperEncoder(WhisperConfig(
        d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, num_mel_bins=16,
        max_source_positions=30,
    ))  # fmt: skip
    return made.eval(), (torch.randn(1, 16, 60),)


def _llama() -> Any:
    vision()  # which they import
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=64, max_position_embeddings=64, use_cache=False,
    )).eval()  # fmt: skip


def llama() -> tuple[Any, tuple[Any, ...]]:
    return _llama(), (torch.randint(0, 100, (1, 7)),)


class Cached(nn.Module):  # type: ignore[misc]
    """A Llama that keeps keys and values of what it has seen in buffers."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

        model.generation_config.use_cache = True
        model.generation_config.cache_implementation = "static"
        model.generation_config.cache_config = {"batch_size": 1, "max_cache_len": 16}
        model.config.use_cache = True
        self.inner = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=16)

    def forward(self, ids: Any, place: Any) -> Any:
        return self.inner(input_ids=ids, cache_position=place)


def llama_cached() -> tuple[Any, tuple[Any, ...]]:
    return Cached(_llama()).eval(), (torch.randint(0, 100, (1, 1)), torch.tensor([3]))


class Cache(nn.Module):  # type: ignore[misc]
    """A cache of keys and values with rotary places, written by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 2, 16, 8))
        self.register_buffer("values", torch.zeros(1, 2, 16, 8))
        self.project = nn.Linear(16, 48)

    def forward(self, value: Any, place: Any) -> Any:
        queries, keys, values = self.project(value).view(1, 1, 3, 2, 8).permute(2, 0, 3, 1, 4)
        angles = place * torch.exp(-torch.arange(0, 8, 2) * 0.5).repeat(2)
        turned = torch.cat([-keys[..., 4:], keys[..., :4]], -1)
        self.keys[:, :, place] = keys * angles.cos() + turned * angles.sin()
        self.values.index_copy_(2, place, values)
        seen = torch.arange(16) <= place
        return nn.functional.scaled_dot_product_attention(
            queries, self.keys, self.values, seen[None, None, None]
        )


def cache() -> tuple[Any, tuple[Any, ...]]:
    return Cache().eval(), (torch.randn(1, 1, 16), torch.tensor([3]))


def transformer() -> tuple[Any, tuple[Any, ...]]:
    made = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 3)
    return made.eval(), (torch.randn(2, 7, 32),)


def lstm() -> tuple[Any, tuple[Any, ...]]:
    return nn.LSTM(16, 24, 2, batch_first=True, bidirectional=True).eval(), (torch.randn(2, 9, 16),)


def gru() -> tuple[Any, tuple[Any, ...]]:
    return nn.GRU(16, 24, 2).eval(), (torch.randn(9, 2, 16), torch.randn(2, 2, 24))
