"""Inner loops of register tiles, as llvm-mca sees them on cores that are not at hand.

A loop of nothing but the instruction that does the products is the peak; a tile's share of it is told.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import signature

import llvmlite.binding as llvm
from llvmlite import ir

from tosajit.kernels.contract.procedures import PROCEDURES
from tosajit.kernels.native import optimize, target_machine
from tosajit.kernels.sets.cpus import Cpu
from tosajit.kernels.sets.registry import compiling_for, instruction_set
from tosajit.kernels.sets.values import I64, Value

MCA = "llvm-mca-19"
"""Versions before 17 take the Neoverse cores for a Cortex-A57."""
REPEATS = 200
INDEPENDENT = 24
"""Registers that a loop of products alone adds to, more than any core has in flight."""
LABEL = re.compile(r"(\.?L\w+):")
BACK = re.compile(r"\s(?:b(?:\.\w+)?|cbn?z\s+\w+,|j\w+)\s+(\.?L\w+)$")


@dataclass(frozen=True, slots=True)
class Judged:
    """A tile's loop on a core: products an iteration, its cycles, and the products a cycle at most."""

    products: int
    cycles: float
    peak: float

    @property
    def share(self) -> float:
        """Return the part of the peak."""
        return self.products / self.cycles / self.peak


def judged(procedure: str, instruction: str, cpu: Cpu) -> Judged:
    """Judge the best of the inner loops of a procedure that have many of an instruction, half of the most.

    It may be several instructions that are as fast. Tiles of few rows that take several steps at once have as
    many as those of many rows.
    """
    loops = list(inner_loops(assembly(procedure, cpu)))
    counts = [sum(is_a(line, instruction) for line in lines) for lines in loops]
    large = [lines for lines, count in zip(loops, counts, strict=True) if 2 * count > max(counts)]
    return max((of_loop(lines, instruction, cpu) for lines in large), key=lambda found: found.share)


def of_loop(loop: Sequence[str], instruction: str, cpu: Cpu) -> Judged:
    """Judge one loop."""
    products = [line for line in loop if is_a(line, instruction)]
    alone = [re.sub(r"\bv\d+\.", f"v{number + 2}.", products[0], count=1) for number in range(INDEPENDENT)]
    alone = [re.sub(r"(, )v\d+\.(\w+), v\d+\.", r"\1v0.\2, v1.", line) for line in alone]
    return Judged(len(products), cycles(loop, cpu), len(alone) / cycles(alone, cpu))


def is_a(line: str, instruction: str) -> bool:
    """Tell whether a line is an instruction, or the same on the upper halves of registers."""
    return any(line.split(maxsplit=1)[:1] in ([name], [f"{name}2"]) for name in instruction.split())


def assembly(procedure: str, cpu: Cpu) -> str:
    """The machine code of a procedure; of int8 whose weights are not -128."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    with compiling_for(cpu):
        isa = instruction_set()
        assert isa is not None
        isa = isa.symmetric if isa.symmetric and procedure.endswith("_i8") else isa
        vectors = import_module(f"tosajit.kernels.sets.{isa.name}.vectors").VECTORS
        module = ir.Module()
        module.triple = cpu.triple
        body = PROCEDURES[procedure].body
        numbers = [I64] * (len(signature(body).parameters) - 1)
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), numbers), procedure)
        builder = ir.IRBuilder(function.append_basic_block())
        body(vectors(builder, isa), *(Value(builder, one) for one in function.args))
        builder.ret_void()
        machine, parsed = target_machine(), llvm.parse_assembly(str(module))
        parsed.data_layout = str(machine.target_data)
        optimize(parsed, machine)
        return str(machine.emit_assembly(parsed))


def inner_loops(text: str) -> Iterator[Sequence[str]]:
    """The instructions of each loop that has no other inside."""
    lines, labels = text.splitlines(), dict[str, int]()
    for number, line in enumerate(lines):
        if found := LABEL.match(line):
            labels[found[1]] = number
        if (back := BACK.search(line)) and back[1] in labels:
            body = lines[labels[back[1]] + 1 : number + 1]
            if not any(LABEL.match(one) for one in body):
                yield [one for one in body if not re.match(r"\s*(//|#|;|\.|$)", one)]


def cycles(lines: Sequence[str], cpu: Cpu) -> float:
    """Cycles of an iteration of a loop, by llvm-mca."""
    command = [MCA, f"-mtriple={cpu.triple}", f"-mcpu={cpu.name}", f"-iterations={REPEATS}"]
    text = "\n".join(lines) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    total = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    assert total is not None
    return int(total[1]) / REPEATS
