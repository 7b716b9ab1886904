"""`tosajit explore`."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosajit.cli.arguments import STOPPED, USAGE, print_error
from tosajit.cli.loading import shapes
from tosajit.errors import InputError

if TYPE_CHECKING:
    from sim.explore.exploration import Exploration

ASKED = ("objective", "weight", "points", "confirm", "signature", "shapes")
"""Options that --resume takes from the folder."""


def run(options: Namespace) -> int:
    """Explore or continue an exploration; write results to a folder and print a summary."""
    fault = _usage(options)
    if fault:
        return _refused(fault, options)
    folder: Path = options.resume or options.out
    with _told():
        question = _resumed(folder) if options.resume else _asked(options)
        if not folder:
            _check(question)
            return _refused("--out FOLDER is needed, for the results", options)
        if not options.resume:
            _copy(options.space, folder)
        found = _explored(question, folder, options)
        _write(found, folder)
    print(found.to_json() if options.json else found, end="" if options.json else "\n")
    if not found.finished:
        text = f"stopped after {len(found):,} points; continue with `tosajit explore --resume {folder}`"
        print_error(text, "Stopped", options.json)
        return STOPPED
    return 0


def _usage(options: Namespace) -> str:
    """The fault in a combination of options, or nothing."""
    if options.resume:
        given = [name for name in ASKED if getattr(options, name)]
        if options.space or options.out or given or options.events:
            return "--resume takes everything from its folder; leave out the space, models and their options"
        return ""
    if not options.space or not options.models:
        return "give a space and at least one model, or --resume FOLDER"
    if options.scheduler and options.workers is not None:
        return "--workers and --scheduler exclude each other: local processes, or those of a cluster"
    return ""


def _refused(fault: str, options: Namespace) -> int:
    print_error(f"{fault}; see `tosajit explore --help` for examples", "UsageError", options.json)
    return USAGE


def _check(question: Mapping[str, Any]) -> None:
    """Find what else is wrong, before one is sent for a folder."""
    from sim.explore.objectives import objectives
    from tosajit.npu.explore import works_of

    asked = ("models", "weights", "level", "loop_trips", "signature", "shapes")
    works_of(**{name: question[name] for name in asked})
    objectives(question["objectives"], question["space"].area)


def _copy(space: Path, folder: Path) -> None:
    """Keep the space beside its results."""
    from sim.files import read_whole, write_whole

    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / f"space{space.suffix}"
    if copy.resolve() != space.resolve():
        write_whole(copy, read_whole(space))


def _asked(options: Namespace) -> dict[str, Any]:
    """The question of the options, as `tosajit.explore` takes it."""
    from sim.explore.space import Space

    space = Space.load(options.space)
    return {
        "models": options.models,
        "space": space,
        "objectives": tuple(options.objective or ("latency", "energy")),
        "strategy": options.strategy,
        "points": options.points,
        "seed": options.seed,
        "weights": dict(options.weight) or None,
        "confirm": options.confirm,
        "mode": "events" if options.events else "analytic",
        "loop_trips": options.loop_trips,
        "level": options.level,
        "signature": options.signature,
        "shapes": shapes(options),
    }


def _resumed(folder: Path) -> dict[str, Any]:
    """The question of a folder, as its store says it."""
    from sim.explore.space import Space
    from sim.explore.store import Store

    store = Store.reading(folder)
    try:
        about = store.about
    finally:
        store.close()
    lacking = [name for name in NEEDED if not isinstance(about.get(name), NEEDED[name])]
    if lacking:
        raise InputError(
            f"{store.path} lacks {', '.join(lacking)}; start a new exploration in another folder"
        )
    files = about["files"]
    nowhere = [name for name in about["models"] if name not in files]
    gone = [files[name] for name in files if not Path(files[name]).exists()]
    if nowhere:
        raise InputError(
            f"{store.path}: {nowhere[0]} did not come from a file; continue with `tosajit.explore`"
        )
    if gone:
        raise InputError(f"{gone[0]}: the file is gone, but the exploration in {folder} needs it")
    return {
        "models": {name: files[name] for name in about["models"]},
        "space": Space.from_dict(about["space"]),
        "objectives": tuple(one["name"] for one in about["objectives"]),
        "strategy": about["strategy"],
        "points": about.get("points asked for"),
        "seed": about["seed"],
        "weights": {name: one["weight"] for name, one in about["models"].items()},
        "confirm": about.get("confirm", 0),
        "mode": about["mode"],
        "loop_trips": about["loop_trips"],
        "level": about["level"],
        "signature": about.get("signature"),
        "shapes": about.get("shapes"),
    }


NEEDED: Mapping[str, type] = {
    "space": dict, "models": dict, "files": dict, "objectives": list, "strategy": str, "seed": int,
    "mode": str, "loop_trips": int, "level": str,
}  # fmt: skip
"""What a store must say of its exploration."""


def _explored(question: Mapping[str, Any], folder: Path, options: Namespace) -> Exploration:
    from tosajit.npu.explore import explore

    if not options.scheduler:
        return explore(**question, workers=options.workers, store=folder)
    try:
        from distributed import Client
    except ImportError:
        text = "--scheduler needs dask.distributed: python -m pip install 'tosajit[cluster]'"
        raise InputError(text) from None
    try:
        client = Client(options.scheduler)
    except (OSError, ValueError) as error:
        raise InputError(f"{options.scheduler}: no scheduler answers: {error}") from None
    with client:
        return explore(**question, client=client, store=folder)


def _write(found: Exploration, folder: Path) -> None:
    found.to_csv(folder / "results.csv")
    found.to_json(folder / "results.json")
    found.to_html(folder / "report.html")
    print(f"results are in {folder}", file=sys.stderr)


@contextmanager
def _told() -> Iterator[None]:
    """What is wrong with a space, a store or a file, as an error of commands."""
    from sim.explore.errors import ExplorationError
    from sim.machine.errors import MachineError

    try:
        yield
    except (MachineError, ExplorationError) as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise InputError(f"{error.filename or ''}: {error.strerror or error}") from None
