"""Orders of nodes: a topological one, or the cycle that forbids it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tosajit.graph import Node


def topological(nodes: Sequence[Node]) -> list[Node]:
    """The nodes so that each comes after those it reads from, and else as they were; cycles are left out."""
    writers = {name: number for number, node in enumerate(nodes) for name in node.outputs}
    waiting: list[int] = []
    readers: dict[int, list[int]] = {}
    for number, node in enumerate(nodes):
        sources = {writers[name] for name in node.inputs if name in writers}
        waiting.append(len(sources))
        for source in sources:
            readers.setdefault(source, []).append(number)
    return [nodes[number] for number in _walk(waiting, readers)]


def _walk(waiting: list[int], readers: Mapping[int, Sequence[int]]) -> list[int]:
    from heapq import heappop, heappush

    ready = [number for number, count in enumerate(waiting) if count == 0]
    order: list[int] = []
    while ready:
        number = heappop(ready)
        order.append(number)
        for reader in readers.get(number, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, reader)
    return order


def cycle(nodes: Sequence[Node], writers: Mapping[str, Node | None]) -> tuple[str, ...]:
    """The names of nodes that need each other's results, or nothing."""
    if _in_order(nodes, writers):
        return ()
    left = {id(node) for node in nodes} - {id(node) for node in topological(nodes)}
    node = next((node for node in nodes if id(node) in left), None)
    path: list[Node] = []
    place: dict[int, int] = {}
    while node is not None and id(node) not in place:
        place[id(node)] = len(path)
        path.append(node)
        sources = (writers.get(name) for name in node.inputs)
        node = next((source for source in sources if source is not None and id(source) in left), None)
    if node is None:
        return ()
    return tuple(step.name for step in reversed([*path[place[id(node)] :], node]))


def _in_order(nodes: Sequence[Node], writers: Mapping[str, Node | None]) -> bool:
    seen: set[str] = set()
    for node in nodes:
        for name in node.inputs:
            if name not in seen and writers.get(name) is not None:
                return False
        seen.update(node.outputs)
    return True
