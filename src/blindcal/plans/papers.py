"""A conference, paper by paper -> the table that will be sampled, what it promises and what it costs.

Every number here is an expectation over the public belief: a plan is the same whatever the true assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from blindcal.beliefs.belief import Belief
from blindcal.beliefs.cases import Sample
from blindcal.beliefs.conferences import Conference, PaperCase
from blindcal.beliefs.crowds import Layout
from blindcal.checks import Array
from blindcal.errors import CertificateError
from blindcal.plans.certificates import Claim, certify
from blindcal.plans.exact import ExactPolicy, Packed, packed
from blindcal.plans.figures import Figures, expected_figures
from blindcal.plans.promises import overdrawn
from blindcal.plans.sharing import exploring_steps, shares_of
from blindcal.policies.guarantees import PUBLIC, Guarantee
from blindcal.policies.solvers import solve
from blindcal.workers import Workers, each, stepping

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
