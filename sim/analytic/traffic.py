"""What layers move between the memories on many machines, and into how many tiles the room cuts them.

A tensor stays in the scratchpad if it fits beside all that lives at the same time. What a layer has to fetch
is fetched once if one side of it fits: weights stay while positions pass, or positions while filters pass.
Otherwise one of the sides comes again for every part of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from sim.analytic.fleet import Fleet
from sim.analytic.stripes import Striped
from sim.analytic.workload import Tensors

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
KEYS = ("bytes", "weights_in", "constants_in", "values_in", "direct", "double", "streams_filters")
GRANULE = 16
"""Channels that tiles have at least."""
SPARE = 1 / 16
"""More of the scratchpad than it needs anyway that a program takes for loads that come early."""


@dataclass(frozen=True)
class Moved:
    """What layers move between the memories, by machine and layer."""

    values: Numbers
    """Bytes of activations read, with repetitions."""
    weights: Numbers
    constants: Numbers
    written: Numbers
    places: Numbers
    """How many activations come from outside, and how many leave."""
    leaving: Numbers
    parts: Numbers
    """Tiles that the room asks for."""
    cuts: Numbers
    """Parts of a product's positions that are products of their own, and parts of its filters."""
    slices: Numbers
    early: Flags
    """Whether there is room to load what it needs first while the layer in front is at work."""
    values_away: Numbers
    """Shares of activations read, and of results, that are not in the scratchpad."""
    results_away: Numbers
    beyond: Flags
    """Whether its boxes need more of the scratchpad than is free anyway."""
    coded: Numbers
    """Bytes of weights as they are stored, for a byte as it is used."""
    after: Flags
    """Whether the layer fetches what the layer in front stored."""
    tables: Numbers
    """Parts in which a table comes that data choose from."""

    @property
    def read(self) -> Numbers:
        """Bytes read."""
        return self.values + self.weights + self.constants


def traffic(view: Striped, fleet: Fleet) -> Moved:
    """What layers move, as a function of the scratchpad's size; machines of equal sizes move the same."""
    keys, places = np.unique(np.hstack([fleet[name] for name in KEYS]), axis=0, return_inverse=True)
    found = _moved(view, [keys[:, column, None] for column in range(len(KEYS))])
    return Moved(*(getattr(found, one.name)[places.ravel()] for one in fields(Moved)))


def _moved(view: Striped, keys: Sequence[Numbers]) -> Moved:
    size, weights_in, constants_in, inside, direct, double, streams = keys
    workload, tensors = view.workload, view.tensors
    stays = _fitting(tensors, np.minimum(workload.weights, size / 4), size, inside > 0)
    away = ~stays * tensors.bytes
    alive = tensors.alive(stays * tensors.bytes)
    wanted = weights_in * workload.weights + constants_in * workload.constants
    held = _held(wanted, size - alive - _reserve(view, away))
    weights = np.where((weights_in > 0) & held, 0, workload.weights)
    constants = np.where((constants_in > 0) & held, 0, workload.constants)
    room = size - (wanted * held).sum(axis=1, keepdims=True)
    left = np.maximum(room - alive, 64)
    values, written = tensors.passed(away)
    ratio = np.where(workload.weights > 0, workload.stored / np.maximum(workload.weights, 1), 1)
    again_values, again_weights = _again(values, weights, ratio, left / 2)
    table = np.minimum(workload.tables.prod(axis=1), constants)
    boxes = np.where(direct, 0, constants - table + np.minimum(table, left / 2))
    space = np.maximum(left - boxes, 64)
    cuts, slices, need = _tiles(view, values, weights, written, space, 1 + double, streams > 0, direct > 0)
    every, results = tensors.passed(tensors.bytes[None])
    boxed = values + weights + written
    coming, leaving = tensors.passed((away > 0).astype(np.float64))
    return Moved(
        values * again_values + (cuts - 1) * np.minimum(workload.overlap, values),
        weights * ratio * again_weights,
        constants,
        written,
        coming,
        leaving,
        np.where(boxed <= space, 1, np.ceil(boxed / (left / 2))),
        cuts,
        slices,
        _early(alive + boxes, need, room, inside),
        values / np.maximum(every, 1),
        written / np.maximum(results, 1),
        (inside > 0) & (alive + need > alive.max(axis=1, keepdims=True)),
        np.broadcast_to(ratio, values.shape),
        tensors.read.sums((away > 0)[:, tensors.read.tensors] * tensors.after) > 0,
        np.where(direct, 1, np.maximum(np.ceil(table / np.maximum(left - constants + table, left / 2)), 1)),
    )


def _again(values: Numbers, weights: Numbers, ratio: Numbers, half: Numbers) -> tuple[Numbers, Numbers]:
    """How often values come, and weights: one side is kept while the other passes.

    Each comes once if half of the room holds one of them.
    """
    fits = (weights <= half) | (values <= half)
    again_values = np.where(fits, 1, np.ceil(weights / half))
    again_weights = np.where(fits, 1, np.ceil(values / half))
    hold = values * again_values + weights * ratio <= values + weights * again_weights * ratio
    return np.where(hold, again_values, 1), np.where(hold, 1, again_weights)


def _tiles(
    view: Striped,
    values: Numbers,
    weights: Numbers,
    written: Numbers,
    room: Numbers,
    copies: Numbers,
    streams_filters: Flags,
    direct: Flags,
) -> tuple[Numbers, Numbers, Numbers]:
    """Cuts of positions, of filters, and bytes of tiles; cuts that cost the array nothing are preferred.

    Units that reach out for what they need are never forced to cut.
    """
    groups, rows, _, columns = np.maximum(view.workload.product, 1).T
    whole = values + weights + written <= room
    by_rows = np.ceil(copies * (values + written) / np.maximum(room - weights, 1))
    by_columns = np.ceil(copies * (weights + written) / np.maximum(room - values, 1))
    by_groups = np.ceil(copies * (values + weights + written) / room)
    free = (groups > 1) & (by_groups * GRANULE <= groups)
    can_rows, can_columns = (weights < room) & (by_rows <= rows), (values < room) & (by_columns <= columns)
    cuts = np.where(weights < room, by_rows, np.ceil(copies * (values + written) / (room / 2)))
    wanted = np.where(streams_filters, ~can_rows & can_columns, can_columns)
    uncut = whole | free | direct | (view.workload.product[:, 0] == 0)
    slices = np.where(uncut | ~wanted, 1, np.maximum(by_columns, 1))
    cuts = np.where(uncut | wanted, 1, np.maximum(np.ceil(cuts / view.stripes), 1))
    return cuts, slices, np.where(whole, values + weights + written, room)


def _early(alive: Numbers, need: Numbers, room: Numbers, inside: Numbers) -> Flags:
    """Whether what layers need fits beside what the layers in front need."""
    taken = alive + need
    bound = np.where(inside, np.minimum(room, taken.max(axis=1, keepdims=True) * (1 + SPARE)), room)
    fits = np.ones(taken.shape, bool)
    fits[:, 1:] = taken[:, :-1] + need[:, 1:] <= bound
    return fits


def _reserve(view: Striped, away: Numbers) -> Numbers:
    """What layers need beside constants that live in the scratchpad, so as not to move more."""
    workload = view.workload
    values, written = view.tensors.passed(away)
    _, rows, _, columns = np.maximum(workload.product, 1).T
    tile: Numbers = (values + written) / rows + workload.weights / columns
    return np.minimum(values, workload.weights) + 2 * tile


def _held(wanted: Numbers, room: Numbers) -> Flags:
    """Layers whose constants live in the scratchpad: those that come first, as far as they fit."""
    free = room.min(axis=1, initial=np.inf)
    found = np.zeros(np.broadcast_shapes(wanted.shape, room.shape), bool)
    for layer in range(wanted.shape[1]):
        found[:, layer] = wanted[:, layer] <= free
        free = free - wanted[:, layer] * found[:, layer]
    return found


def _fitting(tensors: Tensors, working: Numbers, room: Numbers, inside: Flags) -> Flags:
    """Tensors that fit at all times beside everything else that lives, and space to work in."""
    needed = tensors.alive(tensors.bytes) + working
    fits = np.zeros((len(room), len(tensors.names)), bool)
    for number in range(len(tensors.names)):
        allowed = tensors.kept[number] | inside[:, 0]
        if allowed.any():
            span = needed[:, tensors.first[number] : tensors.last[number] + 1]
            fits[:, number] = allowed & (span.max(axis=1, initial=0) <= room[:, 0])
    return fits
