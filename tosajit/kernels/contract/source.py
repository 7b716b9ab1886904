"""The texts of contraction kernels."""

import ast
import functools
import hashlib
from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from textwrap import indent

from tosajit.kernels.contract import convolution as text
from tosajit.kernels.contract import depthwise
from tosajit.kernels.contract.slots import DepthwiseJob, DepthwiseSlot, Job, PackSlot, Slot, TileJob
from tosajit.kernels.contract.spec import LEAST_BYTES, MAX_PANEL_ROWS, TILE_ROWS, ContractSpec, Epilogue

CHUNKS = {"i8": 255, "i16": 127}
"""Steps of two int16 products each that stay within 32 bits: of int8, or of the lower half of int16."""

RUN_SLACK = 64
"""How far `copy_run` and `fill_run` may write past the end of a run."""

SHORT_ROW = 16
"""Pixels of an output row of float32 that are not worth telling apart by whether they depend on padding."""

PACKAGE = "tosajit.kernels.contract"


def contract_source(spec: ContractSpec, epilogue: Epilogue) -> str:
    """Return a module that defines `kernel(args)` for a structure and what follows each sum."""
    return _depthwise(spec, epilogue) if spec.kind == "depthwise" else _convolution(spec, epilogue)


def _convolution(spec: ContractSpec, epilogue: Epilogue) -> str:
    imports = [
        *(["rescale_i8"] if epilogue.rescale else []),
        *(["copy_run"] if spec.left == "i16" else []),
        *(["least_bf16"] if spec.left == "bf16" else []),
    ]
    parts = [
        _header(
            f"Convolution of {spec.left} and {spec.right}",
            spec,
            imports,
            [Slot, Job, TileJob],
            epilogue,
        )
    ]
    parts += [
        text.PROLOGUE,
        epilogue.rescale * text.RESCALE_PROLOGUE,
        indent(epilogue.setup, " " * 4),
    ]
    parts += [text.NARROW] if epilogue.rescale and epilogue.body else []
    fused = spec.left == "i8" and epilogue.rescale and not epilogue.body
    parts += [text.FUSED_PROLOGUE] if fused else []
    careful = spec.left == "bf16"
    parts += [text.LEAST_PROLOGUE] if careful else []
    tiles = text.TILES.replace("{start}", text.START if spec.left == "i16" else "")
    tiles = tiles.replace("{least}", text.LEAST if careful else "")
    parts += [tiles.replace("{fused}", text.FUSED if fused else "")]
    if epilogue.rescale:
        where = "narrow, narrow_offsets" if epilogue.body else "output + column, offsets + row * 8"
        parts += [text.RESCALE.replace("{where}", where)]
    words = ("reload_i8", "narrow") if epilogue.rescale else (f"reload_{spec.accumulator}", "words")
    if spec.accumulator == "f32":
        parts += [text.BODY_FLOAT.replace("{body}", indent(epilogue.body, " " * 28)), text.NEXT]
    else:
        parts += [_body(epilogue, words, "32", "reload_i64(offsets, row + i)"), text.NEXT]
    split = spec.right == "i16"
    constants = {
        "parts": 2 if split else 1,
        "tile_columns": 16 if split else 32,
        "factor": "-load_i64(args, WEIGHT_ZP)" if spec.left == "i8" else int(split),
        "step_elements": {"i8": 4, "f32": 1}.get(spec.left, 2),
        "offset_bytes": MAX_PANEL_ROWS * 8,
        "word_bytes": TILE_ROWS * 32 * 8 + RUN_SLACK,
        "tile_rows": TILE_ROWS,
        "least_bytes": LEAST_BYTES,
    }
    return _fill("".join(parts), constants)


def _depthwise(spec: ContractSpec, epilogue: Epilogue) -> str:
    type_ = spec.left
    imports = [
        "fill_run",
        *(["depthwise_rescale_i8"] if epilogue.rescale else [f"depthwise_{type_}"]),
    ]
    imports += ["copy_run"] if type_ == "i16" else []
    slots = [DepthwiseSlot, DepthwiseJob]
    parts = [
        _header(
            f"Depthwise convolution of {type_} and {spec.right}",
            spec,
            imports,
            slots,
            epilogue,
        )
    ]
    parts += [
        depthwise.PROLOGUE,
        epilogue.rescale * text.RESCALE_PROLOGUE,
        indent(epilogue.setup, " " * 4),
    ]
    if type_ == "f32":
        body = _body(epilogue, ("reload_f32", "words"), "pitch", "first_place + i * out_x")
        parts += [depthwise.LOOPS_F32, body, depthwise.NEXT_F32]
    else:
        parts += _interleaved_loops(type_, spec.accumulator, epilogue)
    return _fill("".join(parts), {"flip": 128 if type_ == "i8" else 0, "short": SHORT_ROW})


def _interleaved_loops(type_: str, accumulator: str, epilogue: Epilogue) -> list[str]:
    if epilogue.rescale:
        where = "words, columns" if epilogue.body else "output + first_place + column, out_x"
        tile = depthwise.RESCALE.replace("{where}", where)
    else:
        tile = depthwise.TILE_I8 if type_ == "i8" else depthwise.TILE_I16
    words = ("reload_i8" if epilogue.rescale else f"reload_{accumulator}", "words")
    pitch = "columns" if epilogue.rescale else "pitch"
    body = _body(epilogue, words, pitch, "first_place + i * out_x", 4)
    return [depthwise.LOOPS, tile, body, depthwise.NEXT]


def depthwise_gather_source(spec: ContractSpec) -> str:
    """Return the kernel that interleaves or keeps rows of the input of a depthwise convolution."""
    type_, group = spec.left, 4 if spec.left == "i8" else 2
    names = ["fill_run", "copy_run" if type_ == "f32" else f"interleave_{type_}"]
    header = _header("Rows of a depthwise convolution", spec, names, [DepthwiseSlot, DepthwiseJob])
    if type_ == "f32":
        return header + depthwise.KEEP
    taps = ", ".join(depthwise.TAP.format(tap) for tap in range(group))
    constants = {"group": group, "bytes": 4 // group, "type": type_, "taps": taps}
    return _fill(header + depthwise.GATHER, constants)


TILES = {
    "i8": (["tile_i8", "tile_rescale_i8", "add_row_sums"], text.TILE_I8),
    "i16": (["tile_i16", "fill_run", "widen_add_rows"], text.TILE_I16),
    "f32": (["tile_f32"], text.TILE_FLOAT),
    "bf16": (["tile_bf16", "tile_small_bf16"], text.TILE_BF16),
}
PACKS: dict[str, tuple[list[str], str]] = {
    "i8": (["pack_i8"], text.PACK_I8),
    "i16": (["pack_halves"], text.PACK_I16),
    "f32": ([], text.PACK_F32),
    "bf16": (["least_bf16"], text.PACK_BF16),
}
"""What the kernels of register tiles and of packing call, and their texts."""


def gather_source(library: str = "avx512") -> str:
    """Return the kernel that gathers rows of A and finds where their outputs go."""
    spec = ContractSpec("convolution", library=library)
    return _header("Rows of a convolution", spec, ["gather_rows"], [Slot, Job]) + text.GATHER


def tile_source(spec: ContractSpec) -> str:
    """Return the kernel of a register tile."""
    names, body = TILES[spec.left]
    header = _header(f"Register tiles of {spec.left}", spec, names, [TileJob])
    constants = {"chunk": CHUNKS.get(spec.right, 0), "tile_rows": TILE_ROWS}
    return header + _fill(body, constants | {"left": spec.left})


def pack_source(spec: ContractSpec) -> str:
    """Return the kernel that packs a matrix B at run time."""
    names, body = PACKS[spec.left]
    header = _header(f"Packing of {spec.right}", spec, names, [PackSlot])
    return header + _fill(body, {"right": spec.right, "least_bytes": LEAST_BYTES})


def _fill(template: str, constants: Mapping[str, object]) -> str:
    for name, value in constants.items():
        template = template.replace("{" + name + "}", str(value))
    return template


NO_EPILOGUE = Epilogue()


def _header(
    title: str,
    spec: ContractSpec,
    names: Sequence[str],
    slots: Sequence[type[IntEnum]],
    epilogue: Epilogue = NO_EPILOGUE,
) -> str:
    numbers = "\n".join(
        ",\\\n    ".join(
            ", ".join(slot.name for slot in list(group)[i : i + 8]) for i in range(0, len(group), 8)
        )
        + f" = range({len(group)})"
        for group in slots
    )
    if spec.library == "portable":
        generic = ", ".join(GENERIC[name] for name in names if name in GENERIC)
        imports = f"from {PACKAGE}.generic import {generic}" if generic else ""
        functions = "\n\n".join([*_portable(names), epilogue.functions])
    else:
        imports, functions = (
            f"from {PACKAGE}.{spec.library} import {', '.join(names)}" if names else "",
            epilogue.functions,
        )
    if spec.accumulator == "f32":
        imports = f"from tosajit.kernels.floats import *\n{imports}"
    title = f"{title}, on {spec.library} {_library_digest()}"
    return text.HEADER.format(title=title, imports=imports, slots=numbers, functions=functions)


@functools.cache
def _library_digest() -> str:
    """Identify the texts of the vector libraries, so that a kernel is compiled anew when they change."""
    digest = hashlib.blake2b(digest_size=4)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


GENERIC = {"tile_f32": "tile_rows_f32", "depthwise_f32": "depthwise_f32"}
"""What of these is vector code for any CPU, and its name."""

CALLED = {
    "gather_rows": ("copy_run", "fill_run"),
    "tile_rescale_i8": ("tile_i8", "rescale_i8", "rescaled"),
    "rescale_i8": ("rescaled",),
    "depthwise_rescale_i8": ("rescaled",),
}
"""What the portable functions call among themselves."""


def _portable(names: Sequence[str]) -> list[str]:
    """Return the texts of portable functions, called ones first."""
    module = ast.parse(Path(__file__).with_name("portable.py").read_text())
    wanted = {*names, *(name for caller in names for name in CALLED.get(caller, ()))}
    return [
        ast.unparse(node) for node in module.body if isinstance(node, ast.FunctionDef) and node.name in wanted
    ]


def _body(epilogue: Epilogue, words: tuple[str, str], pitch: str, place: str, deeper: int = 0) -> str:
    """Return the loops of the caller's text over the sums of a tile."""
    if epilogue.rescale and not epilogue.body:
        return ""
    load = f"{words[0]}({words[1]}, base + j)"
    body = _fill(text.BODY, {"load": load, "pitch": pitch, "place": place})
    body = body.replace("{body}", indent(epilogue.body, " " * 24))
    return indent(body, " " * deeper)
