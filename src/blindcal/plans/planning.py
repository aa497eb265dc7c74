"""A conference, paper by paper -> the table that will be sampled, what it promises and what it costs.

Every number here is an expectation over the public belief: a plan is the same whatever the true assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from hashlib import sha256
from math import fsum, inf, prod

import numpy as np
from numpy.typing import ArrayLike

from blindcal.beliefs.belief import Belief
from blindcal.beliefs.cases import Sample
from blindcal.beliefs.conferences import Conference, PaperCase
from blindcal.checks import Array
from blindcal.errors import CertificateError
from blindcal.plans.amendments import AmendedCase, SettledCase
from blindcal.plans.certificates import Claim, certify, claim, keeps, table_epsilon
from blindcal.plans.decks import limits_of, solve_within
from blindcal.plans.exact import Exact, ExactPolicy
from blindcal.plans.rounding import FINE, ceiling, exponential_above, upward
from blindcal.policies.guarantees import Guarantee
from blindcal.workers import each

ASSUMPTIONS = (
    "The adversary knows all scores, all decisions, this method, every reviewer's stated calibration and the "
    "stated pools; `success` is its chance to name the author of a review in one guess.",
    "success, largest_rise and largest_posterior hold for the stated prior (the pools); epsilon and "
    "multiplier bound what a single decision tells an adversary with any prior of its own.",
    "Papers' reviewers are taken as independent given the scores. A matching couples them, and all decisions "
    "together tell more to an adversary that knows its constraints: in uniform matchings of 4 to 6 papers "
    "odds moved up to 80-fold at epsilon 2, and a best guess became likelier by up to 0.67 where each paper "
    "promised no rise (studies/matchings.py).",
    "Reviewers' calibration, pools and bar were fixed without looking at who wrote which review. Where it is "
    "uncertain, what one paper's scores tell about a reviewer is not counted on another paper.",
    "Not covered: decisions changed by hand by someone who knows the reviewers, review texts, published "
    "reviewer lists, a wrong model of reviewers, and anyone who holds the key or the sealed record.",
)


_LEAST_MIX = 2.0**-40
# Full calibration that adds less success than this adds none: a difference of rounded sums.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Figures:
    """What one paper's table does on average over the public belief, beside full and public calibration.

    Errors are chances of a wrong decision; `against` is the chance of deciding against the evidence;
    `success_fully_calibrated` is summed over the reviews. `wrong` exceeds the least possible one by at most
    `gap`.
    """

    wrong: float
    wrong_raw: float
    wrong_public: float
    wrong_fully_calibrated: float
    against: float
    success_fully_calibrated: float
    gap: float = 0.0


@dataclass(frozen=True, eq=False)
class PaperPlan:
    """The table that will be sampled for one paper, and what is claimed of it."""

    policy: ExactPolicy
    claim: Claim
    figures: Figures
    weights: str


def plan_paper(
    belief: Belief,
    accept: Array,
    raw_accept: float,
    guarantee: Guarantee,
    *,
    factor: Exact | None = None,
    mixed: float = 0.0,
    sample: Sample | None = None,
    bound: float = inf,
) -> PaperPlan:
    """Certify one paper's table and work out its figures; `factor` is what earlier decisions revealed."""
    policy, stated = certify(belief, accept, guarantee, factor=factor, mixed=mixed)
    told = figures(belief, policy.accept, raw_accept, factor, sample=sample, bound=bound)
    return PaperPlan(policy, stated, told, weights_digest(belief))


def plan_conference(
    conference: Conference,
    guarantee: Guarantee,
    price: float | None = None,
    *,
    workers: int = 1,
    advance: Callable[[int], None] | None = None,
) -> tuple[list[PaperPlan], float | None]:
    """Solve and certify every paper; also the price of an average budget, to be frozen.

    `advance` is called twice for each paper: solved, certified. Where the whole budget is missed by a
    rounding, every table is mixed with the constant a little.
    """
    limits, spent = limits_of(conference, guarantee, price=price, workers=workers, advance=advance)
    tell = _stepping(advance, 1 if guarantee.spends else 2)
    jobs = list(zip(conference.cases, limits, conference.raw_accept, strict=True))
    planned = each(partial(_planned, guarantee=guarantee), jobs, workers=workers, advance=tell)
    plans, mixed = [one.plan for one in planned], 0.0
    while price is None and not within_budget([plan.claim for plan in plans], guarantee):
        if mixed >= 1:
            raise CertificateError("the budget of added success cannot be kept with the other limits")
        mixed = max(_LEAST_MIX, 8 * mixed)
        again = [
            (case, one.accept, raw, one.bound)
            for case, raw, one in zip(conference.cases, conference.raw_accept, planned, strict=True)
        ]
        plans = each(partial(_certified, guarantee=guarantee, mixed=mixed), again, workers=workers)
    return plans, spent


def _stepping(advance: Callable[[int], None] | None, steps: int) -> Callable[[int], None] | None:
    """Every paper that is done counts so many steps."""
    return None if advance is None else lambda papers: advance(steps * papers)


@dataclass(frozen=True, eq=False)
class _Planned:
    """A paper's table as it was solved, the error that no table can beat, and the plan that it leads to."""

    accept: Array
    bound: float
    plan: PaperPlan


def _planned(job: tuple[PaperCase, float | None, float], guarantee: Guarantee) -> _Planned:
    """Solve and certify one paper, with its posterior computed once."""
    case, success, raw = job
    solved = solve_within((case, success), guarantee)
    plan = _certified((case, solved.accept, raw, solved.bound), guarantee, 0.0)
    return _Planned(solved.accept, solved.bound, plan)


def _certified(job: tuple[PaperCase, Array, float, float], guarantee: Guarantee, mixed: float) -> PaperPlan:
    case, accept, raw, bound = job
    if isinstance(case, AmendedCase):
        return _certified_again(case, accept, raw, guarantee, mixed, bound)
    plan = plan_paper(case.belief, accept, raw, guarantee, mixed=mixed, sample=case.sample, bound=bound)
    if not isinstance(case, SettledCase):
        return plan
    return replace(plan, claim=_within_cap(at_most(plan.claim, case.told), guarantee))


def _certified_again(
    case: AmendedCase, accept: Array, raw: float, guarantee: Guarantee, mixed: float, bound: float
) -> PaperPlan:
    """A table that keeps its promise however the past is read, or the public decision; what is claimed is the
    worst over all readings."""
    belief, plainest = case.scores_belief, case.readings[0]
    policy, stated = certify(belief, accept, guarantee, factor=plainest, mixed=mixed)
    if not all(keeps(belief, policy, guarantee, factor=one) for one in case.readings[1:]):
        policy, stated = certify(belief, accept, guarantee, factor=plainest, mixed=1.0)
    claims = [claim(belief, policy, factor=one, mixed=stated.mixed) for one in case.readings]
    told = figures(belief, policy.accept, raw, plainest, bound=bound)
    return PaperPlan(policy, _within_cap(worst(claims), guarantee), told, weights_digest(belief))


def _within_cap(stated: Claim, guarantee: Guarantee) -> Claim:
    cap = guarantee.posterior_cap
    if cap is not None and stated.largest_posterior > cap:
        raise CertificateError("the posterior cap cannot be shown to be kept after the earlier decisions")
    return stated


def worst(claims: Sequence[Claim]) -> Claim:
    """In every number the worst of several claims about one table."""
    names = ("success", "added", "largest_rise", "epsilon", "multiplier", "largest_posterior")
    return replace(claims[0], **{name: max(getattr(one, name) for one in claims) for name in names})


def at_most(stated: Claim, told: float) -> Claim:
    """The claim of a public decision for someone who has seen decisions that moved odds by up to e^told.

    >>> _, stated = certify(Belief([0.6, 0.4], [0.9, 0.2]), np.ones(2), Guarantee("public"))
    >>> after = at_most(stated, 0.25)
    >>> round(after.largest_posterior, 3), round(float(after.success), 3), float(after.added)
    (0.77, 0.77, 0.0)
    """
    factor = exponential_above(told)
    if factor is None:
        success, posterior, rise = Fraction(stated.reviews), Fraction(1), Fraction(1)
    else:
        success = min(Fraction(stated.reviews), stated.success * factor)
        posterior = min(Fraction(1), Fraction(stated.largest_posterior) * factor)
        rise = posterior * (1 - 1 / factor)
    return replace(
        stated,
        success=Fraction(ceiling(success.numerator, success.denominator), FINE),
        largest_posterior=min(1.0, upward(posterior)),
        largest_rise=max(upward(rise), stated.largest_rise),
    )


def figures(
    belief: Belief,
    accept: Array,
    raw_accept: float,
    factor: Exact | None = None,
    *,
    sample: Sample | None = None,
    bound: float = inf,
) -> Figures:
    """The errors of a table and of its alternatives; what single tuples reveal comes from a `sample` of them
    where they are not listed. `bound` is an error that no table can beat. `raw_accept` is 1 or 0, or at a tie
    of mean scores the share of the tied papers that fits.

    >>> belief = Belief([0.75, 0.25], [0.5, 0.0])
    >>> figures(belief, np.array([1.0, 0.0]), raw_accept=1.0)
    Figures(wrong=0.375, wrong_raw=0.625, wrong_public=0.375, wrong_fully_calibrated=0.375, against=0.0,
            success_fully_calibrated=1.0, gap=0.0)
    """
    weight, favor, chance = belief.weight, belief.favor, belief.spread(accept)
    if factor is not None:
        weight = weight * (factor / int(factor.max())).astype(np.float64)
        weight = weight / weight.sum()
    right = float(weight @ favor)
    wrong = float(weight @ (chance * (1 - favor) + (1 - chance) * favor))
    if sample is None:
        tuples, full = (weight, favor, chance), success_by_slot(belief, favor >= 0.5, weight).sum()
    else:
        tuples = np.full(sample.favor.shape, 1 / sample.favor.size), sample.favor, accept[sample.entry]
        # A decision never makes the best guess less likely on average.
        full = max(_sampled_success(sample), success_by_slot(belief, np.ones_like(weight), weight).sum())
    mass, evidence_for, chance = tuples
    against = np.where(evidence_for > 0.5, 1 - chance, np.where(evidence_for < 0.5, chance, 0.0))
    return Figures(
        wrong=wrong,
        wrong_raw=raw_accept * (1 - right) + (1 - raw_accept) * right,
        wrong_public=min(right, 1 - right),
        wrong_fully_calibrated=float(mass @ np.minimum(evidence_for, 1 - evidence_for)),
        against=float(mass @ against),
        success_fully_calibrated=float(full),
        gap=max(0.0, wrong - bound),
    )


def evidence(belief: Belief, sample: Sample | None, side: int) -> float:
    """The chance that the true tuple's evidence is on one side: 1 for accepting, -1 for rejecting."""
    if sample is not None:
        return float((side * (sample.favor - 0.5) > 0.0).mean())
    return float(belief.weight[side * (belief.favor - 0.5) > 0.0].sum())


def success_by_slot(belief: Belief, chance: ArrayLike, weight: Array | None = None) -> Array:
    """The adversary's chance of naming the author of each slot, given `chance[secret]` to be accepted.

    >>> success_by_slot(Belief([0.6, 0.4], [0.9, 0.2], [[-1, 3]]), [1.0, 0.0])  # a label below 0 is nobody
    array([0.4])
    """
    mass = belief.weight if weight is None else weight
    labels = np.arange(mass.size)[None] if belief.labels is None else belief.labels
    sides = (mass * np.asarray(chance), mass * (1.0 - np.asarray(chance)))
    alike = np.ones(int(labels.max()) + 1) if belief.alike is None else belief.alike
    named = [np.flatnonzero(slot >= 0) for slot in labels]
    return np.array(
        [
            sum((np.bincount(slot[who], side[who], alike.size) / alike).max(initial=0.0) for side in sides)
            for slot, who in zip(labels, named, strict=True)
        ]
    )


def _sampled_success(sample: Sample) -> float:
    """The adversary's chance against full calibration, summed over the slots: who is guessed is read off
    every other draw, and the rest says how often that is right."""
    full, total = sample.favor >= 0.5, 0.0
    for accepted in (full, ~full):
        for slot in sample.named.T:
            seen = accepted & (slot >= 0)
            for learn, test in (
                (slice(0, None, 2), slice(1, None, 2)),
                (slice(1, None, 2), slice(0, None, 2)),
            ):
                if seen[learn].any():
                    guess = np.bincount(slot[learn][seen[learn]]).argmax()
                    total += 0.5 * float(((slot[test] == guess) & accepted[test]).mean())
    return total


def weights_digest(belief: Belief) -> str:
    """A digest of the stored weights: a certificate is exact for these and no others."""
    return sha256(belief.weight.astype("<f8").tobytes()).hexdigest()


def within_budget(claims: Sequence[Claim], guarantee: Guarantee) -> bool:
    """Whether the added success, mean over reviews, is at most what was requested, exactly."""
    if not guarantee.spends:
        return True
    reviews = sum(c.reviews for c in claims)
    return sum((c.added for c in claims), Fraction(0)) <= Fraction(guarantee.added_success) * reviews


def paired(first: Sequence[Claim], second: Claim, policy: ExactPolicy, same_public_data: bool) -> Claim:
    """What several decisions on one paper promise together; `second` was claimed with the `first` counted in.

    Success is that given the earlier decisions or, where the public data are the same, what the second one
    adds on top of the success of the first; whichever is more. Epsilons and multipliers of the tables
    compose: they must hold for someone who knows that the reviewers were corrected in between.
    """
    before = second.success_scores_only
    on_top = [one.success + second.added for one in first if same_public_data]
    success = max(before, second.success, *on_top)
    multiplier = upward(prod((Fraction(one.multiplier) for one in (*first, second)), start=Fraction(1)))
    apart = *(one.epsilon for one in first), table_epsilon(policy)
    composed = inf if inf in apart else upward(sum(map(Fraction, apart), Fraction(0)))
    epsilon = max(second.epsilon, composed)
    return replace(second, success=success, added=success - before, epsilon=epsilon, multiplier=multiplier)


def summary(claims: Sequence[Claim], numbers: Sequence[Figures]) -> dict[str, float | int]:
    """The certificate's numbers: success is a mean over reviews, errors are means over papers."""
    papers, reviews = len(claims), sum(c.reviews for c in claims)

    def share(parts: Sequence[Fraction]) -> float:
        return upward(sum(parts, Fraction(0)) / reviews)

    def mean(name: str) -> float:
        return fsum(getattr(figure, name) for figure in numbers) / papers

    added, full = (
        share([c.added for c in claims]),
        fsum(f.success_fully_calibrated for f in numbers) / reviews,
    )
    would_add = full - share([c.success_scores_only for c in claims])
    return {
        "papers": papers,
        "reviews": reviews,
        "success_scores_only": share([c.success_scores_only for c in claims]),
        "success": share([c.success for c in claims]),
        "added_success": added,
        "added_share_of_full": min(1.0, added / would_add) if would_add > _NOTHING else 0.0,
        "success_fully_calibrated": full,
        "largest_rise": max(c.largest_rise for c in claims),
        "epsilon": max(c.epsilon for c in claims),
        "multiplier": max(c.multiplier for c in claims),
        "largest_posterior": max(c.largest_posterior for c in claims),
        "expected_wrong": mean("wrong"),
        "expected_wrong_raw": mean("wrong_raw"),
        "expected_wrong_public": mean("wrong_public"),
        "expected_wrong_fully_calibrated": mean("wrong_fully_calibrated"),
        "against_evidence": mean("against"),
        "gap": mean("gap"),
        "repaired": sum(0 < c.mixed < 1 for c in claims),
        "decided_by_public_information": sum(c.mixed == 1 for c in claims),
    }
