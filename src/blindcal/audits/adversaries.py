"""Adversaries: what a decision reveals about the secret, exactly and by playing the game.

The adversary knows the scores, the belief, the policy and the decision, and guesses the most likely secret
(with labels, the most likely label in each slot). `audit` is exact for the stored numbers: it
makes the claims of a certificate about any policy.

Each paper is taken by itself. The adversary who knows how papers share reviewers is
`looking.coupled_findings`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blindcal.beliefs.belief import Belief
from blindcal.checks import Array, Integers, of_type
from blindcal.errors import InputError
from blindcal.frames import long_frame
from blindcal.plans.certificates import Claim, claim
from blindcal.plans.exact import exactly
from blindcal.policies.policy import LabelSums, Policy, label_sums

_GAMES_AT_ONCE = 1 << 22

Adversary = Callable[[Belief, Policy], Integers]
"""Belief and policy -> guesses [..., outcome, slot] after "accept" and after "reject", as `guess` makes."""


def audit(belief: Belief, policy: Policy) -> Claim:
    """What `policy` reveals under one `belief`, exactly, in the numbers of a certificate.

    Weights and probabilities are read as the rationals that floats are, so nothing is lost before the last
    rounding, which is outwards. For many instances at once, in floats: `policy.adversary_error(belief)`,
    `policy.epsilon`, `policy.multiplier`, `policy.largest_posterior(belief)` and `bits`.

    >>> found = audit(Belief([0.6, 0.4], [0.9, 0.2]), Policy([1 / 3, 0.0]))
    >>> print(f"{float(found.success):.3f} {found.epsilon} {found.largest_posterior}")
    0.600 inf 1.0
    """
    of_type("belief", belief, Belief)
    of_type("policy", policy, Policy)
    policy.conference_error(belief)  # names shapes that do not fit
    if belief.weight.ndim > 1 or policy.accept.ndim > 1:
        raise InputError("an audit is of one belief and one policy: take the instances one by one")
    return claim(belief, exactly(policy))


def posterior(belief: Belief, policy: Policy) -> Array:
    """`P(secret | scores, outcome)`, shape [..., 2, n]: after "accept", then after "reject".

    `belief` is what the adversary thinks before the decision, `policy` the accept probability of each secret;
    leading axes are instances. After an outcome that cannot happen nothing is known: nan.

    >>> posterior(Belief([0.6, 0.4], [0.9, 0.2]), Policy([1.0, 0.25])).round(3)
    array([[0.857, 0.143],
           [0.   , 1.   ]])
    """
    mass = outcome_mass(belief, policy)
    total = mass.sum(axis=-1, keepdims=True)
    known = np.full_like(mass, np.nan)
    np.divide(mass, total, out=known, where=total > 0.0)
    return known


def outcome_mass(belief: Belief, policy: Policy) -> Array:
    """`P(secret, outcome | scores)`, shape [..., 2, n]."""
    policy.conference_error(belief)  # names shapes that do not fit
    return np.stack([belief.weight * policy.accept, belief.weight * (1.0 - policy.accept)], axis=-2)


def guess(belief: Belief, policy: Policy) -> Integers:
    """The MAP adversary's guess after each outcome, shape [..., 2, slot]: a label, or the secret's index.

    `belief` is what the adversary thinks before the decision, `policy` the accept probability of each secret;
    leading axes are instances. Of equally likely labels it is the smallest; how ties are broken does not
    change the chance of being right.

    >>> guess(Belief([0.6, 0.4], [0.9, 0.2]), Policy([1.0, 0.25])).tolist()
    [[0], [1]]
    """
    mass = outcome_mass(belief, policy)
    if belief.labels is None:
        return np.expand_dims(np.argmax(mass, axis=-1), (-1,))
    ranked = _ranked(mass, belief.labels)
    return ranked.label[ranked.first].reshape(ranked.shape)


def top_k_success(belief: Belief, policy: Policy, k: int) -> Array:
    """The chance that the truth is among the `k` best guesses after the decision, mean over slots.

    `belief` is what the adversary thinks before the decision, `policy` the accept probability of each secret;
    leading axes are instances.

    >>> belief = Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.7])
    >>> [round(float(top_k_success(belief, Policy([1.0, 0.0, 1.0]), k)), 3) for k in (1, 2, 3)]
    [0.8, 1.0, 1.0]
    """
    if k < 1:
        raise InputError(f"k must be at least 1, found {k}")
    mass = outcome_mass(belief, policy)
    if belief.labels is None:
        return np.asarray(np.sort(mass, axis=-1)[..., -k:].sum(axis=(-2, -1)))
    ranked = _ranked(mass, belief.labels)
    rank = np.arange(ranked.mass.size) - np.repeat(ranked.first, _counts(ranked))
    sums = np.add.reduceat(np.where(rank < k, ranked.mass, 0.0), ranked.first).reshape(ranked.shape)
    return np.asarray(sums.sum(axis=-2).mean(axis=-1))


def bits(belief: Belief, policy: Policy) -> Array:
    """Mutual information of the decision and the adversary's question, in bits, mean over the slots.

    `sum_{y,d} P(y,d) log2(P(y,d) / (P(y) P(d)))`: 1 bit where the decision names one of two equal secrets.
    `belief` is what the adversary thinks before the decision, `policy` the accept probability of each secret;
    leading axes are instances.

    >>> float(bits(Belief([0.5, 0.5], [1.0, 0.0]), Policy([1.0, 0.0])))
    1.0
    """
    mass = outcome_mass(belief, policy)
    weight = np.broadcast_to(belief.weight[..., None, :], mass.shape)
    chance = mass.sum(axis=-1)
    if belief.labels is None:
        return np.asarray(np.maximum(_divergence(mass, weight, chance[..., None]).sum(axis=(-2, -1)), 0.0))
    labels = belief.labels[..., None, :, :]
    joint, alone = label_sums(mass, labels), label_sums(weight, labels)
    outcome = np.repeat(np.broadcast_to(chance[..., None], joint.shape).ravel(), _counts(joint))
    terms = np.add.reduceat(_divergence(joint.mass, alone.mass, outcome), joint.first)
    return np.asarray(np.maximum(terms.reshape(joint.shape).sum(axis=-2).mean(axis=-1), 0.0))


@dataclass(frozen=True, eq=False)
class Games:
    """How often the empirical adversary named the right label: `wins[..., slot]` of `played` games each."""

    wins: Integers
    played: int

    @property
    def success(self) -> Array:
        """The share of correct guesses, mean over the slots."""
        return np.asarray(self.wins.mean(axis=-1) / self.played)

    def to_frame(self) -> Any:
        """One row per instance and slot, as a pandas data frame; needs pandas."""
        return long_frame({"wins": self.wins, "played": np.full(self.wins.shape, self.played)}, "slot")


def success_of(belief: Belief, policy: Policy, adversary: Adversary) -> Array:
    """The exact chance that this adversary guesses right, mean over the slots, one number per instance.

    `belief` is the truth, of which `adversary` may hold another one; `policy` is the accept probability of
    each secret. None does better than the MAP adversary of the same belief, whose chance is
    `1 - adversary_error`.

    >>> belief, policy = Belief([0.6, 0.4], [0.9, 0.2]), Policy([1.0, 0.25])
    >>> stubborn = lambda belief, policy: np.ones((2, 1), int)
    >>> [round(float(success_of(belief, policy, one)), 12) for one in (guess, stubborn)]
    [0.9, 0.4]
    """
    mass, guessed, labels = outcome_mass(belief, policy), *_guessed(belief, policy, adversary)
    right = (guessed[..., None] == labels[..., None, :, :]) & (labels >= 0)[..., None, :, :]
    return np.asarray((mass[..., None, :] * right).sum(axis=(-3, -1)).mean(axis=-1))


def _guessed(belief: Belief, policy: Policy, adversary: Adversary) -> tuple[Integers, Integers]:
    """An adversary's guesses `[..., 2, slot]` and the labels `[..., slot, secret]`, both for every
    instance."""
    lead = np.broadcast_shapes(belief.weight.shape, policy.accept.shape)[:-1]
    n = belief.weight.shape[-1]
    labels = np.arange(n)[None, :] if belief.labels is None else belief.labels
    labels = np.broadcast_to(labels, (*lead, *labels.shape[-2:]))
    found = np.asarray(adversary(belief, policy))
    try:
        return np.broadcast_to(found, (*lead, 2, labels.shape[-2])), labels
    except ValueError:
        raise InputError(
            f"an adversary must guess [outcome, slot] = [2, {labels.shape[-2]}] labels for each instance, "
            f"found shape {found.shape}"
        ) from None


def play(
    belief: Belief,
    policy: Policy,
    games: int,
    rng: np.random.Generator,
    adversary: Adversary | None = None,
) -> Games:
    """Play the game: draw the secret, toss the decision, let the adversary guess; for each instance.

    A simulation: no real decision is ever drawn here.

    `belief`: from which secrets are drawn; leading axes are instances.
    `policy`: the accept probability of each secret.
    `games`: how many are played for each instance.
    `rng`: the generator that they are drawn with.
    `adversary`: who guesses; by default `guess`, the MAP adversary.

    >>> rng = np.random.default_rng(1)
    >>> play(Belief([0.6, 0.4], [0.9, 0.2]), Policy([1.0, 0.0]), 1000, rng).success
    array(1.)
    """
    if games < 1:
        raise InputError(f"games must be at least 1, found {games}")
    best, labels = _guessed(belief, policy, guess if adversary is None else adversary)
    lead, n = best.shape[:-2], belief.weight.shape[-1]
    reach = np.broadcast_to(np.cumsum(belief.weight, axis=-1), (*lead, n))
    accept = np.broadcast_to(policy.accept, (*lead, n))
    wins = np.zeros(best.shape[:-2] + best.shape[-1:], dtype=np.int64)
    batch = max(1, _GAMES_AT_ONCE // reach.size)
    for done in range(0, games, batch):
        count = min(batch, games - done)
        drawn = rng.random((count, *lead, 1)) * reach[..., -1:]
        secret = (reach <= drawn).sum(axis=-1, keepdims=True)
        chance = np.take_along_axis(np.broadcast_to(accept, (count, *accept.shape)), secret, -1)
        rejected = (rng.random(chance.shape) >= chance).astype(np.int64)
        guessed = np.take_along_axis(np.broadcast_to(best, (count, *best.shape)), rejected[..., None], -2)[
            ..., 0, :
        ]
        truth = np.take_along_axis(np.broadcast_to(labels, (count, *labels.shape)), secret[..., None], -1)[
            ..., 0
        ]
        wins += ((guessed == truth) & (truth >= 0)).sum(axis=0)
    return Games(wins, games)


def _ranked(mass: Array, labels: Integers) -> LabelSums:
    """Chances to be right, in each row from the best guess to the worst; `labels` are the belief's."""
    sums = label_sums(mass, labels[..., None, :, :])
    row = np.repeat(np.arange(sums.first.size), _counts(sums))
    order = np.lexsort((sums.label < 0, -sums.guesses, row))
    return LabelSums(sums.guesses[order], sums.label[order], sums.first, sums.shape)


def _counts(sums: LabelSums) -> Integers:
    return np.diff(sums.first, append=sums.mass.size)


def _divergence(joint: Array, alone: Array, chance: Array) -> Array:
    """`joint * log2(joint / (alone*chance))`, 0 where the joint mass is 0."""
    possible: NDArray[np.bool_] = joint > 0.0
    given = np.divide(joint, alone, out=np.ones(joint.shape), where=possible)
    # Two logarithms: the product of two tiny chances may be 0.
    return np.asarray(joint * (np.log2(given) - np.log2(np.where(possible, chance, 1.0))))
