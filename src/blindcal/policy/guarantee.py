"""Guarantee: what a policy promises, by name, with the further limits that may go with it."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from blindcal.checks import Array, one_number, strictly_within, within
from blindcal.errors import InputError
from blindcal.posterior.large_pools import Promise

# e^epsilon must be a float; so large a limit means none.
MOST_EPSILON = 700.0
NAMES = ("public", "steady", "average", "none")


@dataclass(frozen=True)
class Guarantee:
    """What a policy may reveal, for a pair of papers or for every paper of a conference.

    `epsilon`, `multiplier` and `posterior_cap` are further limits for every paper (None: no limit). The
    `name` is one of these, `steady` by default:

    `public`: decide by public information alone; decisions reveal nothing more to anyone who
    knows scores, pools and calibration, whatever else they know.
    `steady`: no decision makes the best guess about a review's author likelier.
    `average`: the best guess is no likelier on average over the two outcomes: zero added success.
    `none`: full calibration, for comparison.

    `added_success`: with `average` alone, how much likelier the best guess may become on average over all
    reviews, from 0 to 1; spent where it buys most.
    `epsilon`: the most by which the logarithm of an outcome's chance may differ between two secrets.
    `multiplier`: the factor, from 1 to 2, by which anyone's best guess may gain at most, whatever they know.
    `posterior_cap`: the most, from 0 to 1, that the chance of any guess may be after the decision.
    `never_against`: a tuple of reviewers whose evidence for one side is at least this, strictly between 1/2
    and 1, is always decided that way; None: any may be decided against.

    >>> Guarantee()
    Guarantee(name='steady', added_success=0.0, epsilon=2.0, multiplier=None, posterior_cap=None,
              never_against=None)
    """

    name: str = "steady"
    added_success: float = 0.0
    epsilon: float | None = 2.0
    multiplier: float | None = None
    posterior_cap: float | None = None
    never_against: float | None = None

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise InputError(f"guarantee must be one of {', '.join(NAMES)}, found {self.name!r}")
        for limit in ("added_success", "epsilon", "multiplier", "posterior_cap", "never_against"):
            if (value := getattr(self, limit)) is not None:
                one_number(limit.replace("never_", "never-").replace("_", " "), value)
        within("added success", self.added_success, 0.0, 1.0)
        if self.added_success > 0 and self.name != "average":
            raise InputError(f"added success is a budget of the average guarantee, found it with {self.name}")
        if self.epsilon is not None:
            within("epsilon", self.epsilon, 0.0, MOST_EPSILON)
        if self.multiplier is not None:
            within("multiplier", self.multiplier, 1.0, 2.0)
        if self.posterior_cap is not None:
            within("posterior cap", self.posterior_cap, 0.0, 1.0)
        if self.never_against is not None:
            strictly_within("never-against", self.never_against, 0.5, 1.0)

    @property
    def spends(self) -> bool:
        """Whether one budget is spent over all papers, so that a price is part of what is frozen."""
        return self.name == "average" and self.added_success > 0

    @property
    def promise(self) -> Promise:
        """What the tables of large pools are laid out for."""
        return Promise(self.name, float(np.diff(self.corners).max()))

    @property
    def corners(self) -> Array:
        """Corners `[corner, (low, high)]` of the region that the limits leave to the range of a policy.

        epsilon: `high <= e^eps low` and `1-low <= e^eps (1-high)`, a triangle between the two constants and
        randomized response; multiplier: `high - low <= multiplier - 1` cuts its tip off.

        >>> Guarantee(epsilon=None).corners.tolist()
        [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
        >>> Guarantee(epsilon=0.0).corners.tolist()
        [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]
        """
        low = 0.0 if self.epsilon is None else 1.0 / (1.0 + exp(self.epsilon))
        corners = [[0.0, 0.0], [1.0, 1.0], [low, 1.0 - low]]
        widest = 1.0 - 2.0 * low
        if self.multiplier is None or widest <= self.multiplier - 1.0:
            return np.array(corners)
        cut = (self.multiplier - 1.0) / widest
        tip = np.array(corners[2])
        return np.array([corners[0], corners[1], (1 - cut) * np.array([1.0, 1.0]) + cut * tip, cut * tip])


PUBLIC = Guarantee("public", epsilon=None)
"""The same decision whoever reviewed: nothing is revealed to anyone."""
UNLIMITED = Guarantee("none", epsilon=None)
"""Full calibration."""
