"""Claims about several tables -> one promise: of a paper decided again, of a whole conference; and on what
assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import fsum, inf, prod

from blindcal.plans.certificates import Claim, table_epsilon
from blindcal.plans.exact import ExactPolicy
from blindcal.plans.figures import Figures
from blindcal.plans.rounding import FINE, ceiling, exponential_above, upward
from blindcal.policies.guarantees import Guarantee

ASSUMPTIONS = (
    "Against whom: someone who knows all scores, all decisions, this method, how each reviewer scores (the "
    "stated calibration) and who may have reviewed each paper, with what chance (the stated pools), but not "
    "who did. They name one person as the author of a review; success is their chance of being right.",
    "What they know: the chance of naming an author (success), its largest rise by one decision "
    "(largest_rise) and how sure someone can be of one (largest_posterior) are those of someone who has the "
    "stated pools and nothing more to go by. The limits on odds (epsilon) and on the chance of a correct "
    "guess (multiplier) also hold for someone who knows or suspects more, whatever it is; they limit what "
    "the decision on one paper reveals.",
    "One paper at a time: the reviewers of different papers are taken as independent once the scores are "
    "known. In truth nobody reviews more than a few papers, and someone who knows how papers were assigned "
    "can combine all decisions and learn more. In made-up conferences of 4 to 6 papers with as many "
    "reviewers, one review each and every assignment equally likely, odds moved up to 80-fold at epsilon 2, "
    "and a best guess became likelier by up to 0.67 where each paper promised no rise "
    "(studies/matchings.py). Every id stands for another paper: one paper decided under several ids would "
    "reveal more.",
    "Fixed beforehand: how reviewers score, who may have reviewed what and the bar were set without looking "
    "at who wrote which review. Where a reviewer's scoring is uncertain, what one paper's scores say about "
    "it is not counted on another paper.",
    "Not covered: decisions changed by hand by someone who knows the reviewers, the texts of reviews, "
    "published lists of reviewers, a wrong description of how reviewers score, and anyone who holds the key "
    "or the sealed record.",
)
SELECTED = (
    "The final list: papers are ranked by the chance that each is right to accept, given its scores and its "
    "private decision, to 9 decimals, ties by mean score, then by id, and the best are accepted. The list "
    "follows from the private decisions and from what is public, so it reveals no more than they would. "
    "success, added_success, largest_rise, largest_posterior, epsilon and multiplier are those of someone "
    "who sees the private decisions themselves: for someone who sees the list and takes papers as "
    "independent they are upper limits, whatever number is accepted, and for all lists together.",
    "One place on the list depends on the private decisions on all papers. For someone who knows how papers "
    "share reviewers, it can therefore move odds as far as several decisions together would: epsilon and "
    "multiplier limit a single place only for someone who takes papers as independent.",
    "How good the list is: expected_wrong and against_evidence are those of the final list, on average over "
    "what is publicly possible; a paper on the wait list counts as not accepted. gap and never_against are "
    "about the private decisions: whatever the evidence, a paper at the cut may be accepted or not.",
)

# Full calibration that adds less success than this adds none: a difference of rounded sums.
_NOTHING = 1e-9


def worst(claims: Sequence[Claim]) -> Claim:
    """In every number the worst of several claims about one table."""
    names = ("success", "added", "largest_rise", "epsilon", "multiplier", "largest_posterior")
    return replace(claims[0], **{name: max(getattr(one, name) for one in claims) for name in names})


def at_most(stated: Claim, revealed: float) -> Claim:
    """The claim of a public decision for someone who has seen decisions that moved odds by up to
    e^revealed.

    >>> from blindcal import Belief, Policy
    >>> from blindcal.plans.certificates import certify
    >>> _, stated = certify(Belief([0.6, 0.4], [0.9, 0.2]), Policy([1.0, 1.0]).accept, Guarantee("public"))
    >>> after = at_most(stated, 0.25)
    >>> round(after.largest_posterior, 3), round(float(after.success), 3), float(after.added)
    (0.77, 0.77, 0.0)
    """
    factor = exponential_above(revealed)
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
        # The decision itself moves nobody's odds unless `never_against` fixes it for some reviewers.
        largest_rise=min(1.0, upward(rise + Fraction(stated.largest_rise))),
    )


def overdrawn(claims: Sequence[Claim], guarantee: Guarantee) -> Fraction:
    """By how much the added success, summed over reviews, exceeds what was requested, exactly; 0: it does
    not."""
    if not guarantee.spends:
        return Fraction(0)
    reviews = sum(c.reviews for c in claims)
    added = sum((c.added for c in claims), Fraction(0))
    return max(Fraction(0), added - Fraction(guarantee.added_success) * reviews)


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
    alone = [c.largest_posterior_scores_only for c in claims]
    # Papers that were decided by older versions have no such figure.
    known = [one for one in alone if one is not None]
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
        **({"largest_posterior_scores_only": max(known)} if len(known) == papers else {}),
    }
