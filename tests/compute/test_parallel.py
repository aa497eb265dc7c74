"""Work shared out: results in order, few threads, and a problem in one process ends all."""

from __future__ import annotations

import os
from time import sleep

import pytest

from blindcal.compute import parallel
from blindcal.compute.parallel import parallel_map


def test_workers_give_results_in_order_and_count_them():
    done: list[int] = []
    items = list(range(-60, 60))
    assert parallel_map(abs, items, workers=2, advance=done.append) == [abs(item) for item in items]
    assert sum(done) == len(items)


def _slow(item: int) -> tuple[int, int]:
    sleep(0.2)
    return item, os.getpid()


def test_few_items_are_shared_out_once_they_take_long(monkeypatch):
    pytest.importorskip("joblib")
    monkeypatch.setattr(parallel, "_PATIENCE", 0.3)
    found = parallel_map(_slow, list(range(8)), workers=2)
    assert [item for item, _ in found] == list(range(8))
    here = [pid == os.getpid() for _, pid in found]
    assert here[0]
    assert not here[-1]


@pytest.mark.parametrize("patience", [0.0, 0.1, 60.0])
def test_what_is_kept_of_a_result_is_chosen_here_as_it_comes(monkeypatch, patience):
    """Whoever made it: this process, workers, or both."""
    monkeypatch.setattr(parallel, "_PATIENCE", patience)
    here, results = os.getpid(), list[int]()

    def kept(item: int, result: tuple[int, int]) -> tuple[int, int]:
        assert os.getpid() == here
        results.append(item)
        return -result[0], item

    found = parallel_map(_slow, list(range(8)), workers=2, kept=kept)
    assert found == [(-value, item) for item, (value, _) in enumerate(map(_slow, range(8)))]
    assert sorted(results) == list(range(8))


def _threads(name: str) -> str | None:
    return os.environ.get(name)


def test_workers_have_one_thread_each_and_leave_the_environment_as_it_was(monkeypatch):
    pytest.importorskip("joblib")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = dict(os.environ)
    assert set(parallel_map(_threads, ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"] * 30, workers=2)) == {"1"}
    assert dict(os.environ) == before


def test_a_thousand_processes_are_not_started(monkeypatch):
    """They would take the machine down; what is computed does not depend on their number."""
    loky = pytest.importorskip("joblib.externals.loky")
    started: list[int] = []

    def pool(count: int, **settings):
        started.append(count)
        return loky.ProcessPoolExecutor(2)

    monkeypatch.setattr(loky, "get_reusable_executor", pool)
    assert dict(parallel.unordered_results(abs, [-1, -2, -3], 1000)) == {0: 1, 1: 2, 2: 3}
    assert started == [max(8, 2 * parallel.available_cores())]
