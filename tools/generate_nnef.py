"""Write the table of NNEF's operators and what each becomes; `--check` says whether it is up to date.

Each operator's calls in `tests/nnef/cases` are lowered; the table has the operators of TOSA in their graphs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.nnef.cases import CASES, Case
from tests.nnef.operations import model
from tests.nnef.running import composed
from tosajit.errors import TosaError
from tosajit.frontends.nnef.library import MODULES, text_of
from tosajit.frontends.nnef.lowering import graph_of
from tosajit.frontends.nnef.model import Argument, Tensor, tensors_of
from tosajit.frontends.nnef.operators import DECLARATIONS
from tosajit.graph import Graph

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "reference" / "nnef-operators.md"
SECTION = re.compile(r"section (4[\d.]*\d)")
OPERATOR = re.compile(r"^operator (\w+) \{$")
SILENT = frozenset({"CONST", "CONST_SHAPE"})
HEAD = """---
hide: [toc]
---

# Operators of NNEF

The standard operators of [NNEF 2.0](../how-to/nnef.md), and the operators of TOSA that their calls in our
tests become: each call has some of them, besides constants. CUSTOM stands for the operator's own text, which
is compiled as [one that users write](../how-to/own-operator.md): as loop nests, or one point after another.

| operator | section | gives | becomes |
|---|---|---|---|
"""


def main() -> int:
    """Write the page, or compare it."""
    new = HEAD + "".join(f"{row}\n" for row in rows())
    if "--check" in sys.argv[1:]:
        return int(not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != new)
    TARGET.write_text(new, encoding="utf-8")
    return 0


def rows() -> Iterator[str]:
    """A row for each operator, in the order of the specification."""
    for module in MODULES:
        for name, section, gives in described(module):
            called = f"{module}.{name}"
            yield f"| `{called}` | {section} | {gives} | {becomes(called)} |"


def described(module: str) -> Iterator[tuple[str, str, str]]:
    """The operators of a module, each with its section, and with what the lines above it say."""
    section, said = "", ""
    for line in text_of(module).splitlines():
        if line.startswith("#"):
            said = f"{said} {line[1:].strip()}".strip()
            found = SECTION.search(line)
            section = found[1] if found else section
        elif found := OPERATOR.match(line):
            yield found[1], section, said
        if not line:
            said = ""


def becomes(operator: str) -> str:
    """The operators of TOSA in the graphs of all calls, or why there are none."""
    declared = DECLARATIONS.get(operator)
    if declared is not None and declared.kind == "refused":
        return f"nothing: {declared.summary}"
    found = {name for case in CASES.get(operator, ()) for name in opcodes(case)}
    if not found:
        return "nothing: data decide the shapes inside of it, and TOSA's are known before a run"
    return ", ".join(sorted(found - {"IDENTITY"} or found))


def opcodes(case: Case) -> Sequence[str]:
    """The operators in the graph of a call; none where the call is not one of TOSA's."""
    try:
        graph = graph_of_case(case)
    except TosaError:
        return ()
    return [node.operator.opcode for node in graph.nodes if node.operator.opcode not in SILENT]


def graph_of_case(case: Case) -> Graph:
    """The graph of a call."""
    operation = composed(case)
    inputs, outputs = (_tensors(part) for part in (operation.inputs, operation.outputs))
    return graph_of(model(inputs, [operation], outputs))


def _tensors(arguments: Mapping[str, Argument]) -> list[Tensor]:
    return [one for argument in arguments.values() for one in tensors_of(argument)]


if __name__ == "__main__":
    sys.exit(main())
