"""One browser for all tests of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, Tab, binary

Opened = Callable[..., Tab]


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    if binary() is None:
        pytest.skip("no Chromium: install Debian's package chromium, or name one in CHROMIUM")
    made = Chromium()
    yield made
    made.close()


@pytest.fixture
def opened(browser: Chromium, tmp_path: Path) -> Iterator[Opened]:
    """Opens a page; at the end of the test nothing may have been complained about or asked for."""
    tabs: list[Tab] = []

    def open_page(text: str, dark: bool = False) -> Tab:
        path = tmp_path / f"page{len(tabs)}.html"
        path.write_text(text, encoding="utf-8")
        tabs.append(Tab(browser, dark=dark))
        tabs[-1].open(path)
        return tabs[-1]

    yield open_page
    faults = [fault for tab in tabs for fault in tab.faults()]
    for tab in tabs:
        tab.close()
    assert faults == []
