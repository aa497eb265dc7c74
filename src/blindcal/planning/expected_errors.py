"""Expected errors of a policy and of its alternatives, and the summary of a whole conference.

Every number is an expectation over the public belief. `expected_figures` computes them for one paper's table;
`summary` joins claims and figures of all papers into the numbers of the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import fsum, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from blindcal.certify.claims import Claim
from blindcal.certify.exact import upward
from blindcal.checks import Array
from blindcal.policy.policy import TIE_TOLERANCE
from blindcal.posterior.belief import Belief
from blindcal.posterior.paper import TupleSample

# If full calibration adds less success than this, it adds none: the rest is a difference of rounded sums.
_ROUNDING = 1e-9
WORTH = 0.01  # the least gain worth the trouble: one paper in a hundred decided rightly instead of wrongly
_WRONG = ("wrong", "wrong_raw", "wrong_public", "wrong_fully_calibrated")


class Standing(NamedTuple):
    """A paper given its private decision, over the public belief."""

    chance: float  # probability of that decision
    favor: float  # P(right to accept | scores, decision)
    evidence_for: float  # probability that the true reviewers' evidence is for accepting
    evidence_against: float  # probability that it is against accepting


@dataclass(frozen=True)
class Figures:
    """Expected errors of one paper's table, beside those of its alternatives."""

    wrong: float  # probability of a wrong decision by the table
    wrong_raw: float  # probability of a wrong decision by the mean score
    wrong_public: float  # probability of a wrong decision by public information alone
    wrong_fully_calibrated: float  # probability of a wrong decision by full calibration
    against: float  # probability of deciding against the reviewers' evidence
    # The adversary's success if decisions followed full calibration, summed over the reviews
    success_fully_calibrated: float
    gap: float  # by how much `wrong` may exceed the least possible error
    standings: tuple[Standing, Standing] = field(repr=False)  # after rejecting it and after accepting it


def expected_figures(
    belief: Belief,
    accept: Array,
    raw_accept: float,
    *,
    sample: TupleSample | None = None,
    bound: float = inf,
) -> Figures:
    """The expected errors of a table and of its alternatives.

    `raw_accept` is 1 or 0, or at a tie of mean scores the share of the tied papers that fits. If a belief
    does not list its tuples, figures about single tuples come from a `sample` of them. `bound` is an error
    that no table can beat.
    """
    every = weight, favor, chance = belief.weight, _exact_ties(belief.favor), belief.spread(accept)
    right = float(weight @ favor)
    wrong = float(weight @ (chance * (1 - favor) + (1 - chance) * favor))
    tuples = every
    if sample is not None:
        same = np.full(sample.favor.shape, 1 / sample.favor.size)
        tuples = same, _exact_ties(sample.favor), accept[sample.entry]
    mass, evidence, chance = tuples
    against = np.where(evidence > 0.5, 1 - chance, np.where(evidence < 0.5, chance, 0.0))
    return Figures(
        wrong=wrong,
        wrong_raw=raw_accept * (1 - right) + (1 - raw_accept) * right,
        wrong_public=min(right, 1 - right),
        wrong_fully_calibrated=fully_calibrated_error(belief, sample),
        against=float(mass @ against),
        success_fully_calibrated=fully_calibrated_success(belief, sample),
        gap=max(0.0, wrong - bound),
        standings=_standings(every, tuples),
    )


def fully_calibrated_error(belief: Belief, sample: TupleSample | None) -> float:
    """The probability of a wrong decision by full calibration, which knows every reviewer.

    >>> fully_calibrated_error(Belief([0.75, 0.25], [0.5, 0.0]), None)
    0.375
    """
    favor = _exact_ties(belief.favor if sample is None else sample.favor)
    error = np.minimum(favor, 1 - favor)
    return float(belief.weight @ error if sample is None else error.mean())


def fully_calibrated_success(belief: Belief, sample: TupleSample | None) -> float:
    """The adversary's chance of naming reviewers if decisions followed full calibration, summed over reviews.

    >>> fully_calibrated_success(Belief([0.75, 0.25], [0.5, 0.0]), None)
    1.0
    """
    if sample is None:
        return float(success_by_slot(belief, _exact_ties(belief.favor) >= 0.5).sum())
    # A decision never makes the best guess less likely on average.
    before = float(success_by_slot(belief, np.ones_like(belief.weight)).sum())
    return max(_sampled_success(sample), before)


def _exact_ties(favor: Array) -> Array:
    """Evidence with ties made exact: the side of a tie must not depend on the machine's rounding."""
    return np.where(np.abs(favor - 0.5) <= TIE_TOLERANCE, 0.5, favor)


def _standings(
    every: tuple[Array, Array, Array], tuples: tuple[Array, Array, Array]
) -> tuple[Standing, Standing]:
    """The paper after rejecting and after accepting.

    `every` has weight, favor and accept probability of every secret, which say what is right; `tuples` the
    same of listed or sampled tuples, which say what the evidence is.
    """
    weight, favor, accept = every
    mass, evidence, accept_tuple = tuples
    right = float(weight @ favor)

    def after(chance: Array, chance_tuple: Array) -> Standing:
        total, seen = float(weight @ chance), float(mass @ chance_tuple)
        sides = (float(mass @ (chance_tuple * side)) for side in (evidence > 0.5, evidence < 0.5))
        # A decision that cannot happen tells nothing: 0 for the evidence, the prior for what is right.
        above, below = (side / seen if seen > 0.0 else 0.0 for side in sides)
        mean = float(weight @ (chance * favor)) / total if total > 0.0 else right
        return Standing(total, mean, above, below)

    return after(1.0 - accept, 1.0 - accept_tuple), after(accept, accept_tuple)


def _sampled_success(sample: TupleSample) -> float:
    """The adversary's success against full calibration, summed over the slots, by two-fold cross-validation.

    The best guess is learned from every other draw and tested on the rest; testing on the same draws would
    overstate the success.
    """
    full, total = sample.favor >= 0.5, 0.0
    even, odd = slice(0, None, 2), slice(1, None, 2)
    for accepted, slot, (learn, test) in product((full, ~full), sample.named.T, ((even, odd), (odd, even))):
        usable = accepted[learn] & (slot[learn] >= 0)
        if usable.any():
            guess = np.bincount(slot[learn][usable]).argmax()
            total += 0.5 * float(((slot[test] == guess) & accepted[test]).mean())
    return total


def success_by_slot(belief: Belief, chance: ArrayLike) -> Array:
    """The adversary's chance of naming the reviewer of each slot, given `chance[secret]` to be accepted."""
    mass = belief.weight
    labels = np.arange(mass.size)[None] if belief.labels is None else belief.labels
    alike = np.ones(int(labels.max()) + 1) if belief.alike is None else belief.alike
    success = np.zeros(len(labels))
    for index, slot in enumerate(labels):
        who = np.flatnonzero(slot >= 0)
        for side in (mass * np.asarray(chance), mass * (1.0 - np.asarray(chance))):
            success[index] += (np.bincount(slot[who], side[who], alike.size) / alike).max(initial=0.0)
    return success


def evidence_probability(of: Belief | TupleSample, side: int) -> float:
    """The probability that the true tuple's evidence is on one side: 1 for accepting, -1 for rejecting."""
    favored = side * (of.favor - 0.5) > 0.0
    return float(of.weight[favored].sum() if isinstance(of, Belief) else favored.mean())


def summary(claims: Sequence[Claim], numbers: Sequence[Figures]) -> dict[str, float | int]:
    """The certificate's numbers: mean success over reviews, mean errors over papers, and worst claims."""
    papers, reviews = len(claims), sum(c.reviews for c in claims)

    def share(name: str) -> float:
        return upward(sum((getattr(c, name) for c in claims), Fraction(0)) / reviews)

    def means(names: Mapping[str, str]) -> dict[str, float]:
        return {name: fsum(getattr(n, field) for n in numbers) / papers for name, field in names.items()}

    def largest(*names: str) -> dict[str, float]:
        return {name: max(getattr(c, name) for c in claims) for name in names}

    added, full = share("newly_named"), fsum(n.success_fully_calibrated for n in numbers) / reviews
    would_add = full - share("named_scores_only")
    return {
        "papers": papers,
        "reviews": reviews,
        "success_scores_only": share("named_scores_only"),
        "success": share("named"),
        "added_success": added,
        "added_share_of_full": min(1.0, added / would_add) if would_add > _ROUNDING else 0.0,
        "success_fully_calibrated": full,
        **largest("largest_rise", "epsilon", "multiplier", "largest_posterior"),
        **largest("largest_posterior_named", "largest_posterior_paper", "largest_factor"),
        **means({f"expected_{name}": name for name in _WRONG}),
        **means({"against_evidence": "against", "gap": "gap"}),
        **largest("largest_posterior_scores_only"),
        "decided_by_public_information": sum(c.epsilon == 0 for c in claims),
    }
