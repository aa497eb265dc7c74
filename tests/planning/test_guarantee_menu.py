"""The menu of a conference: every number recomputed from the tables by a loop over tuples."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from blindcal.planning.guarantee_menu import MENU, menu, menu_steps
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase
from oracles import Enumerator
from papers import solve_all
from random_cases import random_cases


def _conference() -> Conference:
    cases = [replace(case, paper=f"p{i:02d}") for i, case in enumerate(random_cases(41, 14, 120))]
    raw = tuple(bool(np.mean(case.scores) > 0.6) for case in cases)
    return Conference(tuple(cases), 0.6, None, raw)


def _wrong(case: PaperCase, accept) -> float:
    """Loop over tuples: the decision is wrong with 1 - favor if accepted, favor if not."""
    belief = case.belief
    return sum(
        w * (a * (1 - f) + (1 - a) * f) for w, f, a in zip(belief.weight, belief.favor, accept, strict=True)
    )


def _against(case: PaperCase, accept) -> float:
    belief = case.belief
    return sum(
        w * (1 - a if f > 0.5 else a) for w, f, a in zip(belief.weight, belief.favor, accept, strict=True)
    )


@pytest.fixture(scope="module")
def conference() -> Conference:
    return _conference()


@pytest.mark.parametrize(("guarantees", "most"), [(MENU, 1000), (MENU[:2], 5), (MENU[5:7], 9)])
def test_steps_are_counted_beforehand_as_they_are_done(
    conference: Conference, guarantees: tuple[Guarantee, ...], most: int
):
    done: list[int] = []
    menu(conference, guarantees, most=most, advance=done.append)
    papers, budgets = min(most, 14), sum(one.spends for one in guarantees)
    # Exploring what a budget buys, widely, counts three papers' solutions.
    expected = papers * (2 * len(guarantees) + 6 * budgets)
    assert sum(done) == menu_steps(conference, guarantees, most) == expected


def test_every_choice_is_what_its_tables_do_on_average_over_the_public_belief(conference: Conference):
    found = menu(conference)
    full = np.mean([_wrong(c, c.belief.favor > 0.5) for c in conference.cases])
    raw = np.mean(
        [
            _wrong(c, [float(r)] * len(c.tuples))
            for c, r in zip(conference.cases, conference.raw_accept, strict=True)
        ]
    )
    reviews = sum(len(case.scores) for case in conference.cases)
    assert found.wrong_raw == pytest.approx(raw, abs=1e-12)
    assert found.papers == len(conference.cases)
    assert 0 <= found.gap <= 1e-8
    for choice in found.choices:
        accepts = solve_all(conference, choice.guarantee).accept
        pairs = list(zip(conference.cases, accepts, strict=True))
        wrong = np.mean([_wrong(case, accept) for case, accept in pairs])
        success = sum(Enumerator(case, accept).success() * len(case.scores) for case, accept in pairs)
        assert choice.wrong == pytest.approx(wrong, abs=1e-12)
        assert choice.against == pytest.approx(np.mean([_against(*pair) for pair in pairs]), abs=1e-12)
        assert choice.success == pytest.approx(success / reviews, abs=1e-12)
        assert choice.kept == pytest.approx((raw - wrong) / (raw - full), abs=1e-9)


def test_weaker_promises_keep_more_and_full_calibration_keeps_all(conference: Conference):
    found = {choice.guarantee: choice for choice in menu(conference).choices}
    names = [
        Guarantee("public", epsilon=None),
        Guarantee("steady", epsilon=1.0),
        Guarantee("steady", epsilon=2.0),
        Guarantee("steady", epsilon=None),
        Guarantee("average", epsilon=None),
        Guarantee("average", added_success=0.01, epsilon=None),
        Guarantee("none", epsilon=None),
    ]
    assert set(names) <= set(MENU)
    for stronger, weaker in pairwise(names):
        assert found[weaker].kept >= found[stronger].kept - 1e-9
    assert found[names[-1]].kept == pytest.approx(1.0)
    assert found[names[-1]].against == 0.0


def test_added_success_is_what_was_asked_and_no_more(conference: Conference):
    found = menu(conference)
    for choice in found.choices:
        added = choice.success - found.success_scores_only
        if choice.guarantee.name in ("public", "steady", "average"):
            assert added <= choice.guarantee.added_success + 1e-9
        assert added >= -1e-12


def test_papers_with_nothing_secret_or_nothing_at_stake_are_counted(conference: Conference):
    sharp = PaperCase(
        "q0", (5.0,), ("a", "b"), (0.5, 0.5), ((1.0, 5.0, 0.1, 0, 0, 0, 0), (1.0, -5.0, 0.1, 0, 0, 0, 0)), 0.6
    )
    dull = replace(
        sharp, paper="q1", parameters=(sharp.parameters[0], (1.0, 5.1, 0.1, 0, 0, 0, 0)), scores=(9.0,)
    )
    before = menu(conference)
    more = Conference((*conference.cases, sharp, dull), 0.6, None, (*conference.raw_accept, False, True))
    after = menu(more)
    assert after.nothing_secret == before.nothing_secret + 1
    assert after.nothing_at_stake == before.nothing_at_stake + 2


def test_some_papers_stand_for_all_within_their_standard_errors() -> None:
    """Which papers are weighed follows from their ids: given other ids, others are. Over 60 ways to name
    them, what each estimate is off is about its standard error: the root mean square is 1 with a standard
    deviation of .1, and .5 and 1.5 are five of these away."""
    cases, guarantees = random_cases(43, 40, 60), [Guarantee("public", epsilon=None), Guarantee("none")]
    raw = tuple(bool(np.mean(case.scores) > 0.6) for case in cases)

    def found(seed: int, most: int):
        named = tuple(replace(case, paper=f"{seed} {i}") for i, case in enumerate(cases))
        return menu(Conference(named, 0.6, None, raw), guarantees, most=most)

    whole = found(0, 1000)
    assert (whole.papers, whole.weighed) == (40, 40)
    assert all(one.wrong_se == one.kept_se == one.success_se == 0.0 for one in whole.choices)
    off: dict[tuple[str, int], list[float]] = {}
    for seed in range(60):
        some = found(seed, 20)
        assert (some.papers, some.weighed) == (40, 20)
        for name in ("wrong", "success", "kept"):
            for place, (one, other) in enumerate(zip(some.choices, whole.choices, strict=True)):
                error = getattr(one, f"{name}_se")
                if error > 1e-12:
                    off.setdefault((name, place), []).append(
                        (getattr(one, name) - getattr(other, name)) / error
                    )
    assert len(off) == 6
    for (name, _), values in off.items():
        if name == "kept":
            # A ratio of small numbers is sometimes far off: half of all are within .67 standard errors.
            assert 0.3 < np.median(np.abs(values)) < 1.1
        else:
            assert 0.5 < np.sqrt(np.mean(np.square(values))) < 1.5
