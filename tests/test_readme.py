"""The README: its names are public, and it is short. What its code does: test_docs.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tosajit as tj

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make ([a-z-]+)", README))))
def test_the_targets_of_make_are_there(target: str) -> None:
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\btj\.(\w+)", README))))
def test_the_names_are_public(name: str) -> None:
    assert name in tj.__all__


def test_it_fits_a_screen_or_two() -> None:
    assert len(README.splitlines()) <= 70


def test_the_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {tj.__version__}\n" in citation
    assert f"\ncopyright: tosajit {tj.__version__}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_the_demo_shows_a_program_and_the_golden_bits() -> None:
    command = [sys.executable, str(ROOT / "tools" / "demo.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("equals the golden bits") == 2
    for text in ("inferences/s", "group 0: contract", "load  [", "runs in", "MACs"):
        assert text in done.stdout
