"""What the tensors of a subgraph are called in the graph.

The name of a tensor has those of all operators that were fused into the one that computes it, joined by
semicolons. One of them is enough, if no other tensor has it.
"""

from __future__ import annotations

from tosajit.frontends.tflite.records import Subgraph


def labels(subgraph: Subgraph) -> tuple[str, ...]:
    """A name for each tensor: results choose before constants, and whole names before parts of such."""
    parts = [tensor.name.split(";") for tensor in subgraph.tensors]
    order = sorted(subgraph.tensors, key=lambda one: (one.data is not None, len(parts[one.place]) > 1))
    taken: set[str] = set()
    chosen = [""] * len(parts)
    for tensor in order:
        names = [name for name in parts[tensor.place] if name] or [f"tensor_{tensor.place}"]
        chosen[tensor.place] = next((name for name in names if name not in taken), names[0])
        taken.add(chosen[tensor.place])
    return tuple(chosen)
