"""Compares random TFLite models of one operator with LiteRT's reference kernels."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from litert import LiteRT

import tosajit as tj
from tests.tflite_cases import draw, drawn
from tests.tflite_cases.running import fault


def main() -> int:
    """Draw, run and compare; 1 if anything differs."""
    options = _options()
    litert, wrong, refused, seen = LiteRT(), 0, Counter[str](), 0
    names = [
        (name, kind)
        for name, one in drawn().items()
        for kind in one.types
        if name in (options.only or [name]) and kind in (options.type or [kind])
    ]
    rng = random.Random(options.seed)
    for number in range(options.graphs):
        name, kind = names[number % len(names)]
        seed = rng.getrandbits(32)
        try:
            found = fault(draw(name, kind, seed), litert, ours=options.ours)
        except tj.TosaError as error:
            found = f"{type(error).__name__}: {error}"
            refused[f"{name} {kind}"] += 1
        except Exception as error:
            lines = [line for line in str(error).splitlines() if "WARNING" not in line]
            found = f"{type(error).__name__}: {' '.join(lines)[:300]}"
        seen += 1
        if found is not None:
            wrong += 1
            print(f"{name} {kind} {seed}: {found}", flush=True)
            if wrong >= options.most:
                break
    print(f"{seen} models, {wrong} differ, {sum(refused.values())} of them refused")
    return int(wrong > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="OPERATOR")
    parser.add_argument("--type", action="append")
    parser.add_argument("--ours", action="store_true", help="run by tosajit, not by Arm's reference model")
    parser.add_argument("--most", type=int, default=20, help="stop after so many differences")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
