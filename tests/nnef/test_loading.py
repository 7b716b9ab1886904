"""Models in folders and texts: modules, weights, attributes from outside, what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tosajit.cli.arguments import main
from tosajit.errors import ScriptError
from tosajit.frontends.nnef.loading import parse
from tosajit.frontends.nnef.weights import save_dat

TEXT = """
import math;

graph scaled {
    @attrib { batch: int = 1; by: real = 2.0; }
    @input { x: real[batch, 3]; }
    @output { y: real[batch, 3]; }
    @variable { w: real[1, 3]; }
    @compose { z = math.mul(x, w); y = math.mul(z, by); }
}

graph doubled {
    @input { x: real[s|4]; }
    @output { y: real[s]; }
    @compose { y = math.add(x, x); }
}
"""
WEIGHTS = np.array([[1, 2, 3]], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model on disk."""
    model = tmp_path / "net.nnef2"
    model.mkdir()
    (model / "main.sknd").write_text(TEXT)
    save_dat(model / "main.scaled.w.dat", WEIGHTS)
    return model


def ran(graph: tj.Graph, *arrays: object) -> object:
    """The result of a graph, as lists."""
    return tj.compile(graph)(*arrays).tolist()


def test_a_folder_is_a_model_with_its_weights(folder: Path) -> None:
    graph = tj.load(folder)
    assert (graph.main.inputs, graph.main.outputs) == (("x",), ("y",))
    assert ran(graph, np.ones((1, 3), np.float32)) == [[2, 4, 6]]


def test_attributes_are_given_from_outside(folder: Path) -> None:
    assert ran(tj.load(folder, batch=2, by=3), np.ones((2, 3), np.float32)) == [[3, 6, 9]] * 2


def test_any_graph_is_taken_by_its_name_and_open_shapes_are_given(folder: Path) -> None:
    graph = tj.load(folder, graph="doubled", shapes={"x": (2,)})
    assert graph.inputs[0].shape == (2,)
    assert ran(graph, np.array([1, 2], np.float32)) == [2, 4]
    assert tj.load(folder, graph="doubled").inputs[0].shape == (4,)


def test_a_text_needs_no_folder() -> None:
    graph = parse(TEXT, weights={"w": WEIGHTS})
    assert ran(graph, np.ones((1, 3), np.float32)) == [[2, 4, 6]]
    assert ran(parse(TEXT, weights=1.0), np.ones((1, 3), np.float32)) == [[2, 2, 2]]


def test_a_text_cannot_ask_for_all_memory() -> None:
    text = TEXT.replace("w: real[1, 3]", "w: real[1, 3]; v: real[100000, 100000]")
    with pytest.raises(tj.FileError, match=r"variable v: with shape \[100000, 100000\], variables take more"):
        parse(text, weights=0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"graph": "skaled"}, "there is no graph `skaled`.*did you mean `scaled`"),
        ({"bath": 2}, "no attribute `bath`"),
        ({"batch": 1.5}, "batch"),
        ({"shapes": {"y": (1, 3)}}, "has no input `y`"),
        ({"by": object()}, "attribute by: expected numbers, truths or texts"),
    ],
)
def test_what_does_not_fit_is_refused(folder: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(tj.TosaError, match=f"(?s){message}"):
        tj.load(folder, **change)  # type: ignore[arg-type]


def test_missing_weights_are_refused_by_name(folder: Path) -> None:
    (folder / "main.scaled.w.dat").unlink()
    with pytest.raises(tj.ModelError, match=r"w has no elements.*\.dat"):
        tj.load(folder)


def test_weights_are_of_the_shape_and_type_of_their_variable(folder: Path) -> None:
    save_dat(folder / "main.scaled.w.dat", WEIGHTS[0])
    with pytest.raises(
        tj.FileError, match=r"variable w: its shape is \[1, 3\], but that of its elements \[3\]"
    ):
        tj.load(folder)
    save_dat(folder / "main.scaled.w.dat", WEIGHTS.astype(np.int8))
    with pytest.raises(tj.FileError, match="variable w: its type is real, but that of its elements int8"):
        tj.load(folder)


def test_nothing_outside_of_the_folder_is_read(folder: Path, tmp_path: Path) -> None:
    save_dat(tmp_path / "secret.dat", WEIGHTS)
    (folder / "main.scaled.w.dat").unlink()
    os.symlink(tmp_path / "secret.dat", folder / "main.scaled.w.dat")
    with pytest.raises(tj.FileError, match="leads out of the folder"):
        tj.load(folder)


def test_texts_are_utf_8(folder: Path) -> None:
    (folder / "main.sknd").write_bytes(b"graph \xff")
    with pytest.raises(tj.FileError, match="byte 6: expected a text in UTF-8"):
        tj.load(folder)


def test_faults_name_the_file_the_line_and_the_column(folder: Path) -> None:
    (folder / "main.sknd").write_text("graph g {\n    @imput { }\n}\n")
    with pytest.raises(ScriptError, match=r"main\.sknd:2:5: .*did you mean `@input`"):
        tj.load(folder)


def test_other_formats_take_no_attributes() -> None:
    path = tj.samples.path("ds_cnn", "model.tflite")
    with pytest.raises(tj.FileError, match="batch is 4, but only NNEF models"):
        tj.load(path, batch=4)


def test_commands_take_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(folder), "--attribute", "batch=5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (given,) = found["inputs"]
    assert (given["name"], given["dtype"], given["shape"]) == ("x", "FP32", [5, 3])
    assert main(["run", str(folder), "--signature", "doubled", "--shapes", "x=2", "--random"]) == 0
    assert main(["simulate", str(folder), "--attribute", "batch=5"]) == 0
    assert "net" in capsys.readouterr().out
    (folder / "main.scaled.w.dat").unlink()
    assert main(["check", str(folder)]) == 1
    assert main(["check", str(folder), "--zeros"]) == 0


def test_the_command_line_refuses_names_that_load_has(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(folder), "--attribute", "weights=1"]) == 1
    assert "this name is no attribute's" in capsys.readouterr().err


def test_modules_stand_in_subfolders(folder: Path) -> None:
    own = "operator twice { @input { x: real[s..]; } @output { y: real[s..]; }"
    own += " @lower { y[i..] = 2.0 * x[i..], i < s; } }"
    main = "import layers.own; graph g { @input { x: real[2]; } @output { y: real[2]; }"
    main += " @compose { y = layers.own.twice(x); } }"
    (folder / "layers").mkdir()
    (folder / "layers" / "own.sknd").write_text(own)
    (folder / "main.sknd").write_text(main)
    assert tj.load(folder).main.outputs == ("y",)
    assert parse(main, modules={"layers.own": own}).main.outputs == ("y",)


def test_another_standard_library_is_taken(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "math.sknd").write_text(
        "operator mul { @input { x: real[s..]; y: real[t..]; } @output { z: real[s..]; }"
        " @lower { z[i..] = -x[i..], i < s; } }"
        " operator add { @input { x: real[s..]; y: real[s..]; } @output { z: real[s..]; }"
        " @lower { z[i..] = x[i..] + y[i..], i < s; } }"
    )
    (main_step,) = {node.operator.opcode for node in tj.load(folder, stdlib=tmp_path).nodes} - {"CONST"}
    assert main_step == "CUSTOM"
