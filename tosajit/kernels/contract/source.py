"""The texts of contraction kernels, for a structure and an instruction set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent
from types import ModuleType

from tosajit.kernels.contract import (
    by_rows,
    convolution,
    depthwise,
    fourier,
    moves,
    packs,
    pixel,
    row,
    structure,
    windows,
    winograd,
)
from tosajit.kernels.contract.agreed import RADIX, STEPS
from tosajit.kernels.contract.spec import LEAST_BYTES, MAX_PANEL_ROWS, ContractSpec, Epilogue
from tosajit.kernels.instances import called_names
from tosajit.kernels.sets.description import InstructionSet

CHUNKS = {"i8": 255, "i16": 127}
"""Steps of two int16 products each that stay within 32 bits: of int8, or of the lower half of int16."""
SUMS = {"i8": "reload_i32", "i16": "reload_i64"}
"""What reads the sums of activations of a type; those of floating-point numbers are never written again."""

HEADER = '''"""{title}, for {isa}."""

import numpy as np
from tosajit.kernels.contract import {module}
from tosajit.kernels.intrinsics import *
{imports}
'''
TILES = {
    "i8": "tile_bytes",
    "i16": "tile_halves",
    "f32": "tile_floats",
    "f16": "tile_floats",
    "bf16": "tile_pairs",
}
PACKS = {"i8": "pack_bytes", "i16": "pack_words", "f32": "pack_floats", "bf16": "pack_pairs"}
"""The kernels for activations of a type."""
MODULES = {
    "convolution": convolution,
    "row": row,
    "depthwise": depthwise,
    "pixel": pixel,
    "winograd": winograd,
    "winograd squares": winograd,
}
"""Those of a kind."""


def contract_source(spec: ContractSpec, epilogue: Epilogue) -> str:
    """Return a module that defines `kernel(args)` for a structure and what follows each sum."""
    title = f"{spec.kind.capitalize()} of {spec.left} and {spec.right}"
    fused = epilogue.rescale and not epilogue.body
    values: dict[str, object] = {"RESCALE": epilogue.rescale, "FUSED": fused}
    if epilogue.rescale:
        values["reload_sum"] = "reload_i8"
    module = MODULES[spec.kind]
    squares = spec.kind == "winograd squares"
    name = "kernel_floats" if spec.accumulator == "f32" else "kernel_squares" if squares else "kernel"
    if module is convolution or module is depthwise:
        # Only sums of int8 are rescaled in the registers, and only those of float32 end in them.
        values["IN_REGISTERS"] = fused if spec.left == "i8" else epilogue.in_registers
    return _module(title, spec, module, name, values, epilogue)


def depthwise_gather_source(spec: ContractSpec) -> str:
    """Return the kernel that interleaves or keeps rows of the input of a depthwise convolution."""
    name = "keep" if spec.left == "f32" else "interleave"
    return _module("Rows of a depthwise convolution", spec, depthwise, name)


def gather_source(isa: InstructionSet) -> str:
    """Return the kernel that gathers rows of A and finds where their outputs go."""
    return _module("Rows of a convolution", ContractSpec(isa, "convolution"), convolution, "gather")


def tile_source(spec: ContractSpec) -> str:
    """Return the kernel of a register tile."""
    return _module(f"Register tiles of {spec.left}", spec, convolution, TILES[spec.left])


def pack_source(spec: ContractSpec) -> str:
    """Return the kernel that packs a matrix B at run time."""
    return _module(f"Packing of {spec.right}", spec, packs, PACKS[spec.left])


def move_source(isa: InstructionSet) -> str:
    """Return the kernel that copies rows of bytes."""
    return _module("Rows of bytes", ContractSpec(isa, "move"), moves, "rows")


def by_rows_source(isa: InstructionSet) -> str:
    """Return the kernel that does several groups for a few rows at a time."""
    values = {name: vars(by_rows)[name] for name in ("BOX", "FIRST", "WORDS", "WORD")}
    return _module("Groups by rows", ContractSpec(isa, "by rows"), by_rows, "blocks", values)


def fourier_source(isa: InstructionSet, kind: str, lanes: int) -> str:
    """Return the kernel that transforms `rows` or `columns`, in registers of so many numbers."""
    used = called_names(fourier, kind)
    stems = {name: f"{name}_{lanes}" for name in STEPS}
    imports = vector_imports(isa, sorted(used & VECTORS), stems)
    head = HEADER.format(
        title=f"Fourier transforms of {kind}", isa=isa.name, module="fourier", imports=imports
    )
    in_turn = f", IN_TURN={lanes > RADIX}" if "IN_TURN" in used else ""
    return f"{head}\n\nkernel = instance(fourier.{kind}, BLOCK={fourier.BLOCK}{in_turn})\n"


def window_source(isa: InstructionSet, type: str, mean: bool = False) -> str:
    """Return the kernel that finds the greatest of each window, or its mean."""
    title = f"The {'mean' if mean else 'greatest'} {type} of windows"
    return _module(title, ContractSpec(isa, "windows", type), windows, "windows", {"MEAN": mean})


def vector_imports(isa: InstructionSet, names: Sequence[str], stems: Mapping[str, str] | None = None) -> str:
    """Return the text that gives vector code its names; `stems` has those of `procedures` that differ."""
    if not names:
        return ""
    lines = [
        "from tosajit.kernels.contract.procedures import procedure",
        f"from tosajit.kernels.sets.{isa.name}.vectors import VECTORS",
        "",
    ]
    lines += [f'{name} = procedure("{(stems or {}).get(name, name)}", VECTORS)' for name in names]
    return "\n".join(lines)


NO_EPILOGUE = Epilogue()
VECTORS = frozenset(name for name, item in vars(structure).items() if item is None)
"""What `structure` leaves to the instruction set."""


def _module(
    title: str,
    spec: ContractSpec,
    module: ModuleType,
    name: str,
    values: Mapping[str, object] | None = None,
    epilogue: Epilogue = NO_EPILOGUE,
) -> str:
    """Return the text that asks for a kernel, with all that it needs (see `instances`)."""
    used, stem = called_names(module, name), module.__name__.rpartition(".")[2]
    stems = {stem: f"{stem}_{spec.left}" for stem in ("tile", "depthwise", "greatest", "mean")}
    if spec.matrices:
        stems |= {"tile": f"tile_matrices_{spec.left}", "tile_rescale_i8": "tile_rescale_matrices"}
    imports = vector_imports(spec.isa, sorted(used & VECTORS), stems)
    if spec.accumulator == "f32" or epilogue.computes_floats:
        imports = f"from tosajit.kernels.floats import *\n{imports}"
    everything = {**_values(spec), **(values or {})}
    numbers = ", ".join(f"{key}={value}" for key, value in everything.items() if key in used)
    parts = [HEADER.format(title=title, isa=spec.isa.name, module=stem, imports=imports), epilogue.functions]
    parts += [_end(signature, body) for signature, body in epilogue.ends.items() if "kernel" in name]
    tiles = spec.isa.tiles_of(spec.left)
    heights = {"highest": _at_most(tiles.heights), "lowest": _at_least(tiles.heights)}
    for function, height in heights.items():
        found = "rows" if spec.matrices else height
        parts += [f"def {function}(rows):\n    return {found}"] if function in used else []
    return "\n\n".join([*filter(None, parts), f"kernel = instance({stem}.{name}, {numbers})\n"])


def _end(signature: str, body: str) -> str:
    """Return a function that stands for statements of the kernel."""
    return f"def {signature}:\n{indent(body or 'pass', '    ')}"


def _values(spec: ContractSpec) -> dict[str, object]:
    left, matrices = spec.left, spec.matrices
    isa = spec.isa.tiles_of(left)
    split, height = left == spec.right == "i16", matrices.height if matrices else 0
    step = {"i8": 4 // isa.byte_width, "f32": 1}.get(left, 2)
    return {
        "LANES": isa.lanes,
        "REGISTER": isa.register_bytes,
        "COLUMNS": isa.lanes * (1 if split else isa.panels),
        "ROWS": height or isa.heights[-1],
        "BLOCK": height or isa.block,
        "LOW": isa.low,
        "SHORT_STEPS": isa.short_steps,
        "OFFSETS_BYTES": 8 * MAX_PANEL_ROWS,
        "LEAST_BYTES": LEAST_BYTES,
        "BIAS": isa.bias if left == "i8" else 0,
        "PARTS": 1 + split,
        "STEP": step,
        "DEPTH": isa.whole_depth(step, left),
        "APART": max(1, isa.eights_of(left) // 2),
        "WIDTH": isa.byte_width if left == "i8" else {"f32": 4}.get(left, 2),
        "ELEMENT": 1 if left == "i8" else 2,
        "MATRICES": matrices is not None,
        "FLIPPED": left == "i8" and isa.bias > 0,
        "WIDE": left == "i8" and isa.byte_width > 1,
        "CHUNK": CHUNKS.get(spec.right, 0),
        "GROUP": 4 // isa.byte_width if left == "i8" else 2,
        "SHORT_ROW": structure.SHORT_ROW,
        "NEAR_STEPS": structure.NEAR_STEPS,
        "NARROW": left == "i8",
        "SPLIT": split,
        "FLOAT": spec.accumulator == "f32",
        "CAREFUL": left == "bf16",
        "RESCALE": False,
        "FUSED": False,
        "IN_REGISTERS": False,
        "SIGNED": isa.signed,
        "MASKED": isa.masked,
        "HALVES": isa.masked and left == "f32",
        "reload_sum": SUMS.get(left, "load_f32"),
        "load_a": f"load_{left}",
        "store_a": f"store_{left}",
        "load_b": f"load_{spec.right}",
    }


def _at_most(heights: Sequence[int]) -> str:
    """Return the expression for the greatest of some heights that is at most `rows`."""
    least, *others = heights
    tests = [f"{height} if rows >= {height}" for height in reversed(others)]
    return " else ".join([*tests, str(least)])


def _at_least(heights: Sequence[int]) -> str:
    """Return the expression for the least of some heights that is at least `rows`, or for the greatest."""
    *others, most = heights
    tests = [f"{height} if rows <= {height}" for height in others]
    return " else ".join([*tests, str(most)])
