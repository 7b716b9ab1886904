"""Arguments of the command line; what a command needs is imported when it runs."""

from __future__ import annotations

import os
import sys
from argparse import (
    SUPPRESS,
    Action,
    ArgumentError,
    ArgumentParser,
    ArgumentTypeError,
    RawDescriptionHelpFormatter,
)
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from tosajit.cli.examples import ERRORS, EXITS, epilog
from tosajit.profiles import EXTENSIONS, LEVELS, PROFILES

FAULTS, USAGE, STOPPED = 1, 2, 130
"""Exit codes: something is wrong with a model or its data, or with the command, or Ctrl-C was pressed."""

TARGETS = ("host", "tiny")

STRATEGIES = ("grid", "random", "latin", "sobol", "nsga2", "tpe")
SHELLS = ("bash", "zsh", "fish")
SOURCES = ("tflite", "tensorflow")
"""Formats whose operators can be listed."""

EPILOG = f"{EXITS}\n\n{ERRORS}\n\n`tosajit COMMAND --help` has examples."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(given)
    command = import_module(f"tosajit.cli.{options.module}")
    from tosajit.errors import TosaError

    try:
        code: int = command.run(options)
        sys.stdout.flush()
    except TosaError as error:
        print_error(str(error), type(error).__name__, bool(getattr(options, "json", False)))
        return FAULTS
    except BrokenPipeError:  # the reader has seen enough: nothing more is flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return STOPPED
    return code


def print_error(message: str, kind: str, as_json: bool) -> None:
    """Say what is wrong on standard error."""
    if as_json:
        from tosajit.cli.output import json_text

        print(json_text({"error": {"kind": kind, "message": message}}), file=sys.stderr)
    else:
        print(f"tosajit: {message}", file=sys.stderr)


class Parser(ArgumentParser):
    """A parser whose errors are JSON where results are."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Note how errors are to be said."""
        self._as_json = any(one.partition("=")[0] == "--json" for one in args or ())
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: Action, value: object) -> None:
        """Refuse what is no choice: with what is spelt alike, in place of a long list."""
        near = get_close_matches(str(value), [str(choice) for choice in action.choices or ()], 3)
        if action.choices is None or value in action.choices or not near:
            super()._check_value(action, value)
        else:
            raise ArgumentError(action, f"there is no {value!r}; did you mean {' or '.join(near)}?")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line, and end."""
        if not getattr(self, "_as_json", False):
            super().error(message)
        print_error(f"{message}; `{self.prog} --help` says more", "UsageError", True)
        sys.exit(USAGE)


def parser() -> ArgumentParser:
    """All commands with their options."""
    top = Parser(
        prog="tosajit",
        description="Check, compile, run and time TOSA graphs, and explore NPUs for them.",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=_version())
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, summary: str, module: str) -> ArgumentParser:
        made = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog(name),
            formatter_class=RawDescriptionHelpFormatter,
        )
        made.set_defaults(module=module)
        return made

    _info(command("info", "what is in a model: tensors, operators, sizes, what it needs", "info"))
    _check(command("check", "everything in a model that breaks the specification", "check"))
    _run(command("run", "run a model on .npy files or on random numbers", "run"))
    _program(command("program", "the tile loops that a model becomes", "program"))
    _simulate(command("simulate", "what models take on modelled NPUs", "simulate"))
    _explore(command("explore", "the best machines of a space for models", "explore"))
    _machines(command("machines", "the machines to simulate, with the sources of their figures", "machines"))
    _convert(command("convert", "write a model of another format as a .tosa file", "convert"))
    _samples(command("samples", "small models that come with the package, and their files", "samples"))
    _operators(command("operators", "the operators with their profiles and extensions", "operators"))
    _cache(command("cache", "show, warm or clear the cache of compiled kernels", "cache"))
    _completion(command("completion", "a script that makes a shell complete commands", "completion"))
    return top


def _version() -> str:
    import tosajit

    return f"tosajit {tosajit.__version__}, TOSA 1.0.1"


def _model(parser: ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a .tosa, .tflite or .pb file")
    _signature(parser)


def _signature(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--signature", metavar="NAME", help="which function of a TFLite model (default: its first)"
    )


def _json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _limits(parser: ArgumentParser) -> None:
    """What a model is held against."""
    parser.add_argument(
        "--profile",
        action="append",
        choices=PROFILES,
        help="allow this profile; may be repeated (default: all)",
    )
    parser.add_argument(
        "--extension",
        action="append",
        choices=[*EXTENSIONS, "none"],
        metavar="EXT-…",
        help="allow this extension, or none; may be repeated (default: all)",
    )
    parser.add_argument("--level", choices=tuple(LEVELS), default="8K", help="limits (default: %(default)s)")


def _building(parser: ArgumentParser) -> None:
    """How a model is compiled."""
    parser.add_argument("--threads", type=positive, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument("--target", choices=TARGETS, default="host", help="default: %(default)s")


def _info(parser: ArgumentParser) -> None:
    _model(parser)
    _json(parser)
    parser.add_argument("--graph", action="store_true", help="list every node as well")


def _check(parser: ArgumentParser) -> None:
    _model(parser)
    _limits(parser)
    _json(parser)


def _run(parser: ArgumentParser) -> None:
    _model(parser)
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        type=binding,
        metavar="NAME=FILE",
        help="an input from a .npy file",
    )
    parser.add_argument("--random", action="store_true", help="draw the inputs that are not given")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default: %(default)s)")
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        type=binding,
        metavar="NAME=FILE",
        help="write an output to a file",
    )
    parser.add_argument("--output-dir", type=Path, metavar="FOLDER", help="write all outputs as NAME.npy")
    parser.add_argument("--checked", action="store_true", help="watch every REQUIRE of the specification")
    parser.add_argument(
        "--repeat", type=positive, default=1, metavar="N", help="run N times, and say how long it takes"
    )
    _building(parser)
    _limits(parser)
    _json(parser)


def _program(parser: ArgumentParser) -> None:
    _model(parser)
    _building(parser)
    parser.add_argument("--commands", action="store_true", help="the command stream in place of the loops")
    _json(parser)


def _simulate(parser: ArgumentParser) -> None:
    parser.add_argument("models", type=Path, nargs="+", metavar="model", help="a .tosa, .tflite or .pb file")
    _signature(parser)
    parser.add_argument("--machine", action="append", metavar="NAME|FILE", help="a machine by name or from a "
                        "file; may be repeated (default: ethos-u55-128)")  # fmt: skip
    parser.add_argument("--analytic", action="store_true", help="estimate in closed form: faster, less exact")
    parser.add_argument("--loop-trips", type=natural, default=1, metavar="N",
                        help="how often loops of the graph run (default: %(default)s)")  # fmt: skip
    parser.add_argument("--level", choices=tuple(LEVELS), default="8K", help="limits (default: %(default)s)")
    parser.add_argument(
        "--operators", type=natural, metavar="N", help="list only the N slowest (default: all)"
    )
    parser.add_argument("--trace", type=Path, metavar="FILE",
                        help="write timelines for https://ui.perfetto.dev")  # fmt: skip
    for form, text in (("json", "JSON"), ("csv", "operators as CSV"), ("html", "a page")):
        parser.add_argument(f"--{form}", metavar="FILE|-", nargs="?", const="-",
                            help=f"write {text}; - (or nothing) prints it instead of the table")  # fmt: skip


def _explore(parser: ArgumentParser) -> None:
    parser.add_argument("space", type=Path, nargs="?", help="a .yaml or .json file with a space of machines")
    parser.add_argument("models", type=Path, nargs="*", metavar="model", help="a .tosa, .tflite or .pb file")
    parser.add_argument("--out", type=Path, metavar="FOLDER",
                        help="where points.sqlite, results.csv, results.json and report.html go")  # fmt: skip
    parser.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="go on with the exploration of a folder"
    )
    parser.add_argument("--objective", action="append", metavar="NAME", help="what is to be small: latency, "
                        "energy, energy_delay, area, scratchpad_bytes, offchip_bytes; may be repeated "
                        "(default: latency and energy)")  # fmt: skip
    parser.add_argument("--weight", action="append", default=[], type=weight, metavar="MODEL=NUMBER",
                        help="how much a model counts (default: 1)")  # fmt: skip
    parser.add_argument("--strategy", choices=STRATEGIES, default="sobol", help="default: %(default)s")
    parser.add_argument("--points", type=positive, metavar="N", help="how many machines (default: 1000; a "
                        "grid has all)")  # fmt: skip
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="default: %(default)s")
    parser.add_argument("--events", action="store_true",
                        help="simulate every machine: slower, more exact")  # fmt: skip
    parser.add_argument("--confirm", type=natural, default=0, metavar="N", help="simulate the N best as well")
    parser.add_argument("--workers", type=natural, metavar="N",
                        help="processes; 0: this one does all (default: one for each core)")  # fmt: skip
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a dask cluster, in place of processes here"
    )
    parser.add_argument("--loop-trips", type=natural, default=1, metavar="N",
                        help="how often loops of the graph run (default: %(default)s)")  # fmt: skip
    parser.add_argument("--level", choices=tuple(LEVELS), default="8K", help="limits (default: %(default)s)")
    _json(parser)


def _convert(parser: ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("output", type=Path, help="the .tosa file to write")
    _json(parser)


def _operators(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        choices=SOURCES,
        help="the operators of another format, and what becomes of them",
    )
    parser.add_argument("--profile", action="append", choices=[*PROFILES, *EXTENSIONS], metavar="PRO-…|EXT-…",
                        help="only operators with a mode that this profile or extension has")  # fmt: skip
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print JSON")
    how.add_argument("--markdown", action="store_true", help="print a Markdown table")


def _machines(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="*", metavar="MACHINE", help="show this one: a name, or a .json or .yaml file"
    )
    parser.add_argument("--configurations", action="store_true", help="list every configuration")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print JSON, as files of machines have it")
    how.add_argument("--yaml", action="store_true", help="print YAML, as files of machines have it")


def _samples(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="SAMPLE", help="write the files of this one")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to (default: a folder of its name)")
    _json(parser)


def _cache(parser: ArgumentParser) -> None:
    parser.set_defaults(action="show")
    actions = parser.add_subparsers(metavar="ACTION")
    show = actions.add_parser("show", help="where it is, and how large (the default)")
    warm = actions.add_parser("warm", help="compile the kernels of models")
    clear = actions.add_parser("clear", help="delete all kernels")
    for name, action in (("show", show), ("warm", warm), ("clear", clear)):
        action.set_defaults(action=name)
    warm.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    _signature(warm)
    _building(warm)
    _json(parser)
    for one in (show, warm, clear):  # what the command itself was given is not overwritten
        one.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")


def _completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def binding(text: str) -> tuple[str, Path]:
    """A tensor's name and a file."""
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise ArgumentTypeError(f"expected NAME=FILE, got {text!r}")
    return name, Path(path)


def weight(text: str) -> tuple[str, float]:
    """A model's name and a number."""
    name, _, number = text.rpartition("=")
    try:
        found = float(number)
    except ValueError:
        name = ""
    if not name:
        raise ArgumentTypeError(f"expected MODEL=NUMBER, got {text!r}")
    return name, found


def positive(text: str) -> int:
    """A number of at least one."""
    return _number(text, 1)


def natural(text: str) -> int:
    """A number of at least zero."""
    return _number(text, 0)


def _number(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"expected a number of at least {least}, got {text!r}")
    return number
