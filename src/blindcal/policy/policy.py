"""Policies: accept probabilities for each secret, their errors, and what they reveal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.checks import Array, Integers, nonnegative, within
from blindcal.errors import InputError
from blindcal.io.tables import long_frame
from blindcal.posterior.belief import Belief

# Evidence this close to a tie is a tie on every machine, and ties are rejected. Sums differ by some 1e-15
# between processors, which would otherwise decide ties.
TIE_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Policy:
    """Accept probabilities: public as a function of scores and secret, sampled once with secret coins.

    The last axis is the secrets, leading axes are instances. A belief or a policy without instances
    broadcasts over the other's. A table of probabilities `[secret, decision]` is
    not a policy; its column for the decision "accept" is.

    Attributes:
        accept: `[..., n] = P(accept | scores, secret)`.

    Example:
        >>> belief = Belief([0.6, 0.4], [1.0, 0.0])
        >>> policy = Policy([1.0, 0.25])
        >>> float(policy.conference_error(belief)), float(policy.adversary_error(belief))
        (0.1, 0.1)
    """

    accept: Array

    def __init__(self, accept: ArrayLike) -> None:
        array = within("accept", accept, 0.0, 1.0)
        if array.ndim == 0:
            raise InputError(f"accept must have shape [..., n], found {array.shape}")
        _refuse_chances(array)
        object.__setattr__(self, "accept", array)

    def conference_error(self, belief: Belief) -> Array:
        """`sum_r weight * (accept*(1-favor) + (1-accept)*favor)`, one number per instance."""
        weight, favor, accept = _aligned(belief, self)
        wrong = accept * (1.0 - favor) + (1.0 - accept) * favor
        return np.asarray((weight * wrong).sum(axis=-1))

    def adversary_error(self, belief: Belief) -> Array:
        """`1 - max_r weight*accept - max_r weight*(1-accept)`; with labels, the mean over the slots.

        It is added up from the weights that the best guesses miss, so small errors keep their digits.
        """
        weight, _, accept = _aligned(belief, self)
        return missed_mass(weight * accept, belief.labels) + missed_mass(
            weight * (1.0 - accept), belief.labels
        )

    @property
    def epsilon(self) -> Array:
        """`max over r, r' and both outcomes of log(P(outcome|r)/P(outcome|r'))`; 0/0 counts as 1.

        Example:
            >>> print(f"e^{Policy([0.75, 0.25]).epsilon:.6f} = 3")
            e^1.098612 = 3
            >>> float(Policy([1.0, 0.0]).epsilon), float(Policy([1.0, 1.0]).epsilon)
            (inf, 0.0)
        """
        least, most = self.accept.min(axis=-1), self.accept.max(axis=-1)
        spread = most - least
        return np.maximum(_log_ratio(spread, least), _log_ratio(spread, 1.0 - most))

    @property
    def multiplier(self) -> Array:
        """`max_r accept + max_r (1-accept)`: the factor by which any prior's best guess can grow.

        This is the multiplicative Bayes capacity of the policy as a channel.

        Example:
            >>> float(Policy([0.75, 0.25]).multiplier)
            1.5
        """
        return np.asarray(1.0 + (self.accept.max(axis=-1) - self.accept.min(axis=-1)))

    def largest_posterior(self, belief: Belief) -> Array:
        """The largest `P(label | scores, outcome)` over the slots, labels and outcomes that can happen.

        Example:
            >>> belief = Belief([0.6, 0.4], [0.9, 0.2])
            >>> float(Policy([1 / 3, 0.0]).largest_posterior(belief))
            1.0
        """
        weight, _, accept = _aligned(belief, self)
        masses = np.stack([weight * accept, weight * (1.0 - accept)])
        total, tops = masses.sum(axis=-1), [label_tops(mass, belief.labels).max(axis=-1) for mass in masses]
        # An outcome that cannot happen has no posterior.
        possible: NDArray[np.bool_] = total > 0.0
        return np.asarray(np.where(possible, tops / np.where(possible, total, 1.0), 0.0).max(axis=0))

    def calibrates(self, belief: Belief) -> Array:
        """The paper's `q`: the probability of deciding by the true secret's evidence, for two secrets.

        `accept[r] = q[r] * own + (1 - q[r]) * other`, with `own` and `other` the decisions by the evidence of
        r and of the other secret: 1, 0, or a fair coin at a favor of exactly 1/2. It is nan if both are the
        same, because q does not matter then, and if no q gives `accept[r]`: at a tie, on the coin's far side.

        Example:
            >>> Policy([1.0, 0.25]).calibrates(Belief([0.6, 0.4], [1.0, 0.0]))
            array([1.  , 0.75])
            >>> Policy([1.0, 1.0]).calibrates(Belief([0.6, 0.4], [0.5, 1.0]))   # a tie: never by the first
            array([0., 1.])
        """
        weight, _, accept = _aligned(belief, self)
        if weight.shape[-1] != 2:
            raise InputError(f"q is defined for two secrets, found {weight.shape[-1]}")
        own = evidence_policy(belief).accept
        other = own[..., ::-1]
        reachable = (own != other) & (np.minimum(own, other) <= accept) & (accept <= np.maximum(own, other))
        apart = np.where(own != other, np.abs(own - other), 1.0)
        return np.where(reachable, np.abs(accept - other) / apart, np.nan)

    def to_frame(self) -> Any:
        """One row per instance and secret, as a pandas data frame; needs pandas."""
        return long_frame({"accept": self.accept}, "secret")


def _refuse_chances(accept: Array) -> None:
    """Refuse rows of three or more that all sum to 1: those are probabilities of decisions."""
    secrets = accept.shape[-1]
    if secrets < 3 or accept.size < 2 * secrets:
        return
    if (np.abs(accept.sum(axis=-1) - 1.0) <= 1e-9).all():
        raise InputError(
            f"accept {accept.shape} would be {accept.size // secrets} instances of {secrets} secrets, but "
            "every row sums to 1: of chances [secret, decision] give the column of the decision to accept"
        )


def unchecked_policy(accept: Array) -> Policy:
    """A policy from probabilities known to lie in [0, 1]: inner loops do not check twice."""
    policy = object.__new__(Policy)
    object.__setattr__(policy, "accept", accept)
    return policy


def evidence_policy(belief: Belief) -> Policy:
    """Full calibration: decide by each secret's own evidence, by a fair coin at a favor of exactly 1/2.

    Args:
        belief: One or more instances.

    Example:
        >>> evidence_policy(Belief([0.6, 0.4], [0.9, 0.2])).accept
        array([1., 0.])
    """
    return unchecked_policy(0.5 * (1.0 + np.sign(belief.favor - 0.5)))


def public_policy(belief: Belief) -> Policy:
    """The public decision, the same for every secret, so that epsilon is 0.

    Accept if and only if `sum_r weight*favor > 1/2`, by more than the rounding of a sum of probabilities.

    Args:
        belief: One or more instances.

    Example:
        >>> public_policy(Belief([0.6, 0.4], [0.9, 0.2])).accept
        array([1., 1.])
    """
    chance = (belief.weight * belief.favor).sum(axis=-1, keepdims=True)
    return unchecked_policy(
        np.broadcast_to((chance > 0.5 + TIE_TOLERANCE).astype(np.float64), belief.favor.shape)
    )


def epsilon_policy(belief: Belief, epsilon: ArrayLike) -> Policy:
    """The policy of least conference error if only epsilon is limited.

    It is one of three: always accept, always reject, or randomized response, which follows the evidence with
    probability `e^eps/(1+e^eps)`. Choosing among them uses the public weights and favors only.

    Args:
        belief: One or more instances.
        epsilon: The limit: one number, or one for each instance.

    Example:
        >>> epsilon_policy(Belief([0.6, 0.4], [0.9, 0.2]), np.log(9.0)).accept
        array([0.9, 0.1])
        >>> epsilon_policy(Belief([0.6, 0.4], [0.9, 0.2]), 0.1).accept
        array([1., 1.])
    """
    # e^eps/(1+e^eps), rounded so that the odds of the stored number stay within e^eps.
    shrink = np.exp(-nonnegative("epsilon", epsilon))[..., None]
    lie = shrink / (1.0 + shrink)
    truth = np.minimum(1.0 - lie, np.nextafter(1.0, 0.0))
    truth = np.where(1.0 - truth < lie, np.maximum(np.nextafter(truth, 0.0), 0.5), truth)
    favor = belief.favor
    response = unchecked_policy(np.where(favor > 0.5, truth, np.where(favor < 0.5, 1.0 - truth, 0.5)))
    public = public_policy(belief)
    better = response.conference_error(belief) < public.conference_error(belief)
    return unchecked_policy(np.where(better[..., None], response.accept, public.accept))


def proposition_strategy(belief: Belief, g: Policy) -> Policy:
    """Proposition 4.1: a strategy of the paper's h family at least as good as `g` on both errors.

    The h family decides by the evidence of the true or of the other one of two secrets. If the two disagree,
    that is every strategy, so `g` itself is returned. If they agree, it is the one decision that both favor,
    which errs least and reveals nothing. (At a favor of 1/2 the other secret's evidence decides.)
    """
    _, favor, accept = _aligned(belief, g)
    if favor.shape[-1] != 2:
        raise InputError(f"Proposition 4.1 is about two secrets, found {favor.shape[-1]}")
    accepting = (favor > 0.5).any(axis=-1, keepdims=True)
    rejecting = (favor < 0.5).any(axis=-1, keepdims=True)
    common = np.where(accepting, 1.0, np.where(rejecting, 0.0, 0.5))
    return unchecked_policy(np.where(accepting & rejecting, accept, common))


def label_tops(mass: Array, labels: Integers | None) -> Array:
    """`max_y sum_{r: label[l,r]=y} mass[r]` for each slot l: shape [..., slot]; labels below 0 are nobody."""
    if labels is None:
        return np.asarray(mass.max(axis=-1, keepdims=True))
    sums = label_sums(mass, labels)
    return np.maximum.reduceat(sums.guesses, sums.first).reshape(sums.shape)


@dataclass(frozen=True, eq=False)
class LabelSums:
    """Mass by label: row after row (an instance and slot each), label by label."""

    mass: Array  # the mass of each label
    label: Integers  # the label of each mass
    first: Integers  # where each row starts
    shape: tuple[int, ...]  # the shape of the rows, `[..., slot]`

    @property
    def guesses(self) -> Array:
        """The probability that each label is a correct guess: a label below 0 is nobody."""
        return np.where(self.label < 0, 0.0, self.mass)


def label_sums(mass: Array, labels: Integers) -> LabelSums:
    """`sum_{r: label[l,r]=y} mass[r]` for every instance, slot l and label y that occurs there.

    >>> label_sums(np.array([0.5, 0.3, 0.2]), np.array([[0, 1, 1], [5, 5, 7]])).mass
    array([0.5, 0.5, 0.8, 0.2])
    """
    slots, n = labels.shape[-2:]
    shape = (*np.broadcast_shapes(mass.shape[:-1], labels.shape[:-2]), slots)
    keys = np.broadcast_to(labels, (*shape, n)).reshape(-1, n)
    values = np.broadcast_to(mass[..., None, :], (*shape, n)).reshape(-1, n)
    order = np.argsort(keys, axis=-1, kind="stable")
    keys, values = np.take_along_axis(keys, order, -1), np.take_along_axis(values, order, -1)
    starts = np.ones(keys.shape, dtype=np.bool_)
    starts[:, 1:] = keys[:, 1:] != keys[:, :-1]
    begin = np.flatnonzero(starts.ravel())
    first = np.concatenate([[0], np.cumsum(starts.sum(axis=-1))[:-1]])
    return LabelSums(np.add.reduceat(values.ravel(), begin), keys.ravel()[begin], first, shape)


def missed_mass(mass: Array, labels: Integers | None) -> Array:
    """The mass outside the best guess, mean over slots: `sum(mass) - max(mass)` without cancellation."""
    if labels is not None:
        return np.asarray(np.maximum(mass.sum(axis=-1) - label_tops(mass, labels).mean(axis=-1), 0.0))
    if mass.shape[-1] == 2:
        return np.minimum(mass[..., 0], mass[..., 1])
    top = np.expand_dims(np.argmax(mass, axis=-1), -1)
    rest = mass.copy()
    np.put_along_axis(rest, top, 0.0, axis=-1)
    return np.asarray(rest.sum(axis=-1))


def _aligned(belief: Belief, policy: Policy) -> tuple[Array, Array, Array]:
    """Weight, favor and accept probabilities, checked to fit together."""
    if policy.accept.shape[-1] != belief.weight.shape[-1]:
        raise InputError(
            f"the policy has {policy.accept.shape[-1]} secrets and the belief {belief.weight.shape[-1]}"
        )
    try:
        np.broadcast_shapes(policy.accept.shape, belief.weight.shape)
    except ValueError:
        raise InputError(
            f"policy {policy.accept.shape} and belief {belief.weight.shape} do not fit together"
        ) from None
    return belief.weight, belief.favor, policy.accept


def _log_ratio(spread: Array, least: Array) -> Array:
    """`log((least+spread)/least)`; 0/0 counts as 1."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.log1p(spread / least)
    return np.where(spread > 0.0, ratio, 0.0)
