"""`tosajit samples`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tosajit import samples
from tosajit.cli.output import print_json
from tosajit.display.columns import aligned
from tosajit.storage import file_errors, read_file, write_file


def run(options: Namespace) -> int:
    """List the samples, or write the files of one."""
    if options.name is not None:
        _write(options.name, options.out or Path(options.name), options.json)
    elif options.json:
        print_json(samples.PURPOSES)
    else:
        print(*aligned(list(samples.PURPOSES.items())), sep="\n")
    return 0


def _write(name: str, folder: Path, as_json: bool) -> None:
    sources = [samples.path(name, file) for file in samples.files(name)]
    with file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for source in sources:
        write_file(folder / source.name, read_file(source))
    if as_json:
        print_json({"folder": str(folder), "files": [source.name for source in sources]})
    else:
        print(f"{folder}: {', '.join(source.name for source in sources)}")
