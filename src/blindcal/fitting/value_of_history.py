"""What more history would be worth: expected wrong decisions with what is known of reviewers, and with more.

Committees like the fitted one are drawn, with true slopes, offsets and noise as far from the estimates as
their standard errors say, and papers that they score. Decisions are fully calibrated and without privacy:
under a guarantee a part of the gain is left. Everything is an expectation over what a fit does not know; no
review of this year is read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from blindcal.checks import Array, Integers, strictly_within
from blindcal.errors import InputError

_PAPERS = 40_000
_SEED = 20250102

# A noise is never less than this share of its estimate.
_MIN_NOISE = 0.2


@dataclass(frozen=True)
class ValueOfHistory:
    """Expected shares of wrong decisions of a committee, with more or less knowledge of its reviewers."""

    accept_rate: float  # the share of papers that is accepted
    reviews_per_paper: int  # how many reviews each paper has
    raw: float  # wrong decisions by mean scores
    alike: float  # fully calibrated, with everybody taken to be alike; so are the next three
    now: float  # with this history
    twice: float  # with twice as much history
    known: float  # with reviewers known exactly
    error: float  # the standard error of each of these shares
    # What twice as much history would take off `now`, and the standard error of that
    twice_gains: tuple[float, float]
    # What knowing reviewers exactly would take off `now`, and the standard error of that
    to_gain: tuple[float, float]


def value_of_history(
    rows: Array, anyone: Array, persistence: float, *, accept_rate: float = 0.25, reviews_per_paper: int = 3
) -> ValueOfHistory:
    """What to expect for a committee with these rows of reviewers.csv, `rows[7, person]`.

    `anyone[7]` is the row of somebody without history, `persistence` the correlation of habits between
    conferences, `accept_rate` the share of papers to accept.
    """
    strictly_within("`accept_rate`", accept_rate, 0.0, 1.0)
    people = rows.shape[1]
    if not 1 <= reviews_per_paper <= people:
        raise InputError(f"a paper must have from 1 to {people} reviews, as many as there are people")
    rng = np.random.default_rng(_SEED)
    who = draw_panels(rng, _PAPERS, people, reviews_per_paper)
    bar, quality = float(ndtri(1.0 - accept_rate)), rng.standard_normal((_PAPERS, 1))
    mean, now = rows[:3, who], covariances(rows)
    after = twice_as_much(now, covariances(anyone[:, None])[..., 0], persistence)
    better = mean[:2] + _draw_habits(now - after, who, rng)
    slope, offset = true = better + _draw_habits(after, who, rng)
    noise = np.maximum(mean[2] + rows[6, who] * rng.standard_normal(who.shape), _MIN_NOISE * mean[2])
    score = slope * quality + offset + noise * rng.standard_normal(who.shape)
    alike = np.broadcast_to(anyone[:3, None, None], mean.shape)
    noises = mean[2] ** 2 + rows[6, who] ** 2
    expected = {
        "alike": _expected_quality(
            score, alike[:2], covariances(anyone[:, None])[:, np.zeros_like(who)], noises
        ),
        "now": _expected_quality(score, mean[:2], now[:, who], noises),
        "twice": _expected_quality(score, better, after[:, who], noises),
        "known": _expected_quality(score, true, np.zeros_like(now)[:, who], noise**2),
    }
    line = np.quantile(score.mean(axis=1), 1.0 - accept_rate)
    good = quality[:, 0] > bar
    wrong = {name: (value > bar) != good for name, value in expected.items()}
    wrong["raw"] = (score.mean(axis=1) > line) != good
    shares = {name: float(errors.mean()) for name, errors in wrong.items()}
    return ValueOfHistory(
        accept_rate,
        reviews_per_paper,
        **shares,
        error=float(wrong["now"].std() / np.sqrt(_PAPERS)),
        twice_gains=_mean_gain(wrong["now"], wrong["twice"]),
        to_gain=_mean_gain(wrong["now"], wrong["known"]),
    )


def draw_panels(rng: np.random.Generator, papers: int, people: int, size: int) -> Integers:
    """Different people for each paper, every subset as likely as the next (Floyd)."""
    chosen = np.empty((papers, size), dtype=np.int64)
    for slot, last in enumerate(range(people - size, people)):
        drawn = rng.integers(0, last, papers, endpoint=True)
        taken = (chosen[:, :slot] == drawn[:, None]).any(axis=1)
        chosen[:, slot] = np.where(taken, last, drawn)
    return chosen


def covariances(rows: Array) -> Array:
    """Variance of slope, covariance, variance of offset of each person: `[3, person]`."""
    return np.stack([rows[3] ** 2, rows[5] * rows[3] * rows[4], rows[4] ** 2])


def twice_as_much(now: Array, population: Array, persistence: float) -> Array:
    """Covariances after as many reviews again, written at the same conferences.

    What the reviews say counts twice, and habits drift on to the next conference as before.
    """
    old = persistence**2
    fresh = (1.0 - old) * population[:, None]
    whole, then = _covariance_matrices(population[:, None]), _covariance_matrices((now - fresh) / old)
    # Somebody of whom nothing or everything is known stays so: else rounding would be taken for knowledge.
    least, share = np.linalg.eigvalsh(then)[:, 0], np.linalg.det(then) / np.linalg.det(whole)
    between = (least > 0.0) & (share > 1e-9) & (share < 0.999)
    before = np.linalg.inv(np.where(between[:, None, None], then, whole))
    values, vectors = np.linalg.eigh(before - np.linalg.inv(whole))
    # What the reviews added, without the negative part that rounding leaves.
    information = np.einsum("nij,nj,nkj->nik", vectors, np.maximum(values, 0.0), vectors)
    after = np.linalg.inv(before + information)
    doubled = np.stack([after[:, 0, 0], after[:, 0, 1], after[:, 1, 1]])
    return np.asarray(np.where(between, old * doubled + fresh, now))


def _covariance_matrices(parts: Array) -> Array:
    return np.asarray(np.stack([parts[[0, 1]], parts[[1, 2]]]).transpose(2, 0, 1))


def _draw_habits(parts: Array, who: Integers, rng: np.random.Generator) -> Array:
    """(slope, offset) around 0 with these covariances, for each review."""
    aa, ab, bb = parts[:, who]
    z = rng.standard_normal((2, *who.shape))
    root = np.sqrt(np.maximum(aa, 0.0))
    tilt = np.divide(ab, root, out=np.zeros_like(ab), where=root > 0.0)
    rest = np.sqrt(np.maximum(bb - tilt**2, 0.0))
    return np.stack([root * z[0], tilt * z[0] + rest * z[1]])


def _expected_quality(score: Array, mean: Array, covariance: Array, noise: Array) -> Array:
    """E[quality | scores], what is not known of a reviewer counting as noise."""
    slope, offset = mean
    weight = 1.0 / (noise + covariance[0] + covariance[2])
    pull = (weight * slope * (score - offset)).sum(axis=1)
    return np.asarray(pull / (1.0 + (weight * slope**2).sum(axis=1)))


def _mean_gain(before: Array, after: Array) -> tuple[float, float]:
    saved = before.astype(np.float64) - after
    return float(saved.mean()), float(saved.std() / np.sqrt(saved.size))
