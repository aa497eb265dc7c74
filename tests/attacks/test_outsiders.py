"""Pools with `*`, anybody not listed: it may have written several reviews, and it is never a right guess."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product
from math import perm, prod

import numpy as np
import pytest

from blindcal.adversaries.single_paper import audit, guess, play
from blindcal.certify.claims import Claim
from blindcal.certify.exact import ExactPolicy
from blindcal.deciding.decide import true_secret
from blindcal.deciding.key import Key
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.guarantee_menu import menu
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import Policy
from blindcal.policy.solver import private_policy, solve
from blindcal.pools.prior import all_tuples, inclusion, log_prior
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase, secret_of
from general_program import least_loss
from listed_tuples import Oracle, agree, keeps, naming
from sizes import count

MENU = (
    Guarantee("steady", epsilon=2.0),
    Guarantee("public", epsilon=None),
    Guarantee("steady", epsilon=None),
    Guarantee("steady", epsilon=1.0, multiplier=1.3),
    Guarantee("crowd", among=3, epsilon=None),
    Guarantee("crowd", among=5, epsilon=2.0),
    Guarantee("average", among=3, epsilon=None),
    Guarantee("average", epsilon=None),
    Guarantee("average", epsilon=1.5),
    Guarantee("none", epsilon=1.0),
    Guarantee("none", epsilon=2.0, posterior_cap=0.9),
)
GRID = tuple(float(score) for score in range(-4, 5))


def random_case(
    rng: np.random.Generator, *, most: int = 7, least: int = 2, reviews: int | None = None
) -> PaperCase:
    """`*` and 2 to 7 named people, some alike, some like `*`; 2 to 4 reviews; rounded, uncertain or both."""
    people, reviews = int(rng.integers(least, most + 1)), reviews or int(rng.integers(2, 5))
    slope, offset = np.exp(rng.normal(0, 0.4, people + 1)), rng.normal(0, 0.8, people + 1)
    noise, chance = rng.choice([0.4, 0.7], people + 1), rng.uniform(0.2, 1.0, people + 1)
    if rng.random() < 0.3:
        slope[2], offset[2], noise[2], chance[2] = slope[1], offset[1], noise[1], chance[1]
    if rng.random() < 0.2:
        slope[0], offset[0], noise[0], chance[0] = slope[1], offset[1], noise[1], chance[1]
    rounded, unsure = rng.random() < 0.3, rng.random() < 0.3
    error = np.full((people + 1, 4), (0.2, 0.3, 0.1, 0.1) if unsure else 0.0)
    quality = rng.normal(0.3, 0.7)
    wrote = rng.integers(0, people + 1, reviews)
    scores = slope[wrote] * quality + offset[wrote] + noise[wrote] * rng.normal(size=reviews)
    if rounded or rng.random() < 0.2:
        scores = np.clip(np.round(scores), -4, 4)
    return PaperCase(
        paper="p",
        scores=tuple(sorted(scores.tolist())),
        candidates=("*", *(f"r{j}" for j in range(people))),
        inclusion=inclusion(chance.tolist(), reviews, 0),
        parameters=tuple(map(tuple, np.column_stack([slope, offset, noise, error]).tolist())),
        bar=round(float(quality), 3),
        grid=GRID if rounded else None,
    )


def planned(case: PaperCase, guarantee: Guarantee) -> tuple[ExactPolicy, Claim]:
    plans = plan_conference(Conference((case,), case.bar, None, (False,)), guarantee)
    return plans[0].policy, plans[0].claim


def test_no_claim_is_understated_and_steady_is_steady_over_named_people() -> None:
    rng = np.random.default_rng(61)
    informed = 0
    for trial in range(count(100, 500)):
        guarantee = MENU[trial % len(MENU)]
        case = random_case(rng)
        if guarantee.posterior_cap is not None and cap_is_hopeless(case, guarantee.posterior_cap):
            continue
        policy, stated = planned(case, guarantee)
        agree(stated, keeps(guarantee, naming(case), policy))
        informed += len({policy.probability(r) for r in range(len(case.tuples))}) > 1
    assert informed > count(100, 500) // 4, "most tables must use the secret"


def cap_is_hopeless(case: PaperCase, cap: float) -> bool:
    """Whether the scores alone name somebody with more than this chance."""
    constant = ExactPolicy(np.zeros(len(case.tuples), dtype=np.int64))
    return any(before > cap for _, before in Oracle(naming(case), constant).posteriors)


def test_a_likely_outsider_hides_no_rise_of_a_named_person() -> None:
    """`*` and four people, two reviews: with `*` as a guess the top posterior of a person could nearly double
    while the stated rise was 0."""
    rng, steady = np.random.default_rng(4), Guarantee("steady", epsilon=2.0)
    used, hidden = 0, 0.0
    for _ in range(12):
        case = replace(random_case(rng, most=4, least=4, reviews=2), inclusion=(0.8, 0.3, 0.3, 0.3, 0.3))
        policy, stated = planned(case, steady)
        agree(stated, keeps(steady, naming(case), policy))
        assert stated.largest_rise == 0.0
        used += float(np.ptp(policy.accept)) > 0.01
        hidden = max(hidden, rise_with_star_as_a_guess(case, steady))
    assert used >= 3
    assert hidden > 0.05, "the attack must be one"


def rise_with_star_as_a_guess(case: PaperCase, guarantee: Guarantee) -> float:
    """The largest rise of a named person's chance over the best one, where `*` counts as a guess."""
    belief = case.belief
    loss = np.stack([1 - belief.favor, belief.favor], axis=-1)
    accept = least_loss(belief.weight, loss, case.tuples.T, guarantee).chance[:, 0]
    adversary = Oracle(naming(case), ExactPolicy(np.rint(accept * 2**53).astype(np.int64)))
    return max(float(after - before) for after, before in adversary.posteriors)


@pytest.mark.parametrize("guarantee", MENU, ids=str)
def test_the_best_table_is_that_of_the_general_program(guarantee: Guarantee) -> None:
    """Which is another program, with a variable for every tuple and outcome."""
    rng = np.random.default_rng(8)
    for _ in range(count(4, 40)):
        case = random_case(rng, most=4)
        if guarantee.posterior_cap is not None and cap_is_hopeless(case, guarantee.posterior_cap):
            continue
        belief = case.belief
        loss = np.stack([1 - belief.favor, belief.favor], axis=-1)
        plain = least_loss(belief.weight, loss, belief.labels, guarantee)
        assert solve(case, guarantee).error == pytest.approx(plain.loss, abs=2e-8)


def constant(case: PaperCase) -> ExactPolicy:
    return ExactPolicy(np.zeros(len(case.tuples), dtype=np.int64))


def test_the_prior_has_the_given_chances_and_the_expected_number_of_outsiders() -> None:
    rng = np.random.default_rng(3)
    for people, reviews in product((1, 2, 5), (1, 2, 3, 4)):
        outsider = int(rng.integers(people + 1))
        chances = inclusion((rng.random(people + 1) + 0.05).tolist(), reviews, outsider)
        rows = all_tuples(people + 1, reviews, outsider)
        prior = np.exp(log_prior(chances, rows, outsider))
        prior /= prior.sum()
        found = [float(prior @ (rows == who).sum(axis=1)) for who in range(people + 1)]
        assert found == pytest.approx(chances, abs=1e-9)


def test_outsiders_count_as_one_more_candidate_for_each_review() -> None:
    """The distribution of tuples is that of a pool with k candidates in the place of `*`, merged."""
    chances = (0.9, 0.6, 0.8, 0.7)
    rows = all_tuples(4, 3, 0)
    alone = log_prior((0.3, 0.3, 0.3, *chances[1:]), all_tuples(6, 3))
    merged: dict[tuple[int, ...], float] = defaultdict(float)
    for who, log in zip(all_tuples(6, 3).tolist(), alone, strict=True):
        merged[tuple(max(0, one - 2) for one in who)] += float(np.exp(log))
    prior = np.exp(log_prior(chances, rows, 0))
    other = np.array([merged[tuple(row)] for row in rows.tolist()])
    assert prior / prior.sum() == pytest.approx(other / other.sum(), abs=1e-12)
    assert len(rows) == len(merged) == sum(perm(3, j) * prod((1, 3, 3, 1)[j : j + 1]) for j in range(4))


def test_a_paper_that_only_outsiders_can_have_reviewed_has_nobody_to_name() -> None:
    row = (1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0)
    case = PaperCase("p", (0.2, 0.9), ("*",), inclusion([1.0], 2, 0), (row,), 0.4)
    assert case.inclusion == (2.0,)
    assert secret_of(case, ("x", "y")) == 0
    for guarantee in MENU:
        policy, stated = planned(case, guarantee)
        agree(stated, keeps(guarantee, naming(case), policy))
        assert stated.named == stated.newly_named == 0
        assert stated.largest_posterior == 0.0
    found = menu(Conference((case,), case.bar, None, (True,)))
    assert found.success_scores_only == 0.0
    assert all(choice.added == 0.0 for choice in found.choices)


def test_one_slot_that_only_outsiders_can_fill_is_never_guessed() -> None:
    """Somebody who is sure to be outside in one of the slots: labels of that slot are all nobody."""
    belief = Belief([0.5, 0.3, 0.2], [0.9, 0.1, 0.6], [[-1, -1, -1], [0, 1, -1]])
    policy = Policy([1.0, 0.0, 1.0])
    assert float(policy.adversary_error(belief)) == pytest.approx(1 - (0.5 + 0.3) / 2)
    assert guess(belief, policy).tolist() == [[-1, 0], [-1, 1]]
    assert float(audit(belief, policy).largest_posterior) == pytest.approx(1.0)
    games = play(belief, policy, 2000, np.random.default_rng(1))
    assert games.wins[0] == 0
    # 6 standard deviations: false alarm below 1e-8
    assert abs(games.wins[1] - 1600) < 6 * np.sqrt(2000 * 0.8 * 0.2)
    kept = private_policy(belief, Guarantee("steady", epsilon=None))
    after = belief.weight * kept.accept
    assert after[0] <= 0.5 * after.sum() + 1e-9
    assert (belief.weight - after)[0] <= 0.5 * (1 - after.sum()) + 1e-9


@pytest.mark.parametrize("guarantee", MENU[:-1], ids=str)
def test_large_pools_keep_the_promise_over_named_people(guarantee: Guarantee) -> None:
    """Tables of summed-up pools, read by an adversary that lists the tuples after all.

    Their certificate is exact for the weights of the sums, which are those of the tuples up to rounding.
    """
    rng = np.random.default_rng(5)
    for _ in range(count(2, 12)):
        drawn = random_case(rng, most=5, least=4)
        listed, case = drawn.belief, replace(drawn, most_listed=0).promised(guarantee.promise)
        policy, stated = planned(case, guarantee)
        sample = case.sample
        assert sample is not None
        assert set(sample.named[sample.rows == 0]) <= {-1}
        accept = case.layout.expected(policy.accept, case.tuples)
        before = after = rise = 0.0
        for slot in range(len(case.scores)):
            chances = [
                np.bincount(case.tuples[:, slot], listed.weight * one, len(case.candidates))
                for one in (np.ones(len(accept)), accept, 1 - accept)
            ]
            tops = [one[1:].max() for one in chances]
            before, after = before + tops[0], after + tops[1] + tops[2]
            sides = [(top, one.sum()) for top, one in zip(tops[1:], chances[1:], strict=True)]
            rise = max(rise, *(top / chance - tops[0] for top, chance in sides if chance > 0))
        assert before == pytest.approx(float(stated.named_scores_only), abs=1e-9)
        assert after == pytest.approx(float(stated.named), abs=1e-9)
        assert rise <= stated.largest_rise + 1e-8


def test_every_order_of_tied_scores_is_equally_likely_with_several_outsiders() -> None:
    """As the belief says of them: two outsiders and a named person, three orders, 300 keys."""
    row = (1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0)
    case = PaperCase("p", (1.0, 1.0, 1.0), ("*", "a"), inclusion([1.0, 0.5], 3, 0), (row, row), 0.4)
    seen = Counter(
        true_secret(
            Key(index.to_bytes(32)),
            Request(Guarantee("steady", epsilon=2.0), bar=0.4),
            1,
            case,
            ("*", "a", "*"),
        )
        for index in range(300)
    )
    orders = [secret_of(case, who) for who in (("a", "*", "*"), ("*", "a", "*"), ("*", "*", "a"))]
    assert set(seen) == set(orders)
    # 5 standard deviations: false alarm below 2e-6
    assert all(abs(seen[order] - 100) < 5 * np.sqrt(300 * 2 / 9) for order in orders)
