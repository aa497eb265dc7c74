"""The adversary's belief before any decision is seen.

`pair_belief` and `PaperCase.belief` make beliefs; policies, certificates and audits read them. A belief's own
`frontier`, `policy` and `audit` are those of later layers, which are found when they are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

import blindcal
from blindcal.checks import Array, Integers, check_type, nonnegative, numbers, strictly_within, within
from blindcal.errors import InputError
from blindcal.io.cells import number_text
from blindcal.io.tables import long_frame
from blindcal.reviewers.affine import Affine, known_affine
from blindcal.reviewers.base import Reviewer
from blindcal.reviewers.quality_posterior import chance_better

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Belief:
    """The posterior over the secret, who wrote which review, once the scores are seen.

    The last axis is the secrets; leading axes are instances, each a paper or a pair of papers.

    Attributes:
        weight: `[..., n] = P(secret | scores)`, which sum to 1.
        favor: `[..., n] = P("accept" is right | scores, secret)`.
        labels: `[..., slot, secret]`, the correct guess in each slot, as integers: equal labels are the same
            guess, and no guess is right if the label is below 0. None: there is one slot, the secret itself.
        entry: `[secret]`, the entry of each secret in a table of fewer accept probabilities. Large pools
            only.
        alike: `[label]`, the number of equally likely guesses that each label stands for. Large pools only.

    Example:
        >>> Belief([0.6, 0.4], [0.9, 0.2]).weight
        array([0.6, 0.4])
    """

    weight: Array
    favor: Array
    labels: Integers | None = field(default=None)
    entry: Integers | None = field(default=None)
    alike: Integers | None = field(default=None)

    def __init__(self, weight: ArrayLike, favor: ArrayLike, labels: ArrayLike | None = None) -> None:
        w, f = nonnegative("weight", weight), within("favor", favor, 0.0, 1.0)
        if w.ndim == 0 or w.shape != f.shape:
            raise InputError(f"weight and favor must have one shape [..., n], found {w.shape} and {f.shape}")
        if (np.abs(w.sum(axis=-1) - 1.0) > _SUM_TOLERANCE).any():
            worst = w.sum(axis=-1).flat[int(np.argmax(np.abs(w.sum(axis=-1) - 1.0)))]
            raise InputError(f"weight must sum to 1 over the secrets, found {number_text(worst)}")
        named = None if labels is None else _checked_labels(labels, w.shape)
        vars(self).update(weight=w, favor=f, labels=named, entry=None, alike=None)

    def spread(self, table: Array) -> Array:
        """The accept probability of each secret, from those of a table's entries."""
        return table if self.entry is None else table[self.entry]

    def by_entry(self, size: int) -> Array:
        """The weight of each of a table's `size` entries."""
        if self.entry is None:
            return self.weight
        return np.bincount(self.entry, self.weight, size).astype(np.float64)

    def frontier(self) -> blindcal.policy.Frontier:
        """The best trade-off of conference error and adversary error: `blindcal.frontier`.

        Example:
            >>> Belief([0.6, 0.4], [0.9, 0.2]).frontier().adversary_error
            array([0. , 0.4])
        """
        return blindcal.frontier(self)

    def policy(self, guarantee: blindcal.Guarantee, *, success: float | None = None) -> blindcal.Policy:
        """The policy of least conference error under a guarantee: `blindcal.private_policy`.

        Args:
            guarantee: What decisions may reveal.
            success: A further limit for each instance, on the adversary's chance of a correct guess.

        Example:
            >>> Belief([0.6, 0.4], [0.9, 0.2]).policy(blindcal.Guarantee("none", epsilon=np.log(9.0))).accept
            array([0.9, 0.1])
        """
        return blindcal.private_policy(self, guarantee, success=success)

    def audit(self, policy: blindcal.Policy) -> blindcal.certify.Claim:
        """What the decision of a policy reveals, exactly: `blindcal.audit`.

        Args:
            policy: Its accept probabilities.

        Example:
            >>> Belief([0.6, 0.4], [0.9, 0.2]).audit(blindcal.Policy([0.75, 0.25])).multiplier
            1.5
        """
        return blindcal.audit(self, policy)

    def to_frame(self) -> Any:
        """One row per instance and secret, as a pandas data frame; needs pandas."""
        columns: dict[str, Any] = {"weight": self.weight, "favor": self.favor}
        if self.labels is not None:
            slots = range(self.labels.shape[-2])
            columns |= {f"label {slot}": self.labels[..., slot, :] for slot in slots}
        return long_frame(columns, "secret")


def _checked_labels(labels: ArrayLike, shape: tuple[int, ...]) -> Integers:
    array = np.asarray(labels)
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"labels must be integers, found {array.dtype}")
    if array.ndim < 2 or array.shape[-1] != shape[-1] or array.shape[:-2] not in {(), shape[:-1]}:
        raise InputError(
            f"labels must have shape [..., slot, secret] for weight {shape}, found {array.shape}"
        )
    return array.astype(np.int64)


def unchecked_belief(
    weight: Array,
    favor: Array,
    labels: Integers | None = None,
    entry: Integers | None = None,
    alike: Integers | None = None,
) -> Belief:
    """A belief from numbers known to be valid: results of this package are not checked twice."""
    belief = object.__new__(Belief)
    vars(belief).update(weight=weight, favor=favor, labels=labels, entry=entry, alike=alike)
    return belief


# --- Two papers and two reviewers with one review each: who reviewed which paper.

# Two qualities whose difference is this small, relative to their size, are tied: scores that should tie are
# themselves rounded, and some twenty roundings follow. No favor moves by more than rounding might move it.
_TIE = 64.0 * np.finfo(np.float64).eps


def pair_belief(reviewers: tuple[Reviewer, Reviewer], scores: ArrayLike, prior: ArrayLike = 0.5) -> Belief:
    """The belief about which of two reviewers has which of two papers.

    Secret 1 is assignment A1 (reviewer 1 on paper 1), secret 2 is A2; "accept" means "accept paper 1". With
    `f_j` the density of reviewer j's score,

        weight ∝ (prior f_1(s1) f_2(s2),  (1 - prior) f_2(s1) f_1(s2)),     favor = P(quality 1 > quality 2)

    If both qualities are equally likely to be the larger one, up to rounding (64 units of it relative to the
    size of scores and offsets in closed form, 1e-12 for integrals), favor is exactly 1/2: a tie.

    Args:
        reviewers: Reviewers 1 and 2, of any kind; their parameters broadcast against the leading shape.
        scores: `[..., 2]`, the scores of paper 1 and paper 2.
        prior: P(A1) before any score is seen, strictly between 0 and 1; broadcasts likewise.

    Returns:
        The belief `[..., 2]` over A1 and A2.

    Example:
        >>> lenient, strict = Affine(1.0, 1.0), Affine(1.0, -1.0)
        >>> belief = pair_belief((lenient, strict), [0.5, 0.0])
        >>> belief.favor
        array([0., 1.])
        >>> belief.weight.round(6)
        array([0.731059, 0.268941])
    """
    check_type("reviewers", reviewers, Sequence, "a pair of Reviewers")
    if len(reviewers) != 2:
        raise InputError(f"reviewers must be two, found {len(reviewers)}")
    for reviewer in reviewers:
        check_type("each of the reviewers", reviewer, Reviewer)
    s, p = numbers("scores", scores), strictly_within("prior", prior, 0.0, 1.0)
    if s.ndim == 0 or s.shape[-1] != 2:
        raise InputError(f"scores must have shape [..., 2], found {s.shape}")
    first, second = reviewers
    shapes = s.shape[:-1], first.shape, second.shape, p.shape
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        found = "scores {}, reviewers {}, {} and prior {}".format(*shapes)
        raise InputError(f"{found} must broadcast") from None
    log_odds = np.log(p) - np.log1p(-p)
    if known_affine(first) and known_affine(second):
        return _affine_pair(first, second, s, log_odds, shape)
    weight = _pair_weights(np.broadcast_to(_log_ratio(first, second, s) + log_odds, shape))
    favor = np.empty_like(weight)
    favor[..., 0], favor[..., 1] = chance_better(first, second, s), chance_better(second, first, s)
    return unchecked_belief(weight, favor)


def _pair_weights(log_odds: Array) -> Array:
    """(1, e)/(1 + e) or (e, 1)/(1 + e), e = exp(-|log odds|): small weights keep their digits."""
    odds, likely = np.exp(-np.abs(log_odds)), log_odds >= 0.0
    more = 1.0 / (1.0 + odds)
    less = odds * more
    return np.stack([np.where(likely, more, less), np.where(likely, less, more)], axis=-1)


def _log_ratio(first: Reviewer, second: Reviewer, s: Array) -> Array:
    """Log f_1(s1) f_2(s2) - log f_2(s1) f_1(s2); refused if it is 0/0 or infinite."""
    s1, s2 = s[..., 0], s[..., 1]
    with np.errstate(invalid="ignore"):
        straight = first.log_marginal(s1) + second.log_marginal(s2)
        ratio = np.asarray(straight - (second.log_marginal(s1) + first.log_marginal(s2)))
    if np.isnan(ratio).any():
        bad = np.broadcast_to(s, (*ratio.shape, 2))[np.isnan(ratio)][0]
        found = ", ".join(map(number_text, bad))
        raise InputError(f"scores must have a positive, finite density under some assignment, found {found}")
    return ratio


def _affine_pair(first: Affine, second: Affine, s: Array, log_odds: Array, shape: tuple[int, ...]) -> Belief:
    """Closed form: given its score, quality is N(gain (score - offset), noise^2 / total)."""
    # The variances of scores
    total1, total2 = (np.square(r.slope) + np.square(r.noise) for r in (first, second))
    variance = np.square(first.noise) / total1 + np.square(second.noise) / total2
    scale = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    gain1, gain2 = first.slope / total1 / scale, second.slope / total2 / scale
    x1, x2, shift = s[..., 0] - first.offset, s[..., 1] - first.offset, second.offset - first.offset
    # Differences of squares are factored, so that nothing cancels for scores far out.
    slope, offset = 0.5 * (1.0 / total2 - 1.0 / total1), shift / total2
    weight = _pair_weights(np.broadcast_to((x1 - x2) * ((x1 + x2) * slope - offset) + log_odds, shape))
    leads = x1 * gain1 - (x2 - shift) * gain2, (x1 - shift) * gain2 - x2 * gain1
    readings = ((gain1, first.offset), (gain2, second.offset))
    favor, known = np.empty_like(weight), variance <= 0.0
    for secret, (lead, reading) in enumerate(zip(leads, (readings, readings[::-1]), strict=True)):
        favor[..., secret] = _chance_ahead(_zero_at_ties(lead, s, *reading), known)
    return unchecked_belief(weight, favor)


def _chance_ahead(lead: Array, known: NDArray[np.bool_]) -> Array:
    """`Phi(lead)`; without noise it is certain which paper is better."""
    if not known.any():
        return np.asarray(scipy.special.ndtr(lead))
    certain = 0.5 * (1.0 + np.sign(lead))
    return certain if known.all() else np.where(known, certain, scipy.special.ndtr(lead))


def _zero_at_ties(lead: Array, s: Array, first: tuple[Array, Array], second: tuple[Array, Array]) -> Array:
    """`lead` with 0 at ties, that is where rounding alone leads; `first` and `second` are (gain, offset)."""
    (gain1, offset1), (gain2, offset2) = first, second
    most = sum(np.abs(part).max(initial=0.0) for part in (s, offset1, offset2))
    # Ties are rare unless scores are whole numbers: one comparison then settles it.
    if not (np.abs(lead) <= _TIE * most * (gain1 + gain2).max(initial=0.0)).any():
        return lead
    size = (np.abs(s[..., 0]) + np.abs(offset1)) * gain1 + (np.abs(s[..., 1]) + np.abs(offset2)) * gain2
    return np.where(np.abs(lead) <= _TIE * size, 0.0, lead)
