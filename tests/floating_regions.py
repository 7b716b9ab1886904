"""Control flow and variables in drawn floating-point graphs: regions of one operator each."""

from __future__ import annotations

import numpy as np

from tests import floating_oracle as oracle
from tests.floating_graphs import Drawer, Entry, Meaning
from tosajit.dtypes import BOOL, DTYPES, INT32
from tosajit.graph import Node, Region
from tosajit.graph.operator import Operator
from tosajit.operators import COND_IF, GREATER, IDENTITY, OPERATORS, SUB, WHILE_LOOP
from tosajit.tracing.builder import GraphBuilder

BRANCHES = (*(name for name in oracle.UNARY if name != "NEGATE"), "ADD", "SUB", "MAXIMUM", "MINIMUM")
BODIES = ("ABS", "CEIL", "FLOOR", "NEGATE", "REVERSE", "ADD")
"""What may be repeated, because it is exact."""
HELD = ("FP32", "FP16", "INT8")


def region(name: str, inputs: list[tuple[str, tuple[int, ...]]], made: Operator, operands: int) -> Region:
    """A region that applies an operator to the first of its inputs."""
    block = GraphBuilder(name)
    names = [block.input(f"in{k}", DTYPES[dtype], shape) for k, (dtype, shape) in enumerate(inputs)]
    block.output(block.add(made, names[:operands]))
    return Region(name, (block.block(),))


def conditional(drawer: Drawer) -> None:
    """COND_IF, with an operator in each branch."""
    x = drawer.operand()
    y = drawer.fresh(x.dtype, x.array.shape)
    known = [e for e in drawer.made.entries.values() if e.dtype == "BOOL" and e.array.size == 1]
    condition = known[-1] if known else drawer.fresh("BOOL", drawer.pick(((), (1,))))
    makes = [OPERATORS[drawer.pick(BRANCHES)]() for _ in range(2)]
    if drawer.style == "integers":
        makes = [IDENTITY(), OPERATORS["ADD"]()]
    name = f"{len(drawer.made.entries)}"
    types = [(entry.dtype, entry.array.shape) for entry in (x, y)]
    regions = tuple(
        region(f"{kind}_{name}", types, made, 1 if made.opcode in oracle.UNARY else 2)
        for kind, made in zip(("then", "else"), makes, strict=True)
    )
    taken = makes[0] if condition.array.item() else makes[1]
    (array,), whole = drawer.results(taken, (x, y), x.dtype)
    operator = COND_IF(then_graph=regions[0].name, else_graph=regions[1].name)
    node = Node(operator, (condition.name, x.name, y.name), ())
    drawer.record(node, [(x.dtype, array)], whole, Meaning("if", tuple(makes), regions))


def loop(drawer: Drawer) -> None:
    """WHILE_LOOP, which applies an operator some times."""
    x = drawer.operand()
    opcode = drawer.pick(BODIES)
    if opcode == "REVERSE" and not x.array.ndim:
        return
    made = OPERATORS[opcode](**({"axis": 0} if opcode == "REVERSE" else {}))
    number = drawer.pick(("input", "constant"))
    times = drawer.add(number, "INT32", drawer.random.integers(0, 4, (1,)).astype(np.int32))
    name = f"{len(drawer.made.entries)}"
    regions = (condition_region(f"cond_{name}", x), body_region(f"body_{name}", x, made))
    array, whole = x.array, x.whole
    for _ in range(int(times.array[0])):
        step = Entry("", x.dtype, array, whole)
        (array,), whole = drawer.results(made, (step, step), x.dtype)
    operator = WHILE_LOOP(cond_graph=regions[0].name, body_graph=regions[1].name)
    results = [("INT32", np.zeros(1, np.int32)), (x.dtype, array)]
    node = Node(operator, (times.name, x.name), ())
    drawer.record(node, results, whole, Meaning("while", (made,), regions))


def condition_region(name: str, x: Entry) -> Region:
    """Whether the number is not yet zero."""
    block = GraphBuilder(name)
    number = block.input("n", INT32, (1,))
    block.input("x", DTYPES[x.dtype], x.array.shape)
    block.output(block.add(GREATER(), [number, block.const(np.zeros(1), INT32)], dtype=BOOL))
    return Region(name, (block.block(),))


def body_region(name: str, x: Entry, made: Operator) -> Region:
    """Count down, and apply the operator."""
    block = GraphBuilder(name)
    number, value = block.input("n", INT32, (1,)), block.input("x", DTYPES[x.dtype], x.array.shape)
    less = block.add(SUB(), [number, block.const(np.ones(1), INT32)])
    operands = [value, value] if made.opcode == "ADD" else [value]
    if made.opcode == "NEGATE":
        operands += [block.const(np.zeros(1), DTYPES[x.dtype]) for _ in range(2)]
    block.output(less, block.add(made, operands))
    return Region(name, (block.block(),))


def variable(drawer: Drawer) -> None:
    """VARIABLE, which is written and read back: what IDENTITY does."""
    x = drawer.operand(HELD)
    drawer.record(Node(IDENTITY(), (x.name,), ()), [(x.dtype, x.array)], x.whole, Meaning("variable"))
