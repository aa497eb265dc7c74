"""The menu of a conference: exact numbers by a loop over tuples, and estimates beside what they estimate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.planning import guarantee_menu
from blindcal.planning.guarantee_menu import (
    MENU,
    Menu,
    _estimated,
    _one_of_two,
    _order,
    _rough_chances,
    _sizes,
    _solve_under_guarantees,
    menu,
    prepared_sample,
    with_chosen,
)
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference
from blindcal.posterior.inputs import read_inputs
from blindcal.posterior.paper import PaperCase
from listed_tuples import Oracle
from papers import solve_all
from random_cases import random_cases

PUBLIC, FULL = Guarantee("public", epsilon=None), Guarantee("none", epsilon=None)
QUANTITIES = ("wrong", "gain", "kept", "added")


def _conference(seed: int = 41, papers: int = 14, tuples: int = 120) -> Conference:
    cases = [replace(case, paper=f"p{i:02d}") for i, case in enumerate(random_cases(seed, papers, tuples))]
    raw = tuple(float(np.mean(case.scores) > 0.6) for case in cases)
    return Conference(tuple(cases), 0.6, None, raw)


def _wrong(case: PaperCase, accept) -> float:
    """Loop over tuples: the decision is wrong with 1 - favor if accepted, favor if not."""
    belief = case.belief
    return sum(
        w * (a * (1 - f) + (1 - a) * f) for w, f, a in zip(belief.weight, belief.favor, accept, strict=True)
    )


@pytest.fixture(scope="module")
def conference() -> Conference:
    """With two papers that tie by mean score."""
    found = _conference()
    return replace(found, raw_accept=(*found.raw_accept[:-2], 0.4, 0.4))


def test_every_choice_is_what_its_tables_do_over_the_public_belief(conference: Conference):
    found = menu(conference, with_chosen(FULL))
    cases = conference.cases
    full = [(case.belief.favor > 0.5).astype(float) for case in cases]
    raw = sum(_wrong(c, [r] * len(c.tuples)) for c, r in zip(cases, conference.raw_accept, strict=True))
    best = sum(_wrong(case, accept) for case, accept in zip(cases, full, strict=True))
    reviews = sum(len(case.scores) for case in cases)

    def named(accepts) -> float:
        pairs = zip(cases, accepts, strict=True)
        return sum(Oracle(case.belief, accept).success for case, accept in pairs) / reviews

    only = named([np.ones(len(case.tuples)) for case in cases])
    assert found.wrong_raw == pytest.approx(raw, abs=1e-12)
    assert found.wrong_fully_calibrated == pytest.approx(best, abs=1e-12)
    assert found.gain_fully_calibrated == pytest.approx(raw - best, abs=1e-12)
    assert found.success_scores_only == pytest.approx(only, abs=1e-12)
    assert found.added_fully_calibrated == pytest.approx(named(full) - only, abs=1e-12)
    assert (found.papers, found.weighed, found.solved, found.sampled) == (14, 14, 14, False)
    assert 0 <= found.gap <= 1e-8
    for choice in found.choices:
        accepts = solve_all(conference, choice.guarantee)
        wrong = sum(_wrong(case, accept) for case, accept in zip(cases, accepts, strict=True))
        assert choice.wrong == pytest.approx(wrong, abs=1e-9)
        assert choice.gain == pytest.approx(raw - wrong, abs=1e-9)
        assert choice.kept == pytest.approx((raw - wrong) / (raw - best), abs=1e-9)
        assert choice.added == pytest.approx(named(accepts) - only, abs=1e-9)
        moved = sum(
            float(case.belief.weight @ (raw * (1 - accept) + (1 - raw) * accept))
            for case, accept, raw in zip(cases, accepts, conference.raw_accept, strict=True)
            if raw in (0.0, 1.0)
        )
        assert choice.changed == pytest.approx(moved, abs=1e-9)
        assert choice.wrong_se == choice.gain_se == choice.kept_se == choice.added_se == 0.0


def test_the_sample_depends_on_neither_order_nor_workers():
    whole = _conference(44, 30, 60)
    places = np.random.default_rng(1).permutation(30)
    shuffled = replace(
        whole,
        cases=tuple(whole.cases[i] for i in places),
        raw_accept=tuple(whole.raw_accept[i] for i in places),
    )
    found = menu(whole, MENU[:3], most=9)
    assert (found.solved, found.sampled) == (9, True)
    for other in (menu(shuffled, MENU[:3], most=9), menu(whole, MENU[:3], most=9, workers=2)):
        assert other.solved == 9
        for one, same in zip(found.choices, other.choices, strict=True):
            assert [getattr(one, k) for k in QUANTITIES] == pytest.approx(
                [getattr(same, k) for k in QUANTITIES], abs=1e-12
            )


def test_it_is_told_as_it_is_refined_and_a_clock_stops_it_between_batches():
    conference, told = _conference(45, 20, 40), list[Menu]()
    last = menu(conference, MENU[:2], tell=told.append)
    assert [one.solved for one in told] == [4, 8, 12, 18, 20]
    assert told[-1] == last == menu(conference, MENU[:2])
    assert all(one.choices[0].gain_se > 0.0 for one in told[:-1])
    assert menu(conference, MENU[:2], seconds=0.0) == told[0]
    assert menu(conference, MENU[:2], most=12) == told[2]


def test_papers_that_public_data_cannot_tell_apart_are_solved_once(monkeypatch: pytest.MonkeyPatch):
    few = _conference(46, 5, 40)
    cases = tuple(replace(few.cases[i % 5], paper=f"q{i:02d}") for i in range(20))
    many, done = Conference(cases, 0.6, None, tuple(few.raw_accept[i % 5] for i in range(20))), list[str]()

    def counted(case: PaperCase, **more):
        done.append(case.paper)
        return _solve_under_guarantees(case, **more)

    monkeypatch.setattr(guarantee_menu, "_solve_under_guarantees", counted)
    one, other = menu(many, MENU[:2]), menu(few, MENU[:2])
    assert sorted(done) == sorted([f"q{i:02d}" for i in range(5)] + [case.paper for case in few.cases])
    assert (one.papers, one.solved) == (20, 20)
    assert one.wrong_raw == pytest.approx(4 * other.wrong_raw)
    for many_gain, gain in zip(one.choices, other.choices, strict=True):
        assert many_gain.gain == pytest.approx(4 * gain.gain, abs=1e-12)
        assert many_gain.added == pytest.approx(gain.added, abs=1e-12)


def _pieces(papers: int):
    """Papers solved once; only their ids change from one sample to the next.

    Rough weights are off by 20 %: they need not be right, nor even on the right side of each other.
    """
    conference = _conference(43, papers, 40)
    guarantees = (PUBLIC, Guarantee("average", epsilon=None))
    solved = [_solve_under_guarantees(case, guarantees=guarantees) for case in conference.cases]
    raw = np.array(conference.raw_accept)
    right, full = np.array([_rough_chances(case) for case in conference.cases]).T
    rough = np.stack([_one_of_two(raw, right), full], axis=1)
    off = np.exp(0.2 * np.random.default_rng(7).normal(size=rough.shape))
    return guarantees, raw, rough * off, solved


def _estimates(found: Menu) -> dict[str, tuple[float, float]]:
    pairs = {
        f"{name} {place}": (getattr(choice, name), getattr(choice, f"{name}_se"))
        for place, choice in enumerate(found.choices)
        for name in QUANTITIES
    }
    for name in ("wrong_raw", "wrong_fully_calibrated", "gain_fully_calibrated", "success_scores_only"):
        pairs[name] = (getattr(found, name), getattr(found, f"{name}_se"))
    return pairs


def test_estimates_are_near_what_they_estimate_as_their_standard_errors_say():
    """400 ways to name 60 papers of which 24 are solved. If an interval of 2 standard errors covers the truth
    in at least 88 of 100 cases, fewer than 78 in 100 have a chance below 1e-7 each; a mean that is off by 5
    of its standard deviations has one of 6e-7. Figures that are 0 for every paper are left out."""
    guarantees, raw, rough, solved = _pieces(60)
    truth = _estimates(_estimated(solved, raw, rough, range(60), guarantees, 60))
    assert all(error == 0.0 for _, error in truth.values())
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in truth}
    for seed in range(400):
        drawn = _order([f"{seed} {i}" for i in range(60)], _sizes(rough))[:24]
        estimated = _estimated([solved[i] for i in drawn], raw[drawn], rough, drawn, guarantees, 60)
        for name, pair in _estimates(estimated).items():
            found[name].append(pair)
    checked = 0
    for name, pairs in found.items():
        value, error = np.array(pairs).T
        if error.max() <= 1e-9:
            continue
        checked += 1
        off = value - truth[name][0]
        assert np.mean(np.abs(off) <= 2.0 * error) >= 0.78, name
        assert abs(off.mean()) <= 5.0 * off.std() / 20.0 + 0.1 * error.mean(), name
        # Twice the true size would be as useless as half of it.
        assert 0.6 < np.sqrt(np.mean(error**2)) / np.sqrt(np.mean(off**2)) < 1.6, name
    assert checked == 10


def test_a_sample_of_the_papers_weighed_has_the_larger_error_of_both_stages():
    """Of 120 papers 40 are weighed, by their ids alone, and 16 solved: intervals of 2 standard errors cover
    the truth in at least 80 of 100 of 300 samples; below 66 in 100 has a chance under 1e-8."""
    guarantees, raw, rough, solved = _pieces(120)
    truth = _estimates(_estimated(solved, raw, rough, range(120), guarantees, 120))
    rng, inside, wider = np.random.default_rng(5), dict.fromkeys(truth, 0), 0
    for seed in range(300):
        weighed = rng.choice(120, 40, replace=False)
        drawn = _order([f"{seed} {i}" for i in range(40)], _sizes(rough[weighed]))[:16]
        chosen = [solved[weighed[i]] for i in drawn]
        known = chosen, raw[weighed[drawn]], rough[weighed], drawn, guarantees
        both, second = (_estimates(_estimated(*known, papers)) for papers in (120, 40))
        wider += both["gain 1"][1] > 3.0 * second["gain 1"][1]
        for name, (value, error) in both.items():
            inside[name] += abs(value - truth[name][0]) <= 2.0 * error + 1e-12
    assert wider == 300
    for name, number in inside.items():
        if not name.startswith("added"):
            assert number >= 0.66 * 300, name


def _inputs(stray: bool):
    papers = [f"p{i}" for i in range(12)]
    people = [f"r{j}" for j in range(6)]
    reviews = {
        "paper": [p for p in papers for _ in range(2)],
        "reviewer": [people[(i + k) % 6] for i in range(12) for k in range(2)],
        "score": [float(i % 5) + k + 0.25 for i in range(12) for k in range(2)],
    }
    pools = {
        "paper": [p for p in papers for _ in people],
        "reviewer": people * 12,
        "probability": [
            0.0 if stray and p == "p5" and r == people[5] else 0.5 for p in papers for r in people
        ],
    }
    calibration = {"reviewer": people, "slope": [1.0] * 6, "offset": [2.5] * 6, "noise": [1.0] * 6}
    return read_inputs(reviews, calibration, pools)


def test_a_sample_has_a_bar_of_its_own_and_every_input_is_checked(monkeypatch: pytest.MonkeyPatch):
    request = Request(Guarantee("steady", epsilon=2.0), accept=3)
    whole = prepared_sample(_inputs(stray=False), request)
    assert len(whole.cases) == 12
    monkeypatch.setattr(guarantee_menu, "MOST_WEIGHED", 5)
    some = prepared_sample(_inputs(stray=False), request)
    assert {case.paper for case in some.cases} < {case.paper for case in whole.cases}
    assert (len(some.cases), some.accept_rate, sum(some.raw_accept)) == (5, 0.25, 1.0)
    assert some.bar != whole.bar
    assert "p5" not in {case.paper for case in some.cases}
    with pytest.raises(InputError, match="p5"):
        prepared_sample(_inputs(stray=True), request)
