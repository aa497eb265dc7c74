"""Views of all papers -> `Findings`: what each adversary gains over a whole conference, and where.

For the chair alone: it says which reviews are exposed, and after the toss it is made with the true reviewers.
Papers are taken one by one; `looking.coupled_findings` is the adversary who knows how they share reviewers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blindcal.adversaries.paper_view import CONSTANT, POLICIES, View
from blindcal.adversaries.single_paper import (
    AUTHOR,
    LINK,
    MEMBER,
    QUESTIONS,
    WHOLE,
    answers,
    authors,
    bits_about_reviewer,
    links,
    rises,
)
from blindcal.checks import Array
from blindcal.io.tables import frame
from blindcal.reviews import as_given

SCORES = "scores and decisions"
"""The adversary of the certificate: it knows all scores, decisions, calibration and pools."""


@dataclass(frozen=True)
class Finding:
    """How often an adversary is right about a question: without the decisions of a policy and with them.

    `adversary`: what it knows, in words.
    `question`: "author", "three guesses", "reviewed at all", "whole tuple" or "link"; beside an adversary who
    learns across papers also "author, papers one by one".
    `policy`: whose decisions it sees: "raw", "public", "chosen" or "full".
    `baseline`, `success`: the chance of a correct answer from the scores alone, and with the decisions.
    `error`: the standard error of what decisions add; 0 where it is exact.
    `rise`: the most by which one decision makes this adversary's best guess likelier; None where that is not
    worked out.
    """

    adversary: str
    question: str
    policy: str
    baseline: float
    success: float
    error: float = 0.0
    rise: float | None = None

    @property
    def added(self) -> float:
        """How much likelier a correct answer is with the decisions."""
        return self.success - self.baseline


@dataclass(frozen=True)
class Exposure:
    """One review, the `review`-th worst score of its paper: how likely its best guess is before and after
    the decision. `right`: whether that guess is its author, where that is known."""

    paper: str
    review: int
    score: float
    before: float
    after: float
    rise: float
    right: bool | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Findings:
    """What adversaries gain. CONFIDENTIAL: for the chair alone.

    `papers`, `reviews`: how many there are.
    `published`: whether it is about decisions that were made, or an average over those that may be.
    `sampled`: how many papers have too many tuples to be listed; they are known from a sample of them.
    `findings`: one for each question and policy.
    `bits`: by policy, the information of a decision about a review's author, mean over the reviews.
    `largest_rise`: by policy, the most by which a decision makes the best guess about a review likelier.
    `exposures`: all reviews under the chosen policy, those first whose best guess is likeliest after the
    decision.
    """

    papers: int
    reviews: int
    published: bool
    sampled: int
    findings: tuple[Finding, ...]
    bits: dict[str, float]
    largest_rise: dict[str, float]
    exposures: tuple[Exposure, ...] = field(repr=False)

    def to_frame(self) -> Any:
        """One row per adversary, question and policy, as a pandas data frame; needs pandas."""
        names = ("adversary", "question", "policy", "baseline", "success", "added", "error")
        return frame({name: [getattr(one, name) for one in self.findings] for name in names})


def findings_of(
    views: Sequence[View], policies: Sequence[str] = POLICIES, *, better: str = "high"
) -> Findings:
    """What is gained by an adversary who knows what the certificate says it knows.

    `views` are the papers, as `planned_views` or `open_release` has them; `policies` whose decisions are
    compared: the raw, public, chosen and fully calibrated ones by default. With `better="low"` the scores of
    the views are negated ones, and are shown as they were given.

    >>> accept = {"chosen": np.array([0.5, 0.5]), "full": np.array([1.0, 0.0])}
    >>> rows, weight = np.array([[0], [1]]), np.array([0.75, 0.25])
    >>> view = View("p", ("ada", "ben"), (5.0,), rows, weight, np.zeros(2), accept)
    >>> found = findings_of([view], ["chosen", "full"])
    >>> [(one.policy, one.baseline, one.success) for one in found.findings if one.question == AUTHOR]
    [('chosen', 0.75, 0.75), ('full', 0.75, 1.0)]
    """
    linked = _linking_success(views, [view.alone for view in views])
    all_findings = list[Finding]()
    for policy in policies:
        # Decisions that are the same whoever reviewed leave every posterior as it was.
        decided = linked if policy in CONSTANT else _linking_success(views, [view.mass(policy) for view in views])
        all_findings += [*paper_findings(SCORES, views, policy), Finding(SCORES, LINK, policy, linked, decided)]
    masses = {policy: [view.mass(policy) for view in views] for policy in policies}
    slots = np.array([len(view.scores) for view in views], dtype=np.float64)
    carried = {
        policy: [bits_about_reviewer(view, mass) for view, mass in zip(views, masses[policy], strict=True)]
        for policy in policies
    }
    return Findings(
        papers=len(views),
        reviews=int(slots.sum()),
        published=any(view.outcome is not None for view in views),
        sampled=sum(not view.exact for view in views),
        findings=tuple(all_findings),
        bits={policy: float(np.average(carried[policy], weights=slots)) for policy in policies},
        largest_rise={
            policy: max(
                float(rises(view, mass).max()) for view, mass in zip(views, masses[policy], strict=True)
            )
            for policy in policies
        },
        exposures=exposures(views, better=better),
    )


def paper_findings(adversary: str, views: Sequence[View], policy: str) -> list[Finding]:
    """The questions about single papers, averaged: over reviews, over candidates of pools, over papers."""
    before = [answers(view, view.alone) for view in views]
    after = [answers(view, view.mass(policy)) for view in views]
    answers_found = []
    for question in QUESTIONS:
        weight = np.array([_count(view, question) for view in views], dtype=np.float64)
        alone, decided = (np.array([one[question] for one in side]) for side in (before, after))
        answers_found.append(
            Finding(
                adversary,
                question,
                policy,
                float(np.average(alone, weights=weight)),
                float(np.average(decided, weights=weight)),
                _sampling_error(views, alone, decided, weight),
            )
        )
    return answers_found


def _count(view: View, question: str) -> int:
    """How often a question is asked of a paper."""
    if question == WHOLE:
        return 1
    return sum(name != "*" for name in view.names) if question == MEMBER else len(view.scores)


def _sampling_error(views: Sequence[View], alone: Array, decided: Array, weight: Array) -> float:
    """The standard error that papers known from a sample leave, at most: that of a share of the sample."""
    share = weight / weight.sum()
    variance = [
        0.0
        if view.exact
        else (part * part) * max(0.25 - (one - 0.5) ** 2, 0.25 - (other - 0.5) ** 2) / len(view.rows)
        for view, part, one, other in zip(views, share, alone, decided, strict=True)
    ]
    return float(np.sqrt(sum(variance)))


def _linking_success(views: Sequence[View], masses: Sequence[Array]) -> float:
    """Naming, for a review, one of another paper by the same person; mean over all reviews."""
    return float(np.average(links(views, masses), weights=[len(view.scores) for view in views]))


def exposures(views: Sequence[View], policy: str = "chosen", *, better: str = "high") -> tuple[Exposure, ...]:
    """Every review, the most exposed first: ties by paper. Scores as they were given."""
    reviews = []
    for view in views:
        mass = view.mass(policy)
        by_slot, before = authors(view, mass), authors(view, view.alone)[0]
        worst = rises(view, mass).max(axis=0)
        for slot, upright in enumerate(view.scores):
            (score,) = as_given([upright], better)
            guess = int(by_slot[0, slot].argmax())
            right = None if view.truth is None else guess == view.truth[slot]
            after = float(by_slot[:, slot].max(axis=1).sum())
            top = float(before[slot].max())
            reviews.append(Exposure(view.paper, slot + 1, score, top, after, float(worst[slot]), right))
    return tuple(sorted(reviews, key=lambda one: (-one.after, one.paper, one.review)))


def named(found: Sequence[Finding], policy: str, question: str = AUTHOR) -> Finding:
    """The finding of one policy about one question, of the first adversary that has it."""
    return next(one for one in found if (one.policy, one.question) == (policy, question))
