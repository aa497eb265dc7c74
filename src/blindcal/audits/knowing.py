"""Adversaries who know more than a certificate assumes, each against its own baseline without decisions.

A prior of its own: nothing but other weights for the tuples. Evidence of its own, such as writing style: for
each review and candidate a number from N(0,1), shifted by `strength` for the author, so that the author
stands out by this many standard deviations (d'). Colluding reviewers: they know which reviews are theirs, and
that they wrote no other. A co-reviewer: it knows its own review and who else reviewed the paper, and not who
wrote which review. The author of a paper looks at that paper alone, and it may be the worst one.

Success is each adversary's own expectation: right for its belief, whether or not that is the stated one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from blindcal.assignments.pools import OUTSIDER
from blindcal.assignments.similarities import Similarity
from blindcal.audits.findings import Finding, paper_findings
from blindcal.audits.questions import AUTHOR, authors, rises
from blindcal.audits.views import POLICIES, View
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.workers import Workers, each

PRIORS = ("given", "uniform", "sharpened")
SHARPER = 1.0
"""What a sharpened prior adds to the log odds of each true reviewer."""

# This many draws of evidence for each paper, and of colluders for the conference.
_DRAWS, _COLLUSIONS = 64, 32
_SEED = 17


def with_prior(view: View, prior: str) -> View:
    """The paper for somebody with another prior: the stated one, all tuples alike that it allows, or one that
    leans towards the true reviewers."""
    if prior not in PRIORS:
        raise InputError(f"`prior` must be one of {', '.join(PRIORS)}, found {prior!r}")
    if prior == "given":
        return view
    if prior == "uniform":
        return view.believing(_likelihood(view))
    if view.truth is None:
        raise InputError("`prior` sharpened leans towards the true reviewers: only a release has them")
    right = np.isin(view.rows, [who for who in view.truth if who >= 0]).sum(axis=1)
    return view.believing(view.weight * np.exp(SHARPER * right))


def with_similarity(view: View, similarity: Similarity) -> View:
    """The paper for somebody who takes reviewers to be as likely as the product of their similarities to it;
    whoever the similarities do not mention has none, and cannot have reviewed."""
    place = {name: index for index, name in enumerate(similarity.reviewers)}
    known = view.paper in similarity.papers
    row = similarity.value[[similarity.papers.index(view.paper)]].toarray()[0] if known else []
    near = np.array([row[place[name]] if known and name in place else 0.0 for name in view.names])
    # Nobody (-1) is the last one: strangers are as near as `*` is.
    stranger = near[view.names.index(OUTSIDER)] if OUTSIDER in view.names else 0.0
    product = np.append(near, stranger)[view.rows].prod(axis=1)
    likelihood = _likelihood(view)
    if not (likelihood @ product) > 0.0:
        raise InputError(
            f"`prior`: by its similarities nobody of the pool can have reviewed paper {view.paper!r}"
        )
    return view.believing(likelihood * product)


def _likelihood(view: View) -> Array:
    """What the scores alone say of each tuple, without the stated prior and up to a factor; 0 for tuples that
    it rules out, such as those without a candidate who is certain."""
    possible = np.isfinite(view.log_prior)
    least = view.log_prior[possible].min()
    return np.asarray(view.weight * possible * np.exp(least - np.where(possible, view.log_prior, least)))


def prior_findings(
    views: Sequence[View], prior: str | Similarity, policies: Sequence[str] = POLICIES
) -> list[Finding]:
    """What decisions add for somebody with another prior, by its name or by similarities, and the most that
    one of them does."""
    if isinstance(prior, str):
        name, other = prior, [with_prior(view, prior) for view in views]
    else:
        name, other = "similarity", [with_similarity(view, prior) for view in views]
    found = []
    for policy in policies:
        rise = max(float(rises(view, view.mass(policy)).max()) for view in other)
        found += [replace(one, rise=rise) for one in paper_findings(f"prior: {name}", other, policy)]
    return found


def evidence_findings(
    views: Sequence[View],
    strength: float,
    policies: Sequence[str] = POLICIES,
    *,
    draws: int = _DRAWS,
    workers: Workers = 1,
) -> list[Finding]:
    """Naming an author with evidence of one's own; its numbers are drawn, the same for every policy."""
    if not 0.0 <= strength < np.inf:
        raise InputError(f"`evidence` must be a number at least 0, found {strength}")
    one = partial(_with_evidence, strength=strength, policies=tuple(policies), draws=draws)
    # [paper, draw, 1 + policy]: mean over reviews of the chance that the best guess is right.
    right = np.array(each(one, list(enumerate(views)), workers=workers))
    share = _shares(views)
    mean, name = share @ right.mean(axis=1), f"evidence of strength {strength:g}"
    found = []
    for place, policy in enumerate(policies, start=1):
        added = right[:, :, place] - right[:, :, 0]
        error = float(np.sqrt((share**2) @ added.var(axis=1, ddof=1) / draws))
        found.append(Finding(name, AUTHOR, policy, float(mean[0]), float(mean[place]), error))
    return found


def _shares(views: Sequence[View]) -> Array:
    slots = np.array([len(view.scores) for view in views], dtype=np.float64)
    return np.asarray(slots / slots.sum())


def _with_evidence(job: tuple[int, View], strength: float, policies: tuple[str, ...], draws: int) -> Array:
    """`[draw, 1 + policy]`, by importance: what was drawn has the belief from the scores as its truth."""
    number, view = job
    rng = np.random.default_rng([_SEED, number])
    (tuples, slots), people = view.rows.shape, len(view.names)
    truth = view.rows[rng.choice(tuples, draws, p=view.weight)]
    signal = rng.standard_normal((draws, slots, people + 1))
    # Nobody (-1) has a column too: a review by a stranger looks like one by any other.
    np.put_along_axis(
        signal, truth[:, :, None] % (people + 1), strength + _at(signal, truth)[:, :, None], axis=2
    )
    likelihood = np.zeros((draws, tuples))
    for slot in range(slots):
        likelihood += strength * signal[:, slot, view.rows[:, slot] % (people + 1)]
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    scale = likelihood @ view.weight
    by_label = _by_label(view)
    found = []
    for mass in (view.alone, *(view.mass(policy) for policy in policies)):
        best = sum(
            (((likelihood * row) @ by_label).reshape(draws, slots, people).max(axis=2) for row in mass),
            start=np.zeros((draws, slots)),
        )
        found.append(best.mean(axis=1) / scale)
    return np.stack(found, axis=1)


def _at(signal: Array, truth: Integers) -> Array:
    return np.take_along_axis(signal, truth[:, :, None] % signal.shape[2], axis=2)[:, :, 0]


def _by_label(view: View) -> csr_array:
    """`[tuple, slot * candidate]`: 1 where this candidate has this slot of the tuple."""
    tuples, slots = view.rows.shape
    row, slot = np.nonzero(view.rows >= 0)
    column = slot * len(view.names) + view.rows[row, slot]
    return csr_array((np.ones(row.size), (row, column)), shape=(tuples, slots * len(view.names)))


@dataclass(frozen=True, eq=False)
class _Informed:
    """A paper for colluders, and which of its reviews are not theirs."""

    view: View
    open: NDArray[np.bool_]


def collusion_findings(
    views: Sequence[View],
    colluders: int,
    policies: Sequence[str] = POLICIES,
    *,
    draws: int = _COLLUSIONS,
) -> list[Finding]:
    """Naming the author of a review that no colluder wrote, for this many reviewers who share what they know.

    Colluders are drawn from all candidates; where the true reviewers are not known they are drawn from the
    belief. What is found is the certificate, recomputed with the facts that colluders know.
    """
    people = sorted({name for view in views for name in view.names if name != "*"})
    if not 1 <= colluders < len(people):
        raise InputError(f"`colluders` must be at least 1 and below {len(people)}, found {colluders}")
    right, rise = np.zeros((draws, 1 + len(policies))), np.full(len(policies), -np.inf)
    for draw in range(draws):
        rng = np.random.default_rng([_SEED, colluders, draw])
        chosen = {people[i] for i in rng.choice(len(people), colluders, replace=False)}
        informed = [one for view in views if (one := _informed(view, chosen, rng)).open.any()]
        reviews = sum(float(one.open.sum()) for one in informed)
        for one in informed:
            masses = [one.view.alone, *(one.view.mass(policy) for policy in policies)]
            best = [authors(one.view, mass).max(axis=2).sum(axis=0)[one.open].sum() for mass in masses]
            right[draw] += np.array(best) / reviews
            for place, mass in enumerate(masses[1:]):
                rise[place] = max(rise[place], float(rises(one.view, mass)[:, one.open].max()))
    name = f"{colluders} colluding reviewer{'s' * (colluders > 1)}"
    mean = right.mean(axis=0)
    return [
        Finding(
            name,
            AUTHOR,
            policy,
            float(mean[0]),
            float(mean[place]),
            float((right[:, place] - right[:, 0]).std(ddof=1) / np.sqrt(draws)),
            float(rise[place - 1]),
        )
        for place, policy in enumerate(policies, start=1)
    ]


def _informed(view: View, colluders: set[str], rng: np.random.Generator) -> _Informed:
    """The paper with the facts that colluders know: theirs are their own reviews, and no others."""
    inside = np.array([name in colluders for name in view.names])
    truth = np.array(
        view.truth if view.truth is not None else view.rows[rng.choice(len(view.rows), p=view.weight)]
    )
    theirs = (truth >= 0) & inside[truth]
    mine = (view.rows >= 0) & inside[view.rows]
    possible = np.where(theirs, view.rows == truth, ~mine).all(axis=1)
    return _Informed(view.believing(view.weight * possible), ~theirs)


def co_reviewer_findings(views: Sequence[View], policies: Sequence[str] = POLICIES) -> list[Finding]:
    """Who wrote which of the other reviews, for a reviewer of the paper who knows its reviewers' names."""
    several = [view for view in views if len(view.scores) > 1]
    if not several:
        return []
    share = _shares(several)
    groups = [_companies(view) for view in several]
    found = []
    for policy in policies:
        alone, decided = (
            float(
                share
                @ [
                    _sorted_out(view, mass, group)
                    for view, mass, group in zip(several, masses, groups, strict=True)
                ]
            )
            for masses in ([view.alone for view in several], [view.mass(policy) for view in several])
        )
        found.append(Finding("co-reviewer who knows the names", AUTHOR, policy, alone, decided))
    return found


def _companies(view: View) -> list[Integers]:
    """For each slot: tuples that look alike to whoever wrote it and knows the names have the same number."""
    base = len(view.names) + 1
    ordered = np.sort(view.rows + 1, axis=1)
    key = np.zeros(len(ordered), dtype=np.int64)
    for column in ordered.T:
        key = key * base + column
    return [np.unique(key * base + own + 1, return_inverse=True)[1].ravel() for own in view.rows.T]


def _sorted_out(view: View, mass: Array, groups: Sequence[Integers]) -> float:
    """Mean over who is the co-reviewer, and over the other reviews, of the chance of a right guess."""
    base, found = len(view.names) + 1, []
    for own, group in enumerate(groups):
        for slot in range(len(view.scores)):
            if slot != own:
                label, which = np.unique(group * base + view.rows[:, slot] + 1, return_inverse=True)
                first = np.flatnonzero(np.diff(label // base, prepend=-1))
                found.append(sum(_best(row, which.ravel(), label % base > 0, first) for row in mass))
    return float(np.mean(found))


def _best(row: Array, which: Integers, named: NDArray[np.bool_], first: Integers) -> float:
    sums = np.bincount(which, row, named.size) * named
    return float(np.maximum.reduceat(sums, first).sum())


def author_findings(views: Sequence[View], policies: Sequence[str] = POLICIES) -> list[Finding]:
    """The author of the paper on which decisions add most (the chosen ones, before those of full
    calibration), who sees that paper's scores and decision."""
    papers = [_paper_findings(view, policies) for view in views]
    return max(papers, key=lambda found: [round(one.added, 9) for one in found])


def _paper_findings(view: View, policies: Sequence[str]) -> list[Finding]:
    alone = float(authors(view, view.alone).max(axis=2).sum(axis=0).mean())
    found = []
    for policy in policies:
        mass = view.mass(policy)
        success = float(authors(view, mass).max(axis=2).sum(axis=0).mean())
        rise = float(rises(view, mass).max())
        found.append(
            Finding("author of the paper that loses most", AUTHOR, policy, alone, success, 0.0, rise)
        )
    return found
