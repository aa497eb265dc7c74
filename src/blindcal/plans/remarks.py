"""What a chair should know besides the figures: plain sentences that say what was probably meant.

Pure functions of public information; the command line prints what they return.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from blindcal.assignments.pools import EVERYONE, OUTSIDER
from blindcal.beliefs.conferences import Conference
from blindcal.beliefs.inputs import Inputs
from blindcal.cells import Column, loose, number_text
from blindcal.files.disk import read_table
from blindcal.plans.requests import Request
from blindcal.reviews import twin_remarks

# Above this share of authors that scores and pools name by themselves there is little left to protect.
NAMED = 0.9
# A bar this many standard deviations of quality away looks like a score.
_FAR_BAR = 3.0
_WHOM = "everyone who might have reviewed the paper as an outsider sees it"


def bar_remarks(conference: Conference, bar: float | None) -> list[str]:
    """Whether no paper or every paper is expected to pass a bar that was given."""
    if bar is None or 0 < sum(conference.raw_accept) < len(conference.raw_accept):
        return []
    who = "every" if all(conference.raw_accept) else "no"
    score = ", not a score" if abs(bar) > _FAR_BAR else ""
    return [
        f"{who} paper is expected to pass `bar` {number_text(bar)}: the bar is a quality{score}, in standard "
        "deviations over papers (0 is the average paper; 1 is better than five in six). To accept the best "
        "quarter, give `accept_rate` 0.25 instead"
    ]


def pool_remarks(conference: Conference) -> list[str]:
    """Whether most pools leave no doubt about who reviewed the paper."""
    exact = sum(
        len(case.candidates) == len(case.scores) and OUTSIDER not in case.candidates
        for case in conference.cases
    )
    papers = len(conference.cases)
    if 2 * exact <= papers:
        return []
    if exact == papers:
        return [
            "every pool has exactly as many people as the paper has reviews, so who reviewed it is public; a "
            f"pool should list {_WHOM}"
        ]
    return [
        f"{exact:,} of {papers:,} pools ({100 * exact / papers:.0f} %) have exactly as many people as the "
        f"paper has reviews, so who reviewed it is public; a pool should list {_WHOM}"
    ]


def plan_remarks(figures: Mapping[str, Any], never_against: float | None) -> list[str]:
    """What the figures of a plan or a certificate should make a chair think twice about."""
    remarks = []
    if (named := figures["success_scores_only"]) > NAMED:
        remarks.append(
            f"the pools and scores already name {100 * named:.1f} % of the authors: nothing here can hide "
            f"them. A pool should list {_WHOM}; does it list only those who did?"
        )
    wrong, raw = figures["expected_wrong"], figures["expected_wrong_raw"]
    if never_against is not None and wrong > raw:
        remarks.append(
            f"with `never_against` {number_text(never_against)} more decisions are expected to be wrong "
            f"({100 * wrong:.1f} %) than by raw mean scores ({100 * raw:.1f} %): leave it out, or give "
            "a value closer to 1"
        )
    return remarks


def quota_remarks(request: Request) -> list[str]:
    """Whether a limit on single decisions means less than it seems where a number of papers is accepted."""
    if request.quota is None or request.guarantee.never_against is None:
        return []
    return [
        "with `accept`, `never_against` holds for the private decisions: the papers at the cut are "
        "accepted or not by their rank, whatever the evidence"
    ]


def input_remarks(inputs: Inputs, conference: Conference, bar: float | None) -> list[str]:
    """What the chair should know about the files before anything is planned."""
    reviews = inputs.reviews
    sources = inputs.sources
    remarks = [*inputs.remarks]
    remarks += stray_remarks(sources.pools, reviews.papers, inputs.parameters, sources.reviews)
    remarks += twin_remarks(reviews, sources.reviews)
    named = {name for paper in reviews.papers for name in inputs.pools[paper]}
    remarks += row_remarks(named, inputs.parameters, sources.reviewers)
    if reviews.grid is not None and not reviews.grid_declared:
        remarks.append(
            f"the scores are taken as rounded to {_listed(reviews.grid.tolist())}, by those that were given: "
            "`grid` says which can be given, or none if any number can be"
        )
    return [*remarks, *pool_remarks(conference), *bar_remarks(conference, bar)]


def row_remarks(candidates: Collection[str], rows: Collection[str], file: str) -> list[str]:
    """Whether so many candidates are taken as the row `*` that their own rows may be spelled differently."""
    named = set(candidates) - {OUTSIDER}
    without = named - set(rows)
    alike = {loose(name) for name in without} & {loose(name) for name in rows}
    if not without or (2 * len(without) < len(named) and not alike):
        return []
    close = f" ({len(alike):,} like a row but for capital letters, spaces or leading zeros)" if alike else ""
    return [
        f"{len(without):,} of {len(named):,} candidates have no row in {file} and are taken as its row *"
        f"{close}: are their ids spelled differently there?"
    ]


def _listed(grid: Sequence[float]) -> str:
    few = [number_text(level) for level in grid]
    return ", ".join(few if len(few) <= 4 else [few[0], few[1], "...", few[-1]])


def stray_remarks(
    source: str | os.PathLike[str],
    papers: Collection[str],
    people: Collection[str],
    reviews: str | os.PathLike[str] = "reviews",
) -> list[str]:
    """Rows of a file of pools or conflicts that are about papers or people the other files do not know.

    Candidates without calibration are no remark but an error, found where the conference is prepared.
    """
    # `everyone` is a word and no file; `Inputs` calls it by the argument's name.
    if str(source) in (EVERYONE, f"`pools` {EVERYONE}"):
        return []
    columns = [Column("paper", "id"), Column("conflict", "id", required=False, secret=True)]
    table = read_table(source, columns, extra=True)
    conflicts = "conflict" in table
    what = "conflicts" if conflicts else "pools"
    named = set(table.text("paper"))
    remarks = []
    if unknown := len(named - set(papers)):
        remarks.append(
            f"{table.file} has {what} for {_papers(unknown)} without any review in {reviews}: left out"
            + (
                ""
                if unknown < len(named)
                else ". No paper is in both files: are the ids spelled differently?"
            )
        )
    barred = set(table.text("conflict")) if conflicts else set()
    if strangers := len(barred - set(people) - {OUTSIDER}):
        whom = "a person" if strangers == 1 else f"{strangers:,} people"
        remarks.append(
            f"{table.file} has conflicts of {whom} without calibration: they exclude no one. Is a name "
            "spelled differently from the reviewers' calibration?"
        )
    return remarks


def _papers(count: int) -> str:
    return f"{count:,} paper{'s' * (count > 1)}"
