"""One paper as an adversary sees it: its tuples of reviewers, their probabilities, and the policies.

A `View` is made from a planned table or from a recorded decision. Before the draw an adversary is averaged
over both outcomes; afterwards the decision is known. Either way its belief is `mass[outcome, tuple]`, which
sums to 1, and every question about the reviewers (`single_paper`) is a function of such masses. From the
scores alone it is the same function of `weight`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from blindcal.assignment.candidates import OUTSIDER
from blindcal.checks import Array, Integers
from blindcal.deciding.ledger import Record
from blindcal.deciding.prior_decisions import PriorDecisions
from blindcal.errors import InputError
from blindcal.planning.conference_plan import PaperPlan
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import Policy, evidence_policy
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.tuple_weights import tuple_posteriors
from blindcal.reviewers.base import Reviewer

POLICIES = ("raw", "public", "chosen", "full")
"""Decisions by mean score, by public information, by the chosen policy, and fully calibrated."""

CONSTANT = ("raw", "public")
"""The policies that do not depend on who reviewed the paper."""


@dataclass(frozen=True, eq=False)
class View:
    """An adversary's view of one paper. Confidential if it has the `truth`.

    `rows[tuple, slot]` are indices of `names` (below 0: nobody). `weight` is the posterior of each tuple
    given the scores, and `log_prior` its log prior. `accept` has the accept probabilities under every policy,
    and `outcome` the likelihood of the published decision, if there is one. `exact` is false if the tuples
    are a sample because there are too many to list. `reviewers` has the candidates' calibrations; None if
    `weight` contains more than prior, scores and calibration. `unloaded` is `weight` without public loads, if
    there are any.
    """

    paper: str
    names: tuple[str, ...]
    scores: tuple[float, ...]
    rows: Integers = field(repr=False)
    weight: Array = field(repr=False)
    log_prior: Array = field(repr=False)
    accept: Mapping[str, Array] = field(repr=False)
    outcome: Mapping[str, Array] | None = field(default=None, repr=False)
    truth: tuple[int, ...] | None = field(default=None, repr=False)
    exact: bool = True
    reviewers: Reviewer | None = field(default=None, repr=False)
    unloaded: Array | None = field(default=None, repr=False)

    def without_loads(self) -> View:
        """The same paper for someone who knows nobody's load, if `weight` is that of someone who does."""
        return self if self.unloaded is None else replace(self, weight=self.unloaded, unloaded=None)

    def mass(self, policy: str) -> Array:
        """`[outcome, tuple]`: P(tuple, outcome | scores); after publication P(tuple | scores, decision)."""
        if self.outcome is None:
            accept = self.accept[policy]
            return np.stack([self.weight * accept, self.weight * (1.0 - accept)])
        mass = self.weight * self.outcome[policy]
        total = mass.sum()
        # A decision that no tuple could have led to tells nothing about the reviewers.
        return (mass / total if total > 0.0 else self.weight)[None, :]

    @property
    def alone(self) -> Array:
        """`[1, tuple]`: the posterior given the scores alone."""
        return self.weight[None, :]

    def believing(self, weight: Array) -> View:
        """The same paper for an adversary with other weights of its tuples."""
        total = weight.sum()
        if not total > 0.0:
            raise InputError(f"nothing is possible any more for paper {self.paper!r}")
        return replace(self, weight=weight / total, reviewers=None)


def planned_view(case: PaperCase, plan: PaperPlan, raw: float, guarantee: Guarantee) -> View:
    """A paper before the draw, with the table that would be sampled."""
    case = case.promised(guarantee.promise)
    return case_view(case, plan.policy, raw)


def case_view(case: PaperCase, policy: Policy, raw: float) -> View:
    """A paper before the draw, under any table for it."""
    belief, sample = case.belief, case.sample
    if sample is None:
        rows, weight, favor = case.tuples, belief.weight, belief.favor
        chosen = belief.spread(policy.accept)
    else:
        rows, favor = sample.rows, sample.favor
        weight = np.full(len(rows), 1.0 / len(rows))
        chosen = case.layout.expected(policy.accept, rows)
    known = case.loads is not None and sample is None
    right = float(weight @ favor)
    accept = {
        "raw": np.full(weight.shape, raw),
        "public": np.full(weight.shape, float(right > 0.5)),
        "chosen": chosen,
        "full": 0.5 * (1.0 + np.sign(favor - 0.5)),
    }
    return View(
        paper=case.paper,
        names=case.candidates,
        scores=case.scores,
        rows=case.named(rows),
        weight=weight,
        log_prior=case.log_prior(rows),
        accept=accept,
        exact=sample is None,
        reviewers=case.reviewers,
        unloaded=replace(case, loads=None).belief.weight if known else None,
    )


def published_views(past: PriorDecisions, record: Record) -> list[View]:
    """Every paper of a release as its one coin decided it, with the true reviewers; confidential.

    A paper that was decided again was decided from public data, which reveals nothing further. So its first
    decision counts, with the scores of that release.
    """
    views = []
    for paper in record.papers:
        own = [ref for ref in paper.earlier if (ref[0], ref[2]) == (record.conference, paper.paper)]
        drawn = own[0] if own else (record.conference, paper.release, paper.paper)
        decision = past.decision(drawn)
        case = decision.case.promised(record.request.guarantee.promise)
        reviewers = past.tossed[drawn].reviewers
        views.append(published_view(case, decision.policy, paper.raw_accepted, decision.accepted, reviewers))
    return views


def published_view(
    case: PaperCase, policy: Policy, raw: float, accepted: bool, reviewers: Sequence[str]
) -> View:
    """A paper whose decision and reviewers are known, lowest score first."""
    view = case_view(case, policy, raw)
    index_of = {name: index for index, name in enumerate(case.candidates)}
    truth = [index_of.get(name, index_of.get(OUTSIDER, -1)) for name in reviewers]
    if -1 in truth:
        raise InputError(f"the reviewers of paper {case.paper!r} must all be in its pool")
    favor = float(tuple_posteriors(case, np.array([truth]))[1][0])
    decided = {"raw": raw > 0.5, "public": view.accept["public"][0] > 0.5, "full": favor >= 0.5}
    decided["chosen"] = accepted
    outcome = {name: view.accept[name] if yes else 1.0 - view.accept[name] for name, yes in decided.items()}
    # Raw and public decisions are the same for every tuple, at a tie too.
    for name in CONSTANT:
        outcome[name] = np.ones_like(view.weight)
    known = tuple(-1 if index == case.outsider else index for index in truth)
    return replace(view, outcome=outcome, truth=known)


def released_view(case: PaperCase, accepted: bool) -> View:
    """A paper of a conference that decided by calibrated scores, for anybody without the true reviewers.

    The adversary has its scores, its decision and a table of calibrations.
    """
    if not case.listed:
        raise InputError(f"the tuples of paper {case.paper!r} must be few enough to be listed")
    view = case_view(case, evidence_policy(case.belief), 1.0)
    likelihood = view.accept["full"] if accepted else 1.0 - view.accept["full"]
    every = np.ones_like(view.weight)
    return replace(view, outcome={"raw": every, "public": every, "chosen": likelihood, "full": likelihood})
