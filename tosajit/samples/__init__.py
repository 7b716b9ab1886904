"""Small networks that come with the package, each with inputs and the outputs that belong to them.

```python
import tosajit as tj

model = tj.compile(tj.samples.load("ds_cnn"))
case = tj.samples.cases("ds_cnn")[0]
outputs = model(*case.inputs)
```

They are for trying things out, not for what they recognise. Their outputs are those of Arm's reference
model, bit for bit. Each is there as TOSA, `model.tosa`, and as the TFLite file that it was converted from,
`model.tflite`.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tosajit.errors import FileError
from tosajit.frontends import load as load_graph
from tosajit.graph import Graph

__all__ = ["Case", "PURPOSES", "cases", "files", "load", "names", "path"]

PURPOSES = {
    "autoencoder": "anomaly detection in sounds: 0.3 million MACs, int8",
    "ds_cnn": "keyword spotting in speech: 2.7 million MACs, int8",
    "ds_cnn_i16x8": "keyword spotting with int16 activations",
    "resnet8": "image classification, 32 × 32 pixels: 12.5 million MACs, int8",
    "transformer_tiny": "text classification, 128 tokens: 58.7 million MACs, int8",
}
"""What each sample does."""

_FOLDER = Path(__file__).parent


class Case(NamedTuple):
    """Arrays that a network is given, and those that it answers with."""

    inputs: tuple[NDArray[Any], ...]
    outputs: tuple[NDArray[Any], ...]


def names() -> tuple[str, ...]:
    """The names of the samples."""
    return tuple(PURPOSES)


def path(name: str, file: str = "model.tosa") -> Path:
    """Where a file of a sample is, such as `model.tflite` or `case0_in0.npy`.

    Raises `FileError` if there is no such sample, or no such file of it.
    """
    _one_of(file, files(name), f"file of the sample {name!r}")
    return _FOLDER / name / file


def files(name: str) -> tuple[str, ...]:
    """The names of a sample's files; raises `FileError` if there is no such sample."""
    _one_of(name, names(), "sample")
    return tuple(sorted(found.name for found in (_FOLDER / name).iterdir()))


def load(name: str) -> Graph:
    """The graph of a sample; raises `FileError` if there is none of that name."""
    return load_graph(path(name))


def cases(name: str) -> tuple[Case, ...]:
    """Inputs and outputs of a sample; raises `FileError` if there is none of that name."""
    return read_cases(path(name).parent)


def read_cases(folder: Path) -> tuple[Case, ...]:
    """The cases in a folder: arrays `case0_in0.npy`, `case0_out0.npy`, and so on."""
    stems = sorted(file.stem.removesuffix("_in0") for file in folder.glob("case*_in0.npy"))
    return tuple(Case(_arrays(folder, f"{stem}_in"), _arrays(folder, f"{stem}_out")) for stem in stems)


def _arrays(folder: Path, prefix: str) -> tuple[NDArray[Any], ...]:
    return tuple(np.load(file) for file in sorted(folder.glob(f"{prefix}*.npy")))


def _one_of(word: str, known: Sequence[str], kind: str) -> None:
    if word not in known:
        near = get_close_matches(word, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise FileError(f"no {kind} is called {word!r}: {hint}")
