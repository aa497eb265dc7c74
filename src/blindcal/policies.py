"""Policy: accept probabilities for each secret, their errors, and the limits a policy may have to keep."""

from __future__ import annotations

from dataclasses import dataclass

from blindcal.checks import nonnegative, within


@dataclass(frozen=True)
class Limits:
    """What a policy must keep, all optional and combinable.

    `success`: the adversary's chance of a right guess, mean over slots, at most this.
    `steady`: no outcome raises any slot's top posterior above its value from the scores alone.
    `epsilon`: no odds between secrets change by more than a factor e^epsilon.
    `multiplier`: max accept + max reject over the secrets, in [1, 2].
    `posterior_cap`: no label's posterior after any outcome exceeds this.

    >>> Limits(epsilon=2.0, steady=True)
    Limits(success=None, steady=True, epsilon=2.0, multiplier=None, posterior_cap=None)
    """

    success: float | None = None
    steady: bool = False
    epsilon: float | None = None
    multiplier: float | None = None
    posterior_cap: float | None = None

    def __post_init__(self) -> None:
        if self.success is not None:
            within("success", self.success, 0.0, 1.0)
        if self.epsilon is not None:
            nonnegative("epsilon", self.epsilon)
        if self.multiplier is not None:
            within("multiplier", self.multiplier, 1.0, 2.0)
        if self.posterior_cap is not None:
            within("posterior_cap", self.posterior_cap, 0.0, 1.0)
