"""What people call stays what it is: parameters with their defaults, and options of the command line."""

from __future__ import annotations

import inspect
from argparse import Action, ArgumentParser, _SubParsersAction
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

from tosajit.cli.arguments import parser

GOLDEN = Path(__file__).parent / "golden"
PACKAGES = ("tosajit", "tosajit.nn", "tosajit.nn.quantized", "sim", "sim.events", "sim.report")
PLAIN = (bool, int, float, str, tuple, type(None))
Kept = Callable[[str, Iterator[str]], None]


@pytest.fixture
def kept(request: pytest.FixtureRequest, golden: Callable[[str, str], None]) -> Kept:
    """Compare those lines whose beginning, as far as the first `=`, is in the golden text: others are new."""

    def compare(name: str, lines: Iterator[str]) -> None:
        text = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8") if not rewrite else ""
        known = {line.partition("=")[0] for line in text.splitlines()}
        golden(name, "\n".join(line for line in lines if rewrite or line.partition("=")[0] in known))

    rewrite = request.config.getoption("--rewrite-golden")
    return compare


@pytest.mark.parametrize("package", PACKAGES)
def test_defaults_are_what_they_were(package: str, kept: Kept) -> None:
    module = import_module(package)
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    found = ((name, getattr(module, name)) for name in sorted(names))
    kept(f"defaults_{package.replace('.', '_')}", (line for pair in found for line in parameters(*pair)))


def parameters(name: str, found: object) -> Iterator[str]:
    """What a function, or a class and its methods, may be called without."""
    if inspect.isroutine(found) or inspect.isclass(found):
        yield from defaults(name, found)
    if inspect.isclass(found):
        for inner in sorted(vars(found)):
            member = getattr(found, inner)
            if not inner.startswith("_") and callable(member):
                yield from defaults(f"{name}.{inner}", member)


def defaults(name: str, found: Callable[..., object]) -> Iterator[str]:
    """A line for each parameter that has a default."""
    try:
        every = inspect.signature(found).parameters.values()
    except ValueError:  # it is not written in Python
        return
    yield from (f"{name} {one.name}={shown(one.default)}" for one in every if one.default is not one.empty)


def shown(value: object) -> str:
    """A default without addresses and modules."""
    return repr(value) if isinstance(value, PLAIN) else type(value).__name__


def test_options_of_commands_are_what_they_were(kept: Kept) -> None:
    kept("options", commands(parser()))


def commands(command: ArgumentParser) -> Iterator[str]:
    """A line for each option of a command, and of those below it."""
    for action in command._actions:
        if isinstance(action, _SubParsersAction):
            for inner in action.choices.values():
                yield from commands(inner)
        else:
            yield f"{command.prog} {' '.join(action.option_strings) or action.dest} = {taken(action)}"


def taken(action: Action) -> str:
    """What an option takes, and what is taken where it is not given."""
    told = {
        "takes": action.nargs,
        "as": getattr(action.type, "__name__", None),
        "otherwise": action.default,
        "constant": action.const,
        "required": action.required or None,
    }
    return ", ".join(f"{key} {value!r}" for key, value in told.items() if value is not None)


LIMITED = ("files", "frontends.common", "frontends.frame", "frontends.nnef", "frontends.onnx",
           "frontends.tensorflow", "frontends.tflite")  # fmt: skip


def test_limits_of_what_strangers_may_ask_for_are_what_they_were(
    request: pytest.FixtureRequest, golden: Callable[[str, str], None]
) -> None:
    now = dict(limits())
    if request.config.getoption("--rewrite-golden"):
        golden("limits", "\n".join(f"{name}={value}" for name, value in now.items()))
    lines = (line.split("=") for line in (GOLDEN / "limits.txt").read_text(encoding="utf-8").splitlines())
    before = {name: int(value) for name, value in lines if name in now}  # others have moved
    assert {name: now[name] for name in before} == before
    assert len(before) > len(now) / 2


def limits() -> Iterator[tuple[str, int]]:
    """Every number with a name of the packages that read files."""
    for package in LIMITED:
        top = import_module(f"tosajit.{package}")
        names = [one.name for one in walk_packages(top.__path__, f"{top.__name__}.")]
        for module in map(import_module, sorted(names)):
            for name, value in sorted(vars(module).items()):
                if name.isupper() and type(value) is int:
                    yield f"{module.__name__} {name}", value
