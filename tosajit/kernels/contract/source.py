"""The texts of contraction kernels."""

from collections.abc import Sequence
from enum import IntEnum
from textwrap import indent

from tosajit.kernels.contract import convolution as text
from tosajit.kernels.contract.spec import MAX_PANEL_ROWS, TILE_ROWS, ContractSpec, Epilogue, Job, Slot, TileJob

PACKAGE = "tosajit.kernels.contract"


def contract_source(spec: ContractSpec, epilogue: Epilogue) -> str:
    """Return a module that defines `kernel(args)` for a structure and what follows each sum."""
    imports = f"from {PACKAGE}.{spec.library} import rescale_i8" if epilogue.rescale else ""
    parts = [_header(f"Convolution of {spec.left} and {spec.right}", imports, [Slot, Job, TileJob], epilogue.functions)]
    parts += [text.PROLOGUE, epilogue.rescale * text.RESCALE_PROLOGUE, indent(epilogue.setup, " " * 4)]
    parts += _finish(epilogue)
    return _fill(
        "".join(parts),
        {
            "step_elements": 4 if spec.left == "i8" else 2,
            "offset_bytes": MAX_PANEL_ROWS * 8,
            "word_bytes": TILE_ROWS * 32 * 8,
            "tile_rows": TILE_ROWS,
        },
    )


def gather_source(library: str = "avx512") -> str:
    """Return the kernel that gathers rows of A and finds where their outputs go."""
    imports = f"from {PACKAGE}.{library} import copy_run, fill_run"
    return _header("Rows of a convolution", imports, [Slot, Job]) + text.GATHER


def tile_source(spec: ContractSpec) -> str:
    """Return the kernel of a register tile."""
    imports = f"from {PACKAGE}.{spec.library} import add_row_sums, tile_{spec.left}"
    return _header(f"Register tiles of {spec.left}", imports, [TileJob]) + text.TILE.replace("{functor}", spec.left)


def _fill(template: str, constants: dict[str, int]) -> str:
    for name, value in constants.items():
        template = template.replace("{" + name + "}", str(value))
    return template


def _header(title: str, imports: str, slots: Sequence[type[IntEnum]], functions: str = "") -> str:
    names = "\n".join(
        ",\\\n    ".join(", ".join(slot.name for slot in list(group)[i : i + 8]) for i in range(0, len(group), 8))
        + f" = range({len(group)})"
        for group in slots
    )
    return text.HEADER.format(title=title, imports=imports, slots=names, functions=functions)


def _finish(epilogue: Epilogue) -> list[str]:
    """Return the loops, with what runs after each tile."""
    direct, staged = "output + column, offsets + row * 8", "narrow, narrow_offsets"
    if epilogue.rescale and not epilogue.body:
        return [text.TILES, text.RESCALE.replace("{where}", direct), text.NEXT]
    load = "reload_i8(narrow, i * 32 + part + j)" if epilogue.rescale else "reload_i32(words, i * 32 + part + j)"
    body = text.BODY.replace("{load}", load)
    body = body.replace("{body}", indent(epilogue.body, " " * 28)).replace("{rest}", indent(epilogue.body, " " * 24))
    first = [text.NARROW, text.TILES, text.RESCALE.replace("{where}", staged)] if epilogue.rescale else [text.TILES]
    return [*first, body, text.NEXT]
