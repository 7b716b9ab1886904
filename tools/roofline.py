"""Where the time of models goes, group by group, against what bounds it: `tools/roofline.py mobilenet_v2`.

Names are those of `make bench`, or paths of files; without any, all sample models are profiled.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from benching.client import model_files
from benching.rows import own_file

import tosajit as tj
from tests.models import NAMES
from tosajit.cli.run import drawn_for


def main() -> None:
    """Print a table for each model."""
    options = arguments()
    for name in options.models or NAMES:
        path = Path(name)
        graph = tj.load(path if path.suffix else own_file(model_files(name)))
        random = np.random.default_rng(1)
        inputs = [drawn_for(value, random) for value in graph.inputs]
        profile = tj.compile(graph, generic="never").profile(*inputs, runs=options.runs)
        print(f"{name}\n{profile.table(options.top, options.in_order)}\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", help="names of models, or files")
    parser.add_argument("--runs", type=int, default=51)
    parser.add_argument("--top", type=int, default=12, help="show so many groups (default %(default)s)")
    parser.add_argument("--in-order", action="store_true", help="in order of execution")
    return parser.parse_args()


if __name__ == "__main__":
    main()
