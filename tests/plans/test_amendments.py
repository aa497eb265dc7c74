"""Papers decided again, against an adversary that enumerates who wrote what and has seen every decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from blindcal.beliefs.bars import medians
from blindcal.beliefs.cases import PaperCase
from blindcal.beliefs.conferences import Conference
from blindcal.plans.amendments import AmendedCase, Earlier, SettledCase, amended_case, likelihood, matchings
from blindcal.plans.certificates import Claim, table_epsilon
from blindcal.plans.exact import UNIT, ExactPolicy
from blindcal.plans.papers import PaperPlan, plan_conference
from blindcal.plans.promises import paired
from blindcal.policies.guarantees import Guarantee
from oracles import Decided, RememberingAdversary
from sizes import count
from small_conferences import loaded, small_conference

GUARANTEES = (
    Guarantee(),
    Guarantee("steady", epsilon=None),
    Guarantee("average", epsilon=None),
    Guarantee("average", epsilon=1.0),
    Guarantee("none", epsilon=2.0),
    Guarantee("none", epsilon=None),
    Guarantee("public", epsilon=None),
    Guarantee("steady", epsilon=None, multiplier=1.3),
)
KINDS = ("made", "unmade", "kept", "untied", "two changed", "same")
GRID = (1.0, 2.0, 3.0, 4.0, 5.0)


def random_case(rng: np.random.Generator, reviews: int, grid: bool) -> PaperCase:
    pool = int(rng.integers(reviews, 6 if reviews < 4 else 5))
    parameters = tuple(
        (float(rng.lognormal(0, 0.5)), float(rng.normal(3 * grid, 1.0)), 0.5, 0.0, 0.0, 0.0, 0.0)
        for _ in range(pool)
    )
    return PaperCase(
        paper="p",
        scores=(0.0,) * reviews,
        candidates=("*" if rng.random() < 0.3 else "r0", *(f"r{i}" for i in range(1, pool))),
        inclusion=(reviews / pool,) * pool,
        parameters=parameters,
        bar=0.0,
        grid=GRID if grid else None,
    )


def scores_by_review(
    rng: np.random.Generator, reviews: int, grid: bool, kind: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Each review's score before and after a correction; no corrected score is one that is gone."""
    while True:
        draw = (lambda: float(rng.choice(GRID))) if grid else (lambda: round(float(rng.normal(0, 1.5)), 2))
        before = [draw() for _ in range(reviews)]
        if kind in ("unmade", "kept"):
            before[1] = before[0]
        after = list(before)
        if kind == "made":
            after[0] = before[1]
        elif kind in ("unmade", "untied"):
            after[0] = draw()
        elif kind == "kept":
            after[-1] = draw() if reviews > 2 else before[-1]
        elif kind == "two changed":
            after[0], after[1] = draw(), draw()
        gone = [b for b, a in zip(before, after, strict=True) if a != b]
        came = [a for b, a in zip(before, after, strict=True) if a != b]
        tied = len(set(after)) < reviews
        fits = {"made": tied and bool(came), "unmade": bool(came), "untied": not tied and bool(came)}
        if fits.get(kind, True) and not set(gone) & set(came):
            return tuple(before), tuple(after)


def planned(case: PaperCase, guarantee: Guarantee) -> PaperPlan:
    alone = Conference((case,), case.bar, None, (True,))
    return plan_conference(alone, guarantee)[0][0]


def with_scores(case: PaperCase, scores: Sequence[float]) -> PaperCase:
    return replace(case, scores=tuple(sorted(scores)))


def decided(
    rng: np.random.Generator,
    case: PaperCase,
    scores: tuple[float, ...],
    guarantee: Guarantee,
    who: Sequence[str],
) -> Decided:
    plan = planned(case, guarantee)
    accept = Decided(case, scores, plan, True).chance(who)
    return Decided(case, scores, plan, bool(rng.random() < accept))


def check_amended_paper(seed: int) -> str:
    """Two or three decisions on one paper: nothing that is claimed of them together is below the truth."""
    rng = np.random.default_rng([70, seed])
    guarantee, kind = GUARANTEES[seed % len(GUARANTEES)], KINDS[seed // len(GUARANTEES) % len(KINDS)]
    reviews, grid = int(rng.integers(2, 5)), bool(rng.integers(2))
    before, after = scores_by_review(rng, reviews, grid, kind)
    base = random_case(rng, reviews, grid)
    # The bar is where the reviewers matter most.
    median, weight = medians(with_scores(base, after))
    base = replace(base, bar=round(float(weight @ median), 2))
    who = tuple(rng.permutation(base.candidates)[:reviews].tolist())
    seen = [decided(rng, with_scores(base, before), before, guarantee, who)]
    history, stated = [before, after, after][: 2 + seed % 2], seen[0].plan.claim
    for then, scores in pairwise(history):
        past = [Earlier(one.case, one.plan.policy, one.accepted) for one in seen]
        case = amended_case(with_scores(base, scores), past)
        followed = len(seen) == 1 or len(set(history)) == 1
        assert isinstance(case, AmendedCase if followed else SettledCase)
        second = decided(rng, case, scores, guarantee, who)
        stated = paired([stated], second.plan.claim, second.plan.policy, same_public_data=then == scores)
        check_claim(case, scores, seen, second, stated, guarantee)
        seen.append(second)
    return kind if np.ptp(seen[1].plan.policy.accept) > 0 else "constant"


def check_claim(
    case: PaperCase,
    scores: tuple[float, ...],
    seen: list[Decided],
    second: Decided,
    stated: Claim,
    guarantee: Guarantee,
) -> None:
    known = RememberingAdversary(case, scores, seen)
    if known.after is None:
        return
    before, alone = known.tops(known.after), known.tops(known.alone)
    reached = np.zeros(len(scores))
    for accepted in (True, False):
        chance = np.array([float(replace(second, accepted=accepted).chance(who)) for who in known.authors])
        mass = known.after * chance
        if mass.sum() < 1e-12:
            continue
        tops = known.tops(mass)
        reached += tops
        posterior = tops / mass.sum()
        assert posterior.max() <= stated.largest_posterior + 1e-9
        assert (posterior - alone).max() <= stated.largest_rise + 1e-9
        if guarantee.name == "steady":
            assert (posterior <= before + 1e-9).all(), "no outcome raises what was known before it"
    assert reached.sum() <= float(stated.success) + 1e-9
    assert reached.sum() - alone.sum() <= float(stated.added) + 1e-9
    if guarantee.name == "average":
        assert (reached <= before + 1e-9).all()


def test_no_claim_about_an_amended_paper_is_below_the_truth() -> None:
    """Ties made, unmade and kept; scores untied, two corrected at once, or the same; rounded and not."""
    kinds = [check_amended_paper(seed) for seed in range(count(240, 2_000))]
    assert {*KINDS, "constant"} == set(kinds), "every kind must leave some table that uses the secret"
    assert kinds.count("constant") < 0.7 * len(kinds)


def test_what_is_never_decided_against_holds_for_tied_scores_decided_again() -> None:
    rng = np.random.default_rng(71)
    sure, found = Guarantee("none", epsilon=None, never_against=0.85), 0
    for _ in range(20):
        base = random_case(rng, 2, grid=False)
        case = with_scores(base, (0.4, 0.4))
        first = planned(case, sure)
        again = amended_case(case, [Earlier(case, first.policy, True)])
        plan = planned(again, sure)
        accept = plan.policy.accept[again.entry]
        strong = case.belief.favor >= 0.85
        found += int(strong.sum())
        assert (accept[strong] == 1).all()
        assert (accept[case.belief.favor <= 0.15] == 0).all()
    assert found > 0


def large_pool(base: PaperCase) -> PaperCase:
    """Three reviews by anybody of two hundred: too many tuples to be listed."""
    return replace(
        base,
        scores=(0.0, 1.0, 2.0),
        candidates=tuple(f"r{i:03d}" for i in range(200)),
        inclusion=(3 / 200,) * 200,
        parameters=(base.parameters[0],) * 200,
    )


def test_where_tuples_were_not_listed_then_the_paper_is_decided_in_public_now() -> None:
    base = random_case(np.random.default_rng(72), 3, grid=False)
    crowd = large_pool(base)
    table = ExactPolicy(np.array([UNIT // 4, UNIT // 2]))
    assert base.listed
    assert not crowd.listed
    settled = amended_case(with_scores(base, crowd.scores), [Earlier(crowd, table, True)])
    assert isinstance(settled, SettledCase)
    assert settled.revealed == table_epsilon(table) > 0


def test_too_many_readings_are_not_gone_through() -> None:
    """Four scores changed at once are followed, 24 ways; changed twice they are not."""
    base = random_case(np.random.default_rng(73), 4, grid=False)
    first, second, third = ((a, a + 0.1, a + 0.2, a + 0.3) for a in (0.0, 1.0, 2.0))
    seen = [Earlier(case, planned(case, Guarantee()).policy, True) for case in (with_scores(base, first),)]
    assert isinstance(amended_case(with_scores(base, second), seen), AmendedCase)
    seen += [Earlier(with_scores(base, second), seen[0].policy, True)]
    assert isinstance(amended_case(with_scores(base, third), seen), SettledCase)


def test_somebody_new_was_somebody_outside_before() -> None:
    """A candidate whom the earlier pool did not name takes what the earlier table says of `*`."""
    base = random_case(np.random.default_rng(74), 2, grid=False)
    parameters = (base.parameters[0],) * 3
    then = replace(
        base, scores=(0.0, 1.0), candidates=("*", "a", "b"), inclusion=(2 / 3,) * 3, parameters=parameters
    )
    now = replace(then, candidates=("a", "b", "c"))
    table = np.where((then.tuples == 0).any(axis=1), UNIT // 4, UNIT // 2)
    found = likelihood(now, Earlier(then, ExactPolicy(table), True), ((0, 0), (1, 1)))
    outside = (now.tuples == 2).any(axis=1)
    assert set((found[outside] / found[~outside].max()).astype(float)) == {0.5}


def test_epsilons_of_large_pools_add_up() -> None:
    base = random_case(np.random.default_rng(75), 3, grid=False)
    crowd = large_pool(base)
    tables = [ExactPolicy(np.array([UNIT // 4, UNIT // 2])), ExactPolicy(np.array([UNIT // 8, UNIT // 4]))]
    settled = amended_case(crowd, [Earlier(crowd, table, True) for table in tables])
    assert isinstance(settled, SettledCase)
    assert settled.revealed == pytest.approx(sum(table_epsilon(table) for table in tables))


def test_matchings_by_hand() -> None:
    assert matchings((1.0, 2.0, 3.0), (2.0, 3.0)) == [((1, 0), (2, 1))]
    assert matchings((1.0, 5.0), (1.0, 4.0, 6.0)) == [((0, 0), (1, 1)), ((0, 0), (1, 2))]
    assert matchings((2.0, 2.0), (2.0, 3.0)) == [((0, 0), (1, 1))]
    assert matchings((5.0, 5.0), (3.0, 5.0)) == [((0, 1), (1, 0))]
    assert matchings((5.0, 5.0), (3.0, 3.0)) == [((0, 0), (1, 1))]


def test_likelihood_of_an_earlier_decision() -> None:
    """Same pool: the table's entries. A new candidate: the chance of the outcome. A new review: a mean."""
    conference, _ = loaded(small_conference())
    case, rng = conference.cases[0], np.random.default_rng(1)
    policy = ExactPolicy(rng.integers(0, 1 << 53, len(case.tuples)), ((3, Fraction(1, 3)),))
    seen = Earlier(case, policy, True)
    both, scale = ((0, 0), (1, 1)), policy.denominator << 256
    assert likelihood(case, seen, both).tolist() == (policy.integers << 256).tolist()
    rejected = likelihood(case, Earlier(case, policy, False), both)
    assert (rejected + likelihood(case, seen, both) == scale).all()
    renamed = replace(case, candidates=(*case.candidates[:-1], "~newcomer"))
    found = likelihood(renamed, seen, both) / scale
    chance = float(case.belief.weight @ policy.accept)
    unknown = (case.tuples == len(case.candidates) - 1).any(axis=1)
    assert found[unknown].astype(float) == pytest.approx(chance)
    assert found[~unknown].astype(float) == pytest.approx(policy.accept[~unknown])
    longer = replace(case, scores=tuple(sorted((*case.scores, 9.0))), inclusion=(0.75,) * 4)
    at = {tuple(row): index for index, row in enumerate(case.tuples.tolist())}
    expected = [policy.accept[at[tuple(row[:2])]] for row in longer.tuples.tolist()]
    assert (likelihood(longer, seen, both) / scale).astype(float) == pytest.approx(expected)


def test_the_posterior_after_a_decision_is_the_prior_of_the_next() -> None:
    conference, _ = loaded(small_conference())
    case = conference.cases[0]
    policy = ExactPolicy(np.random.default_rng(2).integers(0, 1 << 53, len(case.tuples)))
    amended = amended_case(case, [Earlier(case, policy, False)])
    assert isinstance(amended, AmendedCase)
    expected = case.belief.weight * (1 - policy.accept)
    assert amended.belief.weight == pytest.approx(expected / expected.sum())
    assert amended.scores_belief.weight.tolist() == case.belief.weight.tolist()
    assert amended_case(case, []) is case
