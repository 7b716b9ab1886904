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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from tosajit.cli.examples import ERRORS, EXITS, epilog
from tosajit.profiles import EXTENSIONS, LEVELS, PROFILES

FAULTS, USAGE, STOPPED = 1, 2, 130
"""Exit codes: a fault in a model or its data, a fault in the command line, Ctrl-C."""

TARGETS = ("host", "tiny")
MACHINE = "ethos-u55-128"

STRATEGIES = ("grid", "random", "latin", "sobol", "nsga2", "tpe")
SPLITS = ("best", "rows", "channels", "pipeline")
"""How cores share a model."""
SHELLS = ("bash", "zsh", "fish")
SOURCES = ("tflite", "tensorflow", "onnx", "torch", "jax", "nnef")
"""Formats whose operators can be listed."""
MODEL = "a .tosa, .tflite, .onnx, .pb or .sknd file, or the folder of a SavedModel or of an NNEF 2.0 model"

EPILOG = f"{EXITS}\n\n{ERRORS}\n\nSee `tosajit COMMAND --help` for examples."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    try:
        return _code(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # also while modules are imported
        return STOPPED


def _code(given: Sequence[str]) -> int:
    options = parser().parse_args(given)
    command = import_module(f"tosajit.cli.{options.module}")
    from tosajit.errors import TosaError

    _spare_characters()
    try:
        with _noting():
            code: int = command.run(options)
        sys.stdout.flush()
    except TosaError as error:
        print_error(str(error), type(error).__name__, bool(getattr(options, "json", False)))
        return FAULTS
    except BrokenPipeError:  # the reader has seen enough
        _drop_output()
        return 0
    except OSError as error:  # those of files are ours
        _drop_output()
        print_error(error.strerror or str(error), type(error).__name__, bool(getattr(options, "json", False)))
        return FAULTS
    return code


def _spare_characters() -> None:
    """Write question marks for what the encoding of the output lacks, as rules of tables in Latin 1."""
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.encoding.lower().startswith("utf"):
        sys.stdout.reconfigure(errors="replace")


def _drop_output() -> None:
    """Let nothing more be flushed at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _noting() -> Iterator[None]:
    """Write what the package warns of to standard error."""
    import logging

    log, handler = logging.getLogger("tosajit"), logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("tosajit: %(message)s"))
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def print_error(message: str, kind: str, as_json: bool) -> None:
    """Write an error message to standard error."""
    if as_json:
        from tosajit.cli.output import json_text

        print(json_text({"error": {"kind": kind, "message": message}}), file=sys.stderr)
    else:
        from tosajit.display.screen import styled

        print(f"{styled('tosajit:', 'red', sys.stderr)} {message}", file=sys.stderr)


class Parser(ArgumentParser):
    """A parser that reports errors as JSON if results are JSON."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Remember whether errors are to be JSON."""
        self._as_json = any(one.partition("=")[0] == "--json" for one in args or ())
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: Action, value: object) -> None:
        """Refuse an unknown choice, and suggest similar ones in place of a long list."""
        near = get_close_matches(str(value), [str(choice) for choice in action.choices or ()], 3)
        if action.choices is None or value in action.choices or not near:
            super()._check_value(action, value)
        else:
            raise ArgumentError(action, f"there is no {value!r}; did you mean {' or '.join(near)}?")

    def error(self, message: str) -> NoReturn:
        """Report a fault in the command line, and exit."""
        if not getattr(self, "_as_json", False):
            super().error(message)
        print_error(f"{message}; see `{self.prog} --help`", "UsageError", True)
        sys.exit(USAGE)


def parser() -> ArgumentParser:
    """All commands with their options."""
    top = Parser(
        prog="tosajit",
        description="Check, compile, run and simulate TOSA graphs, and explore NPU designs for them.",
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

    _info(command("info", "summarise a model: tensors, operators, sizes, profiles and extensions", "info"))
    _check(command("check", "list everything in a model that violates the specification", "check"))
    _run(command("run", "run a model on .npy files or random inputs", "run"))
    _build(command("build", "compile a model to a file that loads and runs at once", "build"))
    _profile(command("profile", "show how long each group of a model takes, and what bounds it", "profile"))
    _program(command("program", "print the tile loops that a model compiles to", "program"))
    _simulate(command("simulate", "simulate models on NPUs: cycles, traffic, memory and energy", "simulate"))
    _stream(command("stream", "simulate inferences that follow each other: throughput and latency", "stream"))
    _share(command("share", "simulate several models at once on one NPU", "share"))
    _plan(command("plan", "print or write how a model's groups run on a machine", "plan"))
    _why(command("why", "say why a model is slow on an NPU, and what would help", "why"))
    _view(command("view", "open a page with a model's graph, coloured by the cycles on an NPU", "view"))
    _explore(command("explore", "search a design space for the best machines for models", "explore"))
    _machines(
        command(
            "machines",
            "list the machines that can be simulated, with the sources of their figures",
            "machines",
        )
    )
    _convert(
        command("convert", "convert a model to a .tosa or .mlir file, or to an NNEF 2.0 folder", "convert")
    )
    _quantize(command("quantize", "turn a float model into integers, by samples of its inputs", "quantize"))
    _samples(command("samples", "list the sample models, or write the files of one", "samples"))
    _operators(command("operators", "list the operators with their profiles and extensions", "operators"))
    _cache(command("cache", "show, fill or clear the cache of kernels and executables", "cache"))
    _completion(command("completion", "print a completion script for a shell", "completion"))
    return top


def _version() -> str:
    import tosajit

    return f"tosajit {tosajit.__version__}, TOSA 1.0.1"


def _model(parser: ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help=MODEL)
    _reading(parser)
    _filling(parser)


def _reading(parser: ArgumentParser) -> None:
    """How models are read."""
    parser.add_argument(
        "--signature",
        metavar="NAME",
        help="signature of a TFLite model or a SavedModel, function of MLIR, or graph of an NNEF model "
        "(default: the first)",
    )
    parser.add_argument(
        "--shapes",
        action="append",
        default=[],
        type=shape,
        metavar="NAME=1x224x224x3",
        help="shape of an input that the model leaves open; can be repeated (default: a batch of 1)",
    )
    parser.add_argument(
        "--narrow", action="store_true", help="compute in 32 bits what MLIR or an ONNX model does in 64"
    )


def _filling(parser: ArgumentParser) -> None:
    """What fills in an NNEF model."""
    parser.add_argument(
        "--attribute",
        action="append",
        default=[],
        type=attribute,
        metavar="NAME=VALUE",
        help="attribute of the graph of an NNEF model, as batch=4 or pad=[1,1]; can be repeated",
    )
    parser.add_argument(
        "--stdlib", type=Path, metavar="FOLDER", help="standard modules of an NNEF model, in place of ours"
    )
    parser.add_argument(
        "--zeros",
        action="store_true",
        help="variables of an NNEF model are zero where they have no .dat file",
    )
    parser.add_argument(
        "--quantized",
        action="store_true",
        help="integers for what an NNEF model quantises, in place of rounded real numbers",
    )


def _json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _level(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--level",
        choices=tuple(LEVELS),
        default="8K",
        help="level that sets the limits (default: %(default)s)",
    )


def _loop_trips(parser: ArgumentParser) -> None:
    parser.add_argument("--loop-trips", type=natural, default=1, metavar="N",
                        help="trips to assume for each loop of the graph (default: %(default)s)")  # fmt: skip


def _limits(parser: ArgumentParser) -> None:
    """What a model is held against."""
    parser.add_argument(
        "--profile",
        action="append",
        choices=PROFILES,
        help="allow this profile; can be repeated (default: all)",
    )
    parser.add_argument(
        "--extension",
        action="append",
        choices=[*EXTENSIONS, "none"],
        metavar="EXT-…",
        help="allow this extension, or none; can be repeated (default: all)",
    )
    _level(parser)


def _building(parser: ArgumentParser) -> None:
    """How a model is compiled."""
    parser.add_argument("--threads", type=positive, default=1, metavar="N",
                        help="number of threads (default: %(default)s)")  # fmt: skip
    parser.add_argument("--target", choices=TARGETS, default="host",
                        help="target to compile for (default: %(default)s)")  # fmt: skip


def _info(parser: ArgumentParser) -> None:
    _model(parser)
    _json(parser)
    parser.add_argument("--graph", action="store_true", help="also list every node")


def _check(parser: ArgumentParser) -> None:
    _model(parser)
    _limits(parser)
    _json(parser)


def _files(parser: ArgumentParser, name: str, help: str) -> None:
    parser.add_argument(name, action="append", default=[], type=binding, metavar="NAME=FILE", help=help)


def _seed(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--seed", type=natural, default=0, help="seed of the random inputs (default: %(default)s)"
    )


def _run(parser: ArgumentParser) -> None:
    _model(parser)
    _files(parser, "--input", "read an input from a .npy file; can be repeated")
    parser.add_argument(
        "--random", action="store_true", help="use random values for inputs that are not given"
    )
    _seed(parser)
    _files(parser, "--output", "write an output to a .npy file; can be repeated")
    parser.add_argument(
        "--output-dir", type=Path, metavar="FOLDER", help="write all outputs to NAME.npy in this folder"
    )
    parser.add_argument(
        "--checked", action="store_true", help="check every REQUIRE of the specification at run time"
    )
    parser.add_argument(
        "--repeat", type=positive, default=1, metavar="N", help="run N times and report the time"
    )
    _building(parser)
    parser.add_argument("--machine", metavar="NAME|FILE", help="run the program of a modelled machine")
    _given_plan(parser)
    _limits(parser)
    _json(parser)


def _quantize(parser: ArgumentParser) -> None:
    _model(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="the .tosa or .mlir file to write"
    )
    _files(parser, "--samples", "read samples of an input, one behind the other, from a .npy file")
    parser.add_argument(
        "--activations", choices=("int8", "int16"), default="int8",
        help="type of values; weights have 8 bits (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--observer", choices=("minmax", "percentile", "entropy"), default="minmax",
        help="how ranges are taken from samples (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--percentile", type=float, default=99.99, metavar="P",
        help="how many of all numbers a range has, with --observer percentile (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--per-tensor", action="store_true", help="one scale for all weights of an operator")
    parser.add_argument(
        "--equalize", action="store_true", help="give channels between two convolutions ranges alike first"
    )
    parser.add_argument(
        "--keep", action="append", default=[], metavar="PATTERN",
        help="names of values whose operators keep real numbers; can be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--ends", choices=("integer", "real"), default="integer",
        help="what inputs and outputs are (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--top", type=positive, default=10, metavar="N", help="show the N worst values (default: %(default)s)"
    )
    _json(parser)


def _profile(parser: ArgumentParser) -> None:
    _model(parser)
    _files(parser, "--input", "read an input from a .npy file; can be repeated (default: random values)")
    _seed(parser)
    parser.add_argument(
        "--runs", type=positive, default=21, metavar="N", help="time N runs (default: %(default)s)"
    )
    parser.add_argument("--top", type=positive, metavar="N", help="show N groups only")
    parser.add_argument(
        "--in-order", action="store_true", help="in order of execution, not the slowest first"
    )
    _limits(parser)
    _json(parser)
    parser.set_defaults(random=True, threads=1, target="host")


def _program(parser: ArgumentParser) -> None:
    _model(parser)
    _building(parser)
    parser.add_argument("--machine", metavar="NAME|FILE", help="show the program of a modelled machine")
    parser.add_argument(
        "--commands", action="store_true", help="print the command stream instead of the loops"
    )
    _json(parser)


def _plan(parser: ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("--machine", default=MACHINE, metavar="NAME|FILE",
                        help="name or file of a machine (default: %(default)s)")  # fmt: skip
    _given_plan(parser)
    _mapping(parser)
    _level(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write a .json or .yaml file")
    _json(parser)


def _given_plan(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--plan", type=Path, metavar="FILE", help="a .json or .yaml file that says how groups run"
    )


def _mapping(parser: ArgumentParser) -> None:
    parser.add_argument("--mapping", type=Path, metavar="FILE",
                        help="a .json or .yaml file with wishes for groups by patterns")  # fmt: skip


def _simulate(parser: ArgumentParser) -> None:
    parser.add_argument("models", type=Path, nargs="+", metavar="model", help=MODEL)
    _reading(parser)
    _filling(parser)
    parser.add_argument("--machine", action="append", metavar="NAME|FILE",
                        help=f"name or file of a machine; repeatable (default: {MACHINE})")  # fmt: skip
    _given_plan(parser)
    _mapping(parser)
    parser.add_argument(
        "--analytic", action="store_true", help="use the analytic model: faster, less precise"
    )
    parser.add_argument("--cores", type=natural, metavar="N",
                        help="so many cores, each with a scratchpad and a DMA of its own")  # fmt: skip
    parser.add_argument("--split", choices=SPLITS, metavar="HOW",
                        help=f"how cores share a model: {', '.join(SPLITS)}")  # fmt: skip
    parser.add_argument(
        "--objective",
        metavar="WHAT",
        help="what plans make least: time, energy, traffic, or a weighting such as 'time + 0.2 traffic' "
        "(default: as the machine says, time)",
    )
    _loop_trips(parser)
    _level(parser)
    parser.add_argument(
        "--operators", type=natural, metavar="N", help="list only the N slowest operators (default: all)"
    )
    parser.add_argument("--trace", type=Path, metavar="FILE",
                        help="write a timeline for https://ui.perfetto.dev")  # fmt: skip
    for form, text in (
        ("json", "the report as JSON"),
        ("csv", "the operators as CSV"),
        ("html", "an HTML page"),
    ):
        parser.add_argument(f"--{form}", metavar="FILE|-", nargs="?", const="-",
                            help=f"write {text}; without FILE, print it instead of the table")  # fmt: skip


def _stream(parser: ArgumentParser) -> None:
    _model(parser)
    _machine(parser)
    parser.add_argument("--inferences", type=several, default=8, metavar="N",
                        help="how many are followed (default: %(default)s)")  # fmt: skip
    _level(parser)
    _json(parser)


def _share(parser: ArgumentParser) -> None:
    parser.add_argument("models", type=Path, nargs="+", metavar="model", help=MODEL)
    _reading(parser)
    _filling(parser)
    _machine(parser)
    parser.add_argument(
        "--share", action="append", type=amount, metavar="SHARE",
        help="a model's share of time and scratchpad, or of cores; once for each model (default: equal ones)",
    )  # fmt: skip
    _level(parser)
    _json(parser)


def _machine(parser: ArgumentParser) -> None:
    parser.add_argument("--machine", metavar="NAME|FILE", default=MACHINE,
                        help="name or file of a machine (default: %(default)s)")  # fmt: skip


def _why(parser: ArgumentParser) -> None:
    _model(parser)
    _on_a_machine(parser)
    parser.add_argument("--count", type=positive, default=10, metavar="N",
                        help="sentences to print, those that matter most (default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--no-remedies", action="store_true", help="do not try what would help, which takes longer"
    )
    _json(parser)


def _view(parser: ArgumentParser) -> None:
    _model(parser)
    _on_a_machine(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="write the page to this file, and open nothing")  # fmt: skip
    _json(parser)


def _on_a_machine(parser: ArgumentParser) -> None:
    _machine(parser)
    parser.add_argument(
        "--analytic", action="store_true", help="use the analytic model: faster, less precise"
    )
    _loop_trips(parser)
    _level(parser)


def _explore(parser: ArgumentParser) -> None:
    parser.add_argument(
        "space", type=Path, nargs="?", help="a .yaml or .json file that describes the design space"
    )
    parser.add_argument("models", type=Path, nargs="*", metavar="model", help=MODEL)
    _reading(parser)
    parser.add_argument("--out", type=Path, metavar="FOLDER",
                        help="folder for the store, the tables and the report")  # fmt: skip
    parser.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="continue the exploration in this folder"
    )
    parser.add_argument("--objective", action="append", metavar="NAME", help="what to minimise: latency, "
                        "energy, energy_delay, area, scratchpad_bytes, offchip_bytes; can be repeated "
                        "(default: latency and energy)")  # fmt: skip
    parser.add_argument("--weight", action="append", default=[], type=weight, metavar="MODEL=NUMBER",
                        help="weight of a model (default: 1)")  # fmt: skip
    parser.add_argument(
        "--strategy", choices=STRATEGIES, default="sobol", help="how points are chosen (default: %(default)s)"
    )
    parser.add_argument("--points", type=positive, metavar="N", help="number of machines to evaluate "
                        "(default: 1000; all for a grid)")  # fmt: skip
    parser.add_argument("--seed", type=natural, default=0, metavar="N",
                        help="seed of the strategy (default: %(default)s)")  # fmt: skip
    parser.add_argument("--events", action="store_true",
                        help="use the event simulator for every machine: slower, more precise")  # fmt: skip
    parser.add_argument(
        "--confirm", type=natural, default=0, metavar="N", help="run the event simulator on the N best, too"
    )
    parser.add_argument("--workers", type=natural, metavar="N",
                        help="worker processes; 0: run in this one (default: one per core)")  # fmt: skip
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="use the dask cluster at this address instead of local processes",
    )
    _loop_trips(parser)
    _level(parser)
    _json(parser)


def _convert(parser: ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("output", type=Path, help="the .tosa or .mlir file, or the .nnef2 folder, to write")
    parser.add_argument(
        "--form",
        choices=("tosa", "llvm", "generic"),
        help="the form of MLIR: with attributes in braces (default), as arguments, or what all tools read",
    )
    _json(parser)


def _build(parser: ArgumentParser) -> None:
    _model(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the file to write (default: MODEL.tjx in this folder)",
    )
    _building(parser)
    _limits(parser)
    _json(parser)


def _operators(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        choices=SOURCES,
        help="list the operators of another format, and whether they are supported",
    )
    parser.add_argument("--profile", action="append", choices=[*PROFILES, *EXTENSIONS], metavar="PRO-…|EXT-…",
                        help="only list operators with a mode in this profile or extension")  # fmt: skip
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print JSON")
    how.add_argument("--markdown", action="store_true", help="print a Markdown table")


def _machines(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="*", metavar="MACHINE", help="a machine to show: a name, or a .json or .yaml file"
    )
    parser.add_argument("--configurations", action="store_true", help="list every configuration")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print JSON, in the format of machine files")
    how.add_argument("--yaml", action="store_true", help="print YAML, in the format of machine files")


def _samples(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="SAMPLE", help="the sample whose files to write")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="folder to write to (default: the name of the sample)"
    )
    _json(parser)


def _cache(parser: ArgumentParser) -> None:
    parser.set_defaults(action="show")
    actions = parser.add_subparsers(metavar="ACTION")
    show = actions.add_parser("show", help="show its location and size (the default)")
    warm = actions.add_parser("warm", help="compile the kernels of models into it")
    clear = actions.add_parser("clear", help="delete all kernels and executables in it")
    for name, action in (("show", show), ("warm", warm), ("clear", clear)):
        action.set_defaults(action=name)
    warm.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    _reading(warm)
    _filling(warm)
    _building(warm)
    _json(parser)
    for one in (show, warm, clear):  # what the command itself was given is not overwritten
        one.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")


def _completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete commands for")


def binding(text: str) -> tuple[str, Path]:
    """A tensor's name and a file."""
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise ArgumentTypeError(f"expected NAME=FILE, got {text!r}")
    return name, Path(path)


def attribute(text: str) -> tuple[str, object]:
    """A name and a value, written as in JSON; what is none is a text."""
    import json

    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def shape(text: str) -> tuple[str, tuple[int, ...]]:
    """An input's name and its extents; those of a single number are left out."""
    name, equals, extents = text.rpartition("=")
    found = extents.split("x") if extents else []
    if not (name and equals and all(one.isascii() and one.isdigit() for one in found)):
        raise ArgumentTypeError(f"expected NAME=1x224x224x3, got {text!r}")
    return name, tuple(map(int, found))


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


def amount(text: str) -> float:
    """A number above zero."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return number


def several(text: str) -> int:
    """A number of at least two."""
    return _number(text, 2)


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
