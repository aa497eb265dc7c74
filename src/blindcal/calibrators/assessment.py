"""Whether calibration is worth it: variance shares of the scores, and how many decisions it would change.

The reviews are fitted by the model of `hierarchical`. Conferences are then simulated on the very same
assignment with spreads drawn from the fit. Their true qualities are known, so papers on the wrong side of the
acceptance line can be counted for each method. Whether real reviewers are as the model has them is checked
without any truth: one score of each paper is left out and predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from blindcal.calibrators.affine_model import (
    expected_score,
    hierarchical,
    hierarchical_quality,
    posterior_quality,
)
from blindcal.calibrators.gibbs import Batch, Spreads, copies, fit_batch, location_and_scale
from blindcal.calibrators.results import batch_of, raw_quality
from blindcal.checks import Array, Integers, roundoff, strictly_within, within
from blindcal.compute.mcmc import positive_normal
from blindcal.errors import InputError
from blindcal.fitting.diagnostics import Estimate, credible_interval
from blindcal.io.tables import data_frame
from blindcal.planning.expected_errors import WORTH
from blindcal.reviewers.base import Booleans
from blindcal.reviews import Reviews

_PREDICTION_SEED, _PREDICTION_SWEEPS, _PREDICTION_DRAWS = 20250103, 600, 200


@dataclass(frozen=True)
class Change:
    """The error of predictions, and how it differs from that of the raw means."""

    error: float  # root mean square error
    change: float  # the relative difference from the error of the raw means; below 0 is better
    low: float  # the lower end of a 90 % interval of the change, paired over papers
    high: float  # the upper end


def left_out(batch: Batch, rng: np.random.Generator) -> Booleans:
    """A random review of each paper that has three, unless its reviewer would keep fewer than two."""
    order = rng.permutation(batch.score.size)
    able = (batch.per_paper() >= 3)[batch.paper] & (batch.per_reviewer() >= 3)[batch.reviewer]
    order = order[able[order]]
    _, first = np.unique(batch.paper[order], return_index=True)
    chosen = order[np.sort(first)]
    chosen = chosen[np.argsort(batch.reviewer[chosen], kind="stable")]
    who = batch.reviewer[chosen]
    rank = np.arange(who.size) - np.searchsorted(who, who)
    out = np.zeros(batch.score.size, dtype=bool)
    out[chosen[rank < batch.per_reviewer()[who] - 2]] = True
    return out


def change(squares: Array, plain: Array, paper: Integers) -> Change:
    """The error of predictions with these squared errors, against those of the raw means.

    Several left-out scores of one paper are averaged first. The standard error of the ratio is by the delta
    method.
    """
    _, index, count = np.unique(paper, return_inverse=True, return_counts=True)
    own, base = (np.bincount(index, value) / count for value in (squares, plain))
    ratio = float(own.mean() / base.mean())
    error = float((own - ratio * base).std(ddof=1) / np.sqrt(own.size) / base.mean() / (2 * np.sqrt(ratio)))
    shift, reach = np.sqrt(ratio) - 1, float(ndtri(0.95)) * error
    return Change(float(np.sqrt(own.mean())), float(shift), float(shift - reach), float(shift + reach))


def prediction_changes(batch: Batch, repeats: int) -> dict[str, Change]:
    """How well left-out scores are predicted, by method.

    `raw` are the mean scores, `shrunk` these drawn to the overall mean, which is the best that can be done
    without knowing reviewers; `offsets` and `hierarchical` are the sampled methods. {} if no score can be
    left out, or if the raw means predict all of them.
    """
    rng = np.random.default_rng(_PREDICTION_SEED)
    out = np.stack([left_out(batch, rng) for _ in range(repeats)])
    repeat, row = np.nonzero(out)
    if np.unique(batch.paper[row]).size < 2:
        return {}
    many, stay = copies(batch, batch.score, repeats), ~out.ravel()
    rest = Batch(
        many.paper[stay], many.reviewer[stay], many.score[stay], many.paper_group, many.reviewer_group
    )
    paper, reviewer = batch.paper[row], batch.reviewer[row]
    i, j = paper + repeat * batch.papers, reviewer + repeat * batch.reviewers
    plain, _ = raw_quality(rest)
    predicted = {"raw": plain[i], "shrunk": shrunk_means(rest)[i]}
    for name, simple in (("offsets", True), ("hierarchical", False)):
        fit = fit_batch(rest, common_slope=simple, sweeps=_PREDICTION_SWEEPS, keep=_PREDICTION_DRAWS)
        predicted[name] = expected_score(fit)(i, j)
    squares = {name: (value - batch.score[row]) ** 2 for name, value in predicted.items()}
    if squares["raw"].max() <= roundoff(batch.score) ** 2:
        return {}
    return {name: change(value, squares["raw"], paper) for name, value in squares.items()}


def shrunk_means(batch: Batch) -> Array:
    """Mean scores drawn to the overall mean by `between / (between + within / k)`, variances by moments."""
    mean, error = raw_quality(batch)
    group = batch.paper_group
    papers = np.bincount(group, minlength=batch.groups)
    middle = (batch.per_group(batch.score) / batch.per_group())[group]
    spread = np.bincount(group, (mean - middle) ** 2, batch.groups) / papers
    between = np.maximum(spread - np.bincount(group, error**2, batch.groups) / papers, 0.0)[group]
    weight = between / np.maximum(between + error**2, np.finfo(float).tiny)
    shrunk: Array = middle + weight * (mean - middle)
    return shrunk


Verdict = Literal["worth it", "worth it with history", "not worth it", "unclear"]

DOUBT = (
    "the model expects a gain, but left-out scores are predicted no better with it than without reviewers: "
    "reviewers here are not as the model has them"
)
_SEED = 20250102
# Rows of all simulated conferences together, from 4 to 100 of them; sweeps of their chain; and how many times
# at most one score of each paper is left out.
_ROWS, _FEWEST, _MOST, _SWEEPS, _REPEATS = 40_000, 4, 100, 450, 20


@dataclass(frozen=True)
class Assessment:
    """How reviewers differ by their reviews, and what calibrating them would change.

    The gains hold if reviewers are as the model has them; `predictions` checks that on the data. A gain that
    the left-out scores contradict is not believed.

    Attributes:
        verdict: "worth it", "worth it with history", "not worth it" or "unclear".
        shares: Of the variance of one score: due to `quality`, to reviewers' `offset`, to reviewers' `slope`,
            and the `residual`.
        accept_rate: The share of papers above the acceptance line.
        wrong: Share of papers on the wrong side of the line, by method: `raw`; `hierarchical`, which learns
            reviewers from these reviews alone; `known`, as if every reviewer's slope and offset were known,
            the best that any history can give.
        gain_now: How much less `hierarchical` is wrong than `raw`, paired over conferences.
        gain_known: How much less `known` is wrong than `raw`, paired over conferences.
        least_gain: A gain below it is not worth it.
        conferences: How many were simulated.
        predictions: How well one score of each paper is predicted from the others, by method; {} if no paper
            has three reviews, or if all scores of each paper are equal.
        notes: What the data could not show, in words.
    """

    verdict: Verdict
    shares: dict[str, Estimate]
    accept_rate: float
    wrong: dict[str, Estimate]
    gain_now: Estimate
    gain_known: Estimate
    least_gain: float
    conferences: int
    predictions: dict[str, Change]
    notes: tuple[str, ...]

    def to_frame(self) -> Any:
        """One row per number with its interval, as a pandas data frame; needs pandas."""
        rows = {f"share of {name}": share for name, share in self.shares.items()}
        rows |= {f"wrong by {name}": wrong for name, wrong in self.wrong.items()}
        rows |= {"gain now": self.gain_now, "gain with known reviewers": self.gain_known}
        ends = {end: [getattr(row, end) for row in rows.values()] for end in ("value", "low", "high")}
        return data_frame({"number": list(rows), **ends})


def assess(reviews: Reviews, *, accept_rate: float = 0.25, least_gain: float = WORTH) -> Assessment:
    """Variance shares, expected wrong decisions by method, and a verdict; "not worth it" is a normal one.

    Args:
        reviews: The reviews of one conference.
        accept_rate: The share of papers above the acceptance line, between 0 and 1.
        least_gain: The share of papers that must be decided rightly instead of wrongly for calibrating to be
            worth it.

    Raises:
        InputError: If no paper has two reviews, or all scores are equal.

    Example:
        Strict jurors who score everything change no ranking, so there is nothing to gain:

        >>> papers = [f"p{i}" for i in range(12) for _ in range(3)]
        >>> scores = [5.0 + i % 4 + j for i in range(12) for j in range(3)]
        >>> everyone = ["ada", "ben", "cleo"] * 12
        >>> assess(Reviews.from_table({"paper": papers, "reviewer": everyone, "score": scores})).verdict
        'not worth it'
    """
    strictly_within("accept_rate", accept_rate, 0.0, 1.0)
    within("least_gain", least_gain, 0.0, 1.0)
    calibration = hierarchical(reviews)
    if calibration.fit is None:
        raise InputError("assess needs the fit of hierarchical")
    batch, spreads = batch_of(reviews), calibration.fit.spreads
    wrong = _simulated_errors(batch, spreads, calibration.accepted(accept_rate))
    now, known = wrong["raw"] - wrong["hierarchical"], wrong["raw"] - wrong["known"]
    gain_now, gain_known = _mean_over_conferences(now), _mean_over_conferences(known)
    predictions = prediction_changes(batch, min(_REPEATS, _conference_copies(batch)))
    verdict = _verdict_of_gains(batch, gain_now, gain_known, least_gain)
    # Left-out scores, if there are any, must be predicted better with reviewers than without.
    better = not predictions or predictions["hierarchical"].change < predictions["shrunk"].change
    doubted = verdict.startswith("worth it") and not better
    return Assessment(
        verdict="not worth it" if doubted else verdict,
        shares=variance_shares(spreads),
        accept_rate=accept_rate,
        wrong={name: _mean_over_conferences(value) for name, value in wrong.items()},
        gain_now=gain_now,
        gain_known=gain_known,
        least_gain=least_gain,
        conferences=int(now.size),
        predictions=predictions,
        notes=(*calibration.notes, *((DOUBT,) if doubted else ())),
    )


def variance_shares(spreads: Spreads) -> dict[str, Estimate]:
    """Shares of `Var(score) = mean_slope^2 + Var(offset) + Var(slope) + noise^2` (quality has variance 1).

    >>> one = np.ones((1, 1))
    >>> shares = variance_shares(Spreads(quality=2 * one, offset=one, slope=one, noise=2 * one))
    >>> shares["quality"].value, shares["slope"].value
    (0.4, 0.1)
    """
    parts = {
        "quality": spreads.quality**2,
        "offset": spreads.offset**2,
        "slope": spreads.slope**2,
        "residual": spreads.noise**2,
    }
    total = np.sum(list(parts.values()), axis=0)
    return {name: credible_interval(part / total) for name, part in parts.items()}


def _simulated_errors(batch: Batch, spreads: Spreads, count: int) -> dict[str, Array]:
    """Wrong decisions of each method in each simulated conference."""
    times = max(_FEWEST, _conference_copies(batch))
    pick = np.linspace(0, len(spreads.noise) - 1, times).astype(int)
    rng = np.random.default_rng(_SEED)
    mean, noise, offset = (part[pick, 0] for part in (spreads.quality, spreads.noise, spreads.offset))
    m, t, _ = location_and_scale(np.log(mean), np.maximum(spreads.slope[pick, 0] / mean, 0.01))
    z = rng.standard_normal((times, batch.reviewers))
    slope = positive_normal(z, m[:, None], np.broadcast_to(t[:, None], z.shape))
    shift = offset[:, None] * rng.standard_normal((times, batch.reviewers))
    quality = rng.standard_normal((times, batch.papers))
    center = slope[:, batch.reviewer] * quality[:, batch.paper] + shift[:, batch.reviewer]
    score = center + noise[:, None] * rng.standard_normal(center.shape)
    many = copies(batch, score, times)
    each = np.repeat(noise, batch.reviewers)
    estimates = {
        "raw": raw_quality(many)[0],
        "hierarchical": hierarchical_quality(many, sweeps=_SWEEPS)[0],
        "known": posterior_quality(many, slope.ravel(), shift.ravel(), each)[0],
    }
    return {name: _share_wrong(value.reshape(times, -1), quality, count) for name, value in estimates.items()}


def _conference_copies(batch: Batch) -> int:
    """How many copies of the conference to work on: fewer of a large one."""
    return int(np.clip(_ROWS // batch.score.size, 1, _MOST))


def _share_wrong(estimate: Array, truth: Array, count: int) -> Array:
    """Share of papers that are among the best `count` by one and not by the other, in each conference."""
    accepted, right = (value >= np.partition(value, -count)[:, [-count]] for value in (estimate, truth))
    return np.asarray((accepted != right).mean(axis=1))


def _mean_over_conferences(value: Array) -> Estimate:
    """Mean over simulated conferences with Student's 90 % interval."""
    center, error = float(value.mean()), float(value.std(ddof=1) / np.sqrt(value.size))
    reach = float(stdtrit(value.size - 1, 0.95)) * error
    return Estimate(center, center - reach, center + reach)


def _verdict_of_gains(batch: Batch, now: Estimate, known: Estimate, least: float) -> Verdict:
    """What the expected gains suggest; without a reviewer who has two reviews nothing can be said."""
    if batch.per_reviewer().max() < 2:
        return "unclear"
    if now.low > 0 and now.value >= least:
        return "worth it"
    if known.low > 0 and known.value >= least:
        return "worth it with history"
    return "not worth it"
