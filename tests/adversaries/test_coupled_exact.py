"""The adversary who knows all loads, against a list of all assignments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blindcal.adversaries.coupled_exact import (
    all_loads,
    check_loads,
    exact_finding,
    exact_reviewers,
    first_assignment,
    is_small,
    network,
    true_loads,
)
from blindcal.adversaries.single_paper import authors
from blindcal.errors import InputError
from loaded_conferences import Assigned, assigned, starred
from sizes import count


def test_sums_equal_a_list_of_all_assignments() -> None:
    rng = np.random.default_rng(71)
    for _ in range(count(15, 200)):
        views, loads = assigned(rng, int(rng.integers(2, 5)))
        lister = Assigned(views, loads)
        weights = [view.weight for view in views]
        found = exact_reviewers(network(views, loads, weights))
        for mine, listed in zip(found, lister.authors(weights), strict=True):
            np.testing.assert_allclose(mine, listed, atol=1e-12)


def test_before_the_toss_all_outcomes_are_gone_through() -> None:
    rng = np.random.default_rng(72)
    for number in range(count(6, 50)):
        views, loads = assigned(rng, 2 + number % 2)
        assert is_small(views, loads)
        for policy in ("chosen", "full", "raw"):
            found = exact_finding(views, loads, policy)
            baseline, success, rise = Assigned(views, loads).gain(policy)
            assert found.baseline == pytest.approx(baseline, abs=1e-12)
            assert found.success == pytest.approx(success, abs=1e-12)
            assert found.rise == pytest.approx(rise, abs=1e-9)
            assert policy != "raw" or abs(found.added) < 1e-12


def test_after_the_toss_the_decisions_are_known() -> None:
    views, loads = assigned(np.random.default_rng(73), 3)
    seen = [replace(view, outcome={"chosen": 1.0 - view.accept["chosen"]}) for view in views]
    found = exact_finding(seen, loads, "chosen")
    masses = [view.weight * view.outcome["chosen"] for view in seen]
    listed = Assigned(views, loads).authors(masses)
    reviews = sum(len(view.scores) for view in views)
    assert found.success == pytest.approx(sum(one.max(axis=1).sum() for one in listed) / reviews)


def test_one_paper_whose_reviewers_are_free_is_as_without_loads() -> None:
    """Papers that share nobody and whose people may all have written everything: loads then tell which of a
    paper's people wrote, and with one candidate for each slot nothing else."""
    views, _ = assigned(np.random.default_rng(74), 1)
    view = views[0]
    for row in view.rows:
        loads = {view.names[i]: 1 for i in row}
        inside = np.isin(view.rows, row).all(axis=1)
        informed = view.believing(view.weight * inside)
        found = exact_reviewers(network([view], loads, [view.weight]))[0]
        np.testing.assert_allclose(found, authors(informed, informed.alone)[0], atol=1e-12)


def test_first_assignments_meet_the_loads() -> None:
    rng = np.random.default_rng(75)
    for _ in range(20):
        views, loads = assigned(rng, 5)
        found = first_assignment([(view.names, len(view.scores)) for view in views], loads, rng)
        counted = {name: sum(names.count(name) for names in found) for name in loads}
        assert counted == loads
        for view, names in zip(views, found, strict=True):
            assert len(set(names)) == len(names) == len(view.scores)
            assert set(names) <= set(view.names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda loads: {**loads, "stranger": 1}, "sum to"),
        (lambda loads: {**dict.fromkeys(loads, 0), next(iter(loads)): sum(loads.values())}, "cannot be met"),
        (lambda loads: {**dict.fromkeys(loads, 0), "stranger": sum(loads.values())}, "in no pool"),
    ],
)
def test_loads_that_do_not_fit_are_refused(change: object, message: str) -> None:
    views, loads = assigned(np.random.default_rng(76), 4)
    with pytest.raises(InputError, match=message):
        check_loads(views, change(loads))


def test_anyone_not_listed_has_the_reviews_that_are_left() -> None:
    """Pools with `*`, who may have written several reviews of a paper, against a list of all assignments."""
    rng = np.random.default_rng(77)
    for _ in range(count(6, 60)):
        views, known, _ = starred(rng, int(rng.integers(2, 4)))
        loads = all_loads(views, known)
        assert sum(loads.values()) == sum(len(view.scores) for view in views)
        lister = Assigned(views, loads)
        weights = [view.weight for view in views]
        for view, mine, listed in zip(
            views, exact_reviewers(network(views, known, weights)), lister.authors(weights), strict=True
        ):
            assert not mine[:, view.names.index("*")].any()
            np.testing.assert_allclose(mine, listed, atol=1e-12)
        for policy in ("chosen", "full"):
            found = exact_finding(views, known, policy)
            baseline, success, _ = lister.gain(policy)
            assert (found.baseline, found.success) == pytest.approx((baseline, success), abs=1e-12)


def test_samples_cannot_be_counted() -> None:
    views, loads = assigned(np.random.default_rng(76), 3)
    with pytest.raises(InputError, match="listed"):
        check_loads([replace(view, exact=False) for view in views], loads)
    with pytest.raises(InputError, match="true reviewers"):
        true_loads(views)
    truth = [replace(view, truth=tuple(view.rows[0])) for view in views]
    assert sum(true_loads(truth).values()) == sum(len(view.scores) for view in views)
