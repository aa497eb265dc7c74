"""A measured limit on the coupled adversary, against a list of all matchings and all outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blindcal.adversaries import coupled_epsilon
from blindcal.adversaries.coupled_epsilon import RUNGS, drawn, hold, measure
from blindcal.adversaries.findings import Finding
from blindcal.adversaries.paper_view import View, planned_view
from blindcal.errors import InputError
from blindcal.planning.conference_plan import plan_conference
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference
from loaded_conferences import Assigned, starred
from random_cases import random_case
from sizes import count

AVERAGE = Guarantee("average", epsilon=None)


def matching(rng: np.random.Generator, papers: int) -> tuple[Conference, dict[str, int]]:
    """As many people as papers, all of them in every pool, one review each."""
    people = random_case(rng, papers, 1)
    cases = []
    for number in range(papers):
        case = random_case(rng, papers, 1)
        bent = {"parameters": people.parameters, "inclusion": (1.0 / papers,) * papers, "bar": 0.3}
        cases.append(replace(case, paper=f"p{number}", **bent))
    return Conference(tuple(cases), 0.3, None, (1.0,) * papers), dict.fromkeys(people.candidates, 1)


def leaking(rng: np.random.Generator, papers: int) -> tuple[Conference, dict[str, int]]:
    """A matching in which all decisions together add a percentage point at least."""
    while True:
        conference, loads = matching(rng, papers)
        if listed(conference, loads, AVERAGE) > 0.01:
            return conference, loads


def views_of(conference: Conference, guarantee: Guarantee) -> list[View]:
    plans, _ = plan_conference(conference, guarantee)
    known = zip(conference.cases, plans, conference.raw_accept, strict=True)
    return [planned_view(case, plan, raw, guarantee) for case, plan, raw in known]


def listed(conference: Conference, loads: dict[str, int], guarantee: Guarantee) -> float:
    """What all decisions together add, by going through every matching and every outcome."""
    alone, decided, _ = Assigned(views_of(conference, guarantee), loads).gain("chosen")
    return decided - alone


def test_what_is_held_is_the_most_that_a_list_of_all_matchings_allows() -> None:
    rng, tightened = np.random.default_rng(91), 0
    for _ in range(count(5, 60)):
        conference, loads = matching(rng, 4)
        found = hold(conference, AVERAGE, loads, 0.004)
        for one in found.tries:
            assert one.measured.added == pytest.approx(listed(conference, loads, one.guarantee), abs=1e-9)
            assert (one.measured.error, one.measured.upper) == (0.0, one.measured.added)
        assert found.tries[0].guarantee == AVERAGE
        assert found.chosen.measured.upper <= 0.004
        if found.chosen.guarantee != AVERAGE:
            tightened += 1
            rung = found.chosen.guarantee.epsilon * RUNGS / 4.0
            above = replace(AVERAGE, epsilon=4.0 * (rung + 1) / RUNGS)
            assert rung + 1 == RUNGS or listed(conference, loads, above) > 0.004
            assert found.price > 0.0
    assert tightened > 1


def test_a_request_that_is_kept_is_left_alone() -> None:
    conference, loads = matching(np.random.default_rng(92), 3)
    found = hold(conference, Guarantee(), loads, 0.9)
    assert (found.chosen, found.price, len(found.tries)) == (found.tries[0], 0.0, 1)
    for limit in (0.0, 1.0, -0.1):
        with pytest.raises(InputError, match="`coupled`"):
            hold(conference, Guarantee(), loads, limit)


def test_a_limit_that_nothing_else_keeps_leaves_public_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    conference, loads = leaking(np.random.default_rng(95), 4)
    found = hold(conference, AVERAGE, loads, 1e-12)
    assert found.chosen.measured.added == pytest.approx(0.0, abs=1e-12)

    def strict(views: list[View], _: object, policy: str) -> Finding:
        """An adversary who gains wherever a table depends on who reviewed at all."""
        gains = max(np.ptp(view.accept[policy]) for view in views) > 0.0
        return Finding("", "", policy, 0.5, 0.6 if gains else 0.5)

    monkeypatch.setattr(coupled_epsilon, "exact_finding", strict)
    found = hold(conference, AVERAGE, loads, 1e-12)
    assert found.chosen.guarantee.epsilon == 0.0
    assert all(np.ptp(view.accept["chosen"]) == 0.0 for view in views_of(conference, found.chosen.guarantee))


def test_what_is_measured_from_draws_is_what_a_list_says() -> None:
    """Within six of its standard errors (false alarms below 1e-5), from assignments that meet all loads."""
    rng = np.random.default_rng(93)
    for seed in range(count(2, 30)):
        conference, loads = leaking(rng, 4)
        views = views_of(conference, AVERAGE)
        draws = drawn(views, loads, 24, seed, target=2e-3)
        for rows in draws.rows:
            who = [view.rows[row][0] for view, row in zip(views, rows, strict=True)]
            assert sorted(who) == list(range(4))
        found = measure(views, loads, draws, target=2e-3)
        assert found.error > 0.0
        assert abs(found.added - listed(conference, loads, AVERAGE)) < 6 * found.error
        assert found.upper > found.added + 2 * found.error


def test_strangers_may_be_drawn() -> None:
    rng = np.random.default_rng(94)
    views, loads, _ = starred(rng, 4)
    draws = drawn(views, loads, 8, 0, target=5e-3)
    for rows in draws.rows:
        wrote = [v.names[i] for v, row in zip(views, rows, strict=True) for i in v.rows[row] if i >= 0]
        assert {name: wrote.count(name) for name in loads} == loads


def test_large_conferences_are_held_by_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    conference, loads = leaking(np.random.default_rng(96), 4)
    monkeypatch.setattr(coupled_epsilon, "is_small", lambda *_: False)
    found = hold(conference, AVERAGE, loads, 0.04, draws=8)
    assert found.chosen.measured.upper <= 0.04
    assert found.tries[0].measured.error > 0.0
    assert listed(conference, loads, found.chosen.guarantee) <= 0.04
    assert hold(conference, AVERAGE, loads, 0.04, draws=8) == found
    monkeypatch.setattr("blindcal.adversaries.coupled_mcmc.AGREEMENT", -1.0)
    with pytest.raises(InputError, match="do not agree"):
        hold(conference, AVERAGE, loads, 0.04, draws=2)
