"""Leaving out one score of each paper and predicting it: the check of a calibrator that needs no truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from blindcal.calibrators.batches import Batch
from blindcal.calibrators.fits import copies, fit_batch
from blindcal.calibrators.means import raw_quality
from blindcal.calibrators.sampled import expected_score
from blindcal.checks import Array, roundoff

_SEED, _SWEEPS, _DRAWS = 20250103, 600, 200


@dataclass(frozen=True)
class Change:
    """Root mean square `error` of predictions, and its `change` against the raw means as a share.

    `low` and `high` are the ends of a 90 % interval of the change, paired over papers.
    """

    error: float
    change: float
    low: float
    high: float


def left_out(batch: Batch, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A random review of each paper that has three, unless its reviewer would keep fewer than two.

    >>> batch = Batch([0, 0, 0, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 0, 1, 2], np.zeros(8))
    >>> out = left_out(batch, np.random.default_rng(1))
    >>> float(batch.per_paper(out.astype(float)).max()), bool(out[[2, 3, 4, 7]].any())   # 2 has two reviews
    (1.0, False)
    """
    order = rng.permutation(batch.score.size)
    able = (batch.per_paper() >= 3)[batch.paper] & (batch.per_reviewer() >= 3)[batch.reviewer]
    order = order[able[order]]
    _, first = np.unique(batch.paper[order], return_index=True)
    chosen = order[np.sort(first)]
    chosen = chosen[np.argsort(batch.reviewer[chosen], kind="stable")]
    who = batch.reviewer[chosen]
    place = np.arange(who.size) - np.searchsorted(who, who)
    out = np.zeros(batch.score.size, dtype=bool)
    out[chosen[place < batch.per_reviewer()[who] - 2]] = True
    return out


def change(squares: Array, plain: Array, paper: NDArray[np.int64]) -> Change:
    """The error of predictions with these squared errors, against those of the raw means.

    Several left-out scores of one paper are averaged first; the error of the ratio by the delta method.
    """
    _, place, count = np.unique(paper, return_inverse=True, return_counts=True)
    own, base = (np.bincount(place, value) / count for value in (squares, plain))
    ratio = float(own.mean() / base.mean())
    doubt = float((own - ratio * base).std(ddof=1) / np.sqrt(own.size) / base.mean() / (2 * np.sqrt(ratio)))
    shift, reach = np.sqrt(ratio) - 1, float(ndtri(0.95)) * doubt
    return Change(float(np.sqrt(own.mean())), float(shift), float(shift - reach), float(shift + reach))


def prediction_changes(batch: Batch, repeats: int) -> dict[str, Change]:
    """How well left-out scores are predicted by the `raw` means, by these `shrunk` to the overall mean (what
    can be had without knowing anything of reviewers), by `offsets` and by `hierarchical`; {} without any, or
    if the raw means predict them all."""
    rng = np.random.default_rng(_SEED)
    out = np.stack([left_out(batch, rng) for _ in range(repeats)])
    repeat, row = np.nonzero(out)
    if np.unique(batch.paper[row]).size < 2:
        return {}
    rest, paper, reviewer = _without(batch, out), batch.paper[row], batch.reviewer[row]
    i, j = paper + repeat * batch.papers, reviewer + repeat * batch.reviewers
    plain, _ = raw_quality(rest)
    predicted = {"raw": plain[i], "shrunk": shrunk_means(rest)[i]}
    for name, simple in (("offsets", True), ("hierarchical", False)):
        fit = fit_batch(rest, common_slope=simple, sweeps=_SWEEPS, keep=_DRAWS)
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


def _without(batch: Batch, out: NDArray[np.bool_]) -> Batch:
    """One copy of the batch for each row of `out`, those reviews left out."""
    many, stay = copies(batch, batch.score, len(out)), ~out.ravel()
    rows = (many.paper[stay], many.reviewer[stay], many.score[stay])
    return Batch(*rows, many.paper_group, many.reviewer_group)
