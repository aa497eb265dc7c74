"""Inputs + Request -> Plan, the whole of a conference: everything but the toss. `papers` has each one.

Every number is an expectation over public information, or exact for the tables that would be sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from blindcal.beliefs.conferences import Conference
from blindcal.beliefs.inputs import Inputs
from blindcal.cells import count
from blindcal.frames import frame
from blindcal.plans.agreements import Agreement, agreement, refuse_misfit
from blindcal.plans.figures import Figures
from blindcal.plans.menus import MOST_WEIGHED, Menu, menu, menu_steps
from blindcal.plans.papers import PaperPlan, plan_conference, planning_steps
from blindcal.plans.passing import both_ranks, listed_figures
from blindcal.plans.promises import summary
from blindcal.plans.remarks import input_remarks, plan_remarks, quota_remarks
from blindcal.plans.requests import Request, check_types
from blindcal.workers import Progress, Workers, silent


@dataclass(frozen=True, eq=False)
class Plan:
    """What a request leads to, before any coin is tossed: for each paper its exact policy, what that promises
    and what it costs.

    `conference`: the public side of what was planned, with its bar.
    `request`: what was requested.
    `papers`: one `PaperPlan` each, in the order of `conference.cases`.
    `price`: wrong decisions per added correct guess, where a budget is shared; else None.
    `fit`: how well the calibration predicts the scores.
    `remarks`: what the chair should know, in words.
    """

    conference: Conference
    request: Request
    papers: tuple[PaperPlan, ...]
    price: float | None
    fit: Agreement
    remarks: tuple[str, ...]

    @cached_property
    def summary(self) -> dict[str, float | int]:
        """The numbers of the certificate that this plan would get."""
        return summary([one.claim for one in self.papers], self.figures)

    @cached_property
    def figures(self) -> list[Figures]:
        """What the decisions do on average, paper by paper: the final ones, where this many are accepted."""
        return planned_figures(self.conference, self.request, self.papers)

    def to_frame(self) -> Any:
        """One row per paper: what its decision reveals at most. A pandas data frame; needs pandas."""
        names = ("reviews", "success_scores_only", "success", "largest_rise", "epsilon", "largest_posterior")
        claims = {name: [float(getattr(one.claim, name)) for one in self.papers] for name in names}
        return frame({"paper": [case.paper for case in self.conference.cases], **claims})

    def menu(self, *, workers: Workers = 1, progress: Progress = silent) -> Menu:
        """What each guarantee of the menu would cost and protect, for this conference; estimated from a
        thousand papers where there are more."""
        papers, steps = min(len(self.conference.cases), MOST_WEIGHED), menu_steps(self.conference)
        with progress(f"comparing guarantees for {count(papers, 'paper')}", steps) as advance:
            return menu(self.conference, workers=workers, advance=advance)


def plan(
    inputs: Inputs,
    request: Request,
    *,
    despite_misfit: bool = False,
    workers: Workers = 1,
    progress: Progress = silent,
) -> Plan:
    """Plan a conference. Nothing is written, and no coin is tossed.

    Returns a `Plan`: its `summary` has the numbers that the certificate would have, its `menu()` what every
    other guarantee would cost.

    `inputs`: those of `read_inputs`.
    `request`: the guarantee, and how many papers are to be accepted.
    `despite_misfit`: plan even where the calibration does not fit the scores at all, which is refused
    otherwise.
    `workers`: how many processes share the work, or a cluster's pool; results are the same.
    `progress`: called as work goes on; silent by default.

    >>> from blindcal import Guarantee, read_inputs
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> reviews, reviewers = (Path(folder.name) / name for name in ("reviews.csv", "reviewers.csv"))
    >>> _ = reviews.write_text("paper,reviewer,score\\np1,ada,7\\np2,ben,4\\np3,cleo,6\\n")
    >>> _ = reviewers.write_text("reviewer,slope,offset,noise\\nada,1.2,6,1\\nben,1,4.5,1\\ncleo,1,5,1\\n")
    >>> inputs = read_inputs(reviews, reviewers, "everyone")
    >>> found = plan(inputs, Request(Guarantee("public", epsilon=None), accept_rate=0.5))
    >>> found.summary["papers"], found.summary["added_success"], found.summary["epsilon"]
    (3, 0.0, 0.0)
    >>> folder.cleanup()
    """
    check_types(inputs, request)
    request = request.checked()
    conference, _ = request.prepared(inputs, workers=workers, progress=progress)
    return plan_prepared(
        inputs, conference, request, despite_misfit=despite_misfit, workers=workers, progress=progress
    )


def plan_prepared(
    inputs: Inputs,
    conference: Conference,
    request: Request,
    *,
    despite_misfit: bool = False,
    workers: Workers = 1,
    progress: Progress = silent,
) -> Plan:
    """The plan of a conference that these inputs were prepared to."""
    fit = agreement(conference.cases, request.better)
    refuse_misfit(fit, despite_misfit=despite_misfit)
    papers = len(conference.cases)
    steps = planning_steps(conference.cases, request.guarantee)
    with progress(f"planning {count(papers, 'paper')}", steps) as advance:
        plans, price = plan_conference(conference, request.guarantee, workers=workers, advance=advance)
    found = summary([one.claim for one in plans], planned_figures(conference, request, plans))
    remarks = (
        *input_remarks(inputs, conference, request.bar),
        *fit.notes,
        *plan_remarks(found, request.guarantee.never_against),
        *quota_remarks(request),
    )
    return Plan(conference, request, tuple(plans), price, fit, remarks)


def planned_figures(conference: Conference, request: Request, plans: Sequence[PaperPlan]) -> list[Figures]:
    """Each paper's figures: those of the private decisions, or of the final list where one is requested."""
    figures, quota = [one.figures for one in plans], request.quota
    if quota is None:
        return figures
    cases = conference.cases
    ranks = [both_ranks(case.paper, case.scores, one) for case, one in zip(cases, figures, strict=True)]
    return listed_figures(figures, ranks, [case.track for case in cases], quota)
