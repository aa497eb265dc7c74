"""Average-case errors of a pair of reviewers: the best trade over all the scores they may give.

The average over scores of the errors of each instance. The best use of an average budget buys the adversary's
error wherever its price is at most a threshold; without noise every price is 1, all scores tie, and the rule
is Algorithm 2's coin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, erfinv

from blindcal.cells import number_text
from blindcal.checks import Array, nearly_within, numbers, strictly_within, within
from blindcal.errors import InputError
from blindcal.io.tables import frame
from blindcal.policy.budget import at_price
from blindcal.policy.pareto_frontier import frontier
from blindcal.policy.policy import Policy
from blindcal.policy.score_integrals import CEILING, Spread, affine_spread, curved_spread, exact_spread
from blindcal.posterior.pair import pair_belief
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Reviewer
from blindcal.reviewers.rounded import Rounded

_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class AverageRule:
    """What to do at any scores: spend where the price is at most `price`, `fraction` of it at a tie.

    `reviewers`, `prior`: those of the frontier.
    `price`: how much conference error a unit of adversary error may cost, in [0, 1].
    `fraction`: how much is bought, in [0, 1], of what has exactly this price.
    `conference_error`, `adversary_error`: both averages under this rule.
    """

    reviewers: tuple[Reviewer, Reviewer]
    prior: float
    price: float
    fraction: float
    conference_error: float
    adversary_error: float

    def to_frame(self) -> Any:
        """One row, as a pandas data frame; needs pandas."""
        names = ("prior", "price", "fraction", "conference_error", "adversary_error")
        return frame({name: [float(getattr(self, name))] for name in names})

    def policy(self, scores: ArrayLike) -> Policy:
        """The policy at `scores[..., 2]`, each instance tossed with its own coin.

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

    `reviewers`: the two reviewers.
    `prior`: the chance that the first of them has paper 1, before any score is seen.
    `least_error`: the conference's error if it always decides by the evidence.
    `largest_error`: the conference error beyond which spending buys nothing (the paper's zeta without noise).
    `least_adversary_error`, `largest_adversary_error`: the adversary's error at those two ends; the last is
    its error from the scores alone.
    `integration_error`: bounds the numerical error of each of these.
    `spread`: how both errors grow with the price, from which rules are found.
    """

    reviewers: tuple[Reviewer, Reviewer]
    prior: float
    least_error: float
    largest_error: float
    least_adversary_error: float
    largest_adversary_error: float
    integration_error: float
    spread: Spread = field(repr=False)

    def adversary_error(self, *, conference_error: ArrayLike) -> Array:
        """The greatest average adversary error within each average `conference_error`."""
        allowed = numbers("conference_error", conference_error)
        errors = [self.rule(conference_error=float(one)).adversary_error for one in allowed.reshape(-1)]
        return np.reshape(errors, allowed.shape)

    def rule(
        self, *, conference_error: float | None = None, adversary_error: float | None = None
    ) -> AverageRule:
        """The rule of greatest adversary error within `conference_error`, or of least conference error
        that reaches `adversary_error`."""
        if (conference_error is None) == (adversary_error is None):
            raise InputError("give one of conference_error and adversary_error")
        if conference_error is not None:
            allowed = float(nearly_within("conference_error", conference_error, 0.0, 1.0, _SLACK))
            if allowed < self.least_error - _SLACK:
                raise InputError(
                    f"conference error {allowed:.6g} is below the least achievable, "
                    f"{number_text(self.least_error)}"
                )
            return self._spend(0, allowed - self.least_error)
        wanted = float(within("adversary_error", adversary_error or 0.0, 0.0, 1.0))
        if wanted > self.largest_adversary_error + self.integration_error:
            raise InputError(
                f"adversary error {wanted:.6g} is above the greatest achievable, "
                f"{number_text(self.largest_adversary_error)}"
            )
        return self._spend(1, wanted - self.least_adversary_error)

    def to_frame(self) -> Any:
        """Both ends and the rules at 99 prices between them, as a pandas data frame; needs pandas."""
        rules = [self.at_price(price / 100.0) for price in range(101)]
        names = ("price", "conference_error", "adversary_error")
        return frame({name: [getattr(rule, name) for rule in rules] for name in names})

    def at_price(self, price: float) -> AverageRule:
        """The rule that spends wherever the price is at most `price`, and buys all that ties at it."""
        value = float(within("price", price, 0.0, 1.0))
        return self._rule(_threshold(value), 1.0 if value >= 1.0 else 0.0, value, 1.0)

    def _spend(self, which: int, amount: float) -> AverageRule:
        """Raise the threshold until `amount` is spent (0) or gained (1); what is left goes to the ties."""
        below = self.spread.spent_gained(CEILING)[which]
        if amount >= below:
            tied = self.spread.tied
            fraction = min(1.0, (amount - below) / tied) if tied > 0.0 else 1.0
            return self._rule(CEILING, fraction, 1.0, fraction)
        if amount <= 0.0:
            return self._rule(0.0, 0.0, 0.0, 1.0)
        z = self._threshold(which, amount)
        return self._rule(z, 0.0, float(erf(z / np.sqrt(2.0))), 1.0)

    def _threshold(self, which: int, amount: float) -> float:
        """The z at which `amount` is spent (0) or gained (1), by secants between safe ends.

        `sqrt(-log(1 - share spent))` is nearly straight in z, from z^2 at 0 to the tail of a Gaussian, so a
        few evaluations (each an integral) are enough.
        """
        total, close = self.spread.spent_gained(CEILING)[which], max(1e-14, 0.01 * self.spread.error)
        power = 0.5 if which == 0 else 1.0

        def straight(part: float) -> float:
            return float((-np.log1p(-min(max(part / total, 0.0), 1.0 - 1e-16))) ** power)

        target = straight(amount)
        low, high, last, last_gap, z = 0.0, CEILING, 0.0, -target, 1.0
        for _ in range(100):
            part = self.spread.spent_gained(z)[which]
            if abs(part - amount) <= close:
                break
            gap = straight(part) - target
            low, high = (low, z) if part > amount else (z, high)
            step = z - gap * (z - last) / (gap - last_gap) if gap != last_gap else low
            last, last_gap, z = z, gap, step if low < step < high else 0.5 * (low + high)
        return z

    def _rule(self, z: float, share_of_ties: float, price: float, fraction: float) -> AverageRule:
        spent, gained = self.spread.spent_gained(z) if z > 0.0 else (0.0, 0.0)
        ties = share_of_ties * self.spread.tied
        return AverageRule(
            self.reviewers,
            self.prior,
            price,
            fraction,
            self.least_error + spent + ties,
            self.least_adversary_error + gained + ties,
        )


def average_frontier(reviewers: tuple[Reviewer, Reviewer], prior: float = 0.5) -> AverageFrontier:
    """The average-case frontier of two papers and two reviewers: over all the scores they may give.

    `prior = P(A1)` is the chance that the first of the `reviewers` has paper 1, strictly between 0 and 1. The
    reviewers may have any increasing curves, both with Gaussian noise or both without noise; affine ones, of
    whom one alone may have noise, are in closed form but for one integral. Deterministic: no sampling.

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
    one, two = reviewers
    chance = float(strictly_within("prior", prior, 0.0, 1.0))
    spread = _spread(one, two, chance)
    spent, gained = spread.spent_gained(CEILING)
    return AverageFrontier(
        (one, two),
        chance,
        spread.least_error,
        spread.least_error + spent + spread.tied,
        spread.agree_error,
        spread.agree_error + gained + spread.tied,
        spread.error,
        spread,
    )


def _spread(one: Reviewer, two: Reviewer, prior: float) -> Spread:
    for reviewer in (one, two):
        if reviewer.shape != ():
            raise InputError(f"the average case is of one pair, found reviewers of shape {reviewer.shape}")
        if isinstance(reviewer, Rounded):
            raise InputError(
                "scores on a grid have no density: take every pair of grid scores as an instance of `spend`"
            )
        if isinstance(reviewer, Affine) and reviewer.covariance is not None:
            raise InputError("the average case needs known slopes and offsets, found a covariance")
        kind = type(reviewer).__name__
        if not reviewer.even:
            raise InputError(f"the average case needs one noise at every quality, {kind} has its own spread")
        if not reviewer.gaussian:
            raise InputError(f"the average case needs Gaussian noise, {kind} has a likelihood of its own")
    if isinstance(one, Affine) and isinstance(two, Affine):
        return affine_spread(one, two, prior)
    certain = bool(one.certain), bool(two.certain)
    if all(certain):
        return exact_spread(one, two, prior)
    if any(certain):
        raise InputError("give both reviewers noise, or neither: only affine ones may differ in that")
    return curved_spread(one, two, prior)


def _threshold(price: float) -> float:
    """The z with `price = erf(z / sqrt 2)`, at most the ceiling."""
    if price >= 1.0:
        return CEILING
    return min(CEILING, float(np.sqrt(2.0) * erfinv(price)))
