"""Straight lines: each check against a loop over reviews, and noticing what it is for."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.fitting.diagnostics import LinearityCheck, check_linearity, leave_one_out_quality, standardize
from blindcal.fitting.history import History, build_history, past_conferences
from blindcal.reviews import Reviews
from small_pasts import tiny_history


def drawn(seed: int, wider: float = 0.0, curved: float = 0.0) -> tuple[History, np.ndarray]:
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
    found = check_linearity(*drawn(1))
    assert isinstance(found, LinearityCheck)
    assert abs(found.wider) < 5 * found.wider_error < 0.5
    assert abs(found.curved) < 5 * found.curved_error
    assert found.notes == []
    assert len(found.bins) == 7
    assert [one.quality for one in found.bins] == sorted(one.quality for one in found.bins)
    for one in found.bins:
        assert abs(one.left) < 5 * one.error
        assert one.width == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize(("wider", "which"), [(0.6, "better"), (-0.6, "weaker")])
def test_noise_that_depends_on_quality_is_noticed(wider: float, which: str) -> None:
    found = check_linearity(*drawn(2, wider=wider))
    assert found is not None
    assert found.wider * wider > 0
    assert any(f"reviews of {which} papers are noisier" in note for note in found.notes)


def test_curves_of_their_own_are_noticed() -> None:
    found = check_linearity(*drawn(3, curved=0.3))
    assert found is not None
    assert found.curved > 3 * found.curved_error
    assert any("ways of their own" in note for note in found.notes)


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
