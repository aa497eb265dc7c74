"""What a chair should think about twice before deciding: sentences about probable mistakes in the input."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from blindcal.io.atomic_files import read_table
from blindcal.io.cells import Column, count, loose_id, number_text
from blindcal.io.tables import StrPath
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.pools.candidates import OUTSIDER
from blindcal.posterior.conference import Conference, members_of
from blindcal.posterior.inputs import Inputs
from blindcal.posterior.this_year_inputs import EVIDENCE_FILE, ThisYearInputs
from blindcal.reviews import grid_warnings, similar_id_warnings

# If scores and pools alone name more than this share of the reviewers, there is little left to protect.
_MOSTLY_NAMED = 0.9
# A bar this far from the average paper, in standard deviations of quality, was probably meant as a score.
_FAR_BAR = 3.0
_POOL_MEANING = "everyone who might have reviewed the paper as an outsider sees it"


OUTSIDE_EVIDENCE = (
    "the evidence comes from outside: what it says of a paper can encode a name or a text, every random draw "
    "may depend on all that went into it, and a person who chooses it knowing the key can dictate decisions. "
    "Nothing is known of its errors, so no gain is stated"
)
"""What a chair should know of evidence that another method made."""


def bar_remarks(conference: Conference, bar: float | None) -> list[str]:
    """A remark if no paper, or every paper, is expected to pass the bar."""
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
    """A remark if most pools leave no doubt about who reviewed the paper."""
    exact = sum(
        len(case.candidates) == len(case.scores) and OUTSIDER not in case.candidates
        for case in conference.pooled
    )
    papers = len(conference.cases)
    if 2 * exact <= papers:
        return []
    which = f"{exact:,} of {papers:,} pools ({100 * exact / papers:.0f} %) have"
    return [
        f"{'every pool has' if exact == papers else which} exactly as many people as the paper has reviews, "
        f"so who reviewed it is public; a pool should list {_POOL_MEANING}"
    ]


def crowd_remarks(conference: Conference, guarantee: Guarantee) -> list[str]:
    """A remark if pools without outsiders are smaller than the crowd: it is steady there."""
    pools = [case.candidates for case in conference.pooled]
    small = sum(len(pool) < (guarantee.among or 0) and OUTSIDER not in pool for pool in pools)
    return [f"f{remark[1:-1]}" for remark in steady_crowd(small, len(pools), guarantee.among)]


def steady_crowd(small: int, papers: int, among: float | None) -> list[str]:
    """A sentence on a crowd that is steady, if so many pools are smaller than it; nothing if none is."""
    if among is None or not small:
        return []
    return [
        f"For {small:,} of {count(papers, 'paper')} fewer than {among:g} people may have reviewed, all "
        f"listed by name; there a crowd of {among:g} is steady, which is stricter: no decision makes the "
        "best guess likelier."
    ]


def plan_remarks(figures: Mapping[str, Any], never_against: float | None) -> list[str]:
    """Remarks on figures of a plan or a certificate that a chair should think about twice."""
    remarks = []
    if (named := figures.get("success_scores_only", 0.0)) > _MOSTLY_NAMED:
        remarks.append(
            f"the pools and scores already name {100 * named:.1f} % of the reviewers: nothing here can hide "
            f"them. A pool should list {_POOL_MEANING}; does it list only those who did?"
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
    """A remark if a limit on single decisions does not hold for the papers at the cut."""
    if request.quota is None or request.guarantee.never_against is None:
        return []
    return [
        "with `accept`, `never_against` holds for the private decisions: the papers at the cut are "
        "accepted or not by their rank, whatever the evidence"
    ]


def input_remarks(inputs: Inputs | ThisYearInputs, conference: Conference, request: Request) -> list[str]:
    """Remarks on the input files and the request, before anything is planned."""
    reviews, sources = inputs.reviews, inputs.sources
    remarks = [*inputs.remarks, *grid_warnings(reviews), *similar_id_warnings(reviews, sources.reviews)]
    if isinstance(inputs, ThisYearInputs):
        remarks += level_remarks(conference, request)
    else:
        remarks += stray_remarks(sources.pools, reviews.papers, inputs.parameters, sources.reviews)
        named = members_of([inputs.pools[paper] for paper in reviews.papers])
        remarks += row_remarks(named, inputs.parameters, sources.reviewers)
        remarks += [*pool_remarks(conference), *crowd_remarks(conference, request.guarantee)]
    return [*remarks, *bar_remarks(conference, request.bar), *quota_remarks(request)]


def level_remarks(conference: Conference, request: Request) -> list[str]:
    """What the chair of a conference that is calibrated on its own reviews should know, from public data.

    Nothing here depends on who wrote what, so that it may stand on a screen that others see.
    """
    model, cases = conference.model, conference.graded
    if model is None:
        return []
    remarks = [OUTSIDE_EVIDENCE] if request.source == EVIDENCE_FILE else []
    if request.people is None and request.guarantee.name != "public":
        remarks.append(
            f"`people` is not stated: {model.people:,} is taken, a person for every five reviews; nobody "
            "was counted. It shapes which papers a random draw decides, so it must come from the committee, "
            "never from a count of this year's reviewers"
        )
    if model.people <= max(model.reviews):
        remarks.append(
            "everyone reviews everything: strictness then changes no order, and papers are decided by their "
            "scores alone"
        )
    single = sum(len(case.scores) == 1 for case in cases)
    if single and request.guarantee.name != "public":
        remarks.append(
            f"{count(single, 'paper')} {'has' if single == 1 else 'have'} one review: its reviewer's "
            "strictness counts in full"
        )
    return remarks


def row_remarks(candidates: Collection[str], rows: Collection[str], file: str) -> list[str]:
    """A remark if so many candidates are taken as the row `*` that their ids may be spelled differently."""
    named = set(candidates) - {OUTSIDER}
    missing = named - set(rows)
    alike = {loose_id(name) for name in missing} & {loose_id(name) for name in rows}
    if not missing or (2 * len(missing) < len(named) and not alike):
        return []
    close = f" ({len(alike):,} like a row but for capital letters, spaces or leading zeros)" if alike else ""
    return [
        f"{len(missing):,} of {len(named):,} candidates have no row in {file} and are taken as its row *"
        f"{close}: are their ids spelled differently there?"
    ]


def stray_remarks(
    source: StrPath,
    papers: Collection[str],
    people: Collection[str],
    reviews: StrPath = "reviews",
) -> list[str]:
    """Remarks on rows of a file of pools or conflicts about papers or people that no other file has.

    Candidates without calibration are an error, not a remark; preparing the conference reports them.
    """
    # The keyword `everyone` and a data frame are not files; `Inputs` names them by the argument.
    if not os.path.exists(source):
        return []
    columns = [Column("paper", "id"), Column("conflict", "id", required=False, secret=True)]
    table = read_table(source, columns, extra=True)
    conflicts = "conflict" in table
    what = "conflicts" if conflicts else "pools"
    named = set(table.text("paper"))
    remarks = []
    if unknown := len(named - set(papers)):
        remarks.append(
            f"{table.file} has {what} for {count(unknown, 'paper')} without any review in {reviews}: left out"
        )
    barred = set(table.text("conflict")) if conflicts else set()
    if strangers := len(barred - set(people) - {OUTSIDER}):
        whom = "a person" if strangers == 1 else f"{strangers:,} people"
        remarks.append(
            f"{table.file} has conflicts of {whom} without calibration: they exclude no one. Is a name "
            "spelled differently from the reviewers' calibration?"
        )
    return remarks
