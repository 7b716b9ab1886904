"""`tosajit view`."""

from __future__ import annotations

import webbrowser
from argparse import Namespace
from pathlib import Path
from tempfile import mkdtemp

from sim.report import ReportError
from tosajit.cli.output import print_json
from tosajit.cli.why import simulated
from tosajit.errors import FileError


def run(options: Namespace) -> int:
    """Simulate a model, and show its page: in a browser, or in a file."""
    made = simulated(options)
    path: Path = options.output or Path(mkdtemp(prefix="tosajit-")) / "page.html"
    try:
        made.to_html(path)
    except ReportError as error:
        raise FileError(str(error)) from None
    opened = options.output is None and webbrowser.open(path.as_uri())
    if options.json:
        print_json({"page": str(path), "opened": opened})
    else:
        print(f"{'opened' if opened else 'written to'} {path}")
    return 0
