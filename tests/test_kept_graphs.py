"""Graphs of models in the cache: what comes out is what a front end would write, and nothing gets lost."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_seeds import seeds

import tosajit as tj
from tests import models
from tests.onnx_cases.quantized import networks
from tests.tensorflow_cases.cases import CASES
from tests.tflite_cases import draw, drawn
from tiling.records import replace
from tiling.target import HOST
from tosajit.compiler.options import Options
from tosajit.frontends import formats, kept
from tosajit.kernels import cache
from tosajit.kernels.lines import address_of, read_aligned
from tosajit.log import LOG
from tosajit.operators import CUSTOM
from tosajit.runtime import kept as executables
from tosajit.runtime.archive import packed, unpacked
from tosajit.runtime.keeping import EXPLAINED

ROOT = Path(__file__).parents[1]


def everything(graph: tj.Graph) -> str:
    """All that a graph consists of, in its order, as text."""
    regions = [
        (region.name, block.name, block.inputs, block.outputs, block.nodes,
         [(key, one.name, one.dtype, one.shape, one.variable_name, contents(one.data))
          for key, one in block.values.items()])
        for region in graph.regions for block in region.blocks
    ]  # fmt: skip
    about = [*graph.outside.items()], [*graph.scales.items()], graph.notes
    return repr((graph.version, about, [len(region.blocks) for region in graph.regions], regions))


def contents(data: np.ndarray | None) -> object:
    return None if data is None else (data.dtype, data.shape, data.tobytes())


def tflite() -> Iterator[tj.Graph]:
    for name in tj.samples.names():
        if (path := tj.samples.path(name, "model.tflite")).exists():
            yield tj.load(path)
    for name, one in sorted(drawn().items()):
        yield from (tj.load(draw(name, kind, 0).model) for kind in one.types)


def torch() -> Iterator[tj.Graph]:
    return (tj.load(path) for path in sorted((ROOT / "tests").rglob("*.pt2")))


def onnx() -> Iterator[tj.Graph]:
    yield from (tj.load(model) for model in networks())


GRAPHS = {
    "tosa": lambda: (*(models.graph(name) for name in models.NAMES), *seeds().values()),
    "tflite": tflite,
    "tensorflow": lambda: (tj.from_tensorflow(case.model()) for case in CASES[::5]),
    "onnx": onnx,
    "torch": torch,
}


@pytest.mark.parametrize("door", GRAPHS)
def test_a_graph_comes_back_as_it_was_in_every_respect(door: str) -> None:
    graphs = [*GRAPHS[door]()]
    assert graphs
    for graph in graphs:
        header, blobs = unpacked(memoryview(b"".join(packed(*kept.stored(graph)))))
        memory = [np.frombuffer(blob, np.uint8) for blob in blobs]
        assert everything(kept.restored(header, memory, np.empty(0, np.uint8))) == everything(graph)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache that keeps all graphs, however fast they are made."""
    for variable in EXPLAINED:
        monkeypatch.delenv(variable, raising=False)
    made = tmp_path / "cache"
    made.mkdir(mode=0o700)
    monkeypatch.setenv("TOSAJIT_CACHE", str(made))
    monkeypatch.setattr(kept, "WORTH_SECONDS", 0.0)
    return made


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each model has that was lowered."""
    sizes: list[int] = []
    really = formats._lowered

    def counted(data: bytes, *rest: Any) -> tj.Graph:
        sizes.append(len(data))
        return really(data, *rest)

    monkeypatch.setattr(formats, "_lowered", counted)
    return sizes


MODEL = tj.samples.path("ds_cnn", "model.tflite")


def test_a_model_is_lowered_once(folder: Path, lowered: list[int]) -> None:
    first, again = tj.load(MODEL), tj.load(MODEL.read_bytes())
    assert everything(first) == everything(again)
    assert first == again
    assert len(lowered) == len([*folder.glob("*.tjg")]) == cache.cached_graphs() == 1
    cache.clear_cache()
    assert cache.cached_graphs() == 0


def test_another_process_finds_a_graph_without_the_front_end(folder: Path) -> None:
    tj.load(MODEL)
    heavy = {"tosajit.frontends.tflite", "tosajit.tracing", "tosajit.operators", "llvmlite"}
    heavy |= {"tosajit.kernels.objects"}
    code = f"import sys, tosajit; tosajit.load({str(MODEL)!r}); print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_what_is_asked_for_is_part_of_the_name(folder: Path, lowered: list[int]) -> None:
    data = MODEL.read_bytes()
    shapes = {tj.load(data).inputs[0].name: tj.load(data).inputs[0].shape or ()}
    tj.load(data, shapes=shapes)
    tj.load(data, shapes=shapes)
    tj.load(data + bytes(8))
    assert lowered == [len(data), len(data), len(data) + 8]


@pytest.mark.parametrize("place", [0, 20, 60, 300, -100])
def test_a_damaged_graph_is_lowered_again(
    place: int, folder: Path, lowered: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    right = everything(tj.load(MODEL))
    (path,) = folder.glob("*.tjg")
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[place] ^= 1
    path.write_bytes(damaged)
    assert everything(tj.load(MODEL)) == right
    assert "is damaged in the cache, and read from its model again" in caplog.text
    assert (path.read_bytes(), len(lowered)) == (whole, 2)


def test_an_archive_of_something_else_is_no_graph(folder: Path, lowered: list[int]) -> None:
    tj.load(MODEL)
    (path,) = folder.glob("*.tjg")
    path.write_bytes(b"".join(packed({"version": [1]}, [])))
    tj.load(MODEL)
    assert len(lowered) == 2


def test_files_that_others_can_write_are_not_read(folder: Path, lowered: list[int]) -> None:
    tj.load(MODEL)
    (path,) = folder.glob("*.tjg")
    path.chmod(0o666)
    with pytest.warns(cache.CacheWarning, match="writable by other users"):
        tj.load(MODEL)
    assert len(lowered) == 2


def test_what_a_front_end_warns_of_is_said_each_time(
    folder: Path, lowered: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    counted = formats._lowered

    def warning(*given: Any) -> tj.Graph:
        LOG.warning("the batch is taken as 1")
        return counted(*given)

    monkeypatch.setattr(formats, "_lowered", warning)
    LOG.setLevel("ERROR")
    try:
        tj.load(MODEL)
    finally:
        LOG.setLevel("NOTSET")
    assert caplog.messages == []
    for _ in range(2):
        tj.load(MODEL)
    assert caplog.messages == ["the batch is taken as 1"] * 2
    assert len(lowered) == 1


def test_a_file_of_ours_warns_once_though_its_graph_is_read_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lower = formats._lowered

    def warning(*given: Any) -> tj.Graph:
        LOG.warning("the batch is taken as 1")
        return lower(*given)

    monkeypatch.setattr(formats, "_lowered", warning)
    for _ in range(2):
        assert tj.load(tj.samples.path("ds_cnn", "model.tosa")).regions
    assert caplog.messages == ["the batch is taken as 1"] * 2


def test_what_is_refused_is_refused_again(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(tj.FileError, match="there is no signature 'other'"):
            tj.load(MODEL, signature="other")
        with pytest.raises(tj.TosaError):
            tj.load(MODEL, shapes={"nothing": (1,)})
    assert not [*folder.glob("*.tjg")]


@pytest.mark.parametrize("variable", EXPLAINED)
def test_who_looks_at_stages_has_models_lowered(
    variable: str, folder: Path, lowered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    tj.load(MODEL)
    tj.load(MODEL)
    assert (len(lowered), [*folder.glob("*.tjg")]) == (2, [])


@pytest.mark.parametrize("name", ["model.tflite", "model.tosa"])
def test_a_graph_that_was_read_before_is_read_again_when_somebody_looks_at_it(
    name: str, folder: Path, lowered: list[int]
) -> None:
    path = tj.samples.path("ds_cnn", name)
    first, again = tj.load(path), tj.load(path)
    assert first.digest == again.digest != ""
    assert len(lowered) == 1
    assert executables.name_of(again, Options(HOST)) == executables.name_of(first, Options(HOST))
    assert waits(again)
    assert everything(again) == everything(first)
    assert not waits(again)
    assert again.regions is again.regions
    assert not hasattr(again, "region_")


def waits(graph: tj.Graph) -> bool:
    """Whether nobody has looked at a graph."""
    return graph._read is not None


def test_what_is_made_of_a_graph_is_named_by_what_it_consists_of(folder: Path) -> None:
    tj.load(MODEL)
    for change in (copy.copy, copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))):
        graph = tj.load(MODEL)
        changed: tj.Graph = change(graph)  # type: ignore[no-untyped-call]
        assert everything(changed) == everything(graph)
        assert changed.digest == ""
    graph = replace(tj.load(MODEL), version=(1, 0, 0, False))
    assert graph.digest == ""
    assert executables.name_of(graph, Options(HOST)) != executables.name_of(tj.load(MODEL), Options(HOST))


def test_nobody_can_change_constants_of_a_graph_that_was_read(folder: Path) -> None:
    for graph in (tj.load(MODEL), tj.load(MODEL)):
        arrays = [one.data for one in graph.main.values.values() if one.data is not None]
        assert arrays
        assert not any(array.flags.writeable for array in arrays)


def test_what_custom_operators_are_is_part_of_the_name(folder: Path) -> None:
    builder = tj.GraphBuilder()
    x = builder.input("x", tj.FP32, (4,))
    custom = CUSTOM(operator_name="same", domain_name="ours", implementation_attrs=b"")
    builder.output(builder.add(custom, [x], dtype=tj.FP32, shape=(4,)))
    data = tj.to_bytes(builder.build())
    first, again = tj.load(data), tj.load(data)
    assert len([*folder.glob("*.tjg")]) == 1
    assert first.digest == again.digest == ""
    given = {("ours", "same"): tj.Custom(lambda x, attributes: x)}
    assert executables.name_of(again, Options(HOST, custom=given)) == ""
    assert executables.name_of(again, Options(HOST)) != ""


def test_regions_that_are_not_as_they_were_written_are_lowered_again(
    folder: Path, lowered: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    right = everything(tj.load(MODEL))
    (path,) = folder.glob("*.tjg")
    header, blobs = unpacked(memoryview(path.read_bytes()))
    path.write_bytes(b"".join(packed(header, [*blobs[:-1], memoryview(b"[[], [0]]")])))
    assert everything(tj.load(MODEL)) == right
    assert "is damaged in the cache, and read from its model again" in caplog.text
    assert len(lowered) == 2


def weights_in(graph: tj.Graph, data: bytes) -> int:
    """Where in a file the largest array is that lies there."""
    file = np.frombuffer(data, np.uint8)
    arrays = [one.data for one in graph.main.values.values() if one.data is not None]
    largest = max((array for array in arrays if np.shares_memory(array, file)), key=np.size)
    return address_of(largest) - address_of(file)


def test_weights_are_used_where_they_lie_in_the_file(folder: Path) -> None:
    data = MODEL.read_bytes()
    graph = tj.load(data)
    (path,) = folder.glob("*.tjg")
    assert weights_in(graph, data)
    assert path.stat().st_size < len(data)


def test_a_graph_has_the_same_name_when_it_is_read_again_and_another_with_other_weights(
    folder: Path, lowered: list[int]
) -> None:
    def name(graph: tj.Graph) -> str:
        return executables.name_of(graph, Options(HOST))

    data = MODEL.read_bytes()
    again_data = bytes(bytearray(data))
    first, again = tj.load(data), tj.load(again_data)
    assert len(lowered) == 1
    assert name(first) == name(again)
    spoilt = bytearray(data)
    spoilt[weights_in(again, again_data)] ^= 1
    assert name(tj.load(bytes(spoilt))) != name(first)
    assert name(tj.load(spoilt)) != name(first)


def test_weights_in_memory_that_can_change_are_copied(folder: Path) -> None:
    data = MODEL.read_bytes()
    right = tj.load(data)
    other = bytearray(data)
    graph = tj.load(other)
    other[weights_in(right, data)] ^= 1
    assert everything(graph) == everything(right)


def test_a_model_with_files_beside_it_is_read_anew(folder: Path, tmp_path: Path, lowered: list[int]) -> None:
    model = next(iter(networks()))
    (tmp_path / "model.onnx").write_bytes(model)
    tj.load(tmp_path / "model.onnx")
    assert len([*folder.glob("*.tjg")]) == 1
    assert formats._names_files(model[:9] + b"location", model[:9])
    assert not formats._names_files(MODEL.read_bytes() + b"location", MODEL.read_bytes()[:99])
    for count, is_whole in ((2, lambda: False), (3, lambda: True)):
        kept.through_cache(model + bytes(9), None, None, lambda: tj.load(MODEL), is_whole)
        assert len([*folder.glob("*.tjg")]) == count  # with that of the model of TFLite


def test_a_file_is_read_into_memory_that_nobody_can_change(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for size in (0, 1, 5000):
        path.write_bytes(bytes(range(256)) * 20)
        with path.open("r+b") as file:
            file.truncate(size)
        data = read_aligned(path)
        assert data == path.read_bytes()
        assert data.readonly
        assert address_of(np.frombuffer(data, np.uint8)) % 64 == 0 or not size


def test_least_used_graphs_make_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = MODEL.read_bytes()
    tj.load(data)
    (first,) = folder.glob("*.tjg")
    monkeypatch.setattr("tosajit.runtime.keeping.MOST_BYTES", int(first.stat().st_size * 1.5))
    monkeypatch.setattr("tosajit.runtime.keeping.MOST_SHARE", 1)
    tj.load(data + bytes(8))
    assert len([*folder.glob("*.tjg")]) == 1
    assert not first.exists()
