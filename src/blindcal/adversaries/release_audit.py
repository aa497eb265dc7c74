"""The papers of a release, a plan or a published venue, as views for an adversary.

A release is opened with its key: its record has public data, tables, decisions and the true reviewers, so the
views are for a holder of the key. A plan has the same views before the draw. A venue published decisions,
scores and calibrations without a policy, a key or a guarantee: it is taken to have accepted a paper if its
calibrated reviewers make it more likely above the bar than below. Its views are what anybody can compute from
these tables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from blindcal.adversaries.single_paper import View, authors, case_view, published_views, released_view
from blindcal.assignment.candidates import pools_of
from blindcal.cells import Column, natural_sorted
from blindcal.checks import numbers
from blindcal.deciding.amendment import PriorDecisions
from blindcal.deciding.coins import read_key
from blindcal.deciding.ledger import Record, check_published, read_ledger, read_published
from blindcal.deciding.release import check_paths
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_table
from blindcal.io.tables import StrPath, input_error
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
        for paper, one in scores_by_paper.items()
        for rule, found in pool_problems(len(one), candidates.get(paper))
    ]
    problems += unknown_candidates(scores_by_paper, parameters, candidates, files)
    if problems:
        raise input_error(problems[:100], more=max(0, len(problems) - 100))
    scores_given = np.concatenate([np.array(one) for one in scores_by_paper.values()])
    declared = infer_grid(scores_given) if grid is None else numbers("grid", grid)
    levels = None
    if declared is not None and declared.size:
        levels = orient_scores(declared.tolist(), better)
    cases = [
        public_case(paper, orient_scores(one, better), candidates[paper], parameters, "", levels)
        for paper, one in scores_by_paper.items()
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
    for paper, one in zip(table.text("paper"), score.tolist(), strict=True):
        by_paper.setdefault(paper, []).append(one)
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
    return {paper: one for paper, one in scores.items() if paper in decided}


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
