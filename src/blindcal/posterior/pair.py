"""Two papers, two reviewers, one review each -> the belief about who reviewed which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from blindcal.cells import number_text
from blindcal.checks import Array, numbers, of_type, strictly_within
from blindcal.errors import InputError
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Booleans, Reviewer
from blindcal.reviewers.quality_posterior import chance_better

# A difference of two qualities this small beside what it was subtracted from is a tie: scores that should tie
# are themselves rounded, and some twenty roundings follow. It moves no favor by more than rounding might.
_TIE = 64.0 * np.finfo(np.float64).eps


def pair_belief(reviewers: tuple[Reviewer, Reviewer], scores: ArrayLike, prior: ArrayLike = 0.5) -> Belief:
    """Two papers, two reviewers, one review each: the belief about who reviewed which.

    Secret 1 is assignment A1 (reviewer 1 on paper 1) with probability `prior` before any score is seen,
    secret 2 is A2; "accept" means "accept paper 1". With `f_j` the density of reviewer j's score,

        weight ∝ (prior f_1(s1) f_2(s2),  (1 - prior) f_2(s1) f_1(s2)),     favor = P(quality 1 > quality 2)

    `scores[..., 2]` are those of paper 1 and paper 2; the parameters of both `reviewers` and `prior`, which
    lies strictly between 0 and 1, broadcast against the leading shape. Where the two qualities are equally
    likely to be the larger one, but for rounding (64 units of it beside the size of scores and offsets in
    closed form, 1e-12 where integrals are taken), favor is exactly 1/2: a tie.

    >>> lenient, strict = Affine(1.0, 1.0), Affine(1.0, -1.0)
    >>> belief = pair_belief((lenient, strict), [0.5, 0.0])
    >>> belief.favor
    array([0., 1.])
    >>> belief.weight.round(6)
    array([0.731059, 0.268941])
    """
    of_type("reviewers", reviewers, Sequence, "a pair of Reviewers")
    if len(reviewers) != 2:
        raise InputError(f"reviewers must be two, found {len(reviewers)}")
    for reviewer in reviewers:
        of_type("each of the reviewers", reviewer, Reviewer)
    s, p = numbers("scores", scores), strictly_within("prior", prior, 0.0, 1.0)
    if s.ndim == 0 or s.shape[-1] != 2:
        raise InputError(f"scores must have shape [..., 2], found {s.shape}")
    one, two = reviewers
    try:
        shape = np.broadcast_shapes(s.shape[:-1], one.shape, two.shape, p.shape)
    except ValueError:
        raise InputError(
            f"scores {s.shape[:-1]}, reviewers {one.shape}, {two.shape} and prior {p.shape} must broadcast"
        ) from None
    log_odds = np.log(p) - np.log1p(-p)
    if _known(one) and _known(two):
        return _affine_pair(one, two, s, log_odds, shape)
    weight = _weights(np.broadcast_to(_log_ratio(one, two, s) + log_odds, shape))
    favor = np.empty_like(weight)
    favor[..., 0], favor[..., 1] = chance_better(one, two, s), chance_better(two, one, s)
    return unchecked_belief(weight, favor)


def _weights(log_odds: Array) -> Array:
    """(1, e)/(1 + e) or (e, 1)/(1 + e), e = exp(-|log odds|): small weights keep their digits."""
    odds = np.exp(-np.abs(log_odds))
    more = 1.0 / (1.0 + odds)
    less = odds * more
    likely = log_odds >= 0.0
    weight = np.empty((*log_odds.shape, 2))
    weight[..., 0], weight[..., 1] = np.where(likely, more, less), np.where(likely, less, more)
    return weight


def _known(reviewer: Reviewer) -> TypeGuard[Affine]:
    return isinstance(reviewer, Affine) and reviewer.covariance is None


def _log_ratio(one: Reviewer, two: Reviewer, s: Array) -> Array:
    """log f_1(s1) f_2(s2) - log f_2(s1) f_1(s2); refused where that is 0/0 or infinite."""
    s1, s2 = s[..., 0], s[..., 1]
    with np.errstate(invalid="ignore"):
        first = one.log_marginal(s1) + two.log_marginal(s2)
        second = two.log_marginal(s1) + one.log_marginal(s2)
        ratio = np.asarray(first - second)
    if np.isnan(ratio).any():
        bad = np.broadcast_to(s, (*ratio.shape, 2))[np.isnan(ratio)][0]
        raise InputError(
            "scores must have a positive, finite density under some assignment, "
            f"found {number_text(bad[0])}, {number_text(bad[1])}"
        )
    return ratio


def _affine_pair(one: Affine, two: Affine, s: Array, log_odds: Array, shape: tuple[int, ...]) -> Belief:
    """Given its score, quality is N(gain (score - offset), noise^2 / total), gain = slope / total."""
    total1, total2 = _total(one), _total(two)
    variance = np.square(one.noise) / total1 + np.square(two.noise) / total2
    scale = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    gain1, gain2 = one.slope / total1 / scale, two.slope / total2 / scale
    x1, x2, shift = s[..., 0] - one.offset, s[..., 1] - one.offset, two.offset - one.offset
    # The differences of squares are factored: no cancellation far out.
    slope, offset = 0.5 * (1.0 / total2 - 1.0 / total1), shift / total2
    weight = _weights(np.broadcast_to((x1 - x2) * ((x1 + x2) * slope - offset) + log_odds, shape))
    leads = x1 * gain1 - (x2 - shift) * gain2, (x1 - shift) * gain2 - x2 * gain1
    readings = ((gain1, one.offset), (gain2, two.offset))
    favor = np.empty_like(weight)
    for secret, (lead, (first, second)) in enumerate(zip(leads, (readings, readings[::-1]), strict=True)):
        favor[..., secret] = _favor(_without_rounding(lead, s, first, second), variance <= 0.0)
    return unchecked_belief(weight, favor)


def _favor(lead: Array, known: Booleans) -> Array:
    """P(paper 1 is better) where its quality leads by so many deviations; known for certain without noise."""
    chance = np.asarray(ndtr(lead))
    return np.where(known, 0.5 * (1.0 + np.sign(lead)), chance) if known.any() else chance


def _without_rounding(
    lead: Array, s: Array, first: tuple[Array, Array], second: tuple[Array, Array]
) -> Array:
    """`lead` with 0 where rounding alone leads: at a tie. `first` and `second` are (gain, offset)."""
    (gain1, offset1), (gain2, offset2) = first, second
    most = sum(np.abs(part).max(initial=0.0) for part in (s, offset1, offset2))
    # Ties are rare where scores are not whole numbers: one comparison then settles it.
    if not (np.abs(lead) <= _TIE * most * (gain1 + gain2).max(initial=0.0)).any():
        return lead
    size = (np.abs(s[..., 0]) + np.abs(offset1)) * gain1 + (np.abs(s[..., 1]) + np.abs(offset2)) * gain2
    return np.where(np.abs(lead) <= _TIE * size, 0.0, lead)


def _total(reviewer: Affine) -> Array:
    """Variance of the score: slope^2 + noise^2."""
    return np.asarray(np.square(reviewer.slope) + np.square(reviewer.noise))
