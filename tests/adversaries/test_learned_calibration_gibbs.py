"""Chains over calibrations against lists of all joint assignments and against quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest, norm

from blindcal.adversaries.learned_calibration import (
    Chains,
    calibration_model,
    continue_chains,
    start_chains,
    with_decisions,
)
from blindcal.adversaries.single_paper import View, case_view
from blindcal.errors import InputError
from blindcal.policy.policy import Policy
from blindcal.posterior.paper import PaperCase
from blindcal.reviewers import Logistic
from learned_conferences import GRID, integrated, listed, paper, people, seen
from sizes import count

# Of several hundred comparisons correct chains fail one with a chance below 1e-6: seven standard errors,
# which are themselves estimated from 64 chains.
SPREAD, CHAINS = 7.0, 64


def swept_from_four_starts(
    views: Sequence[View], likely: Sequence[np.ndarray], seed: int, sweeps: int
) -> Chains:
    sheet = with_decisions(calibration_model(views), likely)
    chains = start_chains(sheet, range(4), CHAINS // 4, seed)
    return continue_chains(chains, sheet, sweeps + 100, np.random.default_rng([seed, 9]), 100)


def worst(chains: Chains, exact: Sequence[np.ndarray]) -> float:
    """By how many standard errors the chains differ from the exact chances of authors, at most."""
    share, at, gaps = chains.tally / chains.seen[:, None, None], 0, []
    for one in exact:
        slots, places = one.shape
        mine = share[:, at : at + slots, :places]
        error = mine.std(axis=0, ddof=1) / np.sqrt(len(mine))
        gaps.append(np.abs(mine.mean(axis=0) - one) / np.maximum(error, 1e-4))
        at += slots
    return float(max(gap.max() for gap in gaps))


def outcomes(views: Sequence[View], rng: np.random.Generator, policy: str) -> list[np.ndarray]:
    """What decisions say, of tuples drawn from the scores alone; of no decisions nothing."""
    if policy == "scores":
        return [np.ones_like(view.weight) for view in views]
    rows = [view.accept[policy][rng.choice(len(view.weight), p=view.weight)] for view in views]
    return [
        view.accept[policy] if rng.random() < one else 1.0 - view.accept[policy]
        for view, one in zip(views, rows, strict=True)
    ]


@pytest.mark.parametrize("policy", ["scores", "chosen", "full"])
def test_uncertain_offsets_against_all_joint_assignments(policy: str) -> None:
    """Three papers that share people, one to two reviews, unequal chances, and noise with an error."""
    rng = np.random.default_rng([171, len(policy)])
    for number in range(count(2, 20)):
        rows = people(rng, 4, errors=(0.0, 0.9, 0.0, 0.2))
        cases = [
            paper(rng, one, rows, rng.choice(list(rows), size, replace=False).tolist(), reviews)
            for one, (size, reviews) in enumerate([(3, 2), (3, 2), (4, 1)])
        ]
        views = seen(cases, rng)
        likely = outcomes(views, rng, policy)
        chains = swept_from_four_starts(views, likely, number, count(1000, 4000))
        assert worst(chains, listed(cases, likely)) < SPREAD


def test_strangers_are_somebody_else_in_every_review() -> None:
    rng = np.random.default_rng(172)
    for number in range(count(2, 20)):
        rows = people(rng, 3, errors=(0.0, 0.8, 0.0, 0.0))
        rows["*"] = (1.1, 0.2, 0.7, 0.0, 1.2, 0.0, 0.0)
        cases = [paper(rng, one, rows, ["*", f"r{one}", f"r{(one + 1) % 3}"], 2) for one in range(3)]
        views = seen(cases, rng)
        likely = outcomes(views, rng, "chosen")
        chains = swept_from_four_starts(views, likely, number, count(1000, 4000))
        assert worst(chains, listed(cases, likely)) < SPREAD


@pytest.mark.parametrize("grid", [None, GRID])
def test_uncertain_slopes_against_quadrature(grid: tuple[float, ...] | None) -> None:
    """Slope and offset of one person who is in all pools are uncertain and correlated, and the offset of
    another one; scores as they are, and rounded: then cells are integrated over qualities."""
    rng = np.random.default_rng([173, grid is None])
    for number in range(count(2, 20)):
        rows = people(rng, 4)
        rows["r0"] = (*rows["r0"][:3], 0.5, 0.9, -0.6, 0.3)
        rows["r1"] = (*rows["r1"][:3], 0.0, 0.8, 0.0, 0.0)
        pools = [(["r0", "r1", "r2"], 2), (["r0", "r2", "r3"], 1), (["r0", "r1", "r3"], 2)]
        cases = [paper(rng, one, rows, names, n, grid=grid) for one, (names, n) in enumerate(pools)]
        views = seen(cases, rng)
        likely = outcomes(views, rng, "chosen")
        chains = swept_from_four_starts(views, likely, number, count(300 if grid else 1500, 4000))
        exact = integrated(cases, likely, ["r0", "r1"], nodes=16 if grid else 24)
        assert worst(chains, exact) < SPREAD


@pytest.mark.parametrize("grid", [None, GRID])
def test_papers_that_share_nobody_are_as_they_are_one_by_one(grid: tuple[float, ...] | None) -> None:
    """Everything is uncertain, strangers too: beliefs integrate over it in each paper."""
    rng = np.random.default_rng([174, grid is None])
    rows = people(rng, 6, errors=(0.3, 0.6, 0.5, 0.2))
    rows["*"] = (0.9, -0.1, 0.6, 0.4, 0.7, -0.3, 0.1)
    cases = [
        paper(rng, one, rows, ["*", *(f"r{3 * one + k}" for k in range(3))], 2, grid=grid) for one in range(2)
    ]
    views = seen(cases, rng)
    likely = outcomes(views, rng, "chosen")
    exact = []
    for case, view, chance in zip(cases, views, likely, strict=True):
        weight = view.weight * chance / (view.weight @ chance)
        exact.append(np.array([np.bincount(slot, weight, 4) for slot in case.tuples.T]))
    chains = swept_from_four_starts(views, likely, 3, count(400, 4000))
    assert worst(chains, exact) < SPREAD


def test_without_errors_every_sweep_has_the_exact_chances() -> None:
    rng = np.random.default_rng(175)
    rows = people(rng, 5, errors=(0.0, 0.0, 0.0, 0.3))
    cases = [paper(rng, one, rows, list(rows)[one:][:4], 2) for one in range(2)]
    views = seen(cases, rng)
    sheet = calibration_model(views)
    assert not sheet.people.uncertain
    chains = continue_chains(start_chains(sheet, [1], 2, 0), sheet, 3, np.random.default_rng(0))
    for number, view in enumerate(views):
        exact = np.array([np.bincount(slot, view.weight, 4) for slot in view.rows.T])
        found = chains.tally[:, 2 * number : 2 * number + 2] / 3
        assert np.abs(found - exact).max() < 1e-12


def test_rounded_scores_without_errors_are_those_of_beliefs() -> None:
    rng = np.random.default_rng(176)
    rows = people(rng, 4)
    cases = [paper(rng, one, rows, list(rows), 2, grid=GRID) for one in range(2)]
    views = seen(cases, rng)
    exact = [np.array([np.bincount(slot, view.weight, 4) for slot in view.rows.T]) for view in views]
    chains = swept_from_four_starts(views, outcomes(views, rng, "scores"), 4, count(300, 3000))
    assert worst(chains, exact) < SPREAD


def test_only_what_is_uncertain_moves() -> None:
    rng = np.random.default_rng(177)
    rows = people(rng, 3)
    rows["r1"] = (*rows["r1"][:3], 0.0, 0.5, 0.0, 0.0)
    rows["r2"] = (*rows["r2"][:3], 0.5, 0.0, 0.0, 0.0)
    views = seen([paper(rng, 0, rows, list(rows), 2)], rng)
    sheet = calibration_model(views)
    moved = continue_chains(start_chains(sheet, [1], 8, 0), sheet, 5, rng).drawn - sheet.people.mean
    assert (moved.std(axis=0) > 0).tolist() == [[False, False], [False, True], [True, False]]


@pytest.mark.parametrize("grid", [None, GRID])
def test_the_quality_of_a_paper_whose_reviewer_is_known(grid: tuple[float, ...] | None) -> None:
    """One candidate, slope 1.2, offset 0.1, noise 0.7, who gave 1: a Kolmogorov-Smirnov test of 40,000
    chains, after 20 sweeps; false alarms 1e-7."""
    row = (1.2, 0.1, 0.7, 0.0, 0.0, 0.0, 0.0)
    case = PaperCase("p", (1.0,), ("r0",), (1.0,), (row,), bar=0.0, grid=grid)
    sheet = calibration_model(seen([case], np.random.default_rng(0)))
    chains = continue_chains(start_chains(sheet, [0], 40_000, 0), sheet, 20, np.random.default_rng(183))
    quality = np.linspace(-8.0, 8.0, 4001)
    mean = 1.2 * quality + 0.1
    likely = norm.pdf(1.0, mean, 0.7) if grid is None else norm.cdf(1.5, mean, 0.7) - norm.cdf(0.5, mean, 0.7)
    total = np.cumsum(likely * norm.pdf(quality))
    assert kstest(chains.quality[:, 0], lambda q: np.interp(q, quality, total / total[-1])).pvalue > 1e-7


def test_a_decision_that_nobody_leads_to_says_nothing() -> None:
    rng = np.random.default_rng(179)
    rows = people(rng, 3, errors=(0.0, 0.5, 0.0, 0.0))
    sheet = calibration_model(seen([paper(rng, 0, rows, list(rows), 1)], rng))
    assert np.array_equal(with_decisions(sheet, [np.zeros(3)]).blocks[0].log_base, sheet.blocks[0].log_base)


def test_papers_are_worked_on_in_parts_with_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(180)
    rows = people(rng, 5, errors=(0.3, 0.5, 0.2, 0.0))
    views = seen([paper(rng, one, rows, list(rows)[:4], 2) for one in range(5)], rng)
    found = []
    for most in (1 << 14, 24):
        monkeypatch.setattr("blindcal.adversaries.learned_calibration._AT_ONCE", most)
        sheet = calibration_model(views)
        found.append(continue_chains(start_chains(sheet, [1], 3, 0), sheet, 4, np.random.default_rng(1)))
    assert np.allclose(found[0].tally, found[1].tally, rtol=0, atol=1e-12)
    assert np.array_equal(found[0].pick, found[1].pick)


def test_wide_pools_are_summed_with_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(184)
    rows = people(rng, 5, errors=(0.3, 0.5, 0.2, 0.0))
    sheet = calibration_model(seen([paper(rng, one, rows, list(rows), 2) for one in range(3)], rng))
    found = []
    for narrow in (64, 0):
        monkeypatch.setattr("blindcal.adversaries.learned_calibration._NARROW", narrow)
        found.append(continue_chains(start_chains(sheet, [1], 3, 0), sheet, 4, np.random.default_rng(1)))
    assert np.allclose(found[0].tally, found[1].tally, rtol=0, atol=1e-12)


def one_case(**changes: object) -> PaperCase:
    rng = np.random.default_rng(181)
    rows = people(rng, 4, errors=(0.2, 0.5, 0.0, 0.0))
    return replace(paper(rng, 0, rows, list(rows), 2), **changes)


def test_pools_from_sampled_assignments() -> None:
    """Only some sets of reviewers were drawn, not equally often."""
    case = one_case(sets=(((0, 1), 3), ((1, 3), 1)))
    (view,) = seen([case], np.random.default_rng(0))
    chains = swept_from_four_starts([view], [np.ones(len(view.weight))], 5, count(300, 3000))
    exact = np.array([np.bincount(slot, view.weight, 4) for slot in view.rows.T])
    assert worst(chains, [exact]) < SPREAD


def test_what_cannot_be_learned_is_refused() -> None:
    rng = np.random.default_rng(182)
    (view,) = seen([one_case()], rng)
    curved = replace(view, reviewers=Logistic(0.0, 1.0, 1.0, 0.0, noise=0.5))
    with pytest.raises(InputError, match="affine reviewers with Gaussian noise, found Logistic"):
        calibration_model([curved])
    with pytest.raises(InputError, match="before any decision"):
        calibration_model([view.believing(view.weight)])
    many = one_case(most_listed=2)
    sampled = case_view(many, Policy(np.full(many.belief.weight.size, 0.5)), 1.0)
    with pytest.raises(InputError, match="tuples can be listed"):
        calibration_model([sampled])
    other = replace(one_case(), parameters=((1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0),) * 4)
    with pytest.raises(InputError, match="same calibration of a reviewer"):
        calibration_model([view, *seen([other], rng)])
