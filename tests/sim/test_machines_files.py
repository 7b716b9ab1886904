"""Machines from and to files, also from files that are damaged or hostile."""

from __future__ import annotations

import builtins
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sim
from sim.machine.reference import reference
from tosajit.cli import main

SMALL = """
name: mine
clock_hz: 1e9
offchip: {bandwidth_bytes_per_second: 4e9}
scratchpad: {bytes: 65536}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """A file with a text."""

    def made(text: str | bytes, name: str = "mine.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return made


def refused(path: Path) -> str:
    """What is said of a file that cannot be."""
    with pytest.raises(sim.MachineFileError) as caught:
        sim.load_machine(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml"])
@pytest.mark.parametrize("name", ["tiny", "ethos-u65-512", "eyeriss-v1", "ethos-u85-256/sram-only"])
def test_files_round_trip(tmp_path: Path, name: str, suffix: str) -> None:
    machine, path = sim.machine(name), tmp_path / f"saved{suffix}"
    machine.save(path)
    assert sim.load_machine(path) == sim.machine(path) == sim.machine(str(path)) == machine
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_yaml_knows_numbers_as_people_write_them(write: Callable[..., Path]) -> None:
    assert sim.load_machine(write(SMALL)).clock_hz == 1e9


def test_a_base_gives_what_the_file_does_not_say(write: Callable[..., Path]) -> None:
    path = write("base: ethos-u55-128\nscratchpad: {bytes: 262144}\narray: {rates: {16x8: 0.25}}\n")
    machine, base = sim.load_machine(path), sim.machine("ethos-u55-128")
    assert machine.name == "mine"
    assert machine.scratchpad.bytes == 262144
    assert machine.scratchpad.bytes_per_cycle == base.scratchpad.bytes_per_cycle
    assert machine.array is not None
    assert base.array is not None
    assert dict(machine.array.rates) == {**base.array.rates, "16x8": 0.25}
    assert machine.source("scratchpad.bytes") == "given in mine.yaml"
    assert machine.source("clock_hz") == base.source("clock_hz")


def test_a_base_can_be_a_file_and_have_a_base_itself(write: Callable[..., Path]) -> None:
    write('{"base": "tiny", "cores": 2}', "first.json")
    write("base: first.json\nscratchpad: {bytes: 4096}\n", "second.yaml")
    machine = sim.load_machine(write("base: second.yaml\nname: third\n", "third.yml"))
    assert (machine.name, machine.cores, machine.scratchpad.bytes) == ("third", 2, 4096)


def test_another_kind_of_array_takes_nothing_from_the_base(write: Callable[..., Path]) -> None:
    text = "base: ethos-u55-128\narray: {kind: systolic, rows: 8, columns: 8}\n"
    assert sim.load_machine(write(text)).macs_per_cycle == 64


def test_a_figure_of_the_base_can_be_made_unlimited(write: Callable[..., Path]) -> None:
    machine = sim.load_machine(write("base: tiny\noffchip: {bandwidth_bytes_per_second: null}\n"))
    assert machine.offchip_bytes_per_cycle is None


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("base: ethos-u55-12\n", "a.yaml", "did you mean ethos-u55-128"),
        ("base: [1]\n", "a.yaml", "is not the name of a machine"),
        ("base: a.yaml\n", "a.yaml", "each the base of another"),
        ("name: [\n", "a.yaml", "is not YAML"),
        ("- 1\n", "a.yaml", "is not a table"),
        ("1: 2\n", "a.yaml", "is not a table"),
        ("", "a.yaml", "is not a table"),
        ("base: tiny\nscratchpad: {1: 2}\n", "a.yaml", "scratchpad: 1 is not the name of a field"),
        ("a: !!python/object/apply:os.system [true]\n", "a.yaml", "is not YAML"),
        ("a: !!timestamp x\n", "a.yaml", "is not YAML"),
        ("{", "a.json", "is not JSON"),
        ("[" * 60000, "a.json", "nested too deeply"),
        ("[" * 60000, "a.yaml", "nested too deeply"),
        ("a: &a [*a]\n", "a.yaml", "nested too deeply"),
        ("x" * (1 << 18), "a.json", "more than 65536 bytes"),
        (b"\xff\xfe\x00", "a.json", "UTF-8"),
        ("{}", "a.toml", ".json, .yaml, .yml"),
        ('{"base": "tiny", "cores": ' + "9" * 5000 + "}", "a.json", "cannot be read"),
        ("base: tiny\nscratchpad: {bytes: -5}\n", "a.yaml", "scratchpad.bytes: -5 is not a size"),
        ("base: tiny\nscratchpad: 5\n", "a.yaml", "scratchpad: 5 is not a table of fields"),
        ("base: tiny\nsources: 5\n", "a.yaml", "sources: 5 is not a table of fields"),
        ("base: tiny\nclock_hz: .nan\n", "a.yaml", "nan is not a clock"),
        ('{"base": "tiny", "clock_hz": NaN}', "a.json", "nan is not a clock"),
        ("base: tiny\nself: 3\n", "a.yaml", "self: no such field"),
    ],
)
def test_bad_files_are_refused_with_the_reason(
    write: Callable[..., Path], text: str | bytes, name: str, said: str
) -> None:
    assert said in refused(write(text, name))


def test_a_base_that_is_not_there_is_named(write: Callable[..., Path]) -> None:
    with pytest.raises(sim.MachineFileError, match=r"none\.json: cannot be read: No such file"):
        sim.load_machine(write("base: none.json\n"))


def test_files_that_are_not_there_or_folders_are_refused(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "none.json")
    (tmp_path / "folder.yaml").mkdir()
    assert "cannot be read" in refused(tmp_path / "folder.yaml")


def laughs(levels: int, form: str) -> str:
    """YAML in which each level holds the one before nine times."""
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, levels):
        nine = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} " + form.format(nine))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("form", ["[{}]", "{{<<: [{}]}}", "{{y: [{}]}}"])
@pytest.mark.parametrize("levels", [3, 4, 5, 12])
def test_a_billion_laughs_end_at_once(write: Callable[..., Path], levels: int, form: str) -> None:
    path, start = write(laughs(levels, form)), time.perf_counter()
    refused(path)
    assert time.perf_counter() - start < 2


def test_a_large_file_ends_soon(write: Callable[..., Path]) -> None:
    path, start = write("a: {" + "b: [1, 2], " * 5500 + "}\n"), time.perf_counter()
    refused(path)
    assert time.perf_counter() - start < 8


def test_without_pyyaml_the_message_says_what_to_install(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, usual = write(SMALL), builtins.__import__

    def without(name: str, *rest: object, **named: object) -> object:
        if name == "yaml":
            raise ImportError(name)
        return usual(name, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "yaml")
    with pytest.raises(sim.MachineFileError, match=r"pip install 'tosajit\[yaml\]'"):
        sim.load_machine(path)
    with pytest.raises(sim.MachineFileError, match=r"pip install 'tosajit\[yaml\]'"):
        sim.machine("tiny").to_yaml()


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(sim.MachineFileError, match="cannot be written"):
        sim.machine("tiny").save(tmp_path / "none" / "a.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(sim.MachineFileError, match="cannot be written"):
        sim.machine("tiny").save(tmp_path / "folder.json")
    with pytest.raises(sim.MachineFileError, match="ends with"):
        sim.machine("tiny").save(tmp_path / "a.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.json"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    name=st.sampled_from(["tiny", "ethos-u85-256"]),
    suffix=st.sampled_from([".json", ".yaml"]),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 30), st.binary(max_size=6) | st.sampled_from(
            [b"&a ", b"*a", b"<<: ", b"!!int ", b"!!timestamp ", b"!!binary ", b"!!set ", b"{", b"}", b"[",
             b"]", b"null", b"-1", b"1e999", b".nan", b'"', b"\n", b"? ", b"- ", b"base: tiny\n", b"1:2:3"]
        )),
        min_size=1, max_size=4,
    ),
)  # fmt: skip
def test_damaged_files_load_or_are_refused(
    tmp_path: Path, name: str, suffix: str, edits: list[tuple[float, int, bytes]]
) -> None:
    machine, path = sim.machine(name).model_copy(update={"sources": {}}), tmp_path / f"damaged{suffix}"
    data = (machine.to_json() if suffix == ".json" else machine.to_yaml()).encode()
    for where, cut, new in edits:
        start = int(where * len(data))
        data = data[:start] + new + data[start + cut :]
    path.write_bytes(data)
    try:
        loaded = sim.load_machine(path)
    except sim.MachineFileError as error:
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert sim.Machine(**loaded.to_dict()) == loaded


@given(st.text(alphabet="ab:{}[]&*<! -?|>%@'\"#,\n\t0.e_", max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_any_text_is_refused_as_yaml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(text)
    refused(path)


PAGE = Path(__file__).parents[2] / "docs" / "machines.md"


def test_the_page_about_machines_is_right(write: Callable[..., Path]) -> None:
    """Its table is what `sim.machine.reference.reference()` says; its file is real."""
    page = PAGE.read_text(encoding="utf-8")
    assert page.endswith(f"\n{reference()}\n")
    example = page.partition('```yaml title="larger.yaml"\n')[2].partition("```")[0]
    machine = sim.load_machine(write(example))
    assert (machine.name, machine.scratchpad.bytes) == ("larger", 524288)
    assert machine.source("scratchpad.bytes") == "given in mine.yaml"
    assert machine.source("offchip.bandwidth_bytes_per_second") == "the flash that we plan to use"


def test_the_command_line_lists_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machines"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in sim.machines())
    assert main(["machines", "ethos-u85-256", "--configurations"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(sim.configurations("ethos-u85-256"))
    assert main(["machines", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == list(sim.machines())


def test_the_command_line_shows_a_machine_in_the_form_of_a_file(
    capsys: pytest.CaptureFixture[str], write: Callable[..., Path]
) -> None:
    machine = sim.machine("gemmini-16")
    assert main(["machines", "gemmini-16"]) == 0
    assert "Genc et al." in capsys.readouterr().out
    assert main(["machines", "gemmini-16", "--json"]) == 0
    assert sim.load_machine(write(capsys.readouterr().out, "a.json")) == machine
    assert main(["machines", "gemmini-16", "--yaml"]) == 0
    path = write(capsys.readouterr().out, "a.yaml")
    assert sim.load_machine(path) == machine
    assert main(["machines", str(path)]) == 0
    capsys.readouterr()
    assert main(["machines", "--yaml"]) == 0
    assert len(list(yaml.safe_load_all(capsys.readouterr().out))) == len(sim.machines())


def test_the_command_line_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], write: Callable[..., Path]
) -> None:
    assert main(["machines", "systolic-31"]) == 1
    assert "systolic-32" in capsys.readouterr().err
    assert main(["machines", str(write("base: tiny\nclock_hz: 0\n"))]) == 1
    assert "clock_hz: 0 is not a clock" in capsys.readouterr().err
