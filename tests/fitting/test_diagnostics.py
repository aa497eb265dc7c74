"""Model checks: each notices what it is for, and says nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import zscore
from studies.past_reviews import Drawn, drawn_pasts

from blindcal.fitting.diagnostics import Forecast, forecast_last_conference
from blindcal.fitting.estimate import fit
from blindcal.fitting.gibbs import chain, parameters
from blindcal.fitting.history import build_history, past_conferences
from blindcal.reviews import Reviews

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
    columns = reviews.columns()
    means = [
        np.mean(
            [
                s
                for p, s, c in zip(*map(columns.get, ("paper", "score", "conference")), strict=True)
                if (p, c) == one
            ]
        )
        for one in sorted(set(zip(columns["paper"], columns["conference"], strict=True)))
    ]
    where = np.array([c for _, c in sorted(set(zip(columns["paper"], columns["conference"], strict=True)))])
    cubes = [zscore(np.array(means)[where == c]) ** 3 for c in set(where)]
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
    found = forecast_last_conference(pasts, moments)
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


def test_history_helps_where_habits_last_and_not_where_they_do_not() -> None:
    lasting = fit(drawn_pasts(np.random.default_rng(1), 150, 5).reviews, sweeps=SWEEPS).checks
    fleeting = fit(
        drawn_pasts(np.random.default_rng(1), 150, 5, persistence=0.0).reviews, sweeps=SWEEPS
    ).checks
    assert lasting.forecast.verdict == "history helps"
    assert fleeting.forecast.verdict != "history helps"
    assert lasting.persistence.low > 0.8
    assert fleeting.persistence.high < 0.6
