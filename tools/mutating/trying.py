"""Trying mutants: a suite is imported once, and its tests run for each mutant in a fork of that process."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Literal

import pytest

from mutating.forks import Notes, clock, forked
from mutating.mutations import Mutant
from mutating.patching import Calls, Patch, Place, forget

PACKAGES = ("tiling", "sim", "tosajit")
SESSION = Path(__file__).with_name("session.py")

FEW = 3
"""For fewer mutants than this it does not pay to find out first what each test meets."""

Fate = Literal["survived", "outlived", "killed", "hangs", "crashed", "unsound"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of the processor that tests may take."""

    test: float
    """One test: if it takes more, it hangs, which is a failure."""
    mutant: float
    """All tests of a mutant: when they are spent, no more tests begin, and it has outlived them."""
    suite: float
    """All tests of a suite, without a mutant: those that do not fit are left out."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    fate: Fate
    """`outlived`: its tests passed as far as there was time. `unsound`: they fail without it as well."""
    test: str = ""
    """The test that noticed."""
    tests: int = 0
    """How many tests were run."""
    seconds: float = 0

    @property
    def killed(self) -> bool:
        """Whether a test noticed."""
        return self.fate in ("killed", "hangs", "crashed")

    def __str__(self) -> str:
        seen = self.test if self.killed else f"{self.tests} tests"
        return f"{self.fate:8} {self.seconds:5.1f} s  {self.mutant}\n{'':11}{seen}"


@dataclass(frozen=True, slots=True)
class Known:
    """What a test does without mutants."""

    test: str
    passed: bool | None
    """None where nobody has tried."""
    seconds: float
    reached: frozenset[Place]

    @property
    def file(self) -> str:
        """The file that it is in."""
        return self.test.partition("::")[0]


class Suite:
    """A plugin of pytest: once tests are collected, it runs them for each mutant in place of once."""

    def __init__(self, mutants: Sequence[Mutant], limits: Limits, tell: Callable[[Verdict], None]) -> None:
        self.mutants, self.limits, self.tell = mutants, limits, tell
        self.root = Path.cwd()
        self.calls = Calls(self.root, PACKAGES)
        self.items: dict[str, pytest.Item] = {}
        self.imported: frozenset[Place] = frozenset()
        self.known: list[Known] = []

    def pytest_collection(self) -> None:
        """Listen to what importing calls."""
        self.calls.start()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find out what each test does, then try the mutants."""
        self.imported = self.calls.stop()
        self.items = {} if session.testsfailed else {item.nodeid: item for item in session.items}
        forget()
        if len(self.mutants) >= FEW:
            rows, _ = forked(self._baseline, inf)  # each test has its own limits
            self.known = [
                Known(test, passed, seconds, frozenset((file, line, name) for file, line, name in reached))
                for test, passed, seconds, reached in rows
            ]
        else:
            self.known = [Known(test, None, 0, frozenset()) for test in self.items]
        for mutant in self.mutants:
            self.tell(self._verdict(mutant))
        return True

    def _baseline(self, notes: Notes) -> None:
        """Run every test as long as there is time."""
        for test, item in self.items.items():
            began = time.process_time()
            if began > self.limits.suite:
                return
            clock(self.limits.test)
            self.calls.start()
            passed = passes(item, None)
            reached = self.calls.stop()
            notes.leave(test, passed, time.process_time() - began, sorted(reached))

    def _verdict(self, mutant: Mutant) -> Verdict:
        """What becomes of a mutant; a test that fails without it as well is left out from then on."""
        while True:
            verdict = self._tried(mutant)
            place = next((n for n, one in enumerate(self.known) if one.test == verdict.test), None)
            if not verdict.killed or place is None or self.known[place].passed:
                return verdict
            rows, stopped = forked(partial(self._run, [verdict.test], None), self.limits.test)
            passed = bool(rows) and rows[-1][0] == "survived" and not stopped
            self.known[place] = replace(self.known[place], passed=passed)

    def _tried(self, mutant: Mutant) -> Verdict:
        """Put a mutant into the file, and into memory where that is enough; run what meets it."""
        path, began = self.root / mutant.path, time.monotonic()
        times, text = path.stat(), path.read_text(encoding="utf-8")
        changed = mutant.applied(text)
        patch = Patch.of(text, changed, self.root, mutant.path)
        tests = self.chosen(mutant.path, patch.innermost if patch else None)
        if not tests:
            return Verdict(mutant, "unsound")
        if patch is None or patch.place in self.imported or patch.needs_import:
            work = partial(_fresh, tests, self.limits)
        else:
            work = partial(self._run, tests, patch)
        path.write_text(changed, encoding="utf-8")
        try:
            rows, stopped = forked(work, self.limits.mutant + self.limits.test)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        fate: Fate
        fate, test, count = rows[-1] if rows else ("unsound", "", 0)
        return Verdict(mutant, "hangs" if stopped else fate, test, count, time.monotonic() - began)

    def chosen(self, path: str, place: Place | None) -> list[str]:
        """Tests for a fault: those that meet the function before others of their files, cheap ones first.

        The others count too: what was found out once and remembered is met by the first test alone. For a
        fault that importing meets, or that runs unheard, they are all tests: those of files that meet the
        module, then those that may read what it declares without a call; those in front that are called
        after it.
        """
        sound = [known for known in self.known if known.passed is not False]
        meeting = sorted((known for known in sound if place in known.reached), key=lambda one: one.seconds)
        near = meeting or [known for known in sound if any(file == path for file, _, _ in known.reached)]
        files = list(dict.fromkeys(known.file for known in (near if meeting else (*near, *sound))))
        others = sorted(
            (known for known in sound if known.file in files),
            key=lambda one: (Path(path).stem not in one.test, files.index(one.file), one.seconds),
        )
        return list(dict.fromkeys(known.test for known in (*meeting, *others)))

    def _run(self, tests: Sequence[str], patch: Patch | None, notes: Notes) -> None:
        if patch is not None:
            patch.apply()
        run([self.items[test] for test in tests], self.limits, notes)


class Fresh:
    """A plugin of pytest: runs some tests in a given order, up to the first that fails."""

    def __init__(self, tests: Sequence[str], limits: Limits, notes: Notes) -> None:
        self.tests, self.limits, self.notes = tests, limits, notes

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests; one that is gone has failed."""
        items = {item.nodeid: item for item in session.items}
        if session.testsfailed or not items.keys() >= set(self.tests):
            self.notes.leave("killed", "when tests are collected", 0)
        else:
            run([items[test] for test in self.tests], self.limits, self.notes)
        return True


def _fresh(tests: Sequence[str], limits: Limits, notes: Notes) -> None:
    """Become a process that imports everything with the fault in it."""
    notes.leave("crashed", "when tests are collected", 0)
    order = notes.path.with_name("order")
    order.write_text(json.dumps([tests, asdict(limits), str(notes.path)]), encoding="utf-8")
    os.execv(sys.executable, [sys.executable, str(SESSION), "fresh", str(order)])


def run(items: Sequence[pytest.Item], limits: Limits, notes: Notes) -> None:
    """Run tests up to the first that fails, and note how it goes."""
    began = time.process_time()
    for number, item in enumerate(items):
        if time.process_time() - began > limits.mutant:
            notes.leave("outlived", "", number)
            return
        notes.leave("crashed", item.nodeid, number)
        clock(limits.test)
        if not passes(item, items[number + 1] if number + 1 < len(items) else None):
            notes.leave("killed", item.nodeid, number + 1)
            return
    notes.leave("survived", "", len(items))


class Failures:
    """A plugin of pytest: whether a report is one of a failure."""

    def __init__(self) -> None:
        self.any = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Look at a report."""
        self.any = self.any or report.failed


def passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Whether a test does not fail, run as pytest does it, with the marks and filters that it has."""
    failures, plugins = Failures(), item.config.pluginmanager
    plugins.register(failures)
    item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
    plugins.unregister(failures)
    return not failures.any
