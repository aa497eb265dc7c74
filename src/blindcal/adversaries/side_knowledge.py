"""Adversaries with side knowledge, each compared with its own baseline without decisions.

These adversaries know more than a certificate assumes. A prior of its own: other weights for
the tuples. Evidence of its own, such as writing style: for each review and candidate a number from N(0, 1),
shifted by `strength` for the reviewer, who therefore stands out by this many standard deviations (d').
Colluding reviewers: they know which reviews are theirs, and that they wrote no other. A co-reviewer: it knows
its own review and who else reviewed the paper, but not who wrote which review. The author of a paper: it
looks at that paper alone, and it may be the worst one. Success is each adversary's own expectation, under its
own belief.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from blindcal.adversaries.findings import Finding, paper_findings
from blindcal.adversaries.single_paper import AUTHOR, POLICIES, View, authors, rises
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import Workers, parallel_map
from blindcal.errors import InputError
from blindcal.pools.candidates import OUTSIDER, Similarity

PRIORS = ("given", "uniform", "sharpened")
_SHARPENING = 1.0
"""The increase of each true reviewer's log odds in a sharpened prior."""

# Draws of evidence for each paper, and of colluders for the conference.
_DRAWS, _COLLUSIONS = 64, 32
_SEED = 17


def with_prior(view: View, prior: str | Similarity) -> View:
    """The paper under another prior.

    That is the stated one, a uniform one, one that favors the true reviewers, or the product of the
    reviewers' similarities to the paper; a candidate without a similarity has 0, and cannot have reviewed.
    """
    if prior == "given":
        return view
    if prior == "uniform":
        return view.believing(_likelihood(view))
    if prior == "sharpened":
        if view.truth is None:
            raise InputError("`prior` sharpened leans towards the true reviewers: only a release has them")
        right = np.isin(view.rows, [who for who in view.truth if who >= 0]).sum(axis=1)
        return view.believing(view.weight * np.exp(_SHARPENING * right))
    if isinstance(prior, str):
        raise InputError(f"`prior` must be one of {', '.join(PRIORS)}, found {prior!r}")
    row = prior.get(view.paper, {})
    similar = np.array([row.get(name, 0.0) for name in view.names])
    # Nobody (-1) is the last entry: an outsider is as similar as `*` is.
    stranger = similar[view.names.index(OUTSIDER)] if OUTSIDER in view.names else 0.0
    product = np.append(similar, stranger)[view.rows].prod(axis=1)
    likelihood = _likelihood(view)
    if not (likelihood @ product) > 0.0:
        raise InputError(
            f"`prior`: by its similarities no one of the pool can have reviewed paper {view.paper!r}"
        )
    return view.believing(likelihood * product)


def _likelihood(view: View) -> Array:
    """The likelihood of each tuple, up to a factor; 0 for tuples that the stated prior rules out."""
    possible = np.isfinite(view.log_prior)
    least = view.log_prior[possible].min()
    return np.asarray(view.weight * possible * np.exp(least - np.where(possible, view.log_prior, least)))


def prior_findings(
    views: Sequence[View], prior: str | Similarity, policies: Sequence[str] = POLICIES
) -> list[Finding]:
    """The gain of an adversary with another prior, given by name or by similarities, and its largest rise."""
    name = prior if isinstance(prior, str) else "similarity"
    other = [with_prior(view, prior) for view in views]
    findings = []
    for policy in policies:
        rise = max(float(rises(view, view.mass(policy)).max()) for view in other)
        each = paper_findings(f"prior: {name}", other, policy)
        findings += [replace(finding, rise=rise) for finding in each]
    return findings


def evidence_findings(
    views: Sequence[View],
    strength: float,
    policies: Sequence[str] = POLICIES,
    *,
    draws: int = _DRAWS,
    workers: Workers = 1,
) -> list[Finding]:
    """Naming a reviewer with evidence of one's own, drawn at random and shared by all policies."""
    if not 0.0 <= strength < np.inf:
        raise InputError(f"`evidence` must be a number at least 0, found {strength}")
    success_of_view = partial(_with_evidence, strength=strength, policies=tuple(policies), draws=draws)
    # [paper, draw, 1 + policy]: mean over reviews of the chance that the best guess is right.
    right = np.array(parallel_map(success_of_view, list(enumerate(views)), workers=workers))
    share = _review_shares(views)
    mean, name = share @ right.mean(axis=1), f"evidence of strength {strength:g}"
    added = right[:, :, 1:] - right[:, :, :1]
    error = np.sqrt((share**2) @ added.var(axis=1, ddof=1) / draws)
    each = zip(policies, mean[1:].tolist(), error.tolist(), strict=True)
    return [Finding(name, AUTHOR, policy, float(mean[0]), *numbers) for policy, *numbers in each]


def _masses_by_policy(view: View, policies: Sequence[str]) -> list[Array]:
    """From the scores alone, and with the decision of each policy."""
    return [view.alone, *(view.mass(policy) for policy in policies)]


def _review_shares(views: Sequence[View]) -> Array:
    slots = np.array([len(view.scores) for view in views], dtype=np.float64)
    return np.asarray(slots / slots.sum())


def _with_evidence(job: tuple[int, View], strength: float, policies: tuple[str, ...], draws: int) -> Array:
    """`[draw, 1 + policy]`: success by importance sampling, with the truth drawn given the scores alone."""
    number, view = job
    rng = np.random.default_rng([_SEED, number])
    (tuples, slots), people = view.rows.shape, len(view.names)
    truth = view.rows[rng.choice(tuples, draws, p=view.weight)]
    signal = rng.standard_normal((draws, slots, people + 1))
    # Nobody (-1) has a column too: a review by an outsider looks like a review by any other.
    signal[np.arange(draws)[:, None], np.arange(slots), truth] += strength
    likelihood = np.zeros((draws, tuples))
    for slot in range(slots):
        likelihood += strength * signal[:, slot, view.rows[:, slot] % (people + 1)]
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    scale = likelihood @ view.weight
    # [tuple, slot * candidate]: 1 if this candidate has this slot of the tuple.
    where = np.nonzero(view.rows >= 0)
    at = where[0], where[1] * people + view.rows[where]
    by_label = csr_array((np.ones(at[0].size), at), shape=(tuples, slots * people))
    success = []
    for mass in _masses_by_policy(view, policies):
        best = sum(
            (((likelihood * row) @ by_label).reshape(draws, slots, people).max(axis=2) for row in mass),
            start=np.zeros((draws, slots)),
        )
        success.append(best.mean(axis=1) / scale)
    return np.stack(success, axis=1)


def collusion_findings(
    views: Sequence[View], colluders: int, policies: Sequence[str] = POLICIES, *, draws: int = _COLLUSIONS
) -> list[Finding]:
    """Naming the reviewer of a review that no colluder wrote, for reviewers who share their knowledge.

    Colluders are drawn from all candidates; if the true reviewers are unknown, they are drawn from the
    belief. The result is the certificate's, computed again with the facts that colluders know.
    """
    people = sorted({name for view in views for name in view.names if name != "*"})
    if not 1 <= colluders < len(people):
        raise InputError(f"`colluders` must be at least 1 and below {len(people)}, found {colluders}")
    right, rise = np.zeros((draws, 1 + len(policies))), np.full(len(policies), -np.inf)
    for draw in range(draws):
        rng = np.random.default_rng([_SEED, colluders, draw])
        chosen = {people[i] for i in rng.choice(len(people), colluders, replace=False)}
        informed = [
            informed_view for view in views if (informed_view := _informed_view(view, chosen, rng))[1].any()
        ]
        reviews = sum(float(others.sum()) for _, others in informed)
        for view, others in informed:
            masses = _masses_by_policy(view, policies)
            best = [authors(view, mass).max(axis=2).sum(axis=0)[others].sum() for mass in masses]
            right[draw] += np.array(best) / reviews
            for column, mass in enumerate(masses[1:]):
                rise[column] = max(rise[column], float(rises(view, mass)[:, others].max()))
    name = f"{colluders} colluding reviewer{'s' * (colluders > 1)}"
    mean = right.mean(axis=0).tolist()
    error = (right[:, 1:] - right[:, :1]).std(axis=0, ddof=1) / np.sqrt(draws)
    each = zip(policies, mean[1:], error.tolist(), rise.tolist(), strict=True)
    return [Finding(name, AUTHOR, policy, mean[0], *numbers) for policy, *numbers in each]


def _informed_view(
    view: View, colluders: set[str], rng: np.random.Generator
) -> tuple[View, NDArray[np.bool_]]:
    """The paper given which reviews are the colluders', and that no others are; and which are not theirs."""
    inside = np.array([name in colluders for name in view.names])
    truth = np.array(
        view.truth if view.truth is not None else view.rows[rng.choice(len(view.rows), p=view.weight)]
    )
    theirs = (truth >= 0) & inside[truth]
    mine = (view.rows >= 0) & inside[view.rows]
    possible = np.where(theirs, view.rows == truth, ~mine).all(axis=1)
    return view.believing(view.weight * possible), ~theirs


def co_reviewer_findings(views: Sequence[View], policies: Sequence[str] = POLICIES) -> list[Finding]:
    """Matching the other reviews to their reviewers, for a reviewer who knows the names of all of them."""
    several = [view for view in views if len(view.scores) > 1]
    if not several:
        return []
    share, groups = _review_shares(several), [_indistinguishable(view) for view in several]

    def success(masses: Sequence[Array]) -> float:
        return float(share @ list(map(_co_reviewer_success, several, masses, groups)))

    name, alone = "co-reviewer who knows the names", success([view.alone for view in several])
    return [
        Finding(name, AUTHOR, policy, alone, success([view.mass(policy) for view in several]))
        for policy in policies
    ]


def _indistinguishable(view: View) -> list[Integers]:
    """For each slot, equal numbers for tuples that its reviewer, who knows the names, cannot distinguish."""
    base = len(view.names) + 1
    ordered = np.sort(view.rows + 1, axis=1)
    key = np.zeros(len(ordered), dtype=np.int64)
    for column in ordered.T:
        key = key * base + column
    return [np.unique(key * base + own + 1, return_inverse=True)[1].ravel() for own in view.rows.T]


def _co_reviewer_success(view: View, mass: Array, groups: Sequence[Integers]) -> float:
    """The chance of a correct guess, mean over the co-reviewer's slot and the other reviews."""
    base, successes = len(view.names) + 1, []
    for own, group in enumerate(groups):
        for slot in range(len(view.scores)):
            if slot != own:
                label, which = np.unique(group * base + view.rows[:, slot] + 1, return_inverse=True)
                first, named = np.flatnonzero(np.diff(label // base, prepend=-1)), label % base > 0
                sums = (np.bincount(which.ravel(), row, named.size) * named for row in mass)
                successes.append(sum(float(np.maximum.reduceat(part, first).sum()) for part in sums))
    return float(np.mean(successes))


def author_findings(views: Sequence[View], policies: Sequence[str] = POLICIES) -> list[Finding]:
    """The author of the paper on which decisions add most, who sees that paper's scores and decision."""
    papers = []
    for view in views:
        masses = _masses_by_policy(view, policies)
        alone, *after = (float(authors(view, mass).max(axis=2).sum(axis=0).mean()) for mass in masses)
        rise = (float(rises(view, mass).max()) for mass in masses[1:])
        papers.append(
            [
                Finding("author of the paper that loses most", AUTHOR, policy, alone, success, 0.0, most)
                for policy, success, most in zip(policies, after, rise, strict=True)
            ]
        )
    return max(papers, key=lambda findings: [round(finding.added, 9) for finding in findings])
