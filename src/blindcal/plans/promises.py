"""Claims about all tables -> what is promised of a whole conference, and on what assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import fsum

from blindcal.plans.certificates import Claim
from blindcal.plans.figures import Figures
from blindcal.plans.rounding import upward
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
    "private decision, to 6 decimals, ties by mean score, then by id, and the best are accepted. The list "
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


def overdrawn(claims: Sequence[Claim], guarantee: Guarantee) -> Fraction:
    """By how much the added success, summed over reviews, exceeds what was requested, exactly; 0: it does
    not."""
    if not guarantee.spends:
        return Fraction(0)
    reviews = sum(c.reviews for c in claims)
    added = sum((c.added for c in claims), Fraction(0))
    return max(Fraction(0), added - Fraction(guarantee.added_success) * reviews)


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
        "largest_posterior_scores_only": max(c.largest_posterior_scores_only for c in claims),
        "decided_by_public_information": sum(c.epsilon == 0 for c in claims),
    }
