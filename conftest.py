"""Settings of all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    from litert import LiteRT

    from tosajit.conformance.suite import Test

os.environ.setdefault("TOSAJIT_VERIFY", "1")
os.environ.setdefault("TOSAJIT_GENERIC", "never")  # whatever the cache has, the same kernels run

settings.register_profile(
    "default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("random", parent=settings.get_profile("default"), derandomize=False)
settings.register_profile(  # for those who only want to know whether something fails
    "verdict", parent=settings.get_profile("default"), phases=(Phase.explicit, Phase.generate)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Sixteen thousand tests are half a million objects. Looking through them for garbage took a third of the time
# of collecting them; and they stay.
gc.disable()


def pytest_configure() -> None:
    """Keep the process that helps with compiling: most tests need no kernels, and its start takes 0.7 s."""
    from tosajit.kernels import helpers, ready

    helpers.PATIENCE_SECONDS = 60
    ready.FOLDER = Path(os.devnull)  # what `make kernels` has made is not what is tested


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make, and less often than every 700 objects."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


GOLDEN = Path(__file__).parent / "tests" / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare our own option."""
    parser.addoption("--rewrite-golden", action="store_true", help="write the texts of tests/golden anew")


@pytest.fixture(scope="session")
def conformance_sample(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, list[tuple[Test, Path]]]:
    """The tests of each archive of Arm's suite, unpacked once for all processes of a run, to be read only."""
    from tosajit.conformance import sample

    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "conformance"
    place.mkdir(exist_ok=True)
    found = {}
    for archive in sample.ARCHIVES:
        folder = place / archive.name
        with open(place / "lock", "w") as lock:
            flock(lock, LOCK_EX)
            if not folder.exists():
                sample.unpack(part := place / "part", archive)
                part.rename(folder)
        found[archive] = sample.unpacked(folder)
    return found


@pytest.fixture(scope="module")
def litert() -> Iterator[LiteRT]:
    """LiteRT's reference kernels."""
    from litert import LiteRT, interpreter

    if interpreter() is None:
        pytest.skip(
            "there is no environment with ai-edge-litert: TOSAJIT_PEERS says where, `make test` makes it"
        )
    server = LiteRT()
    yield server
    server.close()


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
