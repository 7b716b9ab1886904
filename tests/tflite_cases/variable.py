"""Resource variables, which several calls of a model share."""

from __future__ import annotations

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.control import TYPES, Like, shared, steps
from tosajit.frontends.tflite.options import CallOnceOptions, IfOptions, VarHandleOptions
from tosajit.frontends.tflite.schema import Type


@case("VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE CALL_ONCE", TYPES)
def variables(sketch: Sketch, kind: Type) -> None:
    """Some operators behind what variables hold and an input, and what they give is assigned again."""
    sketch.calls = 3
    shape, like = sketch.shape(), shared(sketch, kind)
    names = ["first", "second"][: sketch.random.randint(1, 2)]
    with sketch.subgraph("initial"):
        for name in names:
            assign(sketch, name, sketch.operand(kind, shape, constant=True, **like))
    sketch.add([], [], CallOnceOptions(1), name="CALL_ONCE")
    given = sketch.operand(kind, shape, constant=False, **like)
    for name in names:
        held = read(sketch, name, kind, shape, like)
        found = steps(sketch, kind, [given, held], like)
        sketch.outputs.append(sketch.random.choice([held, found]))
        if sketch.chance(0.3):
            chosen(sketch, name, kind, shape, like)
        else:
            assign(sketch, name, found)
        if sketch.chance(0.3):
            sketch.outputs.append(read(sketch, name, kind, shape, like))


def chosen(sketch: Sketch, name: str, kind: Type, shape: tuple[int, ...], like: Like) -> None:
    """A branch that assigns, and one that does not."""
    number = len(sketch.subgraphs) + 1
    for branch in ("written", "left"):
        with sketch.subgraph(branch):
            value = sketch.operand(kind, shape, constant=False, **like)
            if branch == "written":
                assign(sketch, name, value)
            sketch.outputs.append(value)
    operands = [sketch.operand(Type.BOOL, (1,), constant=False), sketch.inputs[0]]
    sketch.add(operands, sketch.result(kind, shape, **like), IfOptions(number, number + 1), name="IF")


def read(sketch: Sketch, name: str, kind: Type, shape: tuple[int, ...], like: Like) -> int:
    found = sketch.tensor(kind, shape, **like)
    sketch.add([handle(sketch, name)], found, name="READ_VARIABLE")
    return found


def assign(sketch: Sketch, name: str, value: int) -> None:
    sketch.add([handle(sketch, name), value], [], name="ASSIGN_VARIABLE")


def handle(sketch: Sketch, name: str) -> int:
    found = sketch.tensor(Type.RESOURCE, ())
    sketch.add([], found, VarHandleOptions("", name), name="VAR_HANDLE")
    return found
