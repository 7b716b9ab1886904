"""Folders of strangers: whatever is in them, a model is loaded or there is a clear error, at once."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tosajit.errors import ScriptError, TosaError
from tosajit.frontends.nnef.weights import save_dat, written_dat

GRAPH = """graph g {
    @input { x: real[3]; }
    @output { y: real[3]; }
    @variable { w: real[3]; }
    @compose { y = math.add(x, w); }
}
"""
WEIGHTS = np.array([1, 2, 3], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that is well, beside a folder of other people's files."""
    model = tmp_path / "model.nnef2"
    model.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.sknd").write_text("operator f { }")
    save_dat(tmp_path / "outside" / "secret.dat", WEIGHTS)
    written(model, "import math;\n" + GRAPH)
    save_dat(model / "main.g.w.dat", WEIGHTS)
    return model


def written(folder: Path, text: str) -> None:
    (folder / "main.sknd").write_text(text)


def refused(folder: Path, weights: float | None = None) -> str:
    with pytest.raises(TosaError) as caught:
        tj.load(folder, weights=weights)
    return str(caught.value)


def test_the_folder_itself_is_well(folder: Path) -> None:
    assert tj.compile(tj.load(folder))(WEIGHTS).tolist() == [2, 4, 6]


@pytest.mark.parametrize("name", ["main.sknd", "main.g.w.dat", "own.sknd"])
def test_links_out_of_the_folder_are_not_followed(name: str, folder: Path) -> None:
    if name == "own.sknd":
        written(folder, "import math, own;\n" + GRAPH)
    else:
        (folder / name).unlink()
    (folder / name).symlink_to(folder.parent / "outside" / f"secret{Path(name).suffix}")
    message = refused(folder)
    assert message.startswith(str(folder / name))
    assert "leads out of the folder of the model" in message


def test_a_folder_that_is_a_link_out_is_not_followed(folder: Path) -> None:
    written(folder, "import math, layers.secret;\n" + GRAPH)
    (folder / "layers").symlink_to(folder.parent / "outside")
    assert "leads out of the folder of the model" in refused(folder)


@pytest.mark.parametrize("name", ["main.sknd", "main.g.w.dat"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "link to nothing", "link to itself"])
def test_only_files_are_read(kind: str, name: str, folder: Path) -> None:
    """Not even a number for all variables stands in for what is there and cannot be read."""
    (folder / name).unlink()
    match kind:
        case "pipe":
            os.mkfifo(folder / name)
        case "folder":
            (folder / name).mkdir()
        case "link to nothing":
            (folder / name).symlink_to(folder / "nothing")
        case _:
            (folder / name).symlink_to(folder / name)
    for weights in (None, 0.0):
        message = refused(folder, weights)
        assert message.startswith(str(folder / name))
        assert "it is no regular file" in message


@pytest.mark.parametrize(
    "module", ["../outside/secret", "..outside.secret", "/etc/passwd", "outside..secret"]
)
def test_imports_do_not_climb(module: str, folder: Path) -> None:
    written(folder, f"import math, {module};\n" + GRAPH)
    with pytest.raises(ScriptError, match=r"main\.sknd:1:\d+: expected .* but found"):
        tj.load(folder)


def test_imports_do_not_go_round(folder: Path) -> None:
    (folder / "a.sknd").write_text("import math, b;\n")
    (folder / "b.sknd").write_text("import a, b, main;\n")
    written(folder, "import math, a, b;\n" + GRAPH)
    message = refused(folder)
    for fault in ("a.sknd:1:14: `b` imports `a` in turn", "b.sknd:1:8: `a` imports `b` in turn"):
        assert fault in message


def test_operators_that_call_each_other_without_end_are_refused(folder: Path) -> None:
    for one, other in ("ab", "ba"):
        head = f"import {other};\noperator f {{ @input {{ x: real[s..]; }} @output {{ y: real[s..]; }}"
        (folder / f"{one}.sknd").write_text(f"{head} @compose {{ y = {other}.f(x); }} }}")
    written(folder, "import math, a;\n" + GRAPH.replace("math.add(x, w)", "a.f(w)"))
    message = refused(folder)
    assert "a.f" in message or "b.f" in message


@pytest.mark.parametrize("extents", ["1099511627776", "65536, 65536, 65536", "4294967295, 4294967295"])
def test_a_large_shape_with_few_elements_is_refused_before_any_memory_is_taken(
    extents: str, folder: Path
) -> None:
    text = GRAPH.replace("w: real[3]", f"w: real[{extents}]").replace("math.add(x, w)", "math.iden(x)")
    written(folder, "import math;\n" + text)
    shape = [int(one) for one in extents.split(", ")]
    data = bytearray(written_dat(WEIGHTS))
    if max(shape) < 1 << 32:
        data[8:12] = struct.pack("<I", len(shape))
        data[12 : 12 + 4 * len(shape)] = struct.pack(f"<{len(shape)}I", *shape)
    (folder / "main.g.w.dat").write_bytes(data)
    message = refused(folder)
    assert "main.g.w.dat" in message or "variable w" in message
    assert "shape" in message


def test_a_large_shape_without_a_file_is_refused_too(folder: Path) -> None:
    written(folder, "import math;\n" + GRAPH.replace("w: real[3]", "w: real[65536, 65536, 64]"))
    (folder / "main.g.w.dat").unlink()
    assert "w" in refused(folder, weights=0.0)


def test_many_large_inputs_take_no_memory(folder: Path) -> None:
    written(folder, "import math;\n" + GRAPH.replace("real[3]", "real[65536, 65536]"))
    assert "shape" in refused(folder)
