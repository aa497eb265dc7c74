"""Jobs: how far they are, their result or error, and their end when they are canceled."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from blindcal.app.session import CanceledError, Job
from blindcal.compute.parallel import Progress, parallel_map


def ended(job: Job) -> None:
    job.start()
    job.wait(30.0)
    assert not job.state.running


def test_a_job_tells_its_steps_and_hands_over_its_result() -> None:
    told: list[tuple[Any, BaseException | None]] = []
    seen, halfway = Event(), Event()

    def work(progress: Progress) -> str:
        with progress("weighing 4 papers", 4) as advance:
            advance(1)
            advance(1)
            seen.set()
            assert halfway.wait(30.0)
            advance(5)
        return "found"

    job = Job("job", work, lambda result, error: told.append((result, error)))
    assert job.state.work == "job"
    job.start()
    assert seen.wait(30.0)
    state = job.state
    assert (state.work, state.done, state.steps, state.running) == ("weighing 4 papers", 2, 4, True)
    halfway.set()
    job.wait(30.0)
    assert told == [("found", None)]
    assert (job.state.done, job.state.running, job.state.canceled) == (4, False, False)


def test_an_error_is_handed_over() -> None:
    told: list[BaseException | None] = []
    failure = ValueError("no")

    def work(progress: Progress) -> None:
        raise failure

    ended(Job("job", work, lambda result, error: told.append(error)))
    assert told == [failure]


@pytest.mark.parametrize("before", [True, False])
def test_a_canceled_job_stops_at_its_next_step(before: bool) -> None:
    told: list[BaseException | None] = []
    seen, go = Event(), Event()
    done: list[int] = []

    def one(item: int) -> int:
        done.append(item)
        seen.set()
        assert go.wait(30.0)
        return item

    def work(progress: Progress) -> list[int]:
        with progress("items", 10) as advance:
            return parallel_map(one, range(10), advance=advance)

    job = Job("job", work, lambda result, error: told.append(error))
    if before:
        job.cancel()
    job.start()
    if not before:
        assert seen.wait(30.0)
        job.cancel()
        assert job.state.canceled
        go.set()
    job.wait(30.0)
    assert isinstance(told[0], CanceledError)
    assert len(done) == (0 if before else 1)
