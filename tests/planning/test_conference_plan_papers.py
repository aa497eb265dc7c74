"""Each guarantee on the whole line against an adversary of fractions; plans and menus agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.expected_errors import summary
from blindcal.planning.guarantee_menu import menu, with_chosen
from blindcal.policy.guarantee import Guarantee
from listed_tuples import agree, keeps
from small_conferences import loaded, small_conference

GUARANTEES = (
    Guarantee("steady", epsilon=2.0),
    Guarantee("steady", epsilon=None),
    Guarantee("crowd", among=4, epsilon=None),
    Guarantee("average", among=3, epsilon=2.0),
    Guarantee("average", epsilon=None),
    Guarantee("average", epsilon=2.0, multiplier=1.5),
    Guarantee("public", epsilon=None),
)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: f"{g.name}-{g.epsilon}")
def test_every_guarantee_holds_exactly_on_random_papers(guarantee: Guarantee) -> None:
    """Pools of 2 to 12, 1 to 4 reviews; the adversary enumerates with fractions, not the package's code."""
    rng = np.random.default_rng(10)
    for trial in range(200):
        pool = int(rng.integers(2, 13))
        reviews = int(rng.integers(1, min(pool, 4) + 1))
        small = small_conference(seed=1000 + trial, papers=1, pool=pool, reviews=reviews, reviewers=pool)
        conference, _ = loaded(small, accept_rate=None, bar=float(rng.normal()))
        (plan,) = plan_conference(conference, guarantee)
        belief = conference.cases[0].belief
        agree(plan.claim, keeps(guarantee, belief, plan.policy))


def test_every_paper_is_one_step_of_progress() -> None:
    conference, _ = loaded(small_conference(seed=6, papers=10, pool=6))
    done: list[int] = []
    plan_conference(conference, GUARANTEES[0], advance=done.append)
    assert sum(done) == 10


def test_twins_and_ties_are_treated_alike() -> None:
    """Reviewers with the same calibration and chance, and equal scores: the table cannot tell them apart."""
    conference, _ = loaded(small_conference(seed=4, papers=1), accept_rate=None, bar=0.0)
    case = conference.cases[0]
    same = (case.parameters[0], case.parameters[0], *case.parameters[2:])
    twins = replace(case, parameters=same, inclusion=(0.5,) * 4, scores=(0.4, 0.4))
    alone = replace(conference, cases=(twins,))
    for guarantee in GUARANTEES:
        (plan,) = plan_conference(alone, guarantee)
        keeps(guarantee, twins.belief, plan.policy)
        table = dict(zip(map(tuple, twins.tuples.tolist()), plan.policy.accept, strict=True))
        for (a, b), accept in table.items():
            swap = {0: 1, 1: 0}
            assert table[b, a] == pytest.approx(accept, abs=1e-6)
            assert table[swap.get(a, a), swap.get(b, b)] == pytest.approx(accept, abs=1e-6)


def test_the_menu_is_ordered_and_agrees_with_the_plan() -> None:
    """The stronger the promise, the more wrong decisions; each number is the certified plan's."""
    conference, _ = loaded(small_conference(seed=4, papers=10))
    found = menu(conference, with_chosen(Guarantee("none", epsilon=None)))
    order = [
        Guarantee("public", epsilon=None),
        Guarantee("steady", epsilon=2.0),
        Guarantee("steady", epsilon=None),
    ]
    order += [Guarantee("crowd", among=among, epsilon=None) for among in (10, 5)]
    order += [Guarantee("none", epsilon=None)]
    errors = [found.choice(one).wrong for one in order]
    assert all(weaker <= stronger + 1e-9 for stronger, weaker in pairwise(errors))
    assert found.choice(order[-1]).kept == pytest.approx(1.0)
    for one in found.choices:
        plans = plan_conference(conference, one.guarantee)
        stated = summary([plan.claim for plan in plans], [plan.figures for plan in plans])
        assert one.wrong == pytest.approx(10 * stated["expected_wrong"], abs=1e-5)
        assert found.success_scores_only + one.added == pytest.approx(stated["success"], abs=1e-6)
        assert found.success_scores_only == pytest.approx(stated["success_scores_only"], abs=1e-12)
        assert found.wrong_raw == pytest.approx(10 * stated["expected_wrong_raw"], abs=1e-11)
        full = 10 * stated["expected_wrong_fully_calibrated"]
        assert found.wrong_fully_calibrated == pytest.approx(full, abs=1e-11)


def test_papers_with_nothing_at_stake_gain_nothing() -> None:
    """A pool as large as the reviews, one review: the reviewer is known and no decision can tell more."""
    sharp, _ = loaded(small_conference(seed=4, papers=3, pool=1, reviews=1), accept_rate=None, bar=0.0)
    found = menu(sharp, [Guarantee("steady", epsilon=2.0)])
    assert (found.papers, found.success_scores_only, found.choices[0].added) == (3, 1.0, 0.0)
    assert found.choices[0].gain == pytest.approx(found.gain_fully_calibrated)
