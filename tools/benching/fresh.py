"""What a new process goes through; answers a line of JSON.

`fresh.py first FOLDER`, `wait FOLDER`, `build FOLDER FILE`, `artifact FILE FOLDER`, `second` or `load FILE`.

`first` is timed from outside: it says when the first result was there, on the clock that all processes share.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any


def first(folder: Path) -> dict[str, Any]:
    """From a file to the first result, and what that took of time and memory."""
    import numpy as np

    marks = [("numpy", time.monotonic())]
    import tosajit

    marks.append(("import", time.monotonic()))
    graph = tosajit.load(next(folder.glob("model.t*")))
    marks.append(("load", time.monotonic()))
    executable = tosajit.compile(graph, threads=1)
    marks.append(("compile", time.monotonic()))
    results = executable(*(np.load(path) for path in sorted(folder.glob("case0_in*.npy"))))
    marks.append(("run", time.monotonic()))
    busy = time.process_time()
    from benching.ours import same

    results = results if isinstance(results, tuple) else (results,)
    golden = [np.load(path) for path in sorted(folder.glob("case0_out*.npy"))]
    return {
        "finished": marks[-1][1],
        "busy": busy,
        "phases": {name: end - start for (_, start), (name, end) in pairwise(marks)},
        "numba": "numba" in sys.modules,
        "right": all(map(same, golden, results)),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "weight_bytes": sum(
            value.data.nbytes for value in graph.main.values.values() if value.data is not None
        ),
        "arena_bytes": executable.arena_bytes,
        "live_bytes": max(map(live, executable.programs)),
    }


def build(folder: Path, path: Path) -> dict[str, Any]:
    """Write an executable to a file."""
    import tosajit

    tosajit.compile(next(folder.glob("model.t*")), threads=1).save(path)
    return {}


def wait(folder: Path) -> dict[str, Any]:
    """Have all kernels of a model compiled, and it be kept."""
    import tosajit

    tosajit.compile(next(folder.glob("model.t*")), threads=1).wait()
    return {}


def artifact(path: Path, folder: Path) -> dict[str, Any]:
    """From an executable in a file to the first result."""
    import numpy as np

    marks = [("numpy", time.monotonic())]
    import tosajit

    executable = tosajit.load_executable(path)
    marks.append(("load", time.monotonic()))
    results = executable(*(np.load(path) for path in sorted(folder.glob("case0_in*.npy"))))
    marks.append(("run", time.monotonic()))
    busy = time.process_time()
    from benching.ours import same

    results = results if isinstance(results, tuple) else (results,)
    golden = [np.load(path) for path in sorted(folder.glob("case0_out*.npy"))]
    return {
        "finished": marks[-1][1],
        "busy": busy,
        "phases": {name: end - start for (_, start), (name, end) in pairwise(marks)},
        "right": all(map(same, golden, results)),
    }


def live(program: Any) -> int:
    """Bytes of a program's temporary tensors that live at once, at most."""
    from tiling.allocate import Lifetime, peak

    steps: dict[str, list[int]] = {}
    for number, section in enumerate(program.sections):
        for access in section.nest.accesses:
            if program.operands[access.operand].kind == "temporary":
                steps.setdefault(access.operand, []).append(number)
    lives = {name: Lifetime(program.operands[name].bytes, min(at), max(at)) for name, at in steps.items()}
    return peak(lives)


def second() -> dict[str, Any]:
    """Kernels compiled for a graph, and for another one of the same structures in other extents."""
    import llvmlite.binding as llvm

    from tosajit.kernels import ready

    ready.FOLDER = Path(sys.executable)  # which has no kernels
    compiled = 0
    parse = llvm.parse_assembly

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal compiled
        compiled += 1
        return parse(*arguments, **options)

    llvm.parse_assembly = counted
    import tosajit
    from benching.graphs import GRAPHS

    answer: dict[str, Any] = {}
    for name in ("conv", "conv_small"):
        graph, inputs = GRAPHS[name]()
        before, start = compiled, time.monotonic()
        tosajit.compile(graph, threads=1)(*inputs)
        answer[name] = {"compiled": compiled - before, "seconds": time.monotonic() - start}
    return answer


def load(path: Path) -> dict[str, Any]:
    """How long a model takes to be read, and by how much the process grows."""
    import tosajit

    before, start = _peak_bytes(), time.monotonic()
    graph = tosajit.load(path)
    seconds, grown = time.monotonic() - start, _peak_bytes() - before
    del graph
    start = time.monotonic()
    tosajit.load(path)
    return {"seconds": seconds, "again": time.monotonic() - start, "grown_bytes": grown}


def _peak_bytes() -> int:
    """The most memory that this program has had; what getrusage says begins with that of its parent."""
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Answer one question."""
    match sys.argv[1:]:
        case ["first", folder]:
            answer = first(Path(folder))
        case ["build", folder, path]:
            answer = build(Path(folder), Path(path))
        case ["wait", folder]:
            answer = wait(Path(folder))
        case ["artifact", path, folder]:
            answer = artifact(Path(path), Path(folder))
        case ["load", path]:
            answer = load(Path(path))
        case _:
            answer = second()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
