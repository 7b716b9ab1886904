"""`tosajit cache`."""

from __future__ import annotations

from argparse import Namespace

from tosajit.cli.output import bytes_text, print_json
from tosajit.kernels import ready
from tosajit.kernels.cache import (
    cache_bytes,
    cache_fault,
    cache_folder,
    cached_executables,
    cached_graphs,
    cached_objects,
    clear_cache,
)
from tosajit.kernels.sets.registry import cpu


def run(options: Namespace) -> int:
    """Show the cache, fill it or clear it."""
    match options.action:
        case "warm":
            _warm(options)
        case "clear":
            before = len(cached_objects())
            clear_cache()
            if options.json:
                print_json({"folder": _folder(), "deleted": before})
            else:
                print(f"{before} kernels deleted from {_folder() or 'no folder'}")
        case _:
            _show(options)
    return 0


def _show(options: Namespace) -> None:
    count, size, fault = len(cached_objects()), cache_bytes(), cache_fault()
    packaged = {str(one.folder): len(one.names) for one in ready.shelves(cpu(), ready.FOLDER)}
    if options.json:
        whole = {"executables": cached_executables(), "graphs": cached_graphs()}
        figures = {"kernels": count, **whole, "bytes": size, "packaged": packaged}
        print_json({"folder": _folder(), **figures, "fault": fault or None})
    elif fault:
        print(f"kernels are not cached: {fault}")
    else:
        counts = {"kernel": count, "executable": cached_executables(), "graph": cached_graphs()}
        held = ", ".join(f"{number} {what}{'' if number == 1 else 's'}" for what, number in counts.items())
        print(f"{cache_folder()}: {held}, {bytes_text(size)}")
    for folder, number in () if options.json else packaged.items():
        print(f"{folder}: {number} kernel{'' if number == 1 else 's'} of the package")


def _warm(options: Namespace) -> None:
    from tosajit.cli.building import built

    compiled = {}
    for model in options.models:
        before = len(cached_objects())
        built(model, options).wait()
        compiled[str(model)] = len(cached_objects()) - before
        if not options.json:
            print(f"{model}: {compiled[str(model)]} kernels compiled")
    if options.json:
        print_json({"folder": _folder(), "compiled": compiled})


def _folder() -> str | None:
    folder = cache_folder()
    return None if folder is None else str(folder)
