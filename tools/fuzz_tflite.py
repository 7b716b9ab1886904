"""Compares random TFLite models, of one operator and of several, with LiteRT's reference kernels."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from litert import LiteRT

import tosajit as tj
from tests.tflite_cases import draw, drawn
from tests.tflite_cases.chain import chain, names, shortest
from tests.tflite_cases.running import fault
from tests.tflite_cases.sketch import Case


def main() -> int:
    """Draw, run and compare; 1 if anything differs."""
    options = _options()
    rng, run = random.Random(options.seed), Run(options.ours, options.most)
    for label, case in _singles(options, rng):
        run.one(label, case)
    for _ in range(options.chains):
        seed = rng.getrandbits(32)
        found = chain(seed)
        if not run.one(f"chain {seed}: {' '.join(names(found))}", found) and not options.no_shrink:
            short = shortest(seed, lambda case: run.fault(case) is not None)
            if short is not None:
                print(f"  of which {' '.join(names(short))}: {run.fault(short)}", flush=True)
    print(f"{run.seen:,} models, {run.wrong} differ")
    return int(run.wrong > 0)


@dataclass
class Run:
    """How many models have been compared, and how many differed."""

    ours: bool
    most: int
    seen: int = 0
    wrong: int = 0
    litert: LiteRT = field(default_factory=LiteRT)

    def one(self, label: str, case: Case) -> bool:
        """Whether a model gives what LiteRT gives, or enough others have not, so that it is not run."""
        if self.wrong >= self.most:
            return True
        found = self.fault(case)
        self.seen += 1
        if found is not None:
            self.wrong += 1
            print(f"{label}: {found}", flush=True)
        return found is None

    def fault(self, case: Case) -> str | None:
        """How a model differs, if it does."""
        try:
            return fault(case, self.litert, ours=self.ours)
        except tj.TosaError as error:
            return f"{type(error).__name__}: {error}"
        except Exception as error:
            lines = [line for line in str(error).splitlines() if "WARNING" not in line]
            return f"{type(error).__name__}: {' '.join(lines)[:300]}"


def _singles(options: argparse.Namespace, rng: random.Random) -> Iterator[tuple[str, Case]]:
    """Models of one operator, all operators and types in turns."""
    kinds = [
        (name, kind)
        for name, one in drawn().items()
        for kind in one.types
        if name in (options.only or [name]) and kind in (options.type or [kind])
    ]
    for number in range(options.graphs):
        name, kind = kinds[number % len(kinds)]
        seed = rng.getrandbits(32)
        yield f"{name} {kind} {seed}", draw(name, kind, seed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=300, help="models of one operator")
    parser.add_argument("--chains", type=int, default=0, help="models of several")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="OPERATOR")
    parser.add_argument("--type", action="append")
    parser.add_argument("--ours", action="store_true", help="run by tosajit, not by Arm's reference model")
    parser.add_argument("--most", type=int, default=20, help="stop after so many differences")
    parser.add_argument("--no-shrink", action="store_true", help="leave models that differ as they are")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
