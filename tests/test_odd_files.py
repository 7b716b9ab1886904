"""Files that are no files, links of others, and writing that does not come to its end."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import sim
import tosajit as tj
from sim.explore.store import Store
from sim.files import destination, write_whole
from tosajit.cli import main
from tosajit.files.npy import load_npy, save_npy

MODEL = tj.samples.path("ds_cnn")
NOBODY = 65534


@pytest.fixture(autouse=True)
def _at_once() -> Iterator[None]:
    """Nothing here may wait for what will not come."""

    def late(number: int, frame: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Have a file or a link belong to somebody else."""
    if os.geteuid():
        pytest.skip("only root can give files away")
    return lambda path: os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def device(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "machine": ("a.json", sim.load_machine),
    "machine in YAML": ("a.yaml", sim.machine),
    "space": ("a.yaml", tj.Space.load),
    "model": ("a.tosa", tj.load),
    "array": ("a.npy", load_npy),
    "report": ("a.json", tj.Report.from_json),
    "store": ("points.sqlite", Store.reading),
    "store to be continued": ("points.sqlite", lambda path: Store.open(path, {}, ["latency"])),
}


@pytest.mark.parametrize("make", [pipe, device, folder])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_at_once(
    reader: str, make: Callable[[Path], Path], tmp_path: Path
) -> None:
    name, read = READERS[reader]
    odd = make(tmp_path / name)
    with pytest.raises((ValueError, tj.ReportError, tj.TosaError)) as error:
        read(tmp_path if reader.startswith("store") else odd)
    assert str(odd) in str(error.value)
    assert ("a folder" if make is folder else "a device or pipe") in str(error.value)


def test_a_machine_whose_base_is_a_pipe_is_refused(tmp_path: Path) -> None:
    pipe(tmp_path / "base.json")
    (tmp_path / "a.json").write_text('{"base": "base.json"}')
    with pytest.raises(
        ValueError, match=r"base.json: cannot be read: expected a file, found a device or pipe"
    ):
        sim.load_machine(tmp_path / "a.json")


WRITERS: dict[str, Callable[[Path], object]] = {
    "graph": lambda path: tj.save(tj.load(MODEL), path),
    "array": lambda path: save_npy(path, np.zeros(3)),
    "machine": lambda path: sim.machine("gemmini-16").save(path),
    "bytes": lambda path: write_whole(path, b"mine"),
    "trace": lambda path: main(["simulate", str(MODEL), "--trace", str(path)]),
    "page": lambda path: main(["simulate", str(MODEL), "--html", str(path)]),
    "table": lambda path: main(["simulate", str(MODEL), "--csv", str(path)]),
    "store": lambda path: Store.open(path, {}, ["latency"]).close(),
}
SUFFIX = {"machine": ".json", "store": ".sqlite"}


def attempt(write: Callable[[Path], object], path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of a file that must not be written."""
    try:
        assert write(path) == 1
    except (ValueError, OSError, tj.TosaError) as error:
        return str(error)
    return capsys.readouterr().err


@pytest.mark.parametrize("kind", ["link of another", "file of another"])
@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_written_through_a_link_to_what_is_not_ones_own(
    writer: str, kind: str, tmp_path: Path, give_away: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    victim, link = tmp_path / "victim", tmp_path / f"out{SUFFIX.get(writer, '.out')}"
    victim.write_bytes(b"precious")
    link.symlink_to(victim)
    give_away(link if kind == "link of another" else victim)
    text = attempt(WRITERS[writer], link, capsys)
    assert str(link) in text
    assert "another user" in text
    assert victim.read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([victim.name, link.name])


@pytest.mark.parametrize("beside", ["-wal", "-shm", "-journal"])
def test_a_store_has_no_links_beside_it(beside: str, tmp_path: Path) -> None:
    Store.open(tmp_path, {}, ["latency"]).close()
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / f"points.sqlite{beside}").symlink_to(victim)
    with pytest.raises(ValueError, match=f"points.sqlite{beside}: expected a file, found a link"):
        Store.open(tmp_path, {}, ["latency"])
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("out", ["space.json", "results.csv", "results.json", "report.html", "points.sqlite"])
def test_an_exploration_leaves_the_files_of_others_alone(
    out: str, tmp_path: Path, give_away: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    space, found, victim = tmp_path / "space.json", folder(tmp_path / "found"), tmp_path / "victim"
    space.write_text(json.dumps({"base": "systolic-16", "fields": {"array.rows": [8, 16]}}))
    victim.write_bytes(b"precious")
    (found / out).symlink_to(victim)
    give_away(found / out)
    asked = ["explore", space, MODEL, "--out", found, "--strategy", "grid", "--workers", 0]
    assert main([str(one) for one in asked]) == 1
    assert f"{out}: a link that another user has made" in capsys.readouterr().err
    assert victim.read_bytes() == b"precious"


def test_ones_own_link_to_ones_own_file_is_followed(tmp_path: Path) -> None:
    real, link = folder(tmp_path / "there") / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    (tmp_path / "first").symlink_to("there/real")
    link.symlink_to("first")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [path.name for path in real.parent.iterdir()] == ["real"]


def test_ones_own_link_to_nothing_makes_the_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "new").read_bytes() == b"new"


def test_links_in_a_circle_are_told(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(OSError, match="symbolic links"):
        destination(tmp_path / "link")


def test_a_stream_of_ones_own_is_written_to(tmp_path: Path) -> None:
    command = "import sim.files as f; f.write_whole('/dev/stdout', b'said'); f.write_whole('/dev/null', b'')"
    assert subprocess.run([sys.executable, "-c", command], check=True, capture_output=True).stdout == b"said"


def test_a_pipe_of_another_is_not_written_to(tmp_path: Path, give_away: Callable[[Path], None]) -> None:
    give_away(pipe(tmp_path / "pipe"))
    with pytest.raises(OSError, match="a pipe or a device of another user"):
        write_whole(tmp_path / "pipe", b"secret")


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    """A limit of the system stands for a full disk."""
    (tmp_path / "out").write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        with pytest.raises(OSError, match=r"too large: '.*/out'"):
            write_whole(tmp_path / "out", bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"old")]


HOLDER = """
import sqlite3, sys, time
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
print(flush=True)
time.sleep(float(sys.argv[2]))
held.execute("COMMIT")
"""


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Callable[[float], Path]]:
    """Have another process hold a store for some seconds."""
    Store.open(tmp_path, {}, ["latency"]).close()
    path = tmp_path / "points.sqlite"
    running: list[subprocess.Popen[bytes]] = []

    def holding(seconds: float) -> Path:
        command = [sys.executable, "-c", HOLDER, str(path), str(seconds)]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        output = running[0].stdout
        assert output is not None
        assert output.readline()
        return path

    yield holding
    for process in running:
        process.kill()
        process.communicate()


def test_a_store_that_another_process_holds_is_waited_for_aloud(
    hold: Callable[[float], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = hold(2.5)
    Store.open(path, {}, ["latency"]).close()
    assert capsys.readouterr().err == f"{path}: another process holds this store; waiting up to 10 s\n"


def test_a_store_that_stays_held_is_told_with_what_to_do(
    hold: Callable[[float], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = hold(60)
    monkeypatch.setenv("TOSAJIT_STORE_SECONDS", "1.5")
    with pytest.raises(
        ValueError, match=r"has locked this store for more than 1.5 s; wait until .* or use"
    ) as error:
        Store.open(path, {}, ["latency"])
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["soon", "-1", "inf", "nan"])
def test_the_patience_with_stores_is_a_number_of_seconds(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_STORE_SECONDS", text)
    with pytest.raises(ValueError, match="must be a number of seconds"):
        Store.open(tmp_path, {}, ["latency"])
