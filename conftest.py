"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("TOSAJIT_VERIFY", "1")

settings.register_profile(
    "default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("random", parent=settings.get_profile("default"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

GOLDEN = Path(__file__).parent / "tests" / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare our own option."""
    parser.addoption("--rewrite-golden", action="store_true", help="write the texts of tests/golden anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the one of that name in tests/golden; with --rewrite-golden, write it first."""
    rewrite = request.config.getoption("--rewrite-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if rewrite:
            path.write_text(text + "\n", encoding="utf-8")
        assert text + "\n" == path.read_text(encoding="utf-8")

    return compare
