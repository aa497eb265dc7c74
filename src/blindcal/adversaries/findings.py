"""Findings: the gain of each adversary over a whole conference, and the most exposed reviews.

`findings_of` takes one view per paper; `planned_views` and `single_paper.published_views` make them.
Findings are for the chair alone: they name exposed reviews, and after the draw they use the true reviewers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blindcal.adversaries.single_paper import (
    AUTHOR,
    CONSTANT,
    LINK,
    MEMBER,
    POLICIES,
    THREE_GUESSES,
    WHOLE,
    View,
    answers,
    authors,
    bits_about_reviewer,
    case_view,
    links,
    rises,
)
from blindcal.io.tables import data_frame
from blindcal.planning.conference_plan import Plan
from blindcal.pools.candidates import OUTSIDER
from blindcal.reviews import original_scores

SCORES = "scores and decisions"
"""The adversary of the certificate: it knows all scores, decisions, calibration and pools."""


@dataclass(frozen=True)
class Finding:
    """An adversary's success in answering a question, without the decisions of a policy and with them.

    In quantitative information flow, `baseline` and `success` are prior and posterior Bayes vulnerability,
    and `added` is additive leakage.

    Attributes:
        adversary: What the adversary knows, in words.
        question: "author", "three guesses", "reviewed at all", "whole tuple" or "link".
        policy: The policy whose decisions it sees: "raw", "public", "chosen" or "full".
        baseline: The chance of a correct answer from the scores alone.
        success: The chance of a correct answer with the decisions.
        error: Standard error of the added success; 0 if it is exact.
        rise: The largest increase of the best guess's probability by one decision; None if not computed.
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
        """The additive leakage: success minus baseline."""
        return self.success - self.baseline


@dataclass(frozen=True)
class Exposure:
    """One review: the probability of the best guess at its reviewer before and after the decision.

    It has the `review`-th worst score of its paper. `right` tells whether that guess is correct, if known.
    """

    paper: str
    review: int
    score: float
    before: float
    after: float
    rise: float
    right: bool | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Findings:
    """The gains of adversaries over a conference. Confidential, for the chair alone.

    Attributes:
        papers: Number of papers.
        reviews: Number of reviews.
        published: Whether decisions were published; else the findings are averages over possible decisions.
        sampled: Number of papers with too many tuples to list, of which a sample is used.
        findings: One finding per question and policy.
        bits: By policy, the mutual information of a decision and a reviewer, mean over the reviews.
        largest_rise: By policy, the largest increase of a best guess's probability by a decision.
        exposures: All reviews under the chosen policy, the most exposed first.
        erasure: How often a reviewer is named with all decisions together at most, for the stated prior and
            known loads, as proved before the draw (`coupled_exact.erasure_limit`); None if it is not known.
        method: How figures of walks were estimated, in words; empty if there are none.
    """

    papers: int
    reviews: int
    published: bool
    sampled: int
    findings: tuple[Finding, ...]
    bits: dict[str, float]
    largest_rise: dict[str, float]
    exposures: tuple[Exposure, ...] = field(repr=False)
    erasure: float | None = None
    method: str = ""

    def to_frame(self) -> Any:
        """One row per adversary, question and policy, as a pandas data frame; needs pandas."""
        names = ("adversary", "question", "policy", "baseline", "success", "added", "error")
        return data_frame({name: [getattr(finding, name) for finding in self.findings] for name in names})


def findings_of(
    views: Sequence[View], policies: Sequence[str] = POLICIES, *, better: str = "high"
) -> Findings:
    """The gains of the certificate's adversary, who knows scores, decisions, calibration and pools.

    `better` is the better end of the scale. With "low", the scores of the views are negated ones; the
    findings state them on the scale of the reviews.
    """
    slots = np.array([len(view.scores) for view in views], dtype=np.float64)
    linked = float(np.average(links(views, [view.alone for view in views]), weights=slots))
    findings, bits, largest_rise = list[Finding](), dict[str, float](), dict[str, float]()
    for policy in policies:
        masses = [view.mass(policy) for view in views]
        each = list(zip(views, masses, strict=True))
        # Decisions that do not depend on the reviewers leave every posterior unchanged.
        decided = linked if policy in CONSTANT else float(np.average(links(views, masses), weights=slots))
        findings += [*paper_findings(SCORES, views, policy), Finding(SCORES, LINK, policy, linked, decided)]
        bits[policy] = float(np.average([bits_about_reviewer(*pair) for pair in each], weights=slots))
        largest_rise[policy] = max(float(rises(*pair).max()) for pair in each)
    return Findings(
        papers=len(views),
        reviews=int(slots.sum()),
        published=any(view.outcome is not None for view in views),
        sampled=sum(not view.exact for view in views),
        findings=tuple(findings),
        bits=bits,
        largest_rise=largest_rise,
        exposures=exposures(views, better=better),
    )


def paper_findings(adversary: str, views: Sequence[View], policy: str) -> list[Finding]:
    """The questions about single papers, averaged: over reviews, over candidates of pools, over papers."""
    before = [answers(view, view.alone) for view in views]
    after = [answers(view, view.mass(policy)) for view in views]
    tuples = np.array([np.inf if view.exact else len(view.rows) for view in views])
    reviews = [len(view.scores) for view in views]
    people = [sum(name != OUTSIDER for name in view.names) for view in views]
    times_asked = {AUTHOR: reviews, THREE_GUESSES: reviews, MEMBER: people, WHOLE: [1] * len(views)}
    findings = []
    for question, times in times_asked.items():
        alone, decided = (
            np.array([by_question[question] for by_question in side]) for side in (before, after)
        )
        first, second = (float(np.average(part, weights=times)) for part in (alone, decided))
        # Of papers with a sample of their tuples the variance is at most that of a binomial share.
        variance = np.maximum(alone * (1.0 - alone), decided * (1.0 - decided)) / tuples
        error = float(np.sqrt(((np.array(times) / sum(times)) ** 2 * variance).sum()))
        findings.append(Finding(adversary, question, policy, first, second, error))
    return findings


def exposures(views: Sequence[View], *, better: str = "high") -> tuple[Exposure, ...]:
    """Every review under the chosen policy, the most exposed first; scores on the scale of the reviews."""
    reviews = []
    for view in views:
        mass = view.mass("chosen")
        by_slot, before = authors(view, mass), authors(view, view.alone)[0].max(axis=1)
        after, worst = by_slot.max(axis=2).sum(axis=0), rises(view, mass).max(axis=0)
        for slot, guess in enumerate(by_slot[0].argmax(axis=1).tolist()):
            (score,) = original_scores([view.scores[slot]], better)
            alone, decided, rise = (float(part[slot]) for part in (before, after, worst))
            right = None if view.truth is None else guess == view.truth[slot]
            reviews.append(Exposure(view.paper, slot + 1, score, alone, decided, rise, right))
    return tuple(sorted(reviews, key=lambda exposure: (-exposure.after, exposure.paper, exposure.review)))


def finding_about(findings: Sequence[Finding], policy: str, question: str = AUTHOR) -> Finding:
    """The finding of one policy about one question, of the first adversary that has it."""
    return next(finding for finding in findings if (finding.policy, finding.question) == (policy, question))


def planned_views(plan: Plan) -> list[View]:
    """The papers of a plan, before anything is drawn and without their reviewers.

    Returns one view per paper, in the order of the plan.
    """
    return [
        case_view(case.promised(plan.request.guarantee.promise), paper.policy, raw)
        for case, paper, raw in zip(
            plan.conference.pooled, plan.papers, plan.conference.raw_accept, strict=True
        )
    ]
