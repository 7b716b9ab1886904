"""What exploring costs: for each point, byte and worker; the figures of docs/scale.md come from here.

`tools/scale.py ds_cnn mobilenet_v2` explores each model twice with one worker; what grows from one run to the
other is a point's share, the rest is the start.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from benching.client import model_files
from benching.exploring import explored

SHORT, LONG = 10_000, 50_000
TASKS = 300
MIB = 1 << 20


def main() -> int:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", default=["ds_cnn", "mobilenet_v2"])
    parser.add_argument("--points", type=int, nargs=2, default=(SHORT, LONG), metavar=("FEW", "MANY"))
    options = parser.parse_args()
    for model in options.models:
        few, many = (explored(model, points, 1) for points in options.points)
        print(f"{model}, {few['points']:,} and {many['points']:,} points")
        for name, text in costs(few, many).items():
            print(f"  {name:42} {text}")
    for name, text in starts(options.models[0]).items():
        print(f"{name:44} {text}")
    return 0


def costs(few: dict[str, Any], many: dict[str, Any]) -> dict[str, str]:
    """Each point's share of what two runs took."""
    count, chunk = many["points"] - few["points"], many["chunk"]

    def share(value: Any) -> float:
        return float((value(many) - value(few)) / count)

    return {
        "worker, µs of a core a point": f"{share(lambda run: sum(run['cpu'][2:])) * 1e6:.0f}",
        "driver, µs of a core a point": f"{share(lambda run: sum(run['cpu'][:2])) * 1e6:.1f}",
        "store, bytes a point": f"{share(lambda run: run['store_bytes']):.0f}",
        "driver's memory, bytes a point": f"{share(lambda run: run['driver_bytes']):.0f}",
        "to a worker, bytes a point": f"{many['sent'] / chunk:.0f}",
        "from a worker, bytes a point": f"{many['returned'] / chunk:.0f}",
        "to each worker once, KiB": f"{many['sent_once'] / 1024:,.0f}",
        "a worker's memory, MiB": f"{many['worker_bytes'] / MIB:.0f}",
        "driver's memory, MiB": f"{few['driver_bytes'] / MIB:.0f}",
    }


def starts(model: str) -> dict[str, str]:
    """Seconds until a worker answers, and what a task costs on a cluster of one."""
    from benching.explore_ours import space

    from sim.explore.cluster import Cluster
    from sim.explore.objectives import objectives
    from sim.explore.work import Evaluator
    from sim.explore.workers import Local
    from tosajit.npu.explore import works_of

    chosen = space()
    works, _ = works_of(model_files(model) / "model.tosa")
    for work in works:
        work.prepare(chosen.bases)
    evaluator = Evaluator(chosen, works, objectives(("latency", "energy")))
    one = chosen.at(np.zeros((1, len(chosen.names))))
    begin = time.perf_counter()
    pool = Local(1)
    pool.begin(evaluator)
    pool.submit(one, "analytic").result()
    found = {"a worker, s from nothing to its first answer": f"{time.perf_counter() - begin:.2f}"}
    found["a task of one point here, ms"] = f"{_each(pool, one):.2f}"
    pool.close()
    from distributed import Client

    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        cluster = Cluster(client)
        cluster.begin(evaluator)
        cluster.submit(one, "analytic").result()
        found["a task of one point on a cluster, ms"] = f"{_each(cluster, one):.2f}"
        cluster.close()
    return found


def _each(pool: Any, one: Any) -> float:
    """Milliseconds of a task, with several under way."""
    begin = time.perf_counter()
    for future in [pool.submit(one, "analytic") for _ in range(TASKS)]:
        future.result()
    return (time.perf_counter() - begin) / TASKS * 1e3


if __name__ == "__main__":
    raise SystemExit(main())
