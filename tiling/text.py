"""Nests and programs as text that people read."""

from __future__ import annotations

from tiling.expr import Expr, rewrite
from tiling.nest import Access, Affine, Indirect, Nest
from tiling.program import Program, Section


def nest_text(nest: Nest) -> str:
    """A nest as loops with one statement a result."""
    header = ", ".join(f"{a.name}<{a.extent}{' reduced' if a.reduced else ''}" for a in nest.axes)
    lines = [f"{nest.verb} [{header}]"]
    return "\n".join(lines + ["  " + line for line in _statements(nest)])


def program_text(program: Program) -> str:
    """The whole program as pseudo-code: memory, then tile loops with their commands."""
    lines = [f"program for {program.target.name}: arena {program.arena_bytes} bytes, scratchpad {program.scratch_bytes} bytes"]
    for operand in program.operands.values():
        place = f" at {operand.offset}" if operand.kind == "temporary" else ""
        lines.append(f"  {operand.kind} {operand.name}: {operand.type}[{operand.elements}]{place}")
    for number, section in enumerate(program.sections):
        lines.append("")
        lines += _section_lines(number, section)
    return "\n".join(lines)


def _section_lines(number: int, section: Section) -> list[str]:
    nest = section.nest
    lines = [f"{number}: {nest.verb} " + ", ".join(dict.fromkeys(nest.members))]
    indent = "  "
    for loop in section.loops:
        axis = nest.axes[loop.axis]
        lines.append(f"{indent}for {axis.name} in 0..{axis.extent} step {loop.step}:")
        indent += "  "
    reads = len(nest.reads)
    for access, (item, image) in enumerate(zip(section.accesses, section.images, strict=True)):
        if image is not None and access < reads:
            shape = "x".join(map(str, image.shape)) or "1"
            lines.append(f"{indent}load  [{image.address}] <- {item.operand} ({shape} {item.type})")
    box = ", ".join(
        f"{a.name}{'*' if a.reduced else ''}:{t}" for a, t in zip(nest.axes, section.tile, strict=True)
    )
    lines.append(f"{indent}{nest.verb} tile({box})")
    lines += [f"{indent}  {line}" for line in _statements(nest)]
    for access, (item, image) in enumerate(zip(section.accesses, section.images, strict=True)):
        if image is not None and access >= reads:
            shape = "x".join(map(str, image.shape)) or "1"
            lines.append(f"{indent}store {item.operand} <- [{image.address}] ({shape} {item.type})")
    return lines


def _statements(nest: Nest) -> list[str]:
    lines = []
    if nest.reduction is not None:
        value = _expr_text(nest.reduction.value, nest)
        lines.append(f"acc = {nest.reduction.op}({nest.reduction.initial}; {value})")
    lines += [f"{_access_text(w.access, nest)} = {_expr_text(w.value, nest)}" for w in nest.writes]
    return lines


def _expr_text(expr: Expr, nest: Nest) -> str:
    def leaf(item: Expr) -> Expr:
        if item.op == "read":
            return Expr("const", (_access_text(nest.reads[int(item.args[0])], nest),), item.type)  # type: ignore[arg-type]
        if item.op == "axis":
            return Expr("const", (nest.axes[int(item.args[0])].name,), item.type)  # type: ignore[arg-type]
        return item

    return str(rewrite(expr, leaf))


def _access_text(access: Access, nest: Nest) -> str:
    index = ", ".join(_index_text(item, nest) for item in access.index)
    fill = f" else {_expr_text(access.fill, nest)}" if access.fill is not None else ""
    return f"{access.operand}[{index}]{fill}"


def _index_text(index: Affine | Indirect, nest: Nest) -> str:
    if isinstance(index, Indirect):
        return f"<{_expr_text(index.value, nest)}>"
    terms = [
        axis.name if c == 1 else f"{c}*{axis.name}" for axis, c in zip(nest.axes, index.coefficients, strict=True) if c
    ]
    if index.offset or not terms:
        terms.append(str(index.offset))
    return " + ".join(terms).replace("+ -", "- ")
