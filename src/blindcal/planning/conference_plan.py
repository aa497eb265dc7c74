"""Inputs + Request -> Plan, the whole of a conference: everything but the toss. `papers` has each one.

Every number is an expectation over public information, or exact for the tables that would be sampled.

A conference, paper by paper -> the table that will be sampled, what it promises and what it costs.

Every number here is an expectation over the public belief: a plan is the same whatever the true assignment.

What a chair should know besides the figures: plain sentences that say what was probably meant.

Pure functions of public information; the command line prints what they return.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any

from blindcal.assignment.candidates import OUTSIDER
from blindcal.cells import Column, count, loose, number_text
from blindcal.certify.claims import Claim, certify
from blindcal.certify.exact import ExactPolicy, Packed, packed
from blindcal.checks import Array
from blindcal.compute.parallel import Progress, Workers, each, silent, stepping
from blindcal.errors import CertificateError
from blindcal.io.atomic_files import read_table
from blindcal.io.tables import frame
from blindcal.planning.calibration_check import Agreement, agreement, refuse_misfit
from blindcal.planning.expected_errors import Figures, expected_figures, overdrawn, summary
from blindcal.planning.guarantee_menu import MOST_WEIGHED, Menu, menu, menu_steps
from blindcal.planning.ranking import both_ranks, listed_figures
from blindcal.planning.request import Request, check_types
from blindcal.planning.shared_budget import exploring_steps, shares_of
from blindcal.policy.guarantee import PUBLIC, Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import Conference, PaperCase
from blindcal.posterior.inputs import Inputs
from blindcal.posterior.large_pools import Layout
from blindcal.posterior.paper import Sample
from blindcal.reviews import twin_remarks

_LEAST_MIX = 2.0**-40
# Certifying a table takes about as long as solving for it, which counts 2.
_EACH = 4


@dataclass(frozen=True, eq=False)
class PaperPlan:
    """The table that will be sampled for one paper, and what is claimed of it.

    `packed`: the table, compressed; `policy` has its numbers.
    `claim`: what it reveals at most, exactly.
    `figures`: what it does on average: chances of a wrong decision, beside those of the alternatives.
    `layout`: which entry of this very table each tuple takes; None where tuples are listed.
    """

    packed: Packed
    claim: Claim
    figures: Figures
    layout: Layout | None = None

    @property
    def policy(self) -> ExactPolicy:
        """The table."""
        return self.packed.policy


def plan_paper(
    belief: Belief,
    accept: Array,
    raw_accept: float,
    guarantee: Guarantee,
    *,
    mixed: float = 0.0,
    sample: Sample | None = None,
    bound: float = inf,
) -> PaperPlan:
    """Certify one paper's table and work out its figures.

    `belief`: over the tuples of reviewers that may have written the paper's reviews.
    `accept`: the accept probability of each tuple; where tuples share some, of each entry of the table.
    `raw_accept`: 1 if the mean score accepts the paper, 0 if not, at a tie the share of the tied papers that
    fits.
    `guarantee`: the limits to keep.
    `mixed`: the weight of the constant that the table is mixed with to begin with.
    `sample`: tuples drawn from the belief, where there are too many to be listed.
    `bound`: an error that no table can beat, from which the figures' `gap` follows; none is known by default.

    >>> import numpy as np
    >>> belief, none = Belief([0.75, 0.25], [0.5, 0.0]), Guarantee("none", epsilon=None)
    >>> found = plan_paper(belief, np.array([1.0, 0.0]), 1.0, none)
    >>> found.claim.success, found.figures.wrong, found.figures.wrong_raw
    (Fraction(1, 1), 0.375, 0.625)
    """
    policy, stated = certify(belief, accept, guarantee, mixed=mixed)
    numbers = expected_figures(belief, policy.accept, raw_accept, sample=sample, bound=bound)
    return PaperPlan(packed(policy), stated, numbers)


def plan_conference(
    conference: Conference,
    guarantee: Guarantee,
    price: float | None = None,
    *,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> tuple[list[PaperPlan], float | None]:
    """Solve and certify every paper; also the price of an average budget, to be frozen (None: nothing is
    shared).

    `conference`: its public side, the first that `Inputs.prepared` returns.
    `guarantee`: what every paper must keep.
    `price`: that of an earlier release, wrong decisions per added correct guess; by default it is found.
    `workers`: how many processes share the work, or a cluster's pool; results are the same.
    `advance`: called with the number of steps done, `planning_steps` in all.

    >>> rows = ((1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> case = PaperCase("p", (5.0,), ("ada", "ben"), (0.5, 0.5), rows, bar=0.0)
    >>> conference = Conference((case,), 0.0, None, (1.0,))
    >>> plans, price = plan_conference(conference, Guarantee("none", epsilon=None))
    >>> plans[0].policy.accept, plans[0].claim.success, price
    (array([1., 0.]), Fraction(1, 1), None)
    """
    shares, spent = shares_of(conference, guarantee, price=price, workers=workers, advance=advance)
    step = stepping(advance, _EACH)
    jobs = list(zip(conference.cases, shares, conference.raw_accept, strict=True))
    planned = each(partial(_planned, guarantee=guarantee), jobs, workers=workers, advance=step)
    plans = [one.plan for one in planned] if price is not None else _repaid(conference, planned, guarantee)
    return plans, spent


def planning_steps(cases: Sequence[PaperCase], guarantee: Guarantee, price: float | None = None) -> int:
    """How many steps `plan_conference` takes for these papers."""
    return _EACH * len(cases) + exploring_steps(cases, guarantee, price)


def _repaid(conference: Conference, planned: Sequence[_Planned], guarantee: Guarantee) -> list[PaperPlan]:
    """The plans, within the whole budget: where a rounding overdraws it, the paper that adds most gives that
    back, its table mixed with the constant; if need be, others do too.

    With a weight of w for the constant a table adds at most 1-w of what it added.
    """
    plans = [one.plan for one in planned]
    jobs = list(zip(conference.cases, planned, conference.raw_accept, strict=True))
    for index in sorted(range(len(plans)), key=lambda place: plans[place].claim.added, reverse=True):
        over, added = overdrawn([plan.claim for plan in plans], guarantee), plans[index].claim.added
        if not over:
            return plans
        if added > 0:
            weight = min(1.0, float(over / added) * (1 + 2**-20) + _LEAST_MIX)
            plans[index] = _mixed(jobs[index], guarantee, weight)
    if overdrawn([plan.claim for plan in plans], guarantee):
        raise CertificateError("the budget of added success cannot be kept with the other limits")
    return plans


@dataclass(frozen=True, eq=False)
class _Planned:
    """The plan that a paper's table leads to, and the error that no table can beat."""

    plan: PaperPlan
    bound: float


def _planned(job: tuple[PaperCase, float | None, float], guarantee: Guarantee) -> _Planned:
    """Solve and certify one paper, with its posterior computed once."""
    case, success, raw = job
    case = case.promised(guarantee.promise)
    solved = solve(case, guarantee, success=success)
    plan = _certified((case, solved.accept, raw, solved.bound), guarantee, 0.0)
    return _Planned(plan, solved.bound)


def _mixed(job: tuple[PaperCase, _Planned, float], guarantee: Guarantee, mixed: float) -> PaperPlan:
    """A certified table mixed with the constant, and certified again."""
    case, one, raw = job
    return _certified((case, one.plan.policy.accept, raw, one.bound), guarantee, mixed)


def _certified(job: tuple[PaperCase, Array, float, float], guarantee: Guarantee, mixed: float) -> PaperPlan:
    case, accept, raw, bound = job
    case = case.promised(guarantee.promise)
    guarantee = PUBLIC if case.settled else guarantee
    plan = plan_paper(case.belief, accept, raw, guarantee, mixed=mixed, sample=case.sample, bound=bound)
    return plan if case.listed else replace(plan, layout=replace(case.layout, handicap=None))


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
    # The word `everyone` and a data frame are no files; `Inputs` calls them by the argument's name.
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
