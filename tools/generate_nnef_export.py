"""Write the table of TOSA's operators and what NNEF has for them; `--check` says whether it is up to date.

The graphs of the sample of Arm's suite are written in SkriptND: the table has what they call.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import tosajit as tj
from tosajit.conformance import sample
from tosajit.conformance.suite import Test
from tosajit.errors import ModelError
from tosajit.frontends.nnef.writing import Text
from tosajit.graph import Graph
from tosajit.operators import OPERATORS

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "reference" / "nnef-export.md"
CALLED = re.compile(r"\b((?:layout|math|linalg|nn|tosa)\.\w+)")
TYPE = re.compile(r"it is (\w+), and")
APART = ("CONST", "CONST_SHAPE")
ELSEWHERE = {
    "COND_IF": "`if … then … else`",
    "WHILE_LOOP": "`with … while … do`",
    "VARIABLE": "`@variable`",
    "VARIABLE_READ": "`math.iden`",
    "VARIABLE_WRITE": "`@update`; refused inside control flow",
    "CUSTOM": "the operator's own text; refused without one",
    "CONST": "`@variable`, with the elements in a `.dat` file",
    "CONST_SHAPE": "an attribute",
}
HEAD = """# From TOSA to NNEF

What `tosajit convert model.tosa model.nnef2` writes for each operator
([how](../how-to/nnef.md#from-tosa-to-nnef)), as the sample of Arm's conformance suite has it. Operators of
module `tosa` are defined in a file that is written into the folder.

FP16, BF16 and FP8 are refused because NNEF's reals have one width, INT48 because its integers have 32 bits;
between a convolution of INT16 and RESCALE it is a pair of them.

| operator | becomes | types refused | also refused |
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
    """A row for each operator."""
    calls: defaultdict[str, set[str]] = defaultdict(set)
    refused: defaultdict[str, set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        for test in tests(Path(folder)):
            graph = tj.load(test.tosa_path)
            operators = {node.operator.opcode for node in graph.nodes} - set(APART)
            if len(operators) != 1 or operators & ELSEWHERE.keys():
                continue
            (operator,) = operators
            found, reasons = written(graph)
            calls[operator] |= found
            refused[operator] |= reasons
    for operator in OPERATORS:
        becomes = ELSEWHERE.get(operator) or ", ".join(f"`{one}`" for one in sorted(calls[operator]))
        types = sorted({match[1] for one in refused[operator] if (match := TYPE.match(one))})
        others = sorted(one for one in refused[operator] if not TYPE.match(one))
        yield f"| {operator} | {becomes} | {' '.join(types)} | {'; '.join(others)} |"


def tests(folder: Path) -> Iterator[Test]:
    """The graphs of the sample that are valid."""
    for archive in sample.ARCHIVES:
        sample.unpack(place := folder / archive.stem, archive)
        yield from (test for test, _ in sample.unpacked(place) if not test.negative)


def written(graph: Graph) -> tuple[set[str], set[str]]:
    """What is called in the text of a graph, and why there is none."""
    try:
        text = Text(graph).written()["main"]
    except ModelError as error:
        return set(), {one.reason for one in error.refusals if one.operator != "tensor"}
    return set(CALLED.findall(text.partition("@compose")[2])), set()


if __name__ == "__main__":
    sys.exit(main())
