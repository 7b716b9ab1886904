"""`tosajit quantize`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from tiling.words import listed, plain
from tosajit.arrays import Array
from tosajit.cli.loading import loaded
from tosajit.cli.output import Bar, print_json
from tosajit.display.screen import show
from tosajit.errors import InputError
from tosajit.files.npy import load_npy
from tosajit.frontends import save
from tosajit.graph import Graph, Value
from tosajit.quantization import Accuracy, Quantized, quantize


def run(options: Namespace) -> int:
    """Quantise a float model by samples, write it, and say how near it is."""
    if options.output.suffix not in (".tosa", ".mlir"):
        raise InputError(f"{options.output}: only .tosa and .mlir files can be written; name it MODEL.tosa")
    graph = loaded(options.model, options)
    samples = samples_of(graph, options.samples)
    bar = Bar(noun="samples")
    try:
        found = quantize(
            graph,
            samples,
            activations=options.activations,
            observer=options.observer,
            percentile=options.percentile,
            per_channel=not options.per_tensor,
            equalize=options.equalize,
            keep=options.keep,
            ends=options.ends,
            progress=bar,
        )
    finally:
        bar.close()
    save(found.graph, options.output)
    accuracy = found.accuracy(samples)
    if options.json:
        print_json(_report(found, accuracy, options.output))
        return 0
    show(found)
    show(accuracy.worst(options.top))
    print(f"outputs {accuracy.sqnr:.1f} dB; {plain(str(options.output), None)} has the integers")
    for name, (scale, point) in found.graph.scales.items():
        print(f"  {plain(name)}: (integer - {point}) * {scale:.9g}")
    return 0


def samples_of(graph: Graph, files: list[tuple[str, Path]]) -> list[dict[str, Array]]:
    """The samples in files: one for each row of the first dimension, as many for all inputs."""
    values = {value.name: value for value in graph.inputs}
    paths = dict(files)
    if unknown := sorted(set(paths) - set(values)):
        raise InputError(f"there is no input {listed(unknown)}; the inputs are {listed(values)}")
    if missing := [name for name in values if name not in paths]:
        raise InputError(f"samples of {listed(missing)} are missing: give --samples {plain(missing[0])}=FILE")
    columns = {name: _rows(load_npy(path, values[name].dtype), values[name]) for name, path in paths.items()}
    counts = {name: len(rows) for name, rows in columns.items()}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{plain(name)} has {count}" for name, count in counts.items())
        raise InputError(f"inputs have different numbers of samples: {text}")
    count = next(iter(counts.values()), 0)
    return [{name: rows[place] for name, rows in columns.items()} for place in range(count)]


def _rows(array: Array, value: Value) -> list[Array]:
    """The samples of one input: whole inputs, or rows for those of a batch of one."""
    shape = value.shape or ()
    if array.shape == shape:
        return [array]
    if array.shape[1:] == shape:
        return list(array)
    if shape[:1] == (1,) and array.shape[1:] == shape[1:]:
        return [array[place : place + 1] for place in range(len(array))]
    raise InputError(
        f"samples of {plain(value.name)} have the shape {list(array.shape)}, but must have "
        f"{list(('COUNT', *shape))}".replace("'", "")
    )


def _report(found: Quantized, accuracy: Accuracy, output: Path) -> dict[str, Any]:
    return {
        "output": str(output),
        "stayed": [{"name": one.name, "operator": one.opcode, "reason": one.reason} for one in found.stayed],
        "scales": {name: {"scale": scale, "zero_point": point}
                   for name, (scale, point) in found.graph.scales.items()},
        "accuracy": [
            {name: getattr(row, name) for name in type(row).__dataclass_fields__} for row in accuracy.rows
        ],
    }  # fmt: skip
