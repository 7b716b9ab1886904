"""Heaps as C++'s standard library keeps them: which of equal elements comes first is decided by its steps."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")
Less = Callable[[T, T], bool]


def push(heap: MutableSequence[T], element: T, less: Less[T]) -> None:
    """Add an element to a heap whose greatest one is at the front."""
    heap.append(element)
    _raise(heap, len(heap) - 1, 0, element, less)


def pop(heap: MutableSequence[T], less: Less[T]) -> T:
    """Take the greatest element."""
    greatest, last = heap[0], heap.pop()
    if heap:
        _lower(heap, 0, len(heap), last, less)
    return greatest


def partial_sort(elements: Sequence[T], count: int, less: Less[T]) -> list[T]:
    """The elements with the first `count` of them in order, as `std::partial_sort` leaves them."""
    found = list(elements)
    for place in reversed(range(count // 2)):
        _lower(found, place, count, found[place], less)
    for place in range(count, len(found)):
        if count and less(found[place], found[0]):
            one, found[place] = found[place], found[0]
            _lower(found, 0, count, one, less)
    for end in reversed(range(1, count)):
        one, found[end] = found[end], found[0]
        _lower(found, 0, end, one, less)
    return found


def _lower(heap: MutableSequence[T], place: int, size: int, element: T, less: Less[T]) -> None:
    """Move a hole to the bottom along the greater children, and an element up from there."""
    top = place
    while (child := 2 * place + 2) <= size:
        if child == size or less(heap[child], heap[child - 1]):
            child -= 1
        heap[place] = heap[child]
        place = child
    _raise(heap, place, top, element, less)


def _raise(heap: MutableSequence[T], place: int, top: int, element: T, less: Less[T]) -> None:
    while place > top and less(heap[parent := (place - 1) // 2], element):
        heap[place] = heap[parent]
        place = parent
    heap[place] = element
