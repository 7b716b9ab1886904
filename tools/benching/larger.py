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
FILES = ("model.tflite", "case0_in0.npy")


def made(name: str, python: Path, folder: Path) -> Path:
    """The folder of a network, which is written if it is not there; `python` is one that has TensorFlow."""
    if not all((folder / file).exists() for file in FILES):
        folder.mkdir(parents=True, exist_ok=True)
        script = Path(__file__).with_name("keras_models.py")
        command = [str(python), "-P", str(script), name, str(folder)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"{name} was not made: {run.stderr.strip()[-400:]}")
    return folder
