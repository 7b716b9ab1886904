"""What `make newcomer` measures, without its clone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import newcomer
import pytest
from newcomer import FIRST_CELLS, Wait

ROOT = Path(__file__).parents[1]


def test_the_first_notebook_has_a_first_result(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FIRST_CELLS, str(ROOT / "notebooks" / "1_quickstart.ipynb")]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) > 0


@pytest.mark.parametrize(
    ("seconds", "code", "end"), [((1.0, 2.0), 0, "pass"), ((1.0, 9.0), 1, "missed): 1 missed")]
)
def test_the_closing_line_has_every_wait(
    seconds: tuple[float, ...],
    code: int,
    end: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = [Wait(f"wait {number}", one, 5) for number, one in enumerate(seconds)]
    monkeypatch.setattr(newcomer, "measured", lambda folder: iter(waits))
    assert newcomer.main() == code
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("newcomer: wait 0 1.00 s (≤ 5 s); wait 1 ")
    assert last.endswith(end)
