"""The logger `tosajit` tells what is compiled, what the cache has, and what is done the slow way."""

from __future__ import annotations

import logging
import subprocess
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tests.test_explain import depthwise
from tosajit.compiler import stages
from tosajit.kernels import objects
from tosajit.kernels.objects import compile_kernels
from tosajit.runtime import building

KERNEL = '"""A kernel that does nothing: %s."""\n\n\ndef kernel(args):\n    pass\n'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("TOSAJIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(objects, "_loaded", {})
    return tmp_path / "cache"


def test_a_program_that_imports_logging_late_hears_what_follows() -> None:
    code = """
import sys
from tosajit.log import LOG
LOG.warning("nobody hears it")
print("logging" in sys.modules, LOG.isEnabledFor(50))
import logging
LOG.warning("heard by nobody who has not asked")
logging.basicConfig(format="%(name)s %(message)s", stream=sys.stdout)
LOG.warning("heard")
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False False\ntosajit heard\n", "")


def test_warnings_that_nobody_can_hear_are_collected() -> None:
    code = """
from tosajit.log import LOG, collected
LOG.warning("before")
with collected() as outer:
    LOG.warning("nobody hears %s", "it")
    LOG.info("nor this")
    with collected() as inner:
        LOG.warning("100%")
    import logging
    LOG.setLevel("ERROR")
    LOG.warning("unwanted")
LOG.warning("behind")
print(outer, inner)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['nobody hears it', '100%', 'unwanted'] ['100%']\n", "")


def test_compiling_tells_the_kernel_and_its_time(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tosajit"):
        (kernel,) = compile_kernels([KERNEL % "told"])
    one, both = (record.getMessage() for record in caplog.records)
    assert one.startswith(f"kernel {kernel.digest} compiled in ")
    assert one.endswith(" ms: A kernel that does nothing: told")
    assert both.startswith("1 kernels compiled in ")


def test_hits_and_misses_of_the_cache_are_told(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    sources = [KERNEL % number for number in range(2)]
    with caplog.at_level(logging.DEBUG, "tosajit"):
        compile_kernels(sources[:1])
        objects._loaded.clear()
        compile_kernels(sources)
        compile_kernels(sources)
    counts = [text for text in caplog.messages if "loaded" in text]
    assert counts == [
        "1 kernels: 0 loaded, 0 in the cache, 1 missing",
        "2 kernels: 0 loaded, 1 in the cache, 1 missing",
        "2 kernels: 2 loaded, 0 in the cache, 0 missing",
    ]
    assert sum("comes from the cache" in text for text in caplog.messages) == 1


def test_a_damaged_kernel_is_a_warning(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    (kernel,) = compile_kernels([KERNEL % "damaged"])
    path = cache / f"{kernel.digest}.o"
    path.write_bytes(path.read_bytes()[:-1])
    objects._loaded.clear()
    compile_kernels([KERNEL % "damaged"])
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.getMessage() == f"kernel {kernel.digest} is damaged in the cache, and compiled again"


def test_a_contraction_without_an_array_kernel_is_told(caplog: pytest.LogCaptureFixture) -> None:
    graph = tj.trace(depthwise, np.zeros((1, 6, 6, 8), np.int8), np.zeros((3, 3, 8, 1), np.int8))
    with caplog.at_level(logging.INFO, "tosajit"):
        tj.compile(graph)
    (told,) = [text for text in caplog.messages if "no array kernel" in text]
    assert told.endswith("no array kernel, the weights of a depthwise convolution are not constant")
    assert caplog.messages[-1].startswith("<Executable (INT8[1, 6, 6, 8], INT8[3, 3, 8, 1])")


def test_groups_that_do_not_fit_a_machine_are_told(caplog: pytest.LogCaptureFixture) -> None:
    graph = tj.trace(lambda x, y: x + y, *[np.zeros((4, 4), np.int32)] * 2)
    machine = tj.machine("tiny").replace({"scratchpad.bytes": 64, "scratchpad.alignment_bytes": 32})
    with caplog.at_level(logging.INFO, "tosajit"), pytest.raises(tj.PlanError):
        tj.compile(graph, machine=machine)
    assert any("main: groups are made again for tiny: " in text for text in caplog.messages)


def test_each_stage_tells_its_time(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "tosajit"):
        made = tj.compile(tj.trace(lambda x: x + x, np.zeros(4, np.int32)))
    told = [text.split(" took ")[0] for text in caplog.messages if " took " in text]
    assert told == list(made.stages)


def test_nothing_is_said_unless_somebody_listens(tmp_path: Path) -> None:
    code = "import tosajit as tj; tj.compile(tj.samples.load('resnet8'))"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_times_are_in_milliseconds(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    for module in (building, stages):
        monkeypatch.setattr(module, "perf_counter", count(5, 2).__next__)
    with caplog.at_level(logging.DEBUG, "tosajit"):
        tj.compile(tj.trace(lambda x: x + x, np.zeros(4, np.int32)))
    assert caplog.messages[-1].endswith(" compiled in 2000 ms")
    assert [text for text in caplog.messages if text.startswith("fuse took")] == ["fuse took 2000.0 ms"]
