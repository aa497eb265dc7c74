"""A plan played against the truth of a simulated conference: realized errors beside stated ones.

Nothing is drawn. Given a paper's true reviewers its table has an accept probability, so what is realized are
expectations over the coins alone, for the qualities and reviewers that this conference happened to have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blindcal.adversaries.findings import planned_views
from blindcal.adversaries.single_paper import CONSTANT, POLICIES, View, authors
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.io.tables import data_frame
from blindcal.planning.conference_plan import PaperPlan, Plan
from blindcal.planning.ranking_and_wait_list import acceptance_probabilities, both_ranks
from blindcal.policy.policy import public_policy
from blindcal.posterior.conference import true_reviewers
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.this_year_evidence import LevelCase, evidence
from blindcal.posterior.tuple_weights import tuple_posteriors
from blindcal.simulation.conference import SimulatedConference

# Chances closer than this, relative to them, are equal: programs are solved to 1e-10.
_TIE = 1e-8
# Of each rule its name, and in the summary of a plan its stated errors and success.
_STATED = {
    "raw": ("mean scores", "expected_wrong_raw", "success_scores_only"),
    "public": ("public", "expected_wrong_public", "success_scores_only"),
    "chosen": ("chosen", "expected_wrong", "success"),
    "full": ("full calibration", "expected_wrong_fully_calibrated", "success_fully_calibrated"),
}


@dataclass(frozen=True, eq=False)
class Replay:
    """What a plan's decisions, and those of other rules, are worth for one simulated conference.

    Rules are "raw", by mean scores; "public"; "chosen", by the plan; and "full", full calibration. If papers
    are decided by this year's evidence, "full" follows the evidence, and nothing is said about naming: the
    numbers of `named` are nan.

    Attributes:
        papers: The ids of papers.
        good: Whether each paper is above the bar, so that accepting it is right.
        accept: By rule, each paper's chance of being accepted, given its true reviewers.
        named: By rule, the share of each paper's reviewers whom the best guesses name.
        stated: By rule, the share of wrong decisions and the chance of naming a reviewer, as the plan has
            them.
    """

    papers: tuple[str, ...]
    good: Array
    accept: Mapping[str, Array]
    named: Mapping[str, Array]
    stated: Mapping[str, tuple[float, float]]

    def wrong(self, rule: str = "chosen") -> Array:
        """The chance of a wrong decision on each paper, by a rule."""
        accept = self.accept[rule]
        return np.asarray(np.where(self.good > 0.0, 1.0 - accept, accept))

    def to_frame(self) -> Any:
        """One row per rule, as a pandas data frame; needs pandas.

        Shares of wrong decisions and chances of naming a reviewer (success), stated and realized, with the
        standard errors of the realized ones over papers.
        """
        rows: dict[str, list[object]] = {"rule": [_STATED[rule][0] for rule in POLICIES]}
        measured = {
            "wrong": {rule: self.wrong(rule) for rule in POLICIES},
            "success": {rule: self.named[rule] for rule in POLICIES},
        }
        for index, (name, by_rule) in enumerate(measured.items()):
            rows[f"stated_{name}"] = [self.stated[rule][index] for rule in POLICIES]
            rows[f"realized_{name}"] = [float(by_rule[rule].mean()) for rule in POLICIES]
            rows[f"{name}_se"] = [_standard_error(by_rule[rule]) for rule in POLICIES]
        return data_frame(rows)

    def papers_frame(self) -> Any:
        """One row per paper and rule, as a pandas data frame; needs pandas."""
        each = [(rule, index) for index in range(len(self.papers)) for rule in POLICIES]
        return data_frame(
            {
                "paper": [self.papers[index] for _, index in each],
                "rule": [_STATED[rule][0] for rule, _ in each],
                "good": [bool(self.good[index]) for _, index in each],
                "accept": [float(self.accept[rule][index]) for rule, index in each],
                "wrong": [float(self.wrong(rule)[index]) for rule, index in each],
                "success": [float(self.named[rule][index]) for rule, index in each],
            }
        )


def replay(plan: Plan, truth: SimulatedConference) -> Replay:
    """Plays a plan against the truth.

    If the plan accepts an exact number of papers, the chosen rule's accept probabilities are those of the
    final list; the adversary still sees the private decisions, which reveal more.

    Args:
        plan: A plan of `truth.inputs()` or of `truth.reviews_alone()`.
        truth: The simulated conference.

    Example:
        >>> from blindcal import Guarantee, Request, plan
        >>> from blindcal.simulation.conference import simulate
        >>> truth = simulate(papers=40, pool=5, per_paper=2, seed=3)
        >>> planned = plan(truth.inputs(), Request(Guarantee(), accept_rate=0.25))
        >>> played = replay(planned, truth)
        >>> [round(float(played.wrong(rule).mean()), 3) for rule in ("raw", "chosen", "full")]
        [0.125, 0.089, 0.075]
    """
    cases, reviews = plan.conference.cases, truth.inputs().reviews
    own = zip(
        reviews.papers, (reviews.score[reviews.paper == k] for k in range(len(reviews.papers))), strict=True
    )
    scores = {paper: sorted(given.tolist()) for paper, given in own}
    if [(case.paper, list(case.scores)) for case in cases] != [
        (paper, scores[paper]) for paper in truth.papers
    ]:
        raise InputError(
            "`plan` must be one of `truth.inputs()`: its papers or scores are not those of the truth"
        )
    reviewers = true_reviewers(plan.conference, reviews)
    quality = dict(zip(truth.papers, truth.quality.tolist(), strict=True))
    by_level, nothing = isinstance(cases[0], LevelCase), float("nan")
    accept, named = (_by_levels if by_level else _by_reviewers)(plan, reviewers)
    if plan.request.quota is not None:
        accept["chosen"] = _chance_on_list(plan, accept["chosen"])
    good = np.array([float(quality[case.paper] > case.bar) for case in cases])
    stated = {
        rule: (float(plan.summary[wrong]), nothing if by_level else float(plan.summary[success]))
        for rule, (_, wrong, success) in _STATED.items()
    }
    return Replay(truth.papers, good, accept, named, stated)


_ByRule = dict[str, Array]


def _by_reviewers(plan: Plan, reviewers: Mapping[str, Sequence[str]]) -> tuple[_ByRule, _ByRule]:
    """By rule, each paper's chance of being accepted and the share of its reviewers who are named."""
    cases = [case for case in plan.conference.cases if isinstance(case, PaperCase)]
    accept, named = list[dict[str, float]](), list[dict[str, float]]()
    for case, paper, view in zip(cases, plan.papers, planned_views(plan), strict=True):
        # The true reviewers as positions in the pool, lowest score first.
        row = np.array([case.candidates.index(who) for who in reviewers[case.paper]])
        accept.append(_accept_by_rule(case, paper, view, row))
        named.append({rule: _share_named(view, rule, row, accept[-1][rule]) for rule in POLICIES})
    return _columns_by_rule(accept), _columns_by_rule(named)


def _by_levels(plan: Plan, reviewers: Mapping[str, Sequence[str]]) -> tuple[_ByRule, _ByRule]:
    """The same where papers are decided by this year's evidence, which does not say who is named."""
    cases = plan.conference.graded
    levels = evidence(cases, reviewers)
    true = [
        {
            "raw": raw,
            "public": float(public_policy(case.belief).accept[0]),
            "chosen": float(paper.policy.accept[levels[case.paper]]),
            "full": float(case.belief.favor[levels[case.paper]] > 0.5),
        }
        for case, paper, raw in zip(cases, plan.papers, plan.conference.raw_accept, strict=True)
    ]
    return _columns_by_rule(true), {rule: np.full(len(cases), np.nan) for rule in POLICIES}


def _columns_by_rule(rows: Sequence[Mapping[str, float]]) -> _ByRule:
    return {rule: np.array([row[rule] for row in rows]) for rule in POLICIES}


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def _accept_by_rule(case: PaperCase, paper: PaperPlan, view: View, row: Integers) -> dict[str, float]:
    """By rule, the paper's accept probability given its true reviewers."""
    if view.exact:
        (index,) = np.flatnonzero((case.tuples == row).all(axis=1))
        return {rule: float(view.accept[rule][index]) for rule in POLICIES}
    constant = {rule: float(view.accept[rule][0]) for rule in CONSTANT}
    chosen = float(case.layout.expected(paper.policy.accept, row[None])[0])
    favor = float(tuple_posteriors(case, row[None])[1][0])
    return {**constant, "chosen": chosen, "full": float(0.5 * (1.0 + np.sign(favor - 0.5)))}


def _share_named(view: View, rule: str, row: Integers, accept: float) -> float:
    """The share of reviewers whom the best guesses name, on average over the decision given the truth.

    Guesses that are equally likely, as some guarantees make them, share the chance of being the one.
    """
    by_slot = authors(view, view.mass(rule))
    top = by_slot.max(axis=2, keepdims=True)
    best = (by_slot >= top * (1.0 - _TIE)) & (top > 0.0)
    right = best[:, np.arange(row.size), row] / np.maximum(best.sum(axis=2), 1)
    return float(np.array([accept, 1.0 - accept]) @ right.mean(axis=1))


def _chance_on_list(plan: Plan, accept: Array) -> Array:
    """The chance of being on the final list, from those of the private decisions."""
    cases, quota, final = plan.conference.cases, plan.request.quota, np.empty_like(accept)
    if quota is None:
        return accept
    pairs = [
        both_ranks(case.paper, case.scores, p.figures) for case, p in zip(cases, plan.papers, strict=True)
    ]
    for group in quota.groups:
        own = [index for index, case in enumerate(cases) if case.track == group]
        passed = acceptance_probabilities([pairs[i] for i in own], accept[own].tolist(), quota.of(group)[0])
        final[own] = (1.0 - accept[own]) * passed[:, 0] + accept[own] * passed[:, 1]
    return final
