"""Networks that are too large for the repository: made by Keras when a benchmark first asks for them."""

from __future__ import annotations

import subprocess
from pathlib import Path

HELD_OUT = tuple(
    f"{name}_{kind}" for name in ("gru", "lstm", "encoder", "mobilenet_v3") for kind in ("i8", "f32")
)
"""Networks that no kernel of the package was made for, by which first results are judged."""
LARGER = (
    "mobilenet_v2_f32",
    "resnet50_i8",
    "resnet50_f32",
    "transformer_i8",
    "transformer_f32",
    "unet_i8",
    "unet_f32",
    *HELD_OUT,
)
"""Architectures of `keras_models`, with the type of their numbers."""
OF_ONNX = tuple(
    f"onnx_{name}_{kind}" for name in ("mobilenet_v2", "resnet18", "encoder") for kind in ("f32", "qdq")
)
"""Architectures of `onnx_models`, of real numbers and with quantizers."""


def made(name: str, python: Path, folder: Path) -> Path:
    """The folder of a network, which is written if it is not there, by a `python` that can."""
    own, script = ("model.onnx", "onnx_models.py") if name in OF_ONNX else ("model.tflite", "keras_models.py")
    if not all((folder / file).exists() for file in (own, "case0_in0.npy")):
        folder.mkdir(parents=True, exist_ok=True)
        script = str(Path(__file__).with_name(script))
        command = [str(python), "-P", script, name, str(folder)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"{name} was not made: {run.stderr.strip()[-400:]}")
    return folder
