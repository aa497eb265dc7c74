"""Average-case errors of a pair of reviewers: the best trade-off over all the scores they may give.

The best use of an average budget buys the adversary's error wherever its price is at most a threshold.
Without noise every price is 1, all scores tie, and the rule is the coin of the paper's Algorithm 2.
`average_frontier` integrates over scores (`score_integrals`); `AverageFrontier.rule` finds the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import erf, erfinv

from blindcal.checks import Array, numbers, strictly_within, within
from blindcal.errors import InputError
from blindcal.io.tables import data_frame
from blindcal.policy.budget import at_price, check_achievable
from blindcal.policy.pareto_frontier import frontier
from blindcal.policy.policy import Policy
from blindcal.policy.score_integrals import (
    MAX_THRESHOLD,
    ScoreIntegrals,
    affine_integrals,
    curved_integrals,
    noiseless_integrals,
)
from blindcal.posterior.belief import pair_belief
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Reviewer
from blindcal.reviewers.rounded import Rounded

_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class AverageRule:
    """A rule for any scores: spend where the price is at most `price`, and `fraction` of it at a tie.

    Attributes:
        reviewers: Those of the frontier.
        prior: That of the frontier.
        price: The conference error that a unit of adversary error may cost, in [0, 1].
        fraction: The share bought, in [0, 1], of everything at exactly this price.
        conference_error: The conference's average error under this rule.
        adversary_error: The adversary's average error under this rule.
    """

    reviewers: tuple[Reviewer, Reviewer]
    prior: float
    price: float
    fraction: float
    conference_error: float
    adversary_error: float

    def to_frame(self) -> Any:
        """One row, as a pandas data frame; needs pandas."""
        return data_frame({name: [value] for name, value in vars(self).items() if name != "reviewers"})

    def policy(self, scores: ArrayLike) -> Policy:
        """The policy at `scores[..., 2]`; each instance has its own coin.

        Example:
            >>> rule = average_frontier((Affine(1.0, 1.0), Affine(1.0, -1.0))).rule(conference_error=0.01)
            >>> float(rule.price), rule.policy([2.0, 0.0]).accept
            (1.0, array([1., 1.]))
        """
        front = frontier(pair_belief(self.reviewers, scores, self.prior))
        chosen = at_price(front.conference_error, front.adversary_error, self.price, self.fraction)
        return front.policy(adversary_error=chosen.adversary_error)


@dataclass(frozen=True, eq=False)
class AverageFrontier:
    """The greatest average adversary error for each allowed average conference error.

    Attributes:
        reviewers: The two reviewers.
        prior: The probability that the first of them has paper 1, before any score is seen.
        least_error: The conference's error if it always decides by the evidence.
        largest_error: The conference error beyond which spending buys nothing (the paper's zeta without
            noise).
        least_adversary_error: The adversary's error at `least_error`.
        largest_adversary_error: The adversary's error at `largest_error`, which is that from the scores
            alone.
        integration_error: Bounds the numerical error of each of these.
        integrals: How both errors grow with the price, from which rules are found.
    """

    reviewers: tuple[Reviewer, Reviewer]
    prior: float
    least_error: float
    largest_error: float
    least_adversary_error: float
    largest_adversary_error: float
    integration_error: float
    integrals: ScoreIntegrals = field(repr=False)

    def adversary_error(self, *, conference_error: ArrayLike) -> Array:
        """The greatest average adversary error within each average `conference_error`."""
        allowed = numbers("conference_error", conference_error)
        errors = [self.rule(conference_error=float(limit)).adversary_error for limit in allowed.reshape(-1)]
        return np.reshape(errors, allowed.shape)

    def rule(
        self, *, conference_error: float | None = None, adversary_error: float | None = None
    ) -> AverageRule:
        """The best rule within one limit; give exactly one of the two.

        Args:
            conference_error: The adversary's error is then the greatest within this average.
            adversary_error: The conference's error is then the least that reaches this average.
        """
        if (conference_error is None) == (adversary_error is None):
            raise InputError("give one of conference_error and adversary_error")
        if conference_error is not None:
            allowed = float(within("conference_error", conference_error, 0.0, 1.0, _SLACK))
            check_achievable("conference", allowed, allowed < self.least_error - _SLACK, self.least_error)
            return self._spend(0, allowed - self.least_error)
        target = float(within("adversary_error", adversary_error or 0.0, 0.0, 1.0))
        most = self.largest_adversary_error
        check_achievable("adversary", target, target > most + self.integration_error, most)
        return self._spend(1, target - self.least_adversary_error)

    def to_frame(self) -> Any:
        """Both ends and the rules at 99 prices between them, as a pandas data frame; needs pandas."""
        rules = [self.at_price(price / 100.0) for price in range(101)]
        names = ("price", "conference_error", "adversary_error")
        return data_frame({name: [getattr(rule, name) for rule in rules] for name in names})

    def at_price(self, price: float) -> AverageRule:
        """The rule that spends wherever the price is at most `price`, and buys everything tied at it."""
        value = float(within("price", price, 0.0, 1.0))
        # The z with `price = erf(z / sqrt 2)`, infinite at price 1.
        z = min(MAX_THRESHOLD, float(np.sqrt(2.0) * erfinv(value)))
        return self._rule(z, 1.0 if value >= 1.0 else 0.0, value, 1.0)

    def _spend(self, which: int, amount: float) -> AverageRule:
        """Raise the threshold until `amount` is spent (0) or gained (1); the remainder goes to the ties."""
        below = self.integrals.spent_gained(MAX_THRESHOLD)[which]
        if amount >= below:
            tied = self.integrals.tied
            fraction = min(1.0, (amount - below) / tied) if tied > 0.0 else 1.0
            return self._rule(MAX_THRESHOLD, fraction, 1.0, fraction)
        if amount <= 0.0:
            return self._rule(0.0, 0.0, 0.0, 1.0)
        z = self._threshold(which, amount)
        return self._rule(z, 0.0, float(erf(z / np.sqrt(2.0))), 1.0)

    def _threshold(self, which: int, amount: float) -> float:
        """The z at which `amount` is spent (0) or gained (1).

        `sqrt(-log(1 - share spent))` is nearly straight in z, from z^2 at 0 to the tail of a Gaussian, so a
        few evaluations (each an integral) are enough.
        """
        total = self.integrals.spent_gained(MAX_THRESHOLD)[which]

        def straight(part: float) -> float:
            return float((-np.log1p(-min(max(part / total, 0.0), 1.0 - 1e-16))) ** (1.0 if which else 0.5))

        def excess(z: float) -> float:
            return straight(self.integrals.spent_gained(z)[which] if z > 0.0 else 0.0) - straight(amount)

        return float(scipy.optimize.brentq(excess, 0.0, MAX_THRESHOLD, xtol=1e-12))

    def _rule(self, z: float, share_of_ties: float, price: float, fraction: float) -> AverageRule:
        """The rule at threshold z that buys a share of the ties."""
        spent, gained = self.integrals.spent_gained(z) if z > 0.0 else (0.0, 0.0)
        ties = share_of_ties * self.integrals.tied
        return AverageRule(
            self.reviewers,
            self.prior,
            price,
            fraction,
            self.least_error + spent + ties,
            self.least_adversary_error + gained + ties,
        )


def average_frontier(reviewers: tuple[Reviewer, Reviewer], prior: float = 0.5) -> AverageFrontier:
    """The average-case frontier of two papers and two reviewers, over all the scores they may give.

    Args:
        reviewers: Any increasing curves, both with Gaussian noise or both without. Affine reviewers, of whom
            only one may have noise, are in closed form except for one integral.
        prior: P(A1), the probability that the first reviewer has paper 1, strictly between 0 and 1.

    Example:
        >>> avg = average_frontier((Affine(1.0, 0.5, noise=1.0), Affine(1.0, -0.5, noise=1.0)))
        >>> avg.least_error  # arctan(1)/pi: half of what the scores say is noise
        0.25
        >>> rule = avg.rule(conference_error=0.26)
        >>> round(rule.conference_error, 9), round(rule.adversary_error, 6), round(rule.price, 6)
        (0.26, 0.240628, 0.232552)
        >>> same = average_frontier((Affine(1.0, 0.5), Affine(1.0, 0.5)))
        >>> same.largest_error, same.largest_adversary_error  # nothing to hide: one point
        (0.0, 0.5)
    """
    if len(reviewers) != 2:
        raise InputError(f"reviewers must be two, found {len(reviewers)}")
    first, second = reviewers
    chance = float(strictly_within("prior", prior, 0.0, 1.0))
    integrals = _integrals(first, second, chance)
    spent, gained = integrals.spent_gained(MAX_THRESHOLD)
    return AverageFrontier(
        (first, second),
        chance,
        integrals.least_error,
        integrals.least_error + spent + integrals.tied,
        integrals.agree_error,
        integrals.agree_error + gained + integrals.tied,
        integrals.error,
        integrals,
    )


def _integrals(first: Reviewer, second: Reviewer, prior: float) -> ScoreIntegrals:
    """The integrals by the kind of reviewers, or an `InputError` that says what is not supported."""
    for reviewer in (first, second):
        if reviewer.shape != ():
            raise InputError(f"the average case is of one pair, found reviewers of shape {reviewer.shape}")
        if isinstance(reviewer, Rounded):
            raise InputError(
                "scores on a grid have no density: take every pair of grid scores as an instance of `spend`"
            )
        if isinstance(reviewer, Affine) and reviewer.covariance is not None:
            raise InputError("the average case needs known slopes and offsets, found a covariance")
        kind = type(reviewer).__name__
        if not reviewer.homoscedastic:
            raise InputError(f"the average case needs one noise at every quality, {kind} has its own spread")
        if not reviewer.gaussian:
            raise InputError(f"the average case needs Gaussian noise, {kind} has a likelihood of its own")
    if isinstance(first, Affine) and isinstance(second, Affine):
        return affine_integrals(first, second, prior)
    certain = bool(first.certain), bool(second.certain)
    if all(certain):
        return noiseless_integrals(first, second, prior)
    if any(certain):
        raise InputError("give both reviewers noise, or neither: only affine ones may differ in that")
    return curved_integrals(first, second, prior)
