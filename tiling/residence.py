"""Residence: which tensors live in the scratchpad: those that spare most traffic for their room."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tiling.allocate import Lifetime
from tiling.choose import Setting, cheapest, setting, weights_of
from tiling.level2 import settled
from tiling.making import aligned
from tiling.nest import Nest
from tiling.program import Operand
from tiling.records import replace
from tiling.target import Place, Target

MANY = 64
"""Tensors that would make so many other groups change their tiles stay outside."""


@dataclass
class Stay:
    """A tensor that may live in the scratchpad, and the groups that use it."""

    life: Lifetime
    uses: list[int]


def homes(nests: Sequence[Nest], operands: Mapping[str, Operand], target: Target) -> dict[str, Place]:
    """Where each operand is to live, if there is room."""
    factors = {nest.accesses[number].operand for nest in nests for number in weights_of(nest, operands)}
    found: dict[str, Place] = {}
    for name, operand in operands.items():
        if operand.kind == "constant":
            found[name] = target.weights if name in factors else target.constants
        else:
            kept = operand.kind == "temporary" and target.kept
            found[name] = "scratchpad" if kept else target.values
    return found


def stays(nests: Sequence[Nest], operands: Mapping[str, Operand], target: Target) -> dict[str, Stay]:
    """The tensors that may live in the scratchpad, with lifetimes over the nests."""
    where, end = homes(nests, operands, target), max(len(nests) - 1, 0)
    found: dict[str, Stay] = {}
    for step, nest in enumerate(nests):
        for name in nest.operands:
            if where[name] != "scratchpad":
                continue
            if name in found:
                stay = found[name]
                stay.uses.append(step)
                if step > stay.life.last:
                    stay.life = Lifetime(stay.life.bytes, stay.life.first, step)
            else:
                kind = operands[name].kind
                first = 0 if kind in ("input", "constant") else step
                last = end if kind in ("output", "constant") else step
                found[name] = Stay(Lifetime(aligned(operands[name].bytes, target), first, last), [step])
    return found


class Residence:
    """Tensors in the scratchpad so far, the room that is left at each step, and what its group then moves."""

    def __init__(
        self,
        nests: Sequence[Nest],
        operands: Mapping[str, Operand],
        target: Target,
        like: Residence | None = None,
    ) -> None:
        self.nests, self.target = nests, target
        self.capacity = target.scratch_bytes or 0
        self.operands = dict(operands)
        self.inside: set[str] = set()
        self.names = [tuple(access.operand for access in nest.accesses) for nest in nests]
        if like is None:
            self.stays = stays(nests, operands, target) if target.cores == 1 else {}
            self.settings = [setting(nest, operands, target, len(nests)) for nest in nests]
            self._settings: dict[tuple[int, tuple[bool, ...]], Setting] = {}
        else:
            self.stays, self.settings, self._settings = like.stays, list(like.settings), like._settings
        self.left = np.full(len(nests), self.capacity)
        self._known: dict[object, tuple[float, int]] = {} if like is None else like._known
        self.cost = np.zeros(len(nests))
        self.need = np.zeros(len(nests), np.int64)
        self.tight = False
        """Whether not all can live in the scratchpad, or leave groups little room, so that it may not pay."""
        self.chosen = False
        """Whether it was for each that it was let in."""

    def settle(self, eager: bool = True, spared: int = 0) -> None:
        """Let in all, if each group then still has a tile; else one after another, as far as that pays.

        So many bytes are `spared` for tiles, as if the scratchpad were smaller.
        """
        self.left -= spared
        everything = [name for name, stay in self.stays.items() if stay.life.bytes <= self.capacity]
        for name in everything:
            self._enter(name)
        together = self._feasible()
        self.tight = not together or self._costly()
        self.chosen = not together or (self.tight and not eager)
        if self.chosen:
            for name in everything:
                self._leave(name)
            for step in range(len(self.nests)):
                self.cost[step], self.need[step] = self._cheapest(step)
            for name in sorted(everything, key=self._merit, reverse=True):
                self._try(name)
        self.left += spared
        for name in self.inside:
            self.operands[name] = replace(self.operands[name], place="scratchpad")

    def drop(self, steps: Sequence[int]) -> None:
        """Move the tensor of least merit out that lives at each of the steps, unless one has gone already."""
        inside: dict[int, list[str]] = {}
        wanted = sorted(steps)
        for name in self.inside:
            life = self.stays[name].life
            for step in wanted[bisect_left(wanted, life.first) : bisect_right(wanted, life.last)]:
                inside.setdefault(step, []).append(name)
        for step in wanted:
            names = inside.get(step, [])
            if names and all(name in self.inside for name in names):
                out = min(names, key=lambda name: (self._merit(name), name))
                self._leave(out)
                self.operands = {**self.operands, out: replace(self.operands[out], place="offchip")}

    @property
    def spare(self) -> int:
        """What no step needs for tensors."""
        return int(self.left.min(initial=self.capacity))

    def outside(self) -> None:
        """Decide what lives in level 2 of all that is not in the scratchpad."""
        if self.target.level2_bytes:
            self.operands = settled(self.nests, self.operands, self.target)

    def in_level2(self, step: int) -> tuple[bool, ...]:
        """Accesses of a group whose operand is in level 2."""
        if not self.target.level2_bytes:
            return ()
        return tuple([self.operands[name].place == "level2" for name in self.names[step]])

    def setting(self, step: int) -> Setting:
        """What the choice of a group's tile depends on."""
        inside = tuple([name in self.inside for name in self.names[step]])
        at = self.settings[step]
        if at.inside != inside:
            at = self._settings.get((step, inside)) or replace(at, inside=inside)
            self.settings[step] = self._settings[step, inside] = at
        return at

    def _merit(self, name: str) -> float:
        """Traffic spared for each byte and step of the scratchpad."""
        stay = self.stays[name]
        stored = self.operands[name].stored_bytes
        part = 1.0 if stored is None else stored / max(self.operands[name].bytes, 1)
        return part * len(stay.uses) / (stay.life.last - stay.life.first + 1)

    def _enter(self, name: str) -> None:
        life = self.stays[name].life
        self.left[life.first : life.last + 1] -= life.bytes
        self.inside.add(name)

    def _leave(self, name: str) -> None:
        life = self.stays[name].life
        self.left[life.first : life.last + 1] += life.bytes
        self.inside.remove(name)

    def _feasible(self) -> bool:
        if (self.left < 0).any():
            return False
        for step in range(len(self.nests)):
            at = self.setting(step)
            if not self.target.direct and at.menu.smallest(at.inside) > self.left[step]:
                return False
        return True

    def _costly(self) -> bool:
        """Whether what is let in leaves a group less than half of the scratchpad, or makes it move more."""
        if self.left.min(initial=self.capacity) * 2 < self.capacity:
            return True
        steps = [step for step in range(len(self.nests)) if self.left[step] < self.capacity]
        return any(self._cheapest(step)[0] > self._cheapest(step, self.capacity)[0] for step in steps)

    def _cheapest(self, step: int, room: int | None = None) -> tuple[float, int]:
        at, room = self.setting(step), int(self.left[step]) if room is None else room
        if room < 0:
            return float("inf"), 0
        key = id(at.menu), at.inside, at.weights, at.scale, room
        if key not in self._known:
            self._known[key] = cheapest(at, self.target, room)
        return self._known[key]

    def _try(self, name: str) -> None:
        """Let a tensor in if there is room, and if its group and those between move less in all."""
        stay = self.stays[name]
        first, last = stay.life.first, stay.life.last + 1
        if (self.left[first:last] < stay.life.bytes).any():
            return
        self._enter(name)
        tight = np.flatnonzero(self.need[first:last] > self.left[first:last]) + first
        if len(tight) <= MANY:
            steps = sorted({*stay.uses, *tight.tolist()})
            found = [self._cheapest(step) for step in steps]
            if sum(cost for cost, _ in found) <= self.cost[steps].sum():
                for step, (cost, need) in zip(steps, found, strict=True):
                    self.cost[step], self.need[step] = cost, need
                return
        self._leave(name)
