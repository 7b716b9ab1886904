"""Archives of executables: what goes in comes out, where it can be used; and which executables are kept."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit.arrays import Array
from tosajit.compiler.options import Options
from tosajit.dtypes import INT8
from tosajit.kernels import cache
from tosajit.runtime import keeping, kept, making
from tosajit.runtime.archive import ArchiveError, Blobs, packed, unpacked
from tosajit.runtime.called import CustomCall
from tosajit.runtime.executable import Executable
from tosajit.runtime.storing import stored

SIZES = (0, 1, 63, 64, 65, 128, 1000)


@pytest.mark.parametrize("length", range(0, 70, 7))
def test_blobs_begin_at_lines_of_the_cache_and_come_back_as_they_were(length: int) -> None:
    random = np.random.default_rng(length)
    arrays = [random.integers(0, 256, size).astype(np.uint8) for size in SIZES]
    whole = b"".join(packed({"name": "é" * length, "a": 1}, [array.data for array in arrays]))
    header, blobs = unpacked(memoryview(whole))
    assert header == {"name": "é" * length, "a": 1, "blobs": header["blobs"]}
    assert [bytes(blob) for blob in blobs] == [array.tobytes() for array in arrays]
    beginning = np.frombuffer(whole, np.uint8).ctypes.data
    for blob in blobs:
        assert (np.frombuffer(blob, np.uint8).ctypes.data - beginning) % 64 == 0 or not len(blob)
    mark, size, everything = struct.unpack_from("<16sQQ", whole)
    assert (mark[:8], everything, len(whole) % 64) == (b"\x89tosajit", len(whole), 0)
    assert whole[64 : 64 + size] == json.dumps(header, separators=(",", ":"), sort_keys=True).encode()


@pytest.mark.parametrize("sizes", [SIZES, (5000,), (4096, 4000, 8200), ()])
def test_no_word_of_an_archive_can_change_alone(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(len(sizes))
    arrays = [random.integers(0, 256, size).astype(np.uint8) for size in sizes]
    whole = b"".join(packed({}, [array.data for array in arrays]))
    for place in range(0, len(whole), 8):
        damaged = bytearray(whole)
        damaged[place + place // 8 % 8] ^= 1 << place % 7
        with pytest.raises(ArchiveError):
            unpacked(memoryview(damaged))


def test_pages_of_an_archive_cannot_change_places() -> None:
    one, other = np.ones(4096, np.uint8), np.zeros(4096, np.uint8)
    whole = b"".join(packed({}, [one.data, other.data]))
    start = whole.index(one.tobytes())
    swapped = whole[:start] + other.tobytes() + one.tobytes() + whole[start + 8192 :]
    with pytest.raises(ArchiveError, match="another digest"):
        unpacked(memoryview(swapped))


def test_an_array_is_one_blob_however_often_it_is_added() -> None:
    blobs, one = Blobs(), np.arange(6, dtype=np.int16).reshape(2, 3)
    text = b"text"
    assert [blobs.add(part) for part in (one, text, one, one.copy(), text, one.T)] == [0, 1, 0, 2, 1, 3]
    assert bytes(blobs.parts[3]) == np.ascontiguousarray(one.T).tobytes()


def small() -> tj.Graph:
    return tj.trace(lambda x: x + x, np.zeros(4, np.int32))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the executables that are put into the cache, which has nothing."""

    def write(name: str, data: object, folder: object = None) -> None:
        if name.endswith(cache.EXECUTABLE):
            names.append(name)

    for variable in keeping.EXPLAINED:
        monkeypatch.delenv(variable, raising=False)
    names: list[str] = []
    monkeypatch.setattr(cache, "mapped", lambda name: None)
    monkeypatch.setattr(cache, "write", write)
    monkeypatch.setattr(cache, "trim", lambda most: None)
    return names


@pytest.mark.parametrize(("seconds", "keeps"), [(0.1, False), (0.11, True)])
def test_what_is_made_fast_is_not_kept(
    seconds: float, keeps: bool, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([5.0, 5.0 + seconds])
    monkeypatch.setattr(making, "perf_counter", lambda: next(times) - 5.0)
    made = making.made(small(), Options())
    assert isinstance(made, Executable)
    assert len(written) == keeps
    assert all(name == kept.name_of(small(), Options()) + cache.EXECUTABLE for name in written)


@pytest.mark.parametrize(("spare", "keeps"), [(0, True), (-4, False)])
def test_no_executable_takes_more_than_a_quarter(
    spare: int, keeps: bool, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tj.compile(small())
    _, blobs = stored(made.interface, made.body)
    monkeypatch.setattr(keeping, "MOST_BYTES", 4 * sum(blob.nbytes for blob in blobs) + spare)
    kept.keep("name", made.interface, made.body)
    assert len(written) == keeps


@pytest.mark.parametrize("variable", keeping.EXPLAINED)
def test_whoever_looks_at_stages_gets_all_of_them(
    variable: str, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(kept.name_of(small(), Options())) == 32
    for text, keeps in (("", True), ("0", True), ("1", False)):
        monkeypatch.setenv(variable, text)
        assert bool(kept.name_of(small(), Options())) == keeps


def test_what_is_interpreted_or_for_a_machine_is_not_kept(written: list[str]) -> None:
    assert kept.name_of(small(), replace(Options(), interpret="fuse")) == ""
    assert kept.name_of(small(), replace(Options(), machine=tj.machine("tiny"))) == ""


@pytest.mark.parametrize(
    ("shape", "fits"),
    [((3, 4), (True, True)), ((2, 4), (False, True)), ((3, 0), (False, True)), ((4, 4), (False, False)),
     ((3, 5), (False, False)), ((3,), (False, False)), ((2, 4, 1), (False, False))],
)  # fmt: skip
def test_results_are_as_large_as_declared_or_cut(shape: tuple[int, ...], fits: tuple[bool, bool]) -> None:
    node: Any = SimpleNamespace(name="node", inputs=())
    give: Callable[..., Array] = lambda: np.zeros(shape, np.int8)  # noqa: E731
    for is_cut, expected in zip((False, True), fits, strict=True):
        frame: Any = SimpleNamespace(take=lambda names: (), values={})
        call = CustomCall(node, give, (tj.Value("y", INT8, (3, 4)),), is_cut=is_cut)
        if expected:
            call.run(frame)
            assert frame.values["y"].shape == shape
        else:
            with pytest.raises(tj.InputError, match=r"node \(CUSTOM\) y: gave int8"):
                call.run(frame)
