"""`tosajit run`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from tiling.words import listed, plain
from tosajit.arrays import Array
from tosajit.cli.building import built
from tosajit.cli.output import print_json, seconds_text
from tosajit.errors import InputError
from tosajit.files.npy import load_npy, save_npy
from tosajit.graph import Value
from tosajit.runtime.executable import Executable


def run(options: Namespace) -> int:
    """Compile a model, run it, and write or print what comes out."""
    started = perf_counter()
    executable = built(options.model, options)
    if options.repeat > 1:
        executable.wait()
    ready = perf_counter() - started
    inputs = inputs_of(executable, options)
    files = dict(_files(executable, options))
    times = []
    for _ in range(options.repeat):
        started = perf_counter()
        outputs = executable.run(inputs)
        times.append(perf_counter() - started)
    for name, path in files.items():
        save_npy(path, outputs[name])
    if options.json:
        print_json(_report(executable, outputs, files, ready, times))
        return 0
    for value in executable.graph.outputs:
        print(f"{value} {_shown(outputs[value.name], files.get(value.name))}")
    fastest = f", fastest of {len(times)} {seconds_text(min(times))}" if len(times) > 1 else ""
    print(f"ready in {seconds_text(ready)}, median run {seconds_text(float(np.median(times)))}{fastest}")
    return 0


def inputs_of(executable: Executable, options: Namespace) -> dict[str, Array]:
    """The arrays of the files, and random ones for what is left."""
    values = {value.name: value for value in executable.graph.inputs}
    paths = dict(options.input)
    unknown = sorted(set(paths) - set(values))
    if unknown:
        raise InputError(f"there is no input {listed(unknown)}; the inputs are {listed(values) or 'none'}")
    missing = [name for name in values if name not in paths]
    if missing and not options.random:
        raise InputError(
            f"input {listed(missing)} is missing: give --input {plain(missing[0])}=FILE, or --random"
        )
    generator = np.random.default_rng(options.seed)
    drawn = {name: drawn_for(values[name], generator) for name in missing}
    return drawn | {name: load_npy(path, values[name].dtype) for name, path in paths.items()}


def drawn_for(value: Value, generator: np.random.Generator) -> Array:
    """Random elements: all values of an integer type, normally distributed ones of a floating-point type."""
    dtype, shape = value.dtype, value.shape or ()
    if dtype.is_float:
        return np.asarray(generator.standard_normal(shape)).astype(dtype.storage)
    low, high = int(dtype.minimum), int(dtype.maximum)
    return np.asarray(generator.integers(low, high, shape, np.int64, endpoint=True)).astype(dtype.storage)


def _files(executable: Executable, options: Namespace) -> Iterator[tuple[str, Path]]:
    """Where each output goes; that of `--output` comes before that of `--output-dir`."""
    names = [value.name for value in executable.graph.outputs]
    chosen = dict(options.output)
    unknown = sorted(set(chosen) - set(names))
    if unknown:
        raise InputError(f"there is no output {listed(unknown)}; the outputs are {listed(names)}")
    folder: Path | None = options.output_dir
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror}") from None
        yield from ((name, folder / f"{_plain(name)}.npy") for name in names if name not in chosen)
    yield from chosen.items()


def _plain(name: str) -> str:
    """A tensor's name without what leads out of the folder."""
    return (
        "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name).lstrip(".") or "_"
    )


def _shown(array: Array, path: Path | None) -> str:
    if path is not None:
        return f"-> {path}"
    return f"= {np.array2string(array, threshold=20, edgeitems=3, max_line_width=100)}"


def _report(
    executable: Executable,
    outputs: dict[str, Array],
    files: dict[str, Path],
    ready: float,
    times: list[float],
) -> dict[str, Any]:
    listed = [
        {
            "name": value.name,
            "type": value.dtype.name,
            "shape": list(value.shape or ()),
            **(
                {"file": str(files[value.name])}
                if value.name in files
                else {"data": _numbers(outputs[value.name])}
            ),
        }
        for value in executable.graph.outputs
    ]
    return {"outputs": listed, "ready_seconds": ready, "run_seconds": times}


def _numbers(array: Array) -> Any:
    return (array if array.dtype.kind in "bi" else array.astype(np.float64)).tolist()
