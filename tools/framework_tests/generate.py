"""Generates Arm's framework tests: runs in an environment that has TensorFlow and `tosa-tools`, not tosajit.

Tests of all operators and types come in turns, so that a part of the suite has some of each. What has been
begun is never done again, in this process or in another one: a test that ends its process is left out.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

AGAIN = 3
"""The exit code of a process that has done its share, and is to be started again."""
SHARE = 300


def main() -> int:
    """Generate tests that nobody has begun, until there are no more, or the time is over."""
    options = _options()
    deadline = time.monotonic() + 60 * options.minutes
    generator, names = _generator(options)
    noted = options.folder / f"begun-{options.part}.txt"
    begun = {name for one in options.folder.glob("begun-*.txt") for name in one.read_text().splitlines()}
    mine = names[:: options.share][options.part :: options.parts]
    left = [one for one in mine if Path(one[2]).name not in begun]
    with noted.open("a") as notes:
        for number, arguments in enumerate(left):
            if time.monotonic() > deadline:
                return 0
            if number == SHARE:
                return AGAIN  # TensorFlow gives no memory back
            print(Path(arguments[2]).name, file=notes, flush=True)
            generator.run_unit_test_tf(*arguments)
    return 0


def _generator(options: argparse.Namespace) -> tuple[Any, list[Any]]:
    """Arm's generator, repaired, and the arguments of all tests, in turns."""
    from frameworks.tf.arg_gen import ArgGen

    if not hasattr(ArgGen, "agArgmax"):
        ArgGen.agArgmax = ArgGen.agAxes  # the wheel lacks it
    from frameworks import tosa_verif_framework_generator as generator

    settings = argparse.Namespace(
        random_seed=options.seed, output_dir=str(options.folder), quiet=True, num_samples=200,
        tflite_kernel_mode="reference",
    )  # fmt: skip
    generator.create_dynamic_op_lists_tf()
    found: list[Any] = []
    chosen = re.compile(options.only)
    for name in generator.TF_OP_LIST:
        generator.generate_op_tests_tf(settings, name, generator.shape_list, "result", chosen, found)
    kinds: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for one in found:
        kinds[one[0], f"{one[5]} {one[7]}"][one[2]] = one  # some tests are there several times
    rng = random.Random(options.seed)
    shuffled = [rng.sample(list(one.values()), len(one)) for one in kinds.values()]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*shuffled))
    return generator, [one for one in turns if one is not None]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
