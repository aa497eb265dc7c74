"""Model checks: each notices what it is for, and says nothing where there is nothing."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import zscore
from studies.past_reviews import Drawn, drawn_pasts

from blindcal.fitting.diagnostics import (
    Forecast,
    LinearityCheck,
    check_linearity,
    forecast_last_conference,
    leave_one_out_quality,
    standardize,
)
from blindcal.fitting.estimate import fit
from blindcal.fitting.gibbs import chain, parameters
from blindcal.fitting.history import History, build_history, past_conferences
from blindcal.reviews import Reviews
from small_pasts import tiny_history

SWEEPS = 240


def drawn(seed: int, **options: object) -> Drawn:
    return drawn_pasts(np.random.default_rng(seed), 120, 4, **options)


def changed(drawn: Drawn, change: object) -> Reviews:
    columns = drawn.reviews.columns()
    columns["score"] = change(np.array(columns["score"]), columns["reviewer"])
    return Reviews.from_table(columns)


@pytest.fixture(scope="module")
def plain() -> Drawn:
    return drawn(3)


def test_shares_are_those_that_scores_were_drawn_with(plain: Drawn) -> None:
    """Quality 1, slopes .09, offsets .16, noise .25 e^.18; with 120 people the 90 % intervals hold most."""
    checks = fit(plain.reviews, sweeps=SWEEPS).checks
    truth = np.array([1.0, 0.09, 0.16, 0.25 * np.exp(2 * 0.09)])
    truth /= truth.sum()
    found = list(checks.shares.values())
    assert sum(one.value for one in found) == pytest.approx(1.0)
    for one, share in zip(found, truth, strict=True):
        slack = one.high - one.low
        assert one.low - slack < share < one.high + slack
    assert not checks.bent
    assert checks.outliers == ()
    assert checks.rhat < 1.05


def test_scores_that_bend_are_noticed(plain: Drawn) -> None:
    reviews = changed(plain, lambda score, who: (np.exp(0.35 * (score - 5.5)) / 0.35).tolist())
    checks = fit(reviews, sweeps=SWEEPS).checks
    assert checks.bent
    assert checks.bend.low > 0
    table, papers = reviews.columns(), defaultdict[tuple[str, str], list[float]](list)
    for paper, conference, score in zip(*map(table.get, ("paper", "conference", "score")), strict=True):
        papers[conference, paper].append(score)
    means = defaultdict[str, list[float]](list)
    for (conference, _), scores in papers.items():
        means[conference].append(np.mean(scores))
    cubes = [zscore(of_conference) ** 3 for of_conference in means.values()]
    assert checks.bend.value == pytest.approx(np.concatenate(cubes).mean())
    assert any("not a straight line" in note for note in checks.notes)


def test_a_reviewer_unlike_all_others_is_an_outlier(plain: Drawn) -> None:
    often = max(plain.reviews.reviewers, key=plain.reviews.columns()["reviewer"].count)
    reviews = changed(
        plain, lambda score, who: (score - 6 * np.array([name == often for name in who])).tolist()
    )
    assert fit(reviews, sweeps=SWEEPS).checks.outliers == (often,)


def test_levels_of_confidence_are_learned(plain: Drawn) -> None:
    columns = plain.reviews.columns()
    rng = np.random.default_rng(1)
    level = rng.integers(1, 3, len(columns["score"]))
    # Level 1 has three times the noise: sqrt(.5^2 + x^2) / .5 with x = 1.4, in widths of 1.7.
    columns["score"] = np.array(columns["score"]) + np.where(
        level == 1, 1.7 * 1.4 * rng.standard_normal(level.size), 0
    )
    columns["confidence"] = level.astype(float).tolist()
    levels = fit(Reviews.from_table(columns), sweeps=SWEEPS).checks.levels
    assert set(levels) == {"1", "2"}
    assert 2.2 < levels["1"] / levels["2"] < 3.8


def test_newcomers_and_thin_histories_are_counted(plain: Drawn) -> None:
    fitted = fit(plain.reviews, committee=["r1", "new", "newer"], sweeps=60)
    assert (fitted.checks.reviewers, fitted.checks.newcomers) == (3, 2)
    assert any("not enough history" in note for note in fitted.checks.notes)
    nobody = fit(plain.reviews, committee=["new", "newer"], sweeps=60)
    assert any("everyone gets the population" in note for note in nobody.checks.notes)


def test_one_conference_says_that_drift_cannot_be_seen(plain: Drawn) -> None:
    fitted = fit(plain.reviews.only("c0"), sweeps=60)
    assert any("one past conference" in note for note in fitted.checks.notes)
    assert fitted.checks.forecast is None


def test_the_forecast_is_what_a_loop_over_the_reviews_finds(plain: Drawn) -> None:
    pasts = past_conferences({"past": plain.reviews})
    earlier, last = build_history(pasts[:-1]), build_history(pasts[-1:])
    moments = chain(earlier, [1], 120)
    found = forecast_last_conference(pasts[-1], earlier, moments)
    rows = dict(zip(earlier.reviewers, parameters(moments.reviewers).T, strict=True))
    anyone = parameters(moments.anyone)
    everyone = np.array([rows.get(name, anyone) for name in last.reviewers])
    errors = _errors(last, everyone, rows), _errors(last, np.tile(anyone, (len(everyone), 1)), rows)
    assert isinstance(found, Forecast)
    assert found.reviews == len(errors[0])
    assert found.fitted == pytest.approx(np.sqrt(np.mean(np.square(errors[0]))))
    assert found.population == pytest.approx(np.sqrt(np.mean(np.square(errors[1]))))
    gain = 1 - np.mean(np.square(errors[0])) / np.mean(np.square(errors[1]))
    assert found.gain == pytest.approx(gain)


def _errors(last: object, table: np.ndarray, rows: dict[str, np.ndarray]) -> list[float]:
    """Paper by paper and review by review, on a scale of mean 0 and deviation 1 for these people."""
    a, b, s, ae, be, _, se = table.T
    unit = np.sqrt((a**2 + ae**2 + be**2 + s**2 + se**2).mean() + b.var())
    a, b, spread = a / unit, (b - b.mean()) / unit, (ae**2 + be**2 + s**2 + se**2) / unit**2
    found = []
    for n in range(len(last.score)):
        top, bottom = 0.0, 1.0
        for m in np.flatnonzero(last.paper == last.paper[n]):
            j = last.reviewer[m]
            if m != n:
                top += a[j] * (last.score[m] - b[j]) / spread[j]
                bottom += a[j] ** 2 / spread[j]
        j = last.reviewer[n]
        if last.reviewers[j] in rows:
            found.append(float(last.score[n] - a[j] * top / bottom - b[j]))
    return found


@pytest.mark.parametrize("lasting", [True, False])
def test_history_helps_where_habits_last_and_not_where_they_do_not(lasting: bool) -> None:
    options = {} if lasting else {"persistence": 0.0}
    checks = fit(drawn_pasts(np.random.default_rng(1), 150, 5, **options).reviews, sweeps=SWEEPS).checks
    assert (checks.forecast.verdict == "history helps") == lasting
    assert checks.persistence.low > 0.8 if lasting else checks.persistence.high < 0.6


# --- Straight lines: each check against a loop over reviews, and noticing what it is for.


def drawn_curves(seed: int, wider: float = 0.0, curved: float = 0.0) -> tuple[History, np.ndarray]:
    """300 reviewers with 12 reviews each, four a paper, whose rows are known: slope 1, offset 0, noise .5."""
    rng = np.random.default_rng(seed)
    people, papers = 300, 900
    who = np.concatenate([rng.permutation(people) for _ in range(12)]).reshape(papers, 4)
    quality = rng.standard_normal((papers, 1))
    own = curved * rng.standard_normal(people)[who] * (quality**2 - 1)
    noise = 0.5 * np.exp(wider * quality / 2) * rng.standard_normal(who.shape)
    score = (quality + own + noise).ravel()
    table = {"paper": np.repeat(np.arange(papers), 4).tolist(), "reviewer": who.ravel().tolist()}
    history = build_history(past_conferences({"x": Reviews.from_table({**table, "score": score.tolist()})}))
    rows = np.tile(np.array([1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0])[:, None], people)
    return history, standardize(rows)


def test_where_the_model_holds_nothing_is_said() -> None:
    found = check_linearity(*drawn_curves(1))
    assert isinstance(found, LinearityCheck)
    assert abs(found.wider) < 5 * found.wider_error < 0.5
    assert abs(found.curved) < 5 * found.curved_error
    assert found.notes == []
    assert len(found.bins) == 7
    assert [one.quality for one in found.bins] == sorted(one.quality for one in found.bins)
    for one in found.bins:
        assert abs(one.left) < 5 * one.error
        assert one.width == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize(
    ("wider", "curved", "told"),
    [
        (0.6, 0.0, "reviews of better papers are noisier"),
        (-0.6, 0.0, "reviews of weaker papers are noisier"),
        (0.0, 0.3, "ways of their own"),
    ],
)
def test_what_no_straight_line_describes_is_noticed(wider: float, curved: float, told: str) -> None:
    found = check_linearity(*drawn_curves(2, wider, curved))
    assert found is not None
    assert found.wider * wider >= 0
    assert curved == 0 or found.curved > 3 * found.curved_error
    (note,) = found.notes
    assert told in note


def test_the_numbers_are_those_of_a_loop_over_the_reviews() -> None:
    history = tiny_history()
    rng = np.random.default_rng(4)
    rows = np.abs(rng.normal(0.5, 0.2, (7, len(history.reviewers))))
    rows[5] = 0.0
    quality, variance = leave_one_out_quality(history, rows)
    for n in range(len(history)):
        top, bottom = 0.0, 1.0
        for m in range(len(history)):
            if m != n and history.paper[m] == history.paper[n]:
                a, b, s, ae, be, _, se = rows[:, history.reviewer[m]]
                weight = a / (ae**2 + be**2 + s**2 + se**2)
                top, bottom = top + weight * (history.score[m] - b), bottom + weight * a
        assert (quality[n], variance[n]) == pytest.approx((top / bottom, 1 / bottom))
    left = np.array(
        [
            (history.score[n] - a * quality[n] - b)
            / np.sqrt(a**2 * variance[n] + ae**2 * (quality[n] ** 2 + variance[n]) + be**2 + s**2 + se**2)
            for n, (a, b, s, ae, be, _, se) in enumerate(rows[:, history.reviewer].T)
        ]
    )
    found = check_linearity(history, rows)
    assert found is not None
    slope = np.polyfit(quality, left**2, 1)[0]
    assert found.wider == pytest.approx(slope / (left**2).mean())
    bend = quality**2 - (quality**2).mean()
    top, bottom = 0.0, 0.0
    for i in range(len(history)):
        for j in range(len(history)):
            if i != j and history.reviewer[i] == history.reviewer[j]:
                top += left[i] * bend[i] * left[j] * bend[j]
                bottom += bend[i] ** 2 * bend[j] ** 2
    assert found.curved == pytest.approx(top / bottom)
    assert found.bins[0].left == pytest.approx(left.mean())


def test_standard_rows_have_scores_of_mean_0_and_deviation_1() -> None:
    rows = np.array([[1.0, 2.0, 0.5, 0.1, 0.2, 0.0, 0.0], [0.5, 4.0, 1.0, 0.2, 0.1, 0.0, 0.3]]).T
    slope, offset, noise, slope_se, offset_se, _, noise_se = standardize(rows)
    assert offset.mean() == pytest.approx(0.0)
    variance = slope**2 + slope_se**2 + offset_se**2 + noise**2 + noise_se**2
    assert variance.mean() + offset.var() == pytest.approx(1.0)
