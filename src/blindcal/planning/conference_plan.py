"""The plan of a conference: a certified table for every paper, its costs, and remarks for the chair.

A plan has everything except the draw. Its numbers are expectations over the public belief, or exact claims
about the tables that would be sampled, so a plan is the same whatever the true assignment. It reads top-down:
the whole conference, then each paper, then the remarks, which are plain sentences about probable mistakes in
the input.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, isinf
from time import monotonic
from typing import Any

import numpy as np

from blindcal.certify.claims import Claim, certify
from blindcal.certify.exact import ExactPolicy, PackedPolicy, pack_policy
from blindcal.checks import Array
from blindcal.compute.parallel import Progress, Workers, no_progress, parallel_map
from blindcal.io.cells import count
from blindcal.io.tables import data_frame
from blindcal.planning.calibration_check import CalibrationCheck, check_calibration
from blindcal.planning.expected_errors import Figures, expected_figures, summary
from blindcal.planning.guarantee_menu import (
    MENU,
    MOST_WEIGHED,
    Choice,
    Menu,
    menu,
    prepared_sample,
    with_chosen,
)
from blindcal.planning.level_menu import LEVEL_MENU, LevelMenu, level_menu
from blindcal.planning.ranking_and_wait_list import both_ranks, listed_figures
from blindcal.planning.remarks import input_remarks, plan_remarks
from blindcal.planning.request import Request, check_types
from blindcal.policy.guarantee import PUBLIC, Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import Case, Conference, LevelByTrack
from blindcal.posterior.inputs import Inputs
from blindcal.posterior.large_pools import PackedLayout, TableLayout, pack_layout
from blindcal.posterior.paper import TupleSample
from blindcal.posterior.this_year_evidence import LevelCase
from blindcal.posterior.this_year_inputs import ThisYearInputs

# What is about candidates, whom a plan on this year's reviews does not know.
_NAMING = {
    "success_scores_only",
    "success",
    "added_success",
    "added_share_of_full",
    "success_fully_calibrated",
    "largest_rise",
    "largest_posterior",
    "largest_posterior_named",
    "largest_posterior_paper",
    "largest_posterior_scores_only",
    "largest_factor",
}
A_MINUTE = 55.0
"""How many seconds an answer is refined: with starting and printing, a minute."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A planned conference, before anything is drawn: each paper's exact policy, its claims and its costs.

    Attributes:
        conference: Public side of the conference, with its bar.
        request: The request that was planned.
        papers: One `PaperPlan` per paper, in the order of `conference.cases`.
        fit: How well the calibration predicts the scores; None if they are calibrated on themselves.
        remarks: Remarks for the chair, in words.
    """

    conference: Conference
    request: Request
    papers: tuple[PaperPlan, ...]
    fit: CalibrationCheck | None
    remarks: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Plan({count(len(self.papers), 'paper')} under {self.request.guarantee})"

    @cached_property
    def figures(self) -> list[Figures]:
        """Each paper's expected errors; those of the final list if a number of papers is accepted."""
        figures, quota = [paper.figures for paper in self.papers], self.request.quota
        if quota is None:
            return figures
        cases = self.conference.cases
        ranks = [both_ranks(case.paper, case.scores, own) for case, own in zip(cases, figures, strict=True)]
        places = {group: quota.of(group)[0] for group in quota.groups}
        return listed_figures(figures, ranks, [case.track for case in cases], places)

    @cached_property
    def summary(self) -> dict[str, float | int]:
        """The numbers of the certificate that this plan would get; none of candidates if it knows none."""
        figures = summary([paper.claim for paper in self.papers], self.figures)
        return {name: value for name, value in figures.items() if name not in self._unknown}

    @property
    def _unknown(self) -> Collection[str]:
        """Figures that it has not: those about candidates, if it knows none."""
        return () if self.conference.model is None else _NAMING

    def to_frame(self) -> Any:
        """The claims about each paper, one row per paper, as a pandas data frame; needs pandas."""
        names = ("reviews", "success_scores_only", "success", "largest_rise", "epsilon", "largest_posterior")
        columns: dict[str, list[Any]] = {"paper": [case.paper for case in self.conference.cases]}
        for name in names:
            if name not in self._unknown:
                columns[name] = [float(getattr(paper.claim, name)) for paper in self.papers]
        return data_frame(columns)

    def tables_frame(self) -> Any:
        """The table of each paper, one row per tuple of reviewers, as a pandas data frame; needs pandas.

        `review 1` is the reviewer of the lowest score; `weight` is the probability of the tuple given the
        scores, `favor` that accepting is right if it is the true one, `accept` that of accepting the paper
        then. Papers with too many tuples to list are left out. If papers are decided by this year's evidence
        there is one row per level, "reject" or "accept", in place of reviewers.
        """
        tables: list[dict[str, list[Any]]] = []
        for case, paper in zip(self.conference.cases, self.papers, strict=True):
            if isinstance(case, LevelCase):
                secrets: dict[str, list[Any]] = {"evidence": ["reject", "accept"]}
            elif case.listed:
                names = np.array(case.candidates, dtype=object)[case.tuples]
                secrets = {f"review {slot + 1}": own.tolist() for slot, own in enumerate(names.T)}
            else:
                continue
            for name, values in (
                ("weight", case.belief.weight),
                ("favor", case.belief.favor),
                ("accept", paper.policy.accept),
            ):
                secrets[name] = values.tolist()
            tables.append({"paper": [case.paper] * len(secrets["accept"]), **secrets})
        columns = [*max(tables, key=len, default=("paper", "weight", "favor", "accept"))]
        # A paper with fewer reviews has empty cells.
        return data_frame(
            {
                name: [cell for table in tables for cell in table.get(name, [None] * len(table["paper"]))]
                for name in columns
            }
        )

    def menu(
        self, *, most: float = MOST_WEIGHED, workers: Workers = 1, progress: Progress = no_progress
    ) -> Menu | LevelMenu:
        """Each guarantee of the menu on this conference; estimated if it has more than `most` papers.

        On this year's reviews it is exact, a range over the shares of strictness.
        """
        if self.conference.model is not None:
            return level_menu(self.conference, with_chosen(self.request.guarantee, LEVEL_MENU))
        compared = with_chosen(self.request.guarantee)
        return menu(self.conference, compared, most=most, workers=workers, progress=progress)


def plan(
    inputs: Inputs | ThisYearInputs,
    request: Request,
    *,
    prepared: Conference | None = None,
    despite_misfit: bool = False,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> Plan:
    """Plans a conference. Nothing is written, and nothing is drawn.

    Args:
        inputs: The inputs of the conference, from `read_inputs`.
        request: The guarantee, and how many papers to accept.
        prepared: The conference of these inputs, if it is prepared already.
        despite_misfit: Plan even if the calibration does not fit the scores at all.
        workers: Number of processes, or a cluster's pool; results are the same.
        progress: Called as work goes on; silent by default.

    Returns:
        The plan. Its `summary` has the numbers that the certificate would have; its `menu()` compares other
        guarantees.

    Raises:
        InputError: If the request or the inputs are wrong, or the calibration does not fit the scores.

    Example:
        >>> from blindcal import Guarantee
        >>> from blindcal.posterior.inputs import example_inputs
        >>> inputs = example_inputs()
        >>> planned = plan(inputs, Request(Guarantee("public", epsilon=None), accept_rate=0.5))
        >>> planned.summary["papers"], planned.summary["added_success"], planned.summary["epsilon"]
        (3, 0.0, 0.0)
    """
    check_types(inputs, request)
    request, conference = request.for_inputs(inputs), prepared
    if conference is None:
        conference, _ = request.prepared(inputs, workers=workers, progress=progress)
    fit = checked_fit(conference, request.better, despite_misfit=despite_misfit)
    papers = len(conference.cases)
    with progress(f"planning {count(papers, 'paper')}", papers) as advance:
        plans = plan_conference(conference, request.guarantee, workers=workers, advance=advance)
    planned = Plan(conference, request, tuple(plans), fit, ())
    remarks = (
        *input_remarks(inputs, conference, request),
        *(() if fit is None else fit.notes),
        *plan_remarks(planned.summary, request.guarantee.never_against),
    )
    return replace(planned, remarks=remarks)


def checked_fit(
    conference: Conference, better: str, *, despite_misfit: bool = False
) -> CalibrationCheck | None:
    """How well the calibration predicts the scores, refused if not at all; None if there is none."""
    if conference.model is not None:
        return None
    return check_calibration(conference.pooled, better, despite_misfit=despite_misfit)


@dataclass(frozen=True)
class Answer:
    """Whether calibration is worth it for a conference, under its guarantee and under others.

    Attributes:
        chosen: The guarantee that was chosen, one of the menu's.
        menu: What each guarantee would gain and reveal, in papers of this conference.
        bar: The bar.
        weighed: Number of papers that the bar and the fit are about; if they are not all of them, the bar is
            not the one that would be frozen.
        reviews: Number of reviews.
        fit: How well the calibration predicts the scores.
        remarks: Remarks for the chair, in words.
    """

    chosen: Guarantee
    menu: Menu
    bar: LevelByTrack
    weighed: int
    reviews: int
    fit: CalibrationCheck
    remarks: tuple[str, ...]

    @property
    def choice(self) -> Choice:
        """The chosen guarantee as the menu has it."""
        return self.menu.choice(self.chosen)


def answer(
    inputs: Inputs,
    request: Request,
    others: Sequence[Guarantee] = MENU,
    *,
    prepared: Conference | None = None,
    seconds: float = A_MINUTE,
    despite_misfit: bool = False,
    workers: Workers = 1,
    progress: Progress = no_progress,
    tell: Callable[[Answer], None] | None = None,
) -> Answer:
    """Estimates how many decisions calibration would correct. Nothing is written, drawn or frozen.

    Args:
        inputs: The inputs of the conference, from `read_inputs`.
        request: The guarantee, and how many papers to accept.
        others: The guarantees to compare it with, by default the menu.
        prepared: The conference of these inputs, if all of it is prepared already.
        seconds: How long to refine the estimate; if infinite, every paper is solved.
        despite_misfit: Go on even if the calibration does not fit the scores at all.
        workers: Number of processes, or a cluster's pool; the papers in the sample are the same.
        progress: Called as work goes on; silent by default.
        tell: Called with the answer so far, first after a few papers, then as it is refined.

    Raises:
        InputError: If the request or the inputs are wrong, or the calibration does not fit the scores.

    Example:
        >>> from blindcal.posterior.inputs import example_inputs
        >>> found = answer(example_inputs(), Request(Guarantee("steady"), accept_rate=0.5))
        >>> round(found.menu.wrong_raw, 2), round(abs(found.choice.gain), 2), found.menu.papers
        (0.77, 0.0, 3)
    """
    start = monotonic()
    check_types(inputs, request)
    request = request.for_inputs(inputs)
    conference, papers = prepared, len(inputs.reviews.papers)
    if conference is None and isinf(seconds):
        conference, _ = request.prepared(inputs, workers=workers, progress=progress)
    elif conference is None:
        conference = prepared_sample(inputs, request, workers=workers, progress=progress)
    bar, weighed = conference.bar, len(conference.cases)
    fit = check_calibration(conference.pooled, request.better, despite_misfit=despite_misfit)
    own, remarks = request.guarantee, input_remarks(inputs, conference, request)

    def so_far(surveyed: Menu) -> Answer:
        choice = surveyed.choice(own)
        shares = {
            "success_scores_only": surveyed.success_scores_only,
            "expected_wrong": choice.wrong / papers,
            "expected_wrong_raw": surveyed.wrong_raw / papers,
        }
        told = (*remarks, *fit.notes, *plan_remarks(shares, own.never_against))
        return Answer(own, surveyed, bar, weighed, len(inputs.reviews), fit, told)

    return so_far(
        menu(
            conference,
            with_chosen(own, others),
            papers=papers,
            seconds=seconds - (monotonic() - start),
            workers=workers,
            progress=progress,
            tell=None if tell is None else lambda surveyed: tell(so_far(surveyed)),
        )
    )


@dataclass(frozen=True, eq=False)
class PaperPlan:
    """The table that will be sampled for one paper, with its claim and its expected errors."""

    packed: PackedPolicy  # the table, compressed; `policy` has its numbers
    claim: Claim  # what the table reveals at most, exactly
    figures: Figures  # expected errors of the table and of its alternatives
    # Which entry of the table each tuple of reviewers takes; None if the tuples are listed
    packed_layout: PackedLayout | None = None

    @property
    def layout(self) -> TableLayout | None:
        """The layout, unpacked."""
        return None if self.packed_layout is None else self.packed_layout.layout

    @property
    def policy(self) -> ExactPolicy:
        """The table, unpacked."""
        return self.packed.policy


def plan_paper(
    belief: Belief,
    accept: Array,
    raw_accept: float,
    guarantee: Guarantee,
    *,
    sample: TupleSample | None = None,
    bound: float = inf,
) -> PaperPlan:
    """Certifies one paper's table and computes its expected errors.

    `belief`: public belief over the tuples of reviewers that may have reviewed the paper. `accept`: accept
    probability of each tuple, or of each entry of the table if tuples share entries. `raw_accept`: 1 if the
    mean score accepts the paper, 0 if not; at a tie, the share of the tied papers that fits. `sample`:
    tuples drawn from the belief if there are too many to list. `bound`: an error that no table can beat,
    which gives the `gap` of the figures; unknown by default.
    """
    policy, claim = certify(belief, accept, guarantee)
    figures = expected_figures(belief, policy.accept, raw_accept, sample=sample, bound=bound)
    return PaperPlan(pack_policy(policy), claim, figures)


def plan_conference(
    conference: Conference,
    guarantee: Guarantee,
    *,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
    kept: Callable[[Case, PaperPlan], PaperPlan] | None = None,
) -> list[PaperPlan]:
    """Solves and certifies every paper of a conference.

    Args:
        conference: Public side of the conference, the first item that `Inputs.prepared` returns.
        guarantee: The limits that every paper must keep.
        workers: Number of processes, or a cluster's pool; results are the same.
        advance: Called with the number of papers done.
        kept: Called with each paper and its plan as soon as that is made, and returns what is kept of it; all
            by default. It runs in this process.

    Returns:
        One plan per paper.

    Example:
        >>> from blindcal.posterior.paper import PaperCase
        >>> rows = ((1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0))
        >>> case = PaperCase("p", (5.0,), ("ada", "ben"), (0.5, 0.5), rows, bar=0.0)
        >>> conference = Conference((case,), 0.0, None, (1.0,))
        >>> plans = plan_conference(conference, Guarantee("none", epsilon=None))
        >>> plans[0].policy.accept, plans[0].claim.success
        (array([1., 0.]), Fraction(1, 1))
    """
    jobs = list(zip(conference.cases, conference.raw_accept, strict=True))

    def keep(job: tuple[Case, float], plan: PaperPlan) -> PaperPlan:
        return plan if kept is None else kept(job[0], plan)

    solved = partial(_solve_and_certify, guarantee=guarantee)
    if conference.model is None:
        return parallel_map(solved, jobs, workers=workers, advance=advance, kept=keep)
    # Without names a paper is its scores: those with the same have the same plan.
    keys = [
        (case.scores, case.bar, case.area, case.settled, raw, id(case.model))
        for case, raw in zip(conference.graded, conference.raw_accept, strict=True)
    ]
    alike = dict(zip(keys, jobs, strict=True))
    plans = parallel_map(solved, [*alike.values()], workers=workers, light=True)
    plan_of = dict(zip(alike, plans, strict=True))
    if advance is not None:
        advance(len(jobs))
    return [keep(job, plan_of[key]) for key, job in zip(keys, jobs, strict=True)]


def _solve_and_certify(job: tuple[Case, float], guarantee: Guarantee) -> PaperPlan:
    """Solves and certifies one paper, computing its posterior once; a settled one must reveal nothing."""
    case, raw = job
    case = case.promised(guarantee.promise)
    solution = solve(case, guarantee)
    certified = PUBLIC if case.settled else guarantee
    plan = plan_paper(case.belief, solution.accept, raw, certified, sample=case.sample, bound=solution.bound)
    if isinstance(case, LevelCase) or case.listed:
        return plan
    return replace(plan, packed_layout=pack_layout(case.layout))
