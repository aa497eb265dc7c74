"""Audits against exact rationals, enumeration, and adversaries that play."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom

import blindcal as bc
from blindcal import Affine, Belief, audit, frontier, pair_belief, play
from blindcal.adversaries import guess, posterior, success_of
from blindcal.adversaries.single_paper import (
    POLICIES,
    View,
    answers,
    authors,
    bits_about_reviewer,
    case_view,
    links,
    published_view,
    released_view,
    rises,
)
from blindcal.certify.claims import certify
from blindcal.certify.exact import ExactPolicy
from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.policy.policy import Policy, evidence_policy, public_policy
from blindcal.policy.solver import solve
from listed_tuples import Oracle, agree, solvable
from random_cases import GUARANTEES, crowded, random_case, random_cases
from sizes import count
from strategies import beliefs_with_policies, random_beliefs, random_policies

FALSE_ALARM = 1e-6


def agrees(belief: Belief, policy: Policy) -> None:
    """Every number is the exact one or the next on its grid, on the unsafe side."""
    found = audit(belief, policy)
    chances = tuple(enumerate(map(Fraction, policy.accept.tolist())))
    agree(found, Oracle(belief, ExactPolicy(np.zeros(len(chances), dtype=np.int64), chances)))
    assert found.reviews == (1 if belief.labels is None else len(belief.labels))


@given(beliefs_with_policies())
def test_audits_are_exact_on_awkward_tables(case: tuple[Belief, Policy]) -> None:
    agrees(*case)


Tables = Iterator[tuple[Belief, Policy]]


def random_tables(rng: np.random.Generator) -> Tables:
    for n in range(1, 13):
        batch = random_beliefs(rng, count(60, 1000), n)
        policies = random_policies(rng, batch.weight.shape)
        for w, f, a in zip(batch.weight, batch.favor, policies.accept, strict=True):
            yield Belief(w, f), Policy(a)


def optimal_tables(rng: np.random.Generator) -> Tables:
    """The tables that matter, where the guesses are tied by construction."""
    for n in range(2, 9):
        batch = random_beliefs(rng, count(60, 1000), n)
        front = frontier(batch)
        bought = rng.choice([0.0, 0.5, 1.0], len(batch.weight)) * front.bought[:, -1]
        policies = front.policy(adversary_error=front.adversary_error[:, 0] + bought)
        for w, f, a in zip(batch.weight, batch.favor, policies.accept, strict=True):
            yield Belief(w, f), Policy(a)


def labeled_tables(rng: np.random.Generator) -> Tables:
    for _ in range(count(200, 4000)):
        n, slots = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        batch = random_beliefs(rng, 1, n)
        labels = rng.integers(0, 3, (slots, n))
        yield Belief(batch.weight[0], batch.favor[0], labels), Policy(random_policies(rng, (n,)).accept)


def underflowing_tables(rng: np.random.Generator) -> Tables:
    for _ in range(300):
        n = int(rng.integers(2, 5))
        weight = 10.0 ** rng.uniform(-323.0, 0.0, n)
        weight[rng.integers(n)] = 1.0
        weight /= weight.sum()
        accept = 10.0 ** rng.uniform(-323.0, 0.0, n) * (rng.random(n) < 0.8)
        yield Belief(weight, rng.random(n)), Policy(accept)


@pytest.mark.parametrize("tables", [random_tables, optimal_tables, labeled_tables, underflowing_tables])
def test_audits_are_exact(tables: Callable[[np.random.Generator], Tables]) -> None:
    for belief, policy in tables(np.random.default_rng(1)):
        agrees(belief, policy)


def test_batches_are_their_instances() -> None:
    rng = np.random.default_rng(4)
    batch = random_beliefs(rng, 6, 4)
    for labels in (None, rng.integers(0, 2, (6, 2, 4))):
        belief = Belief(batch.weight, batch.favor, labels)
        policy = random_policies(rng, (6, 4))
        for i in range(6):
            one = Belief(batch.weight[i], batch.favor[i], None if labels is None else labels[i])
            alone = Policy(policy.accept[i])
            for measure in (guess, posterior):
                np.testing.assert_array_equal(measure(belief, policy)[i], measure(one, alone))
            stated = audit(one, alone)
            for floats, exact in (
                (1.0 - policy.adversary_error(belief), float(stated.success)),
                (policy.epsilon, stated.epsilon),
                (policy.multiplier, stated.multiplier),
                (policy.largest_posterior(belief), stated.largest_posterior),
            ):
                assert floats[i] == pytest.approx(exact, rel=1e-13)


def test_posterior_and_guess_by_enumeration() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        n, slots = int(rng.integers(2, 7)), int(rng.integers(1, 3))
        weight = rng.dirichlet(np.ones(n))
        labels = rng.integers(0, 4, (slots, n)) if rng.random() < 0.7 else None
        belief, policy = Belief(weight, rng.random(n), labels), Policy(rng.random(n))
        mass = np.stack([weight * policy.accept, weight * (1 - policy.accept)])
        np.testing.assert_allclose(posterior(belief, policy), mass / mass.sum(axis=1, keepdims=True))
        slots_of = np.arange(n)[None, :] if labels is None else labels
        for d, (slot, named) in product((0, 1), enumerate(guess(belief, policy).T)):
            best = max(mass[d][slots_of[slot] == y].sum() for y in set(slots_of[slot].tolist()))
            assert mass[d][slots_of[slot] == named[d]].sum() == pytest.approx(best, abs=1e-15)


def test_an_impossible_outcome_has_no_posterior() -> None:
    after = posterior(Belief([0.6, 0.4], [1.0, 1.0]), Policy([1.0, 1.0]))
    np.testing.assert_array_equal(after[0], [0.6, 0.4])
    assert np.isnan(after[1]).all()


def normal_density(x: Array, mean: float, variance: float) -> Array:
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


@pytest.mark.parametrize("noise", [(0.0, 0.0), (0.5, 0.5), (0.3, 0.9)])
def test_an_independent_adversary_wins_as_often_as_stated_on_a_million_pairs(
    noise: tuple[float, float],
) -> None:
    """Qualities, assignment, scores and decision are drawn; an adversary with its own formulas guesses.

    A sum of unequal Bernoullis is more concentrated than the binomial of their mean (Hoeffding 1956), so the
    binomial interval of the mean stated success holds with false alarm at most 1e-6.
    """
    rng = np.random.default_rng(8)
    games, prior = 1_000_000, 0.4
    (a1, b1), (a2, b2) = (1.2, 0.3), (0.7, -0.4)
    quality = rng.normal(size=(games, 2))
    first = rng.random(games) < prior  # A1: reviewer 1 on paper 1
    slope = np.where(first[:, None], [a1, a2], [a2, a1])
    offset = np.where(first[:, None], [b1, b2], [b2, b1])
    spread = np.where(first[:, None], noise, noise[::-1])
    scores = slope * quality + offset + spread * rng.normal(size=(games, 2))

    belief = pair_belief(
        (Affine(a1, b1, noise=noise[0]), Affine(a2, b2, noise=noise[1])), scores, prior=prior
    )
    front = frontier(belief)
    least, most = front.conference_error[:, 0], front.conference_error[:, -1]
    policy = front.policy(conference_error=least + rng.choice([0.0, 0.4, 1.0], games) * (most - least))
    accept = np.where(first, policy.accept[:, 0], policy.accept[:, 1])
    accepted = rng.random(games) < accept

    total1, total2 = a1**2 + noise[0] ** 2, a2**2 + noise[1] ** 2
    s1, s2 = scores.T
    joint1 = prior * normal_density(s1, b1, total1) * normal_density(s2, b2, total2)
    joint2 = (1 - prior) * normal_density(s1, b2, total2) * normal_density(s2, b1, total1)
    seen1 = joint1 * np.where(accepted, policy.accept[:, 0], 1.0 - policy.accept[:, 0])
    seen2 = joint2 * np.where(accepted, policy.accept[:, 1], 1.0 - policy.accept[:, 1])
    wins = int(((seen1 >= seen2) == first).sum())
    stated = 1.0 - policy.adversary_error(belief).mean()
    low, high = binom.interval(1.0 - FALSE_ALARM / 6, games, stated)
    assert low <= wins <= high

    wrong = int((accepted != (quality[:, 0] > quality[:, 1])).sum())
    low, high = binom.interval(1.0 - FALSE_ALARM / 6, games, policy.conference_error(belief).mean())
    assert low <= wrong <= high


def test_bad_input_is_named() -> None:
    belief, policy = Belief([0.6, 0.4], [0.9, 0.2]), Policy([1.0, 0.0])
    with pytest.raises(InputError, match="games must be at least 1, found 0"):
        play(belief, policy, 0, np.random.default_rng(1))
    with pytest.raises(InputError, match="3 secrets and the belief 2"):
        audit(belief, Policy([1.0, 0.0, 0.0]))
    with pytest.raises(InputError, match="one belief and one policy"):
        audit(belief, Policy([[1.0, 0.0], [0.0, 1.0]]))
    with pytest.raises(InputError, match="3 secrets and the belief 2"):
        posterior(belief, Policy([1.0, 0.0, 0.0]))


def test_the_audit_of_a_certified_policy_is_its_certificate():
    for index, case in enumerate(random_cases(41, count(40, 300), 200)):
        guarantee = GUARANTEES[index % len(GUARANTEES)]
        if not solvable(case, guarantee):
            continue
        policy, stated = certify(case.belief, solve(case, guarantee).accept, guarantee)
        assert replace(audit(case.belief, policy), mixed=stated.mixed) == stated


def contrarian(belief: Belief, policy: Policy) -> Array:
    """Guesses the least likely secret after acceptance and the first one after rejection."""
    least = np.argmin(belief.weight, axis=-1)
    return np.stack([least, np.zeros_like(least)], axis=-1)[..., None]


def test_an_adversary_of_ones_own_is_played_and_counted() -> None:
    """Its exact chance by enumeration, its games within the false-alarm rate, and no better than MAP."""
    rng = np.random.default_rng(31)
    belief, policy = random_beliefs(rng, 6, 3), random_policies(rng, (6, 3))
    exact, best = success_of(belief, policy, contrarian), 1.0 - policy.adversary_error(belief)
    mass = belief.weight * policy.accept, belief.weight * (1.0 - policy.accept)
    by_hand = mass[0][np.arange(6), belief.weight.argmin(axis=1)] + mass[1][:, 0]
    np.testing.assert_allclose(exact, by_hand)
    assert (exact <= best + 1e-12).all()
    np.testing.assert_allclose(success_of(belief, policy, guess), best)
    games = count(20_000, 500_000)
    for adversary, stated in ((contrarian, exact), (None, best)):
        played = play(belief, policy, games, rng, adversary=adversary)
        low, high = binom.interval(1.0 - FALSE_ALARM / 12, games, stated)
        assert ((played.wins[:, 0] >= low) & (played.wins[:, 0] <= high)).all()
        np.testing.assert_allclose(played.success, played.wins[:, 0] / games)


def test_an_adversary_with_labels_guesses_each_slot() -> None:
    belief = Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.6], labels=np.array([[0, 1, 1], [4, 4, -1]]))
    policy = Policy([0.8, 0.5, 0.1])
    always = np.array([[1, 4], [0, -1]])
    found = success_of(belief, policy, lambda *_: always)
    games = count(20_000, 500_000)
    played = play(belief, policy, games, np.random.default_rng(1), adversary=lambda *_: always)
    # Five standard errors of a mean of shares.
    assert float(played.success) == pytest.approx(float(found), abs=5 * 0.5 / np.sqrt(games))
    accepted, rejected = belief.weight * policy.accept, belief.weight * (1 - policy.accept)
    first = accepted[1] + accepted[2] + rejected[0]
    assert found == pytest.approx((first + accepted[0] + accepted[1]) / 2)
    with pytest.raises(InputError, match=r"must guess \[outcome, slot\] = \[2, 2\] labels"):
        success_of(belief, policy, lambda *_: np.zeros((3, 2), dtype=int))


def planned_pairs() -> bc.Plan:
    """Papers with two reviews."""
    truth = bc.simulate(papers=3, pool=4, per_paper=2, seed=9)
    return bc.plan(truth.inputs(), bc.Request(bc.Guarantee("odds"), bar=0.0))


def test_success_is_the_mean_over_reviews_wherever_it_stands() -> None:
    """Exactly, played, by an adversary of one's own, by plan and by certificate."""
    plan = planned_pairs()
    case, policy = plan.conference.cases[0], Policy(plan.papers[0].policy.accept)
    found = audit(case.belief, policy)
    assert found.named == 2 * found.success
    assert 0.0 < found.success < 1.0
    exact = float(success_of(case.belief, policy, guess))
    assert float(found.success) == pytest.approx(exact, abs=1e-12)
    assert float(1.0 - policy.adversary_error(case.belief)) == pytest.approx(exact, abs=1e-12)
    games = count(20_000, 200_000)
    played = play(case.belief, policy, games, np.random.default_rng(1)).success
    # Five standard errors of a mean of shares.
    assert float(played) == pytest.approx(exact, abs=5 * 0.5 / np.sqrt(games))
    claims = [paper.claim for paper in plan.papers]
    assert plan.summary["success"] == pytest.approx(float(np.mean([claim.success for claim in claims])))
    assert float(found.added) == pytest.approx(float(found.success - found.success_scores_only), abs=1e-12)


@pytest.mark.edge
def test_success_is_the_mean_in_frames_too() -> None:
    pytest.importorskip("pandas")
    plan = planned_pairs()
    claims = [paper.claim for paper in plan.papers]
    assert plan.to_frame().success.tolist() == [float(claim.success) for claim in claims]
    row = claims[0].to_frame().iloc[0]
    assert (row.success, row.added) == (float(claims[0].success), float(claims[0].added))


# --- Views of papers before the draw and after it.


def a_case_and_view() -> tuple[object, View]:
    case = random_case(np.random.default_rng(5), 4, 2)
    return case, case_view(case, Policy(np.linspace(0.1, 0.9, 12)), 1.0)


def test_before_the_toss_both_outcomes_are_counted() -> None:
    case, view = a_case_and_view()
    for policy in POLICIES:
        mass = view.mass(policy)
        assert mass.shape == (2, 12)
        assert mass.sum(axis=0) == pytest.approx(view.weight)
    assert (view.accept["full"] == evidence_policy(case.belief).accept).all()
    assert (view.accept["public"] == public_policy(case.belief).accept).all()
    assert view.truth is None
    assert view.exact


@pytest.mark.parametrize("accepted", [True, False])
def test_after_the_toss_the_decision_is_known(accepted: bool) -> None:
    case = random_case(np.random.default_rng(5), 4, 2)
    table = np.linspace(0.1, 0.9, 12)
    who = tuple(case.candidates[i] for i in case.tuples[7])
    view = published_view(case, Policy(table), 1.0, accepted, who)
    weighed = case.belief.weight * (table if accepted else 1 - table)
    assert view.mass("chosen")[0] == pytest.approx(weighed / weighed.sum())
    full = evidence_policy(case.belief).accept
    seen = full if full[7] else 1 - full
    weighed = case.belief.weight * seen
    assert view.mass("full")[0] == pytest.approx(weighed / weighed.sum())
    for policy in ("raw", "public"):
        assert view.mass(policy)[0] == pytest.approx(case.belief.weight)
    assert view.truth == tuple(case.tuples[7])


@pytest.mark.parametrize("accepted", [True, False])
def test_who_followed_the_evidence_leaves_the_tuples_that_agree(accepted: bool) -> None:
    """Without the true reviewers; a decision that no tuple leads to says nothing."""
    rng, unexplained = np.random.default_rng(6), 0
    for _ in range(count(40, 400)):
        case = random_case(rng, 4, int(rng.integers(1, 4)))
        view, weight = released_view(case, accepted), case.belief.weight
        agrees = (case.belief.favor > 0.5) == accepted
        unexplained += not agrees.any()
        expected = weight * agrees / (weight @ agrees) if agrees.any() else weight
        for policy in ("chosen", "full"):
            assert view.mass(policy)[0] == pytest.approx(expected, abs=1e-12)
        assert view.truth is None
    assert unexplained > 0


def test_strangers_are_refused() -> None:
    case = random_case(np.random.default_rng(5), 4, 2)
    with pytest.raises(InputError, match="must all be in its pool"):
        published_view(case, Policy(np.full(12, 0.5)), 1.0, True, ("r00", "nobody"))


def test_believing_something_else() -> None:
    _, view = a_case_and_view()
    other = view.believing(np.arange(12.0))
    assert other.weight.sum() == pytest.approx(1.0)
    assert (other.mass("raw").sum(axis=0) == other.weight).all()
    with pytest.raises(InputError, match="nothing is possible"):
        view.believing(np.zeros(12))
    # What no tuple allows says nothing.
    seen = replace(view, outcome={"chosen": np.zeros(12)})
    assert (seen.mass("chosen") == seen.alone).all()


# --- Questions about single papers, by hand; whole conferences are in test_findings.


def a_view(weight: list[float], accept: list[float]) -> View:
    rows = np.array([[0, 1], [1, 0], [0, 2], [2, 0]])
    accepts = {"chosen": np.array(accept)}
    return View("p", ("a", "b", "c"), (1.0, 2.0), rows, np.array(weight), np.zeros(4), accepts)


def test_answers_by_hand() -> None:
    view = a_view([0.4, 0.3, 0.2, 0.1], [1.0, 0.0, 1.0, 0.0])
    alone, decided = answers(view, view.alone), answers(view, view.mass("chosen"))
    # Low review: a .6, b .3, c .1; high review: b .4, a .4, c .2. a reviewed it surely, b with .7, c with .3.
    assert alone == pytest.approx(
        {"author": 0.5, "three guesses": 1.0, "reviewed at all": 0.8, "whole tuple": 0.4}
    )
    # Accepted: a wrote the low review. Rejected: a wrote the high one.
    assert decided == pytest.approx(
        {"author": 0.85, "three guesses": 1.0, "reviewed at all": 0.8, "whole tuple": 0.7}
    )
    assert rises(view, view.mass("chosen")).max() == pytest.approx(0.6)


def test_nobody_is_no_guess() -> None:
    view = replace(a_view([0.4, 0.3, 0.2, 0.1], [1.0] * 4), names=("a", "b", "*"))
    view = replace(view, rows=np.where(view.rows == 2, -1, view.rows))
    found = answers(view, view.alone)
    assert found["author"] == pytest.approx((0.6 + 0.4) / 2)
    assert found["whole tuple"] == pytest.approx(0.4)
    assert found["reviewed at all"] == pytest.approx((1.0 + 0.7) / 2)
    assert authors(view, view.alone)[0, 0].tolist() == pytest.approx([0.6, 0.3, 0.0])
    assert bits_about_reviewer(view, view.mass("chosen")) == pytest.approx(0.0, abs=1e-12)


def test_one_bit() -> None:
    rows, accept = np.array([[0], [1]]), {"chosen": np.array([1.0, 0.0])}
    view = View("p", ("a", "b"), (1.0,), rows, np.array([0.5, 0.5]), np.zeros(2), accept)
    assert bits_about_reviewer(view, view.mass("chosen")) == pytest.approx(1.0)
    seen = replace(view, outcome={"chosen": np.array([1.0, 0.0])})
    assert bits_about_reviewer(seen, seen.mass("chosen")) == pytest.approx(1.0)


def test_one_paper_has_nothing_to_link() -> None:
    view = a_view([0.4, 0.3, 0.2, 0.1], [1.0] * 4)
    assert links([view], [view.alone]) == [0.0]


def test_a_sample_of_tuples_says_nearly_the_same() -> None:
    """20,000 tuples: six standard errors of a share are .022, for four numbers and two masses."""
    case = random_case(np.random.default_rng(8), 6, 2)
    listed = case_view(case, Policy(np.full(len(case.tuples), 0.5)), 1.0)
    many = crowded(case)
    size = len(many.layout.edges) - 1
    sampled = case_view(many, Policy(np.full(size, 0.5)), 1.0)
    assert not sampled.exact
    for policy in ("chosen", "full"):
        exact, near = (answers(one, one.mass(policy)) for one in (listed, sampled))
        assert near == pytest.approx(exact, abs=0.022)
