"""Adversaries with knowledge of their own, against lists of everything and against games."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from blindcal.adversaries.findings import finding_about, paper_findings
from blindcal.adversaries.side_knowledge import (
    _SHARPENING,
    author_findings,
    co_reviewer_findings,
    collusion_findings,
    evidence_findings,
    prior_findings,
    with_prior,
)
from blindcal.adversaries.side_knowledge import _informed_view as informed
from blindcal.adversaries.single_paper import View, case_view
from blindcal.errors import InputError
from blindcal.policy.policy import Policy
from blindcal.posterior.paper import PaperCase
from listed_tuples import gaussian_posteriors
from sizes import count
from whole_conferences import Lister, random_views


def a_few(seed: int, papers: int = 4) -> list[View]:
    return random_views(np.random.default_rng(seed), papers)


def test_the_given_prior_is_the_certificates() -> None:
    views = a_few(1)
    plain = paper_findings("x", views, "chosen")
    given = prior_findings(views, "given", ["chosen"])
    assert [one.success for one in given] == [one.success for one in plain]


def test_a_candidate_who_is_certain_leaves_the_likelihood_of_the_other_tuples() -> None:
    """Two reviews, by `a` for certain and by `b` or `c`: all four tuples are listed, with their densities."""
    rows = {"a": (1.0, 5.0, 1.0), "b": (0.5, 6.0, 1.5), "c": (2.0, 4.0, 0.5)}
    parameters = tuple((*row, 0.0, 0.0, 0.0, 0.0) for row in rows.values())
    case = PaperCase("p", (5.0, 6.0), ("a", "b", "c"), (1.0, 0.7, 0.3), parameters, 0.0)
    view = case_view(case, Policy(np.full(case.belief.weight.shape, 0.5)), 1.0)
    density = gaussian_posteriors(case)[0] * (view.rows == 0).any(axis=1)
    assert np.count_nonzero(density) == 4
    np.testing.assert_allclose(with_prior(view, "uniform").weight, density / density.sum(), rtol=1e-6)
    near = np.array([0.5, 0.9, 0.2])
    similarity = {"p": dict(zip("abc", near.tolist(), strict=True))}
    weight = density * near[view.rows].prod(axis=1)
    np.testing.assert_allclose(with_prior(view, similarity).weight, weight / weight.sum(), rtol=1e-6)


def test_a_sharpened_prior_leans_towards_the_truth() -> None:
    view = next(one for one in a_few(3) if one.rows.shape[1] == 2)
    with pytest.raises(InputError, match="only a release has them"):
        with_prior(view, "sharpened")
    view = replace(view, truth=tuple(view.rows[1].tolist()))
    other = with_prior(view, "sharpened")
    gain = np.log(other.weight / view.weight)
    right = [len(set(row) & set(view.truth)) for row in view.rows.tolist()]
    np.testing.assert_allclose(gain - gain[1], _SHARPENING * (np.array(right) - 2.0), atol=1e-9)
    with pytest.raises(InputError, match="one of"):
        with_prior(view, "wrong")


def test_no_evidence_is_the_certificates_adversary() -> None:
    views = a_few(4)
    (found,) = evidence_findings(views, 0.0, ["chosen"], draws=4)
    exact = finding_about(paper_findings("x", views, "chosen"), "chosen")
    assert (found.baseline, found.success) == pytest.approx((exact.baseline, exact.success), abs=1e-12)


def test_evidence_is_what_a_game_with_it_finds() -> None:
    """One paper, evidence drawn for a truth that is drawn; the guess maximizes the posterior. Both sides are
    frequencies: five standard errors of both, for two numbers."""
    (view,) = random_views(np.random.default_rng(6), 1, most=1)
    strength, games = 1.5, count(4000, 100_000)
    (found,) = evidence_findings([view], strength, ["chosen"], draws=count(4000, 100_000))
    rng = np.random.default_rng(7)
    right = np.zeros((games, 2))
    accept = view.accept["chosen"]
    for game in range(games):
        truth = rng.choice(len(view.rows), p=view.weight)
        signal = rng.standard_normal(len(view.names))
        signal[view.rows[truth, 0]] += strength
        seen = accept if rng.random() < accept[truth] else 1.0 - accept
        posterior = view.weight * np.exp(strength * signal[view.rows[:, 0]])
        for place, mass in enumerate((posterior, posterior * seen)):
            guess = np.bincount(view.rows[:, 0], mass).argmax()
            right[game, place] = guess == view.rows[truth, 0]
    slack = 5 * 0.5 * np.sqrt(2 / games)
    assert right.mean(axis=0) == pytest.approx([found.baseline, found.success], abs=slack)
    with pytest.raises(InputError, match="at least 0"):
        evidence_findings([view], -1.0)


def test_strong_evidence_names_everybody() -> None:
    (found,) = evidence_findings(a_few(8), 30.0, ["full"], draws=8)
    assert (found.baseline, found.success) == pytest.approx((1.0, 1.0), abs=1e-9)


def test_colluders_know_their_own_reviews_and_no_others() -> None:
    rng = np.random.default_rng(9)
    for view in random_views(rng, count(20, 200)):
        truth = view.rows[rng.choice(len(view.rows), p=view.weight)]
        chosen = {view.names[0], view.names[-1]}
        known, others = informed(replace(view, truth=tuple(truth.tolist())), chosen, rng)
        names = [view.names[who] for who in truth]
        expected = defaultdict(float)
        for row, weight in zip(view.rows, view.weight, strict=True):
            there = [view.names[who] for who in row]
            if all(a == b or not {a, b} & chosen for a, b in zip(names, there, strict=True)):
                expected[tuple(row)] += weight
        total = sum(expected.values())
        for row, weight in zip(view.rows, known.weight, strict=True):
            assert weight == pytest.approx(expected.get(tuple(row), 0.0) / total)
        assert others.tolist() == [name not in chosen for name in names]


def test_collusion_averages_over_who_colludes() -> None:
    views = a_few(10)
    raw, full = collusion_findings(views, 2, ["raw", "full"], draws=8)
    assert raw.added == pytest.approx(0.0, abs=1e-12)
    assert raw.rise <= 1e-12
    assert full.added > 0.0
    assert full.baseline == raw.baseline
    for wrong in (0, 100):
        with pytest.raises(InputError, match="colluders"):
            collusion_findings(views, wrong)


def test_a_co_reviewer_sorts_the_names_out() -> None:
    rng = np.random.default_rng(11)
    for _ in range(count(10, 100)):
        (view,) = random_views(rng, 1, most=3)
        if len(view.scores) < 2:
            assert co_reviewer_findings([view]) == []
            continue
        (found,) = co_reviewer_findings([view], ["chosen"])
        slots = range(len(view.scores))
        sides = []
        for masses in (view.alone, view.mass("chosen")):
            right = []
            for own in slots:
                for slot in set(slots) - {own}:
                    seen: dict[object, dict[int, float]] = defaultdict(lambda: defaultdict(float))
                    for outcome, mass in enumerate(masses):
                        for row, weight in zip(view.rows.tolist(), mass, strict=True):
                            seen[outcome, row[own], frozenset(row)][row[slot]] += weight
                    right.append(sum(max(guesses.values()) for guesses in seen.values()))
            sides.append(np.mean(right))
        assert (found.baseline, found.success) == pytest.approx(tuple(sides), abs=1e-12)


def test_the_author_of_the_worst_paper() -> None:
    views = a_few(12, 6)
    (found,) = author_findings(views, ["full"])
    each = [finding_about(paper_findings("x", [view], "full"), "full") for view in views]
    assert found.added == pytest.approx(max(one.added for one in each))


def test_a_prior_by_similarities_equals_a_list_of_all_tuples() -> None:
    rng = np.random.default_rng(13)
    for number in range(count(10, 200)):
        views = random_views(rng, 3)
        people = sorted({name for view in views for name in view.names})
        near = rng.random((3, len(people))) * (rng.random((3, len(people))) < 0.9) + 0.01 * (number % 2)
        similarity = {
            view.paper: dict(zip(people, row, strict=True))
            for view, row in zip(views, near.tolist(), strict=True)
        }
        priors = []
        for view, row in zip(views, near, strict=True):
            by_name = dict(zip(people, row, strict=True))
            priors.append(
                [
                    weight / np.exp(log_prior) * np.prod([by_name[view.names[one]] for one in who])
                    for who, weight, log_prior in zip(view.rows, view.weight, view.log_prior, strict=True)
                ]
            )
        if min(map(sum, priors)) <= 0.0:
            with pytest.raises(InputError, match="no one of the pool can have reviewed"):
                prior_findings(views, similarity)
            continue
        believing = (replace(v, weight=np.array(p) / sum(p)) for v, p in zip(views, priors, strict=True))
        listers = [Lister([view], "chosen") for view in believing]
        slots = [len(view.scores) for view in views]
        told = [
            np.average([one.right(decided=decided)["author"] for one in listers], weights=slots)
            for decided in (False, True)
        ]
        found = finding_about(prior_findings(views, similarity, ["chosen"]), "chosen")
        assert found.adversary == "prior: similarity"
        assert (found.baseline, found.success) == pytest.approx(tuple(told), abs=1e-12)


def test_a_paper_without_similarities_cannot_be_weighed() -> None:
    (view,) = random_views(np.random.default_rng(14), 1)
    with pytest.raises(InputError, match="no one of the pool"):
        with_prior(view, {"other": dict.fromkeys(view.names, 1.0)})
    # Strangers are as near as the row of anyone not listed says.
    outside = replace(view, names=(*view.names[:-1], "*"), rows=np.where(view.rows == 3, -1, view.rows))
    alike = {view.paper: dict.fromkeys([*view.names[:-1], "*"], 1.0)}
    np.testing.assert_allclose(with_prior(outside, alike).weight, with_prior(view, "uniform").weight)
