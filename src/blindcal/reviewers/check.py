"""Checks that a user-defined reviewer keeps the rules of `Reviewer`, on which the integrals rely."""

from __future__ import annotations

import numpy as np

from blindcal.errors import InputError
from blindcal.reviewers.base import Reviewer

_GRID = np.linspace(-4.0, 4.0, 65)
_STEP = 1e-5
# N(0, 1) has probability 1e-197 beyond the last of these.
_FAR_GRID = np.linspace(-30.0, 30.0, 1921)


def check_reviewer(reviewer: Reviewer) -> None:
    """Refuse a reviewer that breaks the rules of `Reviewer`, naming every broken rule.

    The curve must rise, `quality` must be its inverse and `derivative` its slope. If the scores of the curve
    end somewhere, noise leads beyond the end: `quality` must be infinite there. With noise, the likelihood
    of a score must integrate to 1 over all scores; no log likelihood may be above `log_ceiling`, and outside
    `reach` it must be as far below as `reach` says.

    Args:
        reviewer: A single reviewer of a new kind, not a pool.

    Raises:
        InputError: Names every broken rule.

    Example:
        >>> from blindcal.reviewers.affine import Affine
        >>> check_reviewer(Affine(1.2, 0.3, noise=0.5))
    """
    broken = [rule for rule, kept in _rules(reviewer).items() if not kept]
    if broken:
        raise InputError(f"{type(reviewer).__name__}: {'; '.join(broken)}")


def _rules(reviewer: Reviewer) -> dict[str, bool]:
    """Every rule, and whether the reviewer keeps it."""
    score = reviewer.score(_GRID)
    scale = float(np.ptp(score))
    slope = (reviewer.score(_GRID + _STEP) - reviewer.score(_GRID - _STEP)) / (2 * _STEP)
    smooth = ~np.isin(np.round(_GRID, 9), np.round(reviewer.knots, 9))
    rules = {
        "score must rise with quality": bool((np.diff(score) > 0.0).all()),
        "quality must be the inverse of score": bool(
            np.allclose(reviewer.quality(score), _GRID, atol=1e-6, rtol=0)
        ),
        "quality must be infinite for scores beyond the ends of the curve": _knows_its_ends(reviewer, scale),
        "derivative must be the slope of score": bool(
            np.allclose(reviewer.derivative(_GRID)[smooth], slope[smooth], atol=1e-4 * scale, rtol=1e-4)
        ),
    }
    if not reviewer.certain.any():
        rules["the likelihood must integrate to 1 over all scores"] = _integrates_to_one(reviewer)
        rules["log_likelihood must never be above log_ceiling"] = _below_ceiling(reviewer)
        rules["reach must leave out only what is deviations^2 / 2 below log_ceiling"] = _reach_is_wide(
            reviewer
        )
    return rules


def _knows_its_ends(reviewer: Reviewer, scale: float) -> bool:
    """Whether scores below and above those of all qualities have qualities below and above all of them."""
    with np.errstate(all="ignore"):
        ends = reviewer.score(_FAR_GRID[[0, -1]])
        beyond = reviewer.quality(ends + scale * np.array([-1.0, 1.0]))
    # A curve that rises past floating-point numbers has no score beyond its ends.
    return bool(
        (~np.isfinite(ends) | (np.sign(beyond) * beyond >= _FAR_GRID[-1])).all() and beyond[0] < beyond[1]
    )


def _integrates_to_one(reviewer: Reviewer) -> bool:
    """By trapezoids of a fortieth of a deviation, forty deviations to either side."""
    steps = np.arange(-1600, 1601) / 40.0
    for quality in (-1.5, 0.0, 0.8):
        spread = float(reviewer.spread(np.array(quality)))
        scores = float(reviewer.score(np.array(quality))) + spread * steps
        density = np.exp(reviewer.log_likelihood(scores, np.array(quality)))
        if abs(float(density.sum()) * spread / 40.0 - 1.0) > 0.01:
            return False
    return True


def _below_ceiling(reviewer: Reviewer) -> bool:
    """Whether no log likelihood on a grid exceeds the ceiling."""
    score = reviewer.score(_GRID)
    log_likelihood = reviewer.log_likelihood(score[:, None], _GRID)
    return bool((log_likelihood <= reviewer.log_ceiling() + 1e-9).all())


def _reach_is_wide(reviewer: Reviewer) -> bool:
    """For scores at and beyond the ends of the usual range, and as far out as integrals ever look."""
    score = reviewer.score(_GRID[::16])[:, None]
    for deviations in (2.0, 8.0, 30.0):
        low, high = reviewer.reach(score, np.array(deviations))
        outside = (low > _FAR_GRID) | (high < _FAR_GRID)
        log_likelihood = reviewer.log_likelihood(score, _FAR_GRID)
        if (log_likelihood[outside] > reviewer.log_ceiling() - 0.5 * deviations**2 + 1e-9).any():
            return False
    return True
