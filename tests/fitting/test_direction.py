"""Past years on the reversed scale are noticed, or asked for; years as they were said to be are fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import blindcal as bc
from blindcal.fitting.direction import (
    Direction,
    MirroredError,
    _leniencies,
    _mean_log_ratio,
    _pair_log_ratios,
    direction,
)
from blindcal.fitting.history import past_conferences
from sizes import count
from small_pasts import PAPERS, PEOPLE, lenient_year, lenient_years, turned


def found(pasts: dict[str, bc.Reviews], now: bc.Reviews | None, **stated: str) -> Direction:
    return direction(past_conferences(pasts, past_better=stated), stated, now)


def test_both_past_years_on_the_reversed_scale_are_refused() -> None:
    pasts, now = lenient_years(1)
    both = {name: turned(past) for name, past in pasts.items()}
    with pytest.raises(bc.InputError, match="past scores look mirrored") as error:
        bc.fit(both, this_year=now, sweeps=20)
    assert 'past-better = ["25=low", "26=low"]' in str(error.value)
    believed = found(both, now, **{"25": "high", "26": "high"})
    assert (believed.unmirrored, believed.doubtful, believed.notes()) == (1.0, (), [])
    said = bc.fit(both, this_year=now, past_better={"25": "low", "26": "low"}, sweeps=20)
    plain = bc.fit(pasts, this_year=now, sweeps=20)
    assert np.allclose(said.population, plain.population)


@pytest.mark.parametrize("middle", [5.5, 6.5])
def test_one_of_two_past_years_is_told_by_people_who_came_back(middle: float) -> None:
    """In the middle of the scale the mean says nothing: which of both it is remains open. Never silent."""
    refused = 0
    for seed in range(conferences := count(10, 100)):
        pasts, now = lenient_years(seed, middle)
        result = found({**pasts, "25": turned(pasts["25"])}, now)
        try:
            assert result.notes()
        except MirroredError:
            refused += 1
    assert refused >= 0.8 * conferences


def test_in_the_middle_of_the_scale_the_chair_is_asked() -> None:
    pasts, now = lenient_years(2, middle=5.5, spread=0.0)
    (note,) = found(pasts, now).notes()
    assert note.startswith("which scores were better in 25, 26 cannot be told from the scores")
    fitted = bc.fit(pasts, this_year=now, sweeps=20)
    assert note in fitted.checks.notes


def test_years_as_they_were_said_to_be_are_seldom_refused() -> None:
    """Means that differ by .2 standard deviations from year to year: one in 20 at most, as chances say.

    Of 60 (600) conferences more than 9 (50) would be refused with a chance of 7e-4 (1e-4); the seeds are
    fixed. Where scores lie well above the middle, the chair is not even asked.
    """
    refused = asked = 0
    for seed in range(conferences := count(60, 600)):
        pasts, now = lenient_years(seed, middle=5.5 + (seed % 3) * 0.75, spread=0.4)
        try:
            asked += bool(found(pasts, now).notes()) and seed % 3 == 2
        except MirroredError:
            refused += 1
    assert refused <= (9 if conferences == 60 else 50)
    assert asked <= conferences // 12


def test_habits_that_do_not_last_say_nothing_about_directions() -> None:
    """The least of 200 conferences is .84, all others are above .93."""
    for seed in range(count(20, 200)):
        rng = np.random.default_rng([44, seed])
        habits = (0.6 * rng.standard_normal(PEOPLE) for _ in range(3))
        made = [
            lenient_year(rng, own, 6.5, name) for own, name in zip(habits, ("25", "26", "27"), strict=True)
        ]
        assert found({"25": made[0], "26": made[1]}, made[2]).unmirrored > 0.8


def test_chances_are_those_of_bayes_rule_written_out() -> None:
    pasts, now = lenient_years(3, middle=5.8)
    one, two = past_conferences(pasts)
    means = {}
    for past in (one, two):
        sd = now.score.std()
        error = np.sqrt((0.3 * sd) ** 2 + past.score.var() / PAPERS + sd**2 / PAPERS)
        means[past.name] = [
            norm.logpdf(m, now.score.mean(), error) for m in (past.score.mean(), 11 - past.score.mean())
        ]
        assert _mean_log_ratio(past, now) == pytest.approx(means[past.name][0] - means[past.name][1])
    first, second = _leniencies(one), _leniencies(two)
    logs = {1.0: 0.0, -1.0: 0.0, 0.0: 0.0}
    for name in first.keys() & second.keys():
        (x, vx), (y, vy) = first[name], second[name]
        for sign in logs:
            whole = [[vx, 0.1 * sign], [0.1 * sign, vy]]
            logs[sign] += multivariate_normal([0, 0], whole).logpdf([x, y])
    pair = [logs[sign] - logs[0.0] for sign in (1.0, -1.0)]
    assert _pair_log_ratios(first, second) == pytest.approx(pair)
    cases = {
        (a, b): means["25"][a] + means["26"][b] + np.logaddexp(0.0, pair[a != b]) - 2.0 * ((a != b) + b)
        for a in (0, 1)
        for b in (0, 1)
    }
    top = max(cases.values())
    chances = {case: np.exp(value - top) for case, value in cases.items()}
    assert found(pasts, now).unmirrored == pytest.approx(chances[0, 0] / sum(chances.values()))


def test_leniency_is_the_distance_from_the_other_scores_of_a_paper() -> None:
    table = {
        "paper": ["a", "a", "a", "b", "b", "c"],
        "reviewer": ["x", "y", "z", "x", "y", "z"],
        "score": [5.0, 3.0, 1.0, 4.0, 2.0, 9.0],
    }
    (past,) = past_conferences({"p": bc.Reviews.from_table(table)})
    sd = np.std(table["score"])
    assert {name: mean for name, (mean, _) in _leniencies(past).items()} == pytest.approx(
        {"x": 2.5 / sd, "y": -1.0 / sd, "z": -3.0 / sd}
    )
    low = replace(past, better="low")
    assert _leniencies(low)["x"][0] == pytest.approx(-2.5 / sd)
