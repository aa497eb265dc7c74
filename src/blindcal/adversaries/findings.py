"""Findings: the gain of each adversary over a whole conference, and the most exposed reviews.

`findings_of` takes one view per paper; `open_release`, `planned_views` and `read_venue` make them.
Findings are for the chair alone: they name exposed reviews, and after the draw they use the true reviewers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blindcal.adversaries.single_paper import (
    AUTHOR,
    CONSTANT,
    LINK,
    MEMBER,
    POLICIES,
    QUESTIONS,
    WHOLE,
    View,
    answers,
    authors,
    bits_about_reviewer,
    case_view,
    links,
    published_views,
    released_view,
    rises,
)
from blindcal.assignment.candidates import pools_of
from blindcal.checks import Array, numbers
from blindcal.deciding.amendment import PriorDecisions
from blindcal.deciding.key_and_coins import read_key
from blindcal.deciding.ledger import Record, check_published, read_ledger, read_published
from blindcal.deciding.release import check_paths
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_table
from blindcal.io.cells import Column, natural_sorted
from blindcal.io.tables import StrPath, data_frame, input_error
from blindcal.planning.conference_plan import Plan
from blindcal.posterior.conference import (
    Sources,
    assemble,
    pool_problems,
    public_case,
    read_reviewers,
    unknown_candidates,
)
from blindcal.reviews import infer_grid, orient_reviewers, orient_scores, original_scores

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
    findings = []
    for question in QUESTIONS:
        weight = np.array([_count(view, question) for view in views], dtype=np.float64)
        alone, decided = (
            np.array([by_question[question] for by_question in side]) for side in (before, after)
        )
        first, second = (float(np.average(part, weights=weight)) for part in (alone, decided))
        error = _sampling_error(views, alone, decided, weight)
        findings.append(Finding(adversary, question, policy, first, second, error))
    return findings


def _count(view: View, question: str) -> int:
    """The number of times a question is asked about a paper."""
    if question == WHOLE:
        return 1
    return sum(name != "*" for name in view.names) if question == MEMBER else len(view.scores)


def _sampling_error(views: Sequence[View], alone: Array, decided: Array, weight: Array) -> float:
    """An upper bound on the standard error from papers with sampled tuples: that of a binomial share."""
    share = weight / weight.sum()
    variance = [
        0.0
        if view.exact
        else (part * part) * max(0.25 - (one - 0.5) ** 2, 0.25 - (other - 0.5) ** 2) / len(view.rows)
        for view, part, one, other in zip(views, share, alone, decided, strict=True)
    ]
    return float(np.sqrt(sum(variance)))


def exposures(views: Sequence[View], policy: str = "chosen", *, better: str = "high") -> tuple[Exposure, ...]:
    """Every review, the most exposed first, ties by paper; scores on the scale of the reviews."""
    reviews = []
    for view in views:
        mass = view.mass(policy)
        by_slot, before = authors(view, mass), authors(view, view.alone)[0]
        worst = rises(view, mass).max(axis=0)
        for slot, upright in enumerate(view.scores):
            (score,) = original_scores([upright], better)
            guess = int(by_slot[0, slot].argmax())
            right = None if view.truth is None else guess == view.truth[slot]
            after = float(by_slot[:, slot].max(axis=1).sum())
            top = float(before[slot].max())
            reviews.append(Exposure(view.paper, slot + 1, score, top, after, float(worst[slot]), right))
    return tuple(sorted(reviews, key=lambda exposure: (-exposure.after, exposure.paper, exposure.review)))


def finding_about(findings: Sequence[Finding], policy: str, question: str = AUTHOR) -> Finding:
    """The finding of one policy about one question, of the first adversary that has it."""
    return next(finding for finding in findings if (finding.policy, finding.question) == (policy, question))


# --- The papers of a release, a plan or a published venue, as views for an adversary.
#
# A release is opened with its key: its record has public data, tables, decisions and the true reviewers, so
# the views are for a holder of the key. A plan has the same views before the draw. A venue published
# decisions, scores and calibrations without a policy, a key or a guarantee: it is taken to have accepted a
# paper if its calibrated reviewers make it more likely above the bar than below. Its views are what anybody
# can compute from these tables.


@dataclass(frozen=True, eq=False)
class OpenedRelease:
    """A published release, and its papers with their true reviewers; confidential."""

    record: Record
    views: list[View] = field(repr=False)


def open_release(published: StrPath, key: StrPath) -> OpenedRelease:
    """Opens a published release with its key. The result is confidential.

    `key`: the file of the key that made the release. Returns the `record`, and the `views` of its papers with
    the true reviewers, for `findings_of`.
    """
    check_paths(published=published, key=key)
    certificate = read_published(published)
    if certificate is None:
        raise InputError(f"{published} must be a folder with a certificate.json that blindcal wrote")
    past = PriorDecisions(read_ledger(key, read_key(key)))
    check_published(past.ledger, [certificate])
    record = past.record(certificate.counter - 1)
    return OpenedRelease(record, published_views(past, record))


def planned_views(plan: Plan) -> list[View]:
    """The papers of a plan, before anything is drawn and without their reviewers.

    Returns one view per paper, in the order of the plan.
    """
    return [
        case_view(case.promised(plan.request.guarantee.promise), paper.policy, raw)
        for case, paper, raw in zip(
            plan.conference.cases, plan.papers, plan.conference.raw_accept, strict=True
        )
    ]


_ACCEPT, _REJECT = "accept", "reject"


@dataclass(frozen=True, eq=False)
class Venue:
    """The papers of a venue with their decisions, and the bar that it is taken to have had.

    `unexplained` are papers whose decision follows from no candidates. It tells nothing about their
    reviewers; if there are many, bar, calibration or pools are not those of the venue.
    """

    views: list[View] = field(repr=False)
    bar: float
    accepted: int
    unexplained: tuple[str, ...]


def read_venue(
    decisions: StrPath,
    scores: StrPath,
    reviewers: StrPath,
    pools: StrPath,
    *,
    bar: float | None = None,
    grid: Sequence[float] | None = None,
    better: str = "high",
) -> Venue:
    """Reads a venue's tables: decisions (paper, decision), scores (paper, score), calibration and pools.

    Scores have one row per review, in any order. The default `bar` is the one at which full calibration
    accepts as many papers as were accepted, on average over the public belief. Papers without a decision are
    left out. `grid` has the possible scores, empty if any number is possible; by default it is recognized.
    `better` is the better end of the scale; with "low", views have negated scores.
    """
    decided = read_decisions(decisions)
    scores_by_paper = _scores_of(decided, read_scores(scores, grid), os.fspath(decisions), os.fspath(scores))
    parameters = orient_reviewers(read_reviewers(reviewers), better)
    candidates = pools_of(pools, scores_by_paper, parameters)
    files = Sources(os.fspath(scores), os.fspath(reviewers), os.fspath(pools))
    problems = [
        Problem(files.pools, None, None, rule, f"{found} for paper {paper!r}")
        for paper, given in scores_by_paper.items()
        for rule, found in pool_problems(len(given), candidates.get(paper))
    ]
    problems += unknown_candidates(scores_by_paper, parameters, candidates, files)
    if problems:
        raise input_error(problems[:100], more=max(0, len(problems) - 100))
    scores_given = np.concatenate([np.array(given) for given in scores_by_paper.values()])
    declared = infer_grid(scores_given) if grid is None else numbers("grid", grid)
    levels = None
    if declared is not None and declared.size:
        levels = orient_scores(declared.tolist(), better)
    cases = [
        public_case(paper, orient_scores(given, better), candidates[paper], parameters, "", levels)
        for paper, given in scores_by_paper.items()
    ]
    accepted = sum(decided[paper] for paper in scores_by_paper)
    if bar is None and not 0 < accepted < len(cases):
        raise InputError("`bar` must be given where a venue accepted all papers or none")
    conference = assemble(cases, None if bar is not None else accepted / len(cases), bar)
    views = [released_view(case, decided[case.paper]) for case in conference.cases]
    likelihoods = [(view, view.outcome["full"]) for view in views if view.outcome is not None]
    unexplained = (view.paper for view, likelihood in likelihoods if not view.weight @ likelihood > 0.0)
    return Venue(views, conference.cases[0].bar, accepted, tuple(unexplained))


def read_decisions(path: StrPath) -> dict[str, bool]:
    """Whether each paper of a table `paper,decision` was accepted; other columns are ignored."""
    columns = [Column("paper", "id"), Column("decision", choices=(_ACCEPT, _REJECT))]
    table = read_table(path, columns, extra=True)
    if problems := table.repeated("paper"):
        raise input_error(problems)
    return {
        paper: decision == _ACCEPT
        for paper, decision in zip(table.text("paper"), table.text("decision"), strict=True)
    }


def read_scores(path: StrPath, grid: Sequence[float] | None = None) -> dict[str, tuple[float, ...]]:
    """The scores of each paper in a table `paper,score`, lowest first; other columns are ignored."""
    columns = [Column("paper", "id"), Column("score", "number", synonyms=("rating",))]
    table = read_table(path, columns, extra=True)
    score = table.number("score")
    if grid is not None and len(grid):
        off = np.array(table.rows)[~np.isin(score, numbers("grid", grid))].tolist()
        if off:
            raise input_error(
                [Problem(table.file, row, "score", "must be a score of the grid") for row in off]
            )
    by_paper: dict[str, list[float]] = {}
    for paper, value in zip(table.text("paper"), score.tolist(), strict=True):
        by_paper.setdefault(paper, []).append(value)
    return {paper: tuple(sorted(by_paper[paper])) for paper in natural_sorted(by_paper)}


def _scores_of(
    decided: Mapping[str, bool], scores: Mapping[str, tuple[float, ...]], decisions: str, file: str
) -> dict[str, tuple[float, ...]]:
    """The scores of all papers that were decided."""
    without = [paper for paper in decided if paper not in scores]
    if without:
        rule = f"must have scores in {file} for a paper with a decision"
        raise input_error(
            [Problem(decisions, None, "paper", rule, f"none for {paper!r}") for paper in without]
        )
    return {paper: values for paper, values in scores.items() if paper in decided}


def posterior_table(
    views: Sequence[View], policy: str = "full", *, better: str = "high"
) -> dict[str, list[object]]:
    """For each review and candidate, the posterior from the scores alone and with the decision.

    A review is the `review`-th worst score of its paper; scores are on the scale of the reviews, with
    `better` as the better end. Confidential, because the table names people.
    """
    columns = ("paper", "review", "score", "reviewer", "scores_alone", "with_decision")
    rows = []
    for view in views:
        before, after = (authors(view, mass)[0].tolist() for mass in (view.alone, view.mass(policy)))
        for slot, upright in enumerate(view.scores):
            (score,) = original_scores([upright], better)
            each = zip(view.names, before[slot], after[slot], strict=True)
            rows += [(view.paper, slot + 1, score, *numbers) for numbers in each if numbers[0] != "*"]
    return dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
