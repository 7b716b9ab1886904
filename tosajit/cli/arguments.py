"""Arguments of the command line; what a command needs is imported when it runs."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from tosajit.profiles import EXTENSIONS, LEVELS, PROFILES

FAULTS, USAGE = 1, 2
"""Exit codes: something is wrong with a model or its data, or with the command."""

TARGETS = ("host", "tiny")

EPILOG = """exit codes: 0 all is well; 1 a model, its inputs or its result is at fault; 2 the command is"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    options = parser().parse_args(arguments)
    command = import_module(f"tosajit.cli.{options.module}")
    from tosajit.errors import TosaError

    try:
        code: int = command.run(options)
        sys.stdout.flush()
    except TosaError as error:
        print(f"tosajit: {error}", file=sys.stderr)
        return FAULTS
    except BrokenPipeError:  # the reader has seen enough: nothing more is flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code


def parser() -> ArgumentParser:
    """All commands with their options."""
    top = ArgumentParser(
        prog="tosajit",
        description="Check, compile, run and time TOSA graphs.",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=_version())
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, summary: str, module: str) -> ArgumentParser:
        made = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        made.set_defaults(module=module)
        return made

    _info(command("info", "what is in a model: tensors, operators, sizes, what it needs", "info"))
    _check(command("check", "everything in a model that breaks the specification", "check"))
    _run(command("run", "run a model on .npy files or on random numbers", "run"))
    _program(command("program", "the tile loops that a model becomes", "program"))
    _simulate(command("simulate", "what models take on modelled NPUs", "simulate"))
    _machines(command("machines", "the machines to simulate, with the sources of their figures", "machines"))
    _operators(command("operators", "the operators with their profiles and extensions", "operators"))
    _cache(command("cache", "show, warm or clear the cache of compiled kernels", "cache"))
    return top


def _version() -> str:
    import tosajit

    return f"tosajit {tosajit.__version__}, TOSA 1.0.1"


def _model(parser: ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a .tosa file")


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


def _simulate(parser: ArgumentParser) -> None:
    parser.add_argument("models", type=Path, nargs="+", metavar="model", help="a .tosa file")
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
        parser.add_argument(
            f"--{form}", metavar="FILE|-", help=f"write {text}; - prints it instead of the table"
        )


def _operators(parser: ArgumentParser) -> None:
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


def _cache(parser: ArgumentParser) -> None:
    parser.set_defaults(action="show")
    actions = parser.add_subparsers(metavar="ACTION")
    show = actions.add_parser("show", help="where it is, and how large (the default)")
    warm = actions.add_parser("warm", help="compile the kernels of models")
    clear = actions.add_parser("clear", help="delete all kernels")
    for name, action in (("show", show), ("warm", warm), ("clear", clear)):
        action.set_defaults(action=name)
    warm.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    _building(warm)
    for one in (parser, show):
        _json(one)


def binding(text: str) -> tuple[str, Path]:
    """A tensor's name and a file."""
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise ArgumentTypeError(f"expected NAME=FILE, got {text!r}")
    return name, Path(path)


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
