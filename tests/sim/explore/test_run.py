"""The driver: the same points for everybody, whatever happens on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.explore.errors import StoreError, WorkerError
from sim.explore.exploration import Exploration
from sim.explore.explore import explore
from sim.explore.objectives import Objective, objectives
from sim.explore.progress import Progress, Silent
from sim.explore.run import Setup, best, run
from sim.explore.work import Evaluator
from sim.explore.workers import Here, Local
from tests.sim.explore.works import SPACE, Counting, Deadly, Failing, Product, Wrong, lives, question

ROOT = Path(__file__).parents[3]


def same(one: Exploration, other: Exploration) -> bool:
    """Whether two explorations have the same points, to the last bit."""
    columns = [made.outcomes.matrix(sorted(made.outcomes.columns)) for made in (one, other)]
    return (
        one.candidates == other.candidates
        and one.outcomes.reasons == other.outcomes.reasons
        and columns[0].tobytes() == columns[1].tobytes()
    )


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Chunks of which few points have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sim.explore.run.CHUNK", 38)
        yield


@pytest.fixture(scope="module")
def whole() -> Exploration:
    """The exploration that others are held against."""
    return explore(question(), Here())


def test_the_exploration_has_all_points_and_says_which_cannot_be(whole: Exploration) -> None:
    assert len(whole) == 300
    assert whole.finished
    lost = ["few" in reason for reason in whole.outcomes.reasons]
    assert 0 < sum(lost) < 300
    for column in whole.outcomes.columns.values():
        assert np.array_equal(np.isnan(column), lost)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_points_are_the_same_for_any_number_of_workers(whole: Exploration, count: int) -> None:
    assert same(whole, explore(question(), Local(count)))


def test_a_store_changes_nothing_and_is_not_evaluated_again(whole: Exploration, tmp_path: Path) -> None:
    assert same(whole, explore(question(), Here(), tmp_path))
    work = Counting()
    assert same(whole, explore(question(work), Here(), tmp_path))
    assert work.asked == []


@dataclass
class Interrupt:
    """Presses Ctrl-C when so many points are done, so many times."""

    at: int
    times: int = 1
    seen: list[Progress] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        """Watch."""
        self.seen.append(progress)
        if progress.done >= self.at and self.times:
            self.times -= 1
            signal.raise_signal(signal.SIGINT)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever watches is told of every chunk."""
    monkeypatch.setattr("sim.explore.progress.EVERY", 0.0)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("count", [0, 2])
def test_ctrl_c_ends_with_what_there_is_and_the_rest_comes_later(
    whole: Exploration, tmp_path: Path, count: int
) -> None:
    pool = Local(count) if count else Here()
    before = signal.getsignal(signal.SIGINT)
    part = explore(question(), pool, tmp_path, Interrupt(60))
    assert signal.getsignal(signal.SIGINT) is before
    assert not part.finished
    assert 60 <= len(part) < 300
    assert part.candidates == whole.candidates[: len(part)]
    assert part.outcomes.reasons == whole.outcomes.reasons[: len(part)]
    work = Counting()
    assert same(whole, explore(question(work), Here(), tmp_path))
    assert sum(work.asked) <= 300 - len(part)


@pytest.mark.usefixtures("often")
def test_ctrl_c_pressed_twice_ends_at_once_and_the_store_is_sound(whole: Exploration, tmp_path: Path) -> None:
    pool = Local(2)
    with pytest.raises(KeyboardInterrupt):
        explore(question(), pool, tmp_path, Interrupt(60, times=2))
    assert all(ended(number) for number in pool.processes)
    assert same(whole, explore(question(), Here(), tmp_path))


def ended(number: int, seconds: float = 10.0) -> bool:
    """Whether a process is gone, or soon will be."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(number, 0)
            if Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("at_once", [False, True])
def test_what_is_under_way_is_finished_unless_workers_end_at_once(at_once: bool) -> None:
    asked = question()
    pool = Local(1)
    pool.begin(Evaluator(asked.space, asked.works, asked.objectives))
    generator = np.random.default_rng(0)
    chunks = [asked.space.at(generator.random((3, len(asked.space.axes)))) for _ in range(2)]
    futures = [pool.submit(chunk, "analytic") for chunk in chunks]
    pool.close(*[True] * at_once)
    for future in futures:
        reasons = future.result(timeout=30).reasons
        assert all("ends workers" in reason for reason in reasons) == at_once
    assert all(ended(number) for number in pool.processes)


def test_a_worker_that_is_killed_costs_nothing_but_time(whole: Exploration, tmp_path: Path) -> None:
    assert same(whole, explore(question(Deadly(folder=lives(tmp_path, 1))), Local(2)))
    assert not list(tmp_path.iterdir())


def test_a_chunk_that_kills_workers_twice_becomes_points_with_the_reason(
    whole: Exploration, tmp_path: Path
) -> None:
    found = explore(question(Deadly(folder=lives(tmp_path, 2))), Local(1))
    killed = [n for n, reason in enumerate(found.outcomes.reasons) if "signal 9" in reason]
    assert killed
    assert killed == list(range(killed[0], killed[-1] + 1))
    assert len(killed) < 300
    others = [n for n in range(300) if n not in set(killed)]
    assert [found.outcomes.reasons[n] for n in others] == [whole.outcomes.reasons[n] for n in others]


@pytest.mark.parametrize("count", [0, 1])
def test_errors_of_a_workload_are_errors_and_what_it_prints_does_no_harm(count: int) -> None:
    with pytest.raises(Wrong, match="too many"):
        explore(question(Failing()), Local(count) if count else Here())


def test_workers_that_cannot_start_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.explore.workers.BOOT", "import sys; sys.exit(7)")
    with pytest.raises(WorkerError, match=r"exit code 7.*workers=0"):
        explore(question(), Local(2))


def test_functions_of_notebooks_go_to_workers_with_cloudpickle_only(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cloudpickle")
    factor = 0.5
    mine = Objective("mine", "cycles", lambda figures, machines, weights: figures["product"].cycles * factor)
    asked = question(objectives=(mine,))
    assert same(explore(asked, Here()), explore(asked, Local(1)))
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(WorkerError, match="install cloudpickle"):
        explore(asked, Local(1))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"seed": 1}, "seed: the store has 0, this exploration 1"),
        ({"strategy": "sobol"}, 'strategy: the store has "random", this exploration "sobol"'),
        ({"mode": "events"}, 'mode: the store has "analytic", this exploration "events"'),
        (
            {"works": (Product(digest="2"),)},
            r'models.product.digest: the store has "1", this exploration "2"',
        ),
        ({"works": (Product(weight=2.0),)}, "models.product.weight: the store has 1.0, this exploration 2.0"),
        ({"works": (Product("other"),)}, "models.product: the store has"),
        ({"objectives": objectives(("latency", "cycles"))}, r'objectives\[1\].name: the store has "energy"'),
        ({"objectives": objectives(("latency",))}, "objectives: the store has"),
        ({"version": "tosajit 9"}, 'version: the store has "", this exploration "tosajit 9"'),
    ],
)
def test_a_store_of_something_else_is_refused_by_name(
    changes: dict[str, Any], text: str, tmp_path: Path
) -> None:
    explore(question(points=40), Here(), tmp_path)
    with pytest.raises(StoreError, match=text):
        explore(question(points=40, **changes), Here(), tmp_path)


def test_a_store_of_another_space_is_refused_with_the_field_that_differs(tmp_path: Path) -> None:
    explore(question(points=40), Here(), tmp_path)
    other = type(SPACE)("systolic-16", {"array.rows": [4, 8]})
    with pytest.raises(
        StoreError, match=r"array.rows: the store has \[4, 8, 16, 32\], this exploration \[4, 8\]"
    ):
        explore(question(points=40, space=other), Here(), tmp_path)


def test_more_points_of_a_sequence_go_on_from_those_that_are_there(
    whole: Exploration, tmp_path: Path
) -> None:
    asked = replace(question(), strategy="sobol")
    explore(replace(asked, points=100), Here(), tmp_path)
    work = Counting()
    assert same(explore(asked, Here()), explore(replace(asked, works=(work,)), Here(), tmp_path))
    assert len(work.asked) == 6  # the two chunks that were whole are not evaluated again


def test_candidates_that_the_strategy_does_not_ask_for_any_more_are_refused(tmp_path: Path) -> None:
    asked = replace(question(), strategy="latin", points=40)
    explore(asked, Here(), tmp_path)
    with pytest.raises(StoreError, match="number of points that it was made with"):
        explore(replace(asked, points=50), Here(), tmp_path)


def test_the_best_are_confirmed_once(tmp_path: Path) -> None:
    work = Counting()
    found = explore(question(work, confirm=5), Here(), tmp_path)
    assert len(found.confirmed) == len(work.followed) == 5
    front = set(found.front_numbers.tolist())
    assert set(found.confirmed) <= front or front <= set(found.confirmed)
    for number, outcome in found.confirmed.items():
        ratio = outcome.columns["latency"][0] / found.outcomes.columns["latency"][number]
        assert ratio == pytest.approx(9 / 8, rel=1e-3)
    more = explore(question(work, confirm=7), Here(), tmp_path)
    assert len(work.followed) == 7
    assert list(more.confirmed)[:5] == list(found.confirmed)
    assert set(explore(question(confirm=7), Local(2)).confirmed) == set(more.confirmed)


def test_the_front_comes_before_what_is_best_in_one_objective_only() -> None:
    values = np.array([[1, 9], [2, 2], [1, 10], [9, 1], [np.inf, np.inf], [3, 3]], np.float64)
    assert best(values, 3) == [0, 3, 1]
    assert best(values, 9) == [0, 3, 1, 2, 5]


def test_all_points_may_be_followed_by_events() -> None:
    analytic, events = (explore(question(points=20, mode=mode), Here()) for mode in ("analytic", "events"))
    assert analytic.outcomes.reasons == events.outcomes.reasons
    ratio = events.outcomes.columns["latency"] / analytic.outcomes.columns["latency"]
    assert np.nanmax(abs(ratio - 9 / 8)) < 1e-3
    assert same(events, explore(question(points=20, mode="events"), Local(2)))


class Learner:
    """Asks for machines next to the best one so far; notes what it is told."""

    name, learns = "learner", True

    def __init__(self) -> None:
        self.batches = [SPACE.at(np.random.default_rng(n).random((70, 4))) for n in range(3)]
        self.told: list[tuple[list[object], np.ndarray]] = []
        self.asked = 0

    def ask(self) -> list[object]:
        """The next batch; it must have been told of the one before."""
        assert len(self.told) == self.asked
        self.asked += 1
        return self.batches[self.asked - 1] if self.asked <= 3 else []  # type: ignore[return-value]

    def tell(self, candidates: list[object], values: np.ndarray) -> None:
        """Note it."""
        self.told.append((candidates, values))


@pytest.mark.parametrize("count", [0, 2])
def test_a_strategy_that_learns_is_told_of_each_batch_in_order(count: int) -> None:
    asked, learner = question(), Learner()
    evaluator = Evaluator(asked.space, asked.works, asked.objectives)
    found = run(Setup(evaluator, learner, Local(count) if count else Here(), Silent(), None))  # type: ignore[arg-type]
    assert [candidates for candidates, _ in learner.told] == learner.batches
    values = np.concatenate([values for _, values in learner.told])
    lost = np.array([bool(reason) for reason in found.outcomes.reasons])
    assert np.array_equal(np.isinf(values), np.stack([lost, lost], axis=1))
    assert np.array_equal(values[~lost, 0], found.outcomes.columns["latency"][~lost])


def test_what_is_to_be_large_is_told_with_its_sign() -> None:
    asked = question()
    most = replace(asked.objectives[0], goal="max")
    learner = Learner()
    evaluator = Evaluator(asked.space, asked.works, (most,))
    found = run(Setup(evaluator, learner, Here(), Silent(), None))  # type: ignore[arg-type]
    values = np.concatenate([values for _, values in learner.told])[:, 0]
    feasible = np.isfinite(values)
    assert np.array_equal(values[feasible], -found.outcomes.columns["latency"][feasible])


@pytest.mark.usefixtures("often")
def test_progress_counts_and_ends_at_the_total(whole: Exploration) -> None:
    seen: list[Progress] = []
    explore(question(), Here(), progress=seen.append)
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    last = seen[-1]
    assert (last.done, last.total) == (300, 300)
    assert last.infeasible == sum(map(bool, whole.outcomes.reasons))
    assert last.best["latency"] == np.nanmin(whole.outcomes.columns["latency"])
    assert last.seconds_left == 0
    assert "300 of 300 points" in str(last)


SCRIPT = """
import sys
from pathlib import Path
from tests.sim.explore.works import question
from sim.explore.explore import explore
from sim.explore.workers import Local
pool = Local(2)
print(*pool.processes, flush=True)
explore(question(points=int(sys.argv[2])), pool, Path(sys.argv[1]), lambda p: print(p.done, flush=True))
"""
"""Without a guard, as people write scripts."""


def script(folder: Path, points: int) -> subprocess.Popen[str]:
    """A script that explores."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT, str(folder), str(points)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def killed(folder: Path, points: int, after: int) -> bool:
    """Kill a script when it has told of so many points; whether that was in time. Its workers end, too."""
    with script(folder, points) as process:
        assert process.stdout is not None
        workers = [int(number) for number in process.stdout.readline().split()]
        for line in process.stdout:
            if int(line) >= after:
                break
        early = process.poll() is None
        process.kill()
    assert all(ended(number) for number in workers)
    return early


def check_kills(folder: Path, points: int, moments: list[int]) -> None:
    """Kill at these moments, then go on to the end: nothing differs, and something was kept."""
    for moment in moments:
        killed(folder, points, moment)
    work = Counting()
    found = explore(question(work, points=points), Here(), folder)
    assert same(found, explore(question(points=points), Here()))
    assert sum(work.asked) < points


def test_results_are_the_same_after_a_kill_at_any_moment(tmp_path: Path) -> None:
    check_kills(tmp_path, 2000, [1, 700])


@pytest.mark.slow
def test_results_are_the_same_after_ten_kills_at_random_moments(tmp_path: Path) -> None:
    moments = sorted(np.random.default_rng(5).integers(1, 4900, 10).tolist())
    check_kills(tmp_path, 5000, moments)
