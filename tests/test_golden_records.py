"""The numbers that the driver walks stay what they are, for programs of several kinds of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.planning.test_golden_groups import TARGETS, parts
from tiling.plan import plan as planned
from tiling.planner import Infeasible
from tosajit.compiler.options import Options
from tosajit.compiler.segment import Groups, slots_of
from tosajit.compiler.stages import fuse
from tosajit.kernels import layout as at
from tosajit.kernels.link import _record, emit_program, sources_of

SEEDS = (2, 3, 5, 8, 13, 21, 30, 34)


@pytest.mark.parametrize("seed", SEEDS)
def test_records_are_what_they_were(seed: int, golden: Callable[[str, str], None]) -> None:
    golden(f"records_{seed}", "\n".join(line for groups in parts(seed) for line in lines(groups)))


def lines(groups: Groups) -> Iterator[str]:
    """The record of each section, with kernels numbered in place of their addresses."""
    for name, target in TARGETS.items():
        found = fuse(groups.segment, Options(target))
        program = planned(found.nests, found.operands, target)
        if isinstance(program, Infeasible):
            continue
        codes = emit_program(program, {})
        texts = dict.fromkeys(text for code in codes for text in sources_of(code))
        addresses = {text: 1000 + number for number, text in enumerate(texts)}
        slots, start = slots_of(program), len(codes)
        for section, code in zip(program.sections, codes, strict=True):
            record = _record(section, code, start, slots, program.scratch_bytes)
            record[at.KERNEL] = addresses[code.source]
            start += len(record)
            yield f"{name} {section.nest.verb} {section.nest.extents}: {' '.join(map(str, record))}"
