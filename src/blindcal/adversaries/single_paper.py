"""The adversary of a single paper: what a decision reveals about its reviewers, exactly and by simulation.

The adversary knows the scores, the belief, the policy and the decision, and guesses the most likely secret
(with labels, the most likely label in each slot). `audit` is exact for the stored numbers and makes the
claims of a certificate about any policy; `play` simulates the same game. Each paper is treated separately;
`coupled_mcmc.coupled_findings` is the adversary who knows how papers share reviewers.

A `View` is a paper as an adversary sees it, from a planned table or a recorded decision. Each answer to a
question about its reviewers is a function of masses `[outcome, tuple]` that sum to 1, summed over the
outcomes. One row of weights gives what the scores reveal; one row per outcome, or one for the decision that
was published, what scores and decisions reveal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from blindcal.certify.claims import Claim, claim
from blindcal.certify.exact import exact_policy
from blindcal.checks import Array, Integers, check_type
from blindcal.deciding.amend import first_decision
from blindcal.deciding.ledger import Ledger
from blindcal.deciding.record import Record
from blindcal.errors import InputError
from blindcal.io.tables import long_frame
from blindcal.policy.policy import Policy, evidence_policy, label_sums
from blindcal.pools.candidates import OUTSIDER
from blindcal.posterior.belief import Belief
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.this_year_evidence import LevelCase
from blindcal.posterior.tuple_weights import tuple_posteriors

POLICIES = ("raw", "public", "chosen", "full")
"""Decisions by mean score, by public information, by the chosen policy, and fully calibrated."""

CONSTANT = ("raw", "public")
"""The policies that do not depend on who reviewed the paper."""


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """An adversary's view of one paper. Confidential if it has the `truth`.

    `rows[tuple, slot]` are indices of `names` (below 0: nobody). `weight` is the posterior of each tuple
    given the scores, and `log_prior` its log prior. `accept` has the accept probabilities under every policy,
    and `outcome` the likelihood of the published decision, if there is one. `exact` is false if the tuples
    are a sample because there are too many to list.
    """

    paper: str
    names: tuple[str, ...]
    scores: tuple[float, ...]
    rows: Integers
    weight: Array
    log_prior: Array
    accept: Mapping[str, Array]
    outcome: Mapping[str, Array] | None = None
    truth: tuple[int, ...] | None = None
    exact: bool = True

    def mass(self, policy: str) -> Array:
        """`[outcome, tuple]`: P(tuple, outcome | scores); after publication P(tuple | scores, decision)."""
        if self.outcome is None:
            accept = self.accept[policy]
            return np.stack([self.weight * accept, self.weight * (1.0 - accept)])
        mass = self.weight * self.outcome[policy]
        total = mass.sum()
        # A decision that no tuple could have led to tells nothing about the reviewers.
        return (mass / total if total > 0.0 else self.weight)[None, :]

    @property
    def alone(self) -> Array:
        """`[1, tuple]`: the posterior given the scores alone."""
        return self.weight[None, :]

    def believing(self, weight: Array) -> View:
        """The same paper for an adversary with other weights of its tuples."""
        total = weight.sum()
        if not total > 0.0:
            raise InputError(f"nothing is possible any more for paper {self.paper!r}")
        return replace(self, weight=weight / total)


def case_view(case: PaperCase, policy: Policy, raw: float) -> View:
    """A paper before the draw, under any table for it."""
    belief, sample = case.belief, case.sample
    if sample is None:
        rows, weight, favor = case.tuples, belief.weight, belief.favor
        chosen = belief.spread(policy.accept)
    else:
        rows, favor = sample.rows, sample.favor
        weight = np.full(len(rows), 1.0 / len(rows))
        chosen = case.layout.expected(policy.accept, rows)
    right = float(weight @ favor)
    accept = {
        "raw": np.full(weight.shape, raw),
        "public": np.full(weight.shape, float(right > 0.5)),
        "chosen": chosen,
        "full": 0.5 * (1.0 + np.sign(favor - 0.5)),
    }
    return View(
        paper=case.paper,
        names=tuple(case.candidates),
        scores=case.scores,
        rows=case.named(rows),
        weight=weight,
        log_prior=case.log_prior(rows),
        accept=accept,
        exact=sample is None,
    )


def published_views(past: Ledger, record: Record) -> list[View]:
    """Every paper of a release as its one coin decided it, with the true reviewers; confidential.

    A paper that was decided again was decided from public data, which reveals nothing further. So its first
    decision counts, with the scores of that release.
    """
    views = []
    for paper in record.papers:
        case, policy, first = first_decision(past, paper)
        if isinstance(case, LevelCase):
            continue
        case = case.promised(record.request.guarantee.promise)
        views.append(published_view(case, policy, paper.raw_accepted, first.accepted, first.reviewers))
    return views


def published_view(
    case: PaperCase, policy: Policy, raw: float, accepted: bool, reviewers: Sequence[str]
) -> View:
    """A paper whose decision and reviewers are known, lowest score first."""
    view = case_view(case, policy, raw)
    index_of = {name: index for index, name in enumerate(case.candidates)}
    truth = [index_of.get(name, index_of.get(OUTSIDER, -1)) for name in reviewers]
    if -1 in truth:
        raise InputError(f"the reviewers of paper {case.paper!r} must all be in its pool")
    favor = float(tuple_posteriors(case, np.array([truth]))[1][0])
    known = tuple(-1 if index == case.outsider else index for index in truth)
    return replace(_after_decisions(view, chosen=accepted, full=favor >= 0.5), truth=known)


def _after_decisions(view: View, **accepted: bool) -> View:
    """The view after these decisions of policies that depend on the reviewers."""
    each = accepted.items()
    likelihood = {name: view.accept[name] if yes else 1.0 - view.accept[name] for name, yes in each}
    # Raw and public decisions are the same for every tuple, at a tie too.
    return replace(view, outcome={**dict.fromkeys(CONSTANT, np.ones_like(view.weight)), **likelihood})


def released_view(case: PaperCase, accepted: bool) -> View:
    """A paper of a conference that decided by calibrated scores, for anybody without the true reviewers.

    The adversary has its scores, its decision and a table of calibrations.
    """
    if not case.listed:
        raise InputError(f"the tuples of paper {case.paper!r} must be few enough to be listed")
    view = case_view(case, evidence_policy(case.belief), 1.0)
    return _after_decisions(view, chosen=accepted, full=accepted)


AUTHOR, THREE_GUESSES, MEMBER = "author", "three guesses", "reviewed at all"
WHOLE, LINK = "whole tuple", "link"
GUESSES = 3
_GAMES_AT_ONCE = 1 << 22
Adversary = Callable[[Belief, Policy], Integers]
"""A function of belief and policy that returns guesses [..., outcome, slot], as `guess` does."""


def audit(belief: Belief, policy: Policy) -> Claim:
    """The exact claims of a certificate about one policy under one belief.

    Weights and probabilities are read as the rational numbers that floats are, so nothing is lost before the
    last rounding, which is outwards. For many instances at once, in floats: `policy.adversary_error(belief)`,
    `policy.epsilon`, `policy.multiplier` and `policy.largest_posterior(belief)`.

    Args:
        belief: The adversary's belief before the decision.
        policy: Accept probability of each secret.

    Example:
        >>> revealed = audit(Belief([0.6, 0.4], [0.9, 0.2]), Policy([1 / 3, 0.0]))
        >>> print(f"{float(revealed.success):.3f} {revealed.epsilon} {revealed.largest_posterior}")
        0.600 inf 1.0
    """
    check_type("belief", belief, Belief)
    check_type("policy", policy, Policy)
    policy.conference_error(belief)  # names shapes that do not fit
    if belief.weight.ndim > 1 or policy.accept.ndim > 1:
        raise InputError("an audit is of one belief and one policy: take the instances one by one")
    return claim(belief, exact_policy(policy))


def posterior(belief: Belief, policy: Policy) -> Array:
    """The adversary's posterior, `P(secret | scores, outcome)`.

    Args:
        belief: The adversary's belief before the decision; leading axes are instances.
        policy: Accept probability of each secret.

    Returns:
        Probabilities [..., 2, n]: after "accept", then after "reject"; nan after an impossible outcome.

    Example:
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
    """The MAP adversary's guess after each outcome.

    Of equally likely labels it is the smallest; breaking ties otherwise does not change the success.

    Args:
        belief: The adversary's belief before the decision; leading axes are instances.
        policy: Accept probability of each secret.

    Example:
        >>> guess(Belief([0.6, 0.4], [0.9, 0.2]), Policy([1.0, 0.25])).tolist()
        [[0], [1]]
    """
    mass = outcome_mass(belief, policy)
    if belief.labels is None:
        return np.expand_dims(np.argmax(mass, axis=-1), (-1,))
    sums = label_sums(mass, belief.labels[..., None, :, :])
    row = np.repeat(np.arange(sums.first.size), np.diff(sums.first, append=sums.mass.size))
    order = np.lexsort((sums.label < 0, -sums.guesses, row))
    return sums.label[order][sums.first].reshape(sums.shape)


def success_of(belief: Belief, policy: Policy, adversary: Adversary) -> Array:
    """The exact success of an adversary.

    No adversary does better than the MAP adversary of the same belief, whose success is `1 -
    adversary_error`.

    Args:
        belief: The true distribution of secrets; the adversary may believe another.
        policy: Accept probability of each secret.
        adversary: The function that guesses.

    Example:
        >>> belief, policy = Belief([0.6, 0.4], [0.9, 0.2]), Policy([1.0, 0.25])
        >>> stubborn = lambda belief, policy: np.ones((2, 1), int)
        >>> [round(float(success_of(belief, policy, adversary)), 12) for adversary in (guess, stubborn)]
        [0.9, 0.4]
    """
    mass, guessed, labels = outcome_mass(belief, policy), *_guesses_and_labels(belief, policy, adversary)
    right = (guessed[..., None] == labels[..., None, :, :]) & (labels >= 0)[..., None, :, :]
    return np.asarray((mass[..., None, :] * right).sum(axis=(-3, -1)).mean(axis=-1))


def _guesses_and_labels(belief: Belief, policy: Policy, adversary: Adversary) -> tuple[Integers, Integers]:
    """An adversary's guesses `[..., 2, slot]` and the labels `[..., slot, secret]` of every instance."""
    lead = np.broadcast_shapes(belief.weight.shape, policy.accept.shape)[:-1]
    n = belief.weight.shape[-1]
    labels = np.arange(n)[None, :] if belief.labels is None else belief.labels
    labels = np.broadcast_to(labels, (*lead, *labels.shape[-2:]))
    guesses = np.asarray(adversary(belief, policy))
    try:
        return np.broadcast_to(guesses, (*lead, 2, labels.shape[-2])), labels
    except ValueError:
        raise InputError(
            f"an adversary must guess [outcome, slot] = [2, {labels.shape[-2]}] labels for each instance, "
            f"found shape {guesses.shape}"
        ) from None


@dataclass(frozen=True, eq=False)
class Games:
    """Results of simulated games: `wins[..., slot]` correct guesses in `played` games each."""

    wins: Integers
    played: int

    @property
    def success(self) -> Array:
        """The share of correct guesses, mean over the slots."""
        return np.asarray(self.wins.mean(axis=-1) / self.played)

    def to_frame(self) -> Any:
        """One row per instance and slot, as a pandas data frame; needs pandas."""
        return long_frame({"wins": self.wins, "played": np.full(self.wins.shape, self.played)}, "slot")


def play(
    belief: Belief, policy: Policy, games: int, rng: np.random.Generator, adversary: Adversary | None = None
) -> Games:
    """Simulates the game: draws the secret and the decision, and lets the adversary guess.

    No real decision is ever drawn here.

    Args:
        belief: The distribution of secrets; leading axes are instances.
        policy: Accept probability of each secret.
        games: Number of games per instance.
        rng: Random number generator.
        adversary: The function that guesses; by default `guess`, the MAP adversary.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> play(Belief([0.6, 0.4], [0.9, 0.2]), Policy([1.0, 0.0]), 1000, rng).success
        array(1.)
    """
    if games < 1:
        raise InputError(f"games must be at least 1, found {games}")
    best, labels = _guesses_and_labels(belief, policy, guess if adversary is None else adversary)
    lead, n = best.shape[:-2], belief.weight.shape[-1]
    reach = np.broadcast_to(np.cumsum(belief.weight, axis=-1), (*lead, n))
    accept = np.broadcast_to(policy.accept, (*lead, n))
    wins = np.zeros(best.shape[:-2] + best.shape[-1:], dtype=np.int64)
    batch = max(1, _GAMES_AT_ONCE // reach.size)
    for done in range(0, games, batch):
        count = min(batch, games - done)
        drawn = rng.random((count, *lead, 1)) * reach[..., -1:]
        secret = (reach <= drawn).sum(axis=-1, keepdims=True)
        chance = np.take_along_axis(accept[None], secret, -1)
        rejected = (rng.random(chance.shape) >= chance).astype(np.int64)
        guessed = np.take_along_axis(best[None], rejected[..., None], -2)[..., 0, :]
        truth = np.take_along_axis(labels[None], secret[..., None], -1)[..., 0]
        wins += ((guessed == truth) & (truth >= 0)).sum(axis=0)
    return Games(wins, games)


def authors(view: View, mass: Array) -> Array:
    """`[outcome, slot, candidate]`: P(outcome and this candidate wrote this review | scores)."""
    return _label_masses(view, mass)[..., 1:]


def answers(view: View, mass: Array) -> dict[str, float]:
    """The chance of a correct answer to each question about a paper, mean over its reviews or its pool."""
    by_slot = authors(view, mass)
    # A named person writes at most one review of a paper.
    chance, reviewed = mass.sum(axis=1), by_slot.sum(axis=1)
    named = np.array([name != OUTSIDER for name in view.names])
    yes = reviewed[:, named]
    ranked = -np.sort(-by_slot, axis=2)
    return {
        AUTHOR: float(ranked[:, :, 0].sum(axis=0).mean()),
        THREE_GUESSES: float(ranked[:, :, :GUESSES].sum(axis=(0, 2)).mean()),
        MEMBER: float(np.maximum(yes, chance[:, None] - yes).sum(axis=0).mean()) if named.any() else 1.0,
        WHOLE: float(_named_rows(view, mass).max(axis=1, initial=0.0).sum()),
    }


def _named_rows(view: View, mass: Array) -> Array:
    """Masses of tuples without nobody in them; a sample may contain a tuple twice."""
    every = (view.rows >= 0).all(axis=1)
    if view.exact:
        return mass[:, every]
    _, which = np.unique(view.rows[every], axis=0, return_inverse=True)
    size = int(which.max(initial=-1)) + 1
    return np.array([np.bincount(which.ravel(), row, size) for row in mass[:, every]])


def bits_about_reviewer(view: View, mass: Array) -> float:
    """Mutual information of the decision and a reviewer in bits, mean over the reviews.

    For a published decision it is the information gained, `sum_y P(y|d) log2(P(y|d)/P(y))`.
    """
    joint, before = _label_masses(view, mass), _label_masses(view, view.alone)[0]
    chance, possible = mass.sum(axis=1)[:, None, None], joint > 0.0
    given = np.divide(joint, before, out=np.ones_like(joint), where=possible)
    # Two logarithms, because the product of two tiny probabilities may underflow to 0.
    divergence = joint * (np.log2(given) - np.log2(np.where(possible, chance, 1.0)))
    return max(0.0, float(divergence.sum(axis=(0, 2)).mean()))


def _label_masses(view: View, mass: Array) -> Array:
    """`[outcome, slot, 1 + candidate]`: the same, with nobody first."""
    size = len(view.names) + 1
    labels = np.array([[np.bincount(slot + 1, row, size) for slot in view.rows.T] for row in mass])
    return labels.astype(np.float64)


def rises(view: View, mass: Array) -> Array:
    """`[outcome, slot]`: the increase of the best guess's probability; -inf for an impossible outcome."""
    chance, before = mass.sum(axis=1), authors(view, view.alone)[0].max(axis=1)
    after = authors(view, mass).max(axis=2)
    possible = (chance > 0.0)[:, None]
    return np.where(possible, after / np.where(possible, chance[:, None], 1.0) - before, -np.inf)


def links(views: Sequence[View], masses: Sequence[Array]) -> list[float]:
    """For each paper, the chance of naming a review of another paper by the same person.

    It is a mean over the paper's reviews. Papers are independent, so for one review the best chance is the
    largest of independent numbers, each with one value per outcome of its paper.
    """
    people = {name: rank for rank, name in enumerate(sorted({n for view in views for n in view.names}))}
    blocks, chance, owner = [], list[float](), list[int]()
    for index, (view, mass) in enumerate(zip(views, masses, strict=True)):
        member = np.array([people[name] for name in view.names])
        for probability, by_slot in zip(mass.sum(axis=1).tolist(), authors(view, mass), strict=True):
            if probability > 0.0:
                slot, who = np.nonzero(by_slot)
                cells = by_slot[slot, who] / probability, (slot, member[who])
                blocks.append(csr_array(cells, shape=(len(by_slot), len(people))))
                chance.append(probability)
                owner.append(index)
    across, starts = vstack(blocks).T.tocsr(), np.cumsum([0, *(block.shape[0] for block in blocks)])[:-1]
    success, chances, owners = np.zeros(len(views)), np.array(chance), np.array(owner)
    for index, probability, block in zip(owner, chance, blocks, strict=True):
        best = np.maximum.reduceat((block @ across).toarray(), starts, axis=1)
        other = owners != index
        if other.any():
            expected = [
                _expected_largest(similarity[other], chances[other], owners[other]) for similarity in best
            ]
            success[index] += probability * float(np.mean(expected))
    return success.tolist()


def _expected_largest(value: Array, chance: Array, owner: Array) -> float:
    """The expected maximum of independent numbers, each with the values and chances of one `owner`.

    >>> _expected_largest(np.array([1.0, 0.0, 0.5]), np.array([0.25, 0.75, 1.0]), np.array([0, 0, 1]))
    0.625
    """
    order = np.argsort(-value, kind="stable")
    first = np.zeros(order.size, dtype=np.bool_)
    first[np.unique(owner[order], return_index=True)[1]] = True
    # An owner has at most two values, so below the larger one it has the other with the remaining chance.
    less = np.where(first, 1.0 - chance[order], 0.0)
    below = np.concatenate([[1.0], np.cumprod(np.clip(less, 0.0, 1.0))])
    return float(value[order] @ (below[:-1] - below[1:]))
