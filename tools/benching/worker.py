"""A process that runs one engine: `python worker.py ENGINE [CPU]`; requests and answers are lines of JSON.

`load` binds a network and its inputs, `time` calls it for about so many seconds and answers seconds per call,
`save` writes the latest outputs as `.npy`. An answer is `{"ok": …}` or `{"error": "…"}`.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from peers import PEERS, Engine

SHORTEST = 20e-6  # seconds: calls below this are timed in batches, so that reading the clock does not count


def main(arguments: list[str]) -> None:
    """Serve one engine until the input ends."""
    if len(arguments) > 1:
        os.sched_setaffinity(0, {int(arguments[1])})
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    engine = make_engine(arguments[0])
    for line in sys.stdin:
        try:
            answer = {"ok": serve(engine, json.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers)


def make_engine(name: str) -> Engine:
    """The engine of that name; ours is imported only where it is asked for."""
    if name in PEERS:
        return PEERS[name]()
    from benching.ours import ENGINES

    return ENGINES[name]()


def serve(engine: Engine, request: Mapping[str, Any]) -> object:
    """Do one request."""
    match request["do"]:
        case "load":
            return engine.load(request)
        case "time":
            clock = time.process_time if request.get("busy") else time.perf_counter
            return timed(engine.call, request["seconds"], clock)
        case "save":
            engine.call()
            for path, array in zip(request["paths"], engine.outputs(), strict=True):
                np.save(path, array)
            return None
    raise ValueError(f"no such request: {request['do']}")


def timed(
    call: Callable[[], object], seconds: float, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Seconds per call over about `seconds`: median and minimum of the batches, after two calls."""
    call()
    start = clock()
    call()
    estimate = max(clock() - start, 1e-7)
    batch = max(1, round(SHORTEST / estimate))
    samples = []
    for _ in range(max(3, round(seconds / (estimate * batch)))):
        start = clock()
        for _ in range(batch):
            call()
        samples.append((clock() - start) / batch)
    return {"median": statistics.median(samples), "minimum": min(samples), "calls": batch * len(samples)}


if __name__ == "__main__":
    main(sys.argv[1:])
